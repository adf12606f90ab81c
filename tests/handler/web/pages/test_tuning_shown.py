"""What the page on which settings are tried shows of an answer."""

from __future__ import annotations

import json
from dataclasses import replace

from config.units import Instant
from handler.operations.setting_changes import FirstDecision, SettingChange
from handler.web.pages.tuning import answer_of, answer_part
from handler.what_if.question import Answer, SizeCourse
from tests.support.filled import filled
from tests.support.replay import WEB

HOSTILE = "<img src=x>"


def an_answer() -> Answer:
    was = SizeCourse(at=(Instant(0.0), Instant(60.0), Instant(100.0)), sizes=(2, 4, 4))
    would_be = SizeCourse(at=(Instant(0.0), Instant(30.0), Instant(100.0)), sizes=(2, 3, None))
    answer: Answer = filled(Answer)
    return replace(
        answer, group=WEB, begin=Instant(0.0), end=Instant(100.0), was=was, would_be=would_be, conditions=(),
        caveats=(HOSTILE,),
    )  # fmt: skip


def test_both_sizes_have_a_value_at_every_instant_of_either() -> None:
    columns = json.loads(answer_of(an_answer()).sizes.numbers)["columns"]

    assert [column["values"] for column in columns] == [[2, 2, 4, 4], [2, 3, 3, None]]


def test_what_it_takes_to_declare_a_setting_is_shown_and_cannot_inject_markup() -> None:
    first = FirstDecision(declared="the size stays 2", changed="2 → 3")
    change: SettingChange = replace(
        filled(SettingChange), patch=(f"+ {HOSTILE}",), over_api=(), groups=(WEB,), first=first
    )

    page = str(answer_part(an_answer(), change))

    assert "To declare this setting" in page
    assert "2 → 3" in page
    assert "&lt;img src=x&gt;" in page
    assert HOSTILE not in page


def test_a_declared_setting_has_nothing_to_declare_and_a_refusal_says_why() -> None:
    assert "To declare" not in str(answer_part(an_answer(), None))
    assert "was edited" in str(answer_part(an_answer(), "web.yaml was edited since it was taken: reload it first"))
