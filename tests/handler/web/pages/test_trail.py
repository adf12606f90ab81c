from __future__ import annotations

from typing import Any

import pytest

from config.units import GroupId
from handler.users.trail_pages import Line, TrailPage
from handler.web.pages.trail import TrailChoice, trail_markup

HOSTILE = "<img src=x onerror=alert(1)>"


def a_line(**changed: Any) -> Line:
    return {"number": 7, "at": 1700000000.0, "who": "ada", "way": "token", "act": "scale", "result": "done", **changed}


def shown(*lines: Line, older: int | None = None, before: int | None = None, **choice: str) -> str:
    page = TrailPage(lines=lines, older=older)
    return str(trail_markup(page, TrailChoice(**choice), lambda group: group == "web", before))


def test_a_request_without_a_result_is_said_to_have_none() -> None:
    assert "not known: the daemon ended" in shown(a_line(result="asked"))


def test_a_group_is_linked_only_where_it_has_a_page() -> None:
    page = shown(a_line(groups=["web", "old"]))
    assert 'href="/groups/web"' in page
    assert "/groups/old" not in page
    assert "old" in page


def test_what_a_caller_wrote_is_text() -> None:
    line = a_line(
        who=HOSTILE, given=HOSTILE, outcome=HOSTILE, because=HOSTILE, groups=[HOSTILE], on=HOSTILE, peer=HOSTILE
    )
    assert "<img" not in shown(line, who=HOSTILE, group=HOSTILE)


def test_older_requests_are_those_of_the_same_choice() -> None:
    page = shown(a_line(), older=5, before=9, who="a b", group="web")
    assert 'href="/audit?who=a%20b&amp;group=web&amp;before=5"' in page
    assert 'href="/audit?who=a%20b&amp;group=web"' in page
    assert "before=" not in shown(a_line())


@pytest.mark.parametrize(
    ("choice", "fits"),
    [
        (TrailChoice(), True),
        (TrailChoice(who="ada"), True),
        (TrailChoice(who="bob"), False),
        (TrailChoice(group="web"), True),
        (TrailChoice(group="api"), False),
        (TrailChoice(who="ada", group="api"), False),
    ],
)
def test_a_choice_is_of_who_and_of_what_group(choice: TrailChoice, fits: bool) -> None:
    assert choice.fits(a_line(groups=[GroupId("web")])) is fits
