from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from config.units import GroupId, Instant, PolicyId
from handler.operations.facade import Operations
from handler.ports.stored import Event, EventKind
from handler.web.pages.facts import PageGatherer, mark_of, why_of
from tests.support.store import NOW, WEB, an_answer, an_explanation
from trigger.explain.explanation import Explanation
from trigger.reasons import Reason
from trigger.requests import Clamp, RequestCause


def an_event(kind: EventKind = EventKind.DECISION, name: str = "scaled_out", **changed: Any) -> Event:
    return Event(at=NOW, group=WEB, kind=kind, name=name, **({"by": "policy out"} | changed))


@pytest.mark.parametrize(
    ("event", "kind", "title"),
    [
        (an_event(desired_from=2, desired_to=4), "out", "scaled out 2 → 4"),
        (an_event(name="scaled_in", desired_from=4, desired_to=2), "in", "scaled in 4 → 2"),
        (an_event(name="quiet", desired_from=4, desired_to=4), "refused", "a quiet time runs"),
        (an_event(name="first_listing", desired_to=2), "out", "the first complete listing sets the size → 2"),
        (an_event(EventKind.NOTE, "pause", by="ada"), "note", "pause"),
        (an_event(EventKind.NOTE, "edited", by="ada"), "edit", "the file was edited"),
        (an_event(EventKind.NOTE, "vanished", desired_from=4, desired_to=3), "note", "vanished 4 → 3"),
    ],
    ids=["out", "in", "refused", "first", "note", "edit", "note that moves"],
)
def test_a_line_of_history_is_a_mark_of_its_kind(event: Event, kind: str, title: str) -> None:
    mark = mark_of(event, ())
    assert (mark.kind, mark.title) == (kind, title)


def test_without_an_explanation_history_speaks_for_itself() -> None:
    clamp = Clamp(guard=Reason.AT_MAX, before=12, after=10)
    mark = mark_of(an_event(desired_from=8, desired_to=10, clamps=(clamp,), message="wanted 12"), ())
    assert mark.why[:2] == ("by policy out", "wanted 12")
    assert mark.why[2].startswith("clamped 12 → 10: the group already has its maximum")


def test_two_marks_of_one_instant_have_names_of_their_own() -> None:
    marks = {
        mark_of(an_event(name=name, by=by), ()).id for name in ("quiet", "outbid") for by in ("policy a", "policy b")
    }
    assert len(marks) == 4
    assert not any(" " in mark for mark in marks)


def test_the_why_of_a_decision_is_what_was_measured_by_the_policy_that_spoke() -> None:
    explanation = an_explanation(reason=Reason.SCALED_OUT, sizes=(2, 4), values=(90.0,), answers=(an_answer(),))
    (policy,) = explanation.policies
    silent = replace(policy, policy=PolicyId("in"))
    lines = why_of(replace(explanation, policies=(replace(policy, reason=Reason.SCALED_OUT), silent)))
    assert len(lines) == 1
    assert lines[0].startswith("out: scaled out; wants 5 members; cpu avg 1m = 90 %")


def test_the_why_of_a_persons_resize_is_the_person() -> None:
    answer = an_answer(cause=RequestCause.PERSON, by="ada")
    (line,) = why_of(an_explanation(reason=Reason.SCALED_OUT, sizes=(2, 5), values=(), answers=(answer,)))
    assert line == "person ada: scaled out; wants 5 members"


class Asked:
    """A daemon that is asked why."""

    def __init__(self, explanation: Explanation | None, seconds_later: float) -> None:
        self.explanation, self.asked, self.seconds_later = explanation, 0, seconds_later

    async def why(self, group: GroupId, at: Instant | None) -> Explanation | None:
        self.asked += 1
        return self.explanation

    def now(self) -> Instant:
        return Instant(NOW + self.seconds_later)


def looked_twice(daemon: Asked, explanation: Explanation | None) -> list[bool]:
    """Whether a page that is looked at twice says why; ``explanation`` is in the store from then on."""
    gatherer = PageGatherer(cast("Operations", daemon))

    async def scene() -> list[bool]:
        first = await gatherer.why(an_event())
        daemon.explanation = explanation
        return [bool(first), bool(await gatherer.why(an_event()))]

    return asyncio.run(scene())


def test_a_why_that_is_written_after_the_first_look_is_shown() -> None:
    answer = an_answer(cause=RequestCause.PERSON, by="ada")
    explanation = an_explanation(reason=Reason.SCALED_OUT, sizes=(2, 5), values=(), answers=(answer,))
    assert looked_twice(Asked(None, seconds_later=1.0), explanation) == [False, True]


def test_an_old_decision_without_a_why_is_asked_about_once() -> None:
    daemon = Asked(None, seconds_later=3600.0)
    assert looked_twice(daemon, None) == [False, False]
    assert daemon.asked == 1
