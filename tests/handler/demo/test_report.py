from __future__ import annotations

from typing import Any

import pytest

from handler.demo.report import Report, UnexpectedEnds, ending_lines, exit_code

GOOD = Report(sent=100, sizes=[2, 10, 2])
FAILED = Report(sent=100, failed=1, sizes=[2, 10, 2])
CUT_SHORT = Report(sent=10, sizes=[2])


@pytest.mark.parametrize(
    ("days", "stopped", "code"),
    [
        pytest.param([GOOD], False, 0, id="a good day"),
        pytest.param([GOOD, FAILED], False, 1, id="a day with a failed request"),
        pytest.param([FAILED, CUT_SHORT], True, 0, id="a failed request and then Ctrl-C"),
        pytest.param([CUT_SHORT], True, 0, id="Ctrl-C in the first day"),
        pytest.param([], True, 0, id="Ctrl-C before the first day"),
    ],
)
def test_a_demo_that_a_person_ends_exits_with_0(days: list[Report], stopped: bool, code: int) -> None:
    assert exit_code(days, stopped=stopped) == code


def an_event(name: str, member: str, message: str = "") -> dict[str, Any]:
    return {"name": name, "by": member, "message": message}


def test_a_member_that_was_killed_is_lost_and_one_that_was_removed_is_not() -> None:
    losses = UnexpectedEnds()
    newest_first = [
        an_event("forget", "web-2", "ended by itself with status 0"),
        an_event("forget", "web-1", "ended by signal 9 (SIGKILL)"),
        an_event("destroy", "web-2"),
        an_event("create", "web-1"),
    ]

    losses.note(newest_first)
    losses.note(newest_first)

    assert losses.members == {"web-1": "ended by signal 9 (SIGKILL)"}


def test_the_end_says_which_member_was_lost_and_that_its_requests_failed() -> None:
    lines = ending_lines([FAILED, CUT_SHORT], {"web-1": "ended by signal 9 (SIGKILL)"}, stopped=True)

    assert lines == [
        "the demo is over: 110 requests, 1 failed",
        "web-1 was lost and replaced: ended by signal 9 (SIGKILL)",
        "a member that is killed loses the requests that it was serving: that is expected",
    ]


def test_a_good_day_that_ended_by_itself_needs_no_more_words() -> None:
    assert ending_lines([GOOD], {}, stopped=False) == []
