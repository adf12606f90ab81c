from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from handler.demo.show import DecisionLines, DemoView, LiveTable

NOON = 1_767_268_800.0
WORDS = (
    "web at 12:00:00: conditions hold, but not for long enough yet",
    "size 8 in 2..10; 8 in service",
    "out: fires in 2 s if the condition keeps holding; busy avg 4s = 66.1 % (8 of 8 members, 0 s old), above 65 %",
    "in: does not fire; busy avg across members, max 4s = 69.4 % (8 of 8 members, 0 s old), not below 40 %",
)


def a_member(number: int) -> dict[str, Any]:
    fields = {
        "address": f"127.101.0.{number}",
        "since": NOON,
        "state_since": NOON,
        "raw_state": "running",
        "unheard_since": None,
        "unready": "",
    }
    return {"name": f"web-abcdef-{number}", "state": "in_service", "protected": False, "warming": False, **fields}


def an_event(number: int, *, kind: str = "decision", name: str = "scaled_out") -> dict[str, Any]:
    fields = {"by": "policy out", "message": "", "desired_from": number, "desired_to": number + 2}
    return {"at": NOON + number, "kind": kind, "name": name, **fields}


def a_frame(
    *,
    members: int = 8,
    events: Sequence[dict[str, Any]] = (),
    words: Sequence[str] = WORDS,
    at: float = NOON,
    messages: Sequence[str] = (),
) -> DemoView:
    group = {
        "group": "web", "condition": "running", "desired": members, "forced": False, "minimum": 2, "maximum": 10,
        "members": [a_member(number) for number in range(1, members + 1)], "reason": "holding", "mode": "act",
        "messages": list(messages), "fleet_pause": None, "roll": None,
    }  # fmt: skip
    load: dict[str, Any] = {"rate": 25.0, "sent": 98, "failed": 0, "p95": 0.12}
    return DemoView(at=at, group=group, words=words, brief="busy; above", events=events, **load)


def drawn(*frames: DemoView, width: int = 80, height: int = 24) -> list[str]:
    """The rows of the last picture."""
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=height, highlight=False)
    table = LiveTable(console)
    for frame in frames:
        table.show(frame)
    table.close()
    rows = console.render_lines(table._drawn(frames[-1]), pad=False)
    return ["".join(segment.text for segment in row).rstrip() for row in rows]


@pytest.mark.parametrize("members", [0, 2, 8, 10, 40])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (60, 20)])
def test_the_picture_fits_the_terminal(members: int, width: int, height: int) -> None:
    events = [an_event(number) for number in range(20, 0, -1)]

    rows = drawn(a_frame(members=members, events=events), width=width, height=height)

    assert len(rows) < height
    assert max(map(len, rows)) <= width


def test_few_rows_show_members_side_by_side_and_the_latest_decisions_still() -> None:
    rows = drawn(a_frame(events=[an_event(2), an_event(1)]))

    assert "web-abcdef-1 in service  web-abcdef-2 in service  web-abcdef-3 in service" in rows
    assert rows[-2:] == ["12:00:02.000 scaled out 2 → 4, policy out", "12:00:01.000 scaled out 1 → 3, policy out"]


def test_many_rows_show_a_line_for_each_member() -> None:
    rows = drawn(a_frame(), width=120, height=40)

    assert sum("127.101.0." in row for row in rows) == 8


def test_more_members_than_rows_are_counted() -> None:
    assert any("40 members" in row for row in drawn(a_frame(members=40)))


def test_what_stands_below_the_words_does_not_jump_when_they_become_fewer() -> None:
    tall = drawn(a_frame())
    shorter = drawn(a_frame(), a_frame(words=WORDS[:2]))

    row = next(row for row in tall if "web-abcdef-1 " in row)
    assert tall.index(row) == shorter.index(row)


def test_steps_do_not_push_decisions_out_of_the_picture() -> None:
    steps = [an_event(number, kind="step", name="join") for number in range(90, 10, -1)]

    rows = drawn(a_frame(events=[an_event(5)]), a_frame(events=steps))

    assert rows[-1] == "12:00:05.000 scaled out 5 → 7, policy out"


def test_what_is_wrong_stands_before_what_was_decided() -> None:
    rows = drawn(a_frame(messages=["members are not believed to be gone"]))

    assert rows.index("members are not believed to be gone") + 1 == rows.index(WORDS[0])


def test_lines_tell_each_decision_once_and_the_state_with_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    lines = DecisionLines(as_json=False)

    lines.show(a_frame(events=[an_event(1)]))
    lines.show(a_frame(events=[an_event(2), an_event(1)], at=NOON + 1))

    assert capsys.readouterr().out.splitlines() == [
        "12:00:01.000 scaled out 1 → 3, policy out",
        "8 members, load 25/s, 98 requests, 0 failed: busy; above",
        "12:00:02.000 scaled out 2 → 4, policy out",
    ]


def test_lines_in_json_are_objects(capsys: pytest.CaptureFixture[str]) -> None:
    DecisionLines(as_json=True).show(a_frame(events=[an_event(1)]))

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["scaled_out", "state"]
    assert lines[1]["members"] == 8
