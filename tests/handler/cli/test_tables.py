from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from handler.cli.tables import groups_table, members_table
from handler.planning.status import MemberState
from handler.web.render import plain
from tests.support.pages import a_member, a_status


def _printed(status: Any, endpoints: Sequence[Any] = ()) -> str:
    console = Console(width=200, highlight=False)
    with console.capture() as captured:
        console.print(groups_table([status], endpoints))
    return captured.get()


def test_a_member_that_is_not_ready_is_shown_with_what_its_probe_got() -> None:
    member = plain(replace(a_member(state=MemberState.JOINING), unready="HTTP 404"))
    console = Console(width=200, highlight=False)
    with console.capture() as captured:
        console.print(members_table([member]))
    assert "probe: HTTP 404" in captured.get()


def test_the_list_of_groups_begins_with_a_pause_of_all_groups() -> None:
    status: Any = plain(a_status())
    assert "FLEET" not in _printed(status)
    stopped = {"pause": "out", "by": "ada", "since": 0.0, "because": "quota\x1b[31m"}
    first = _printed(status | {"fleet_pause": stopped}).splitlines()[0]
    assert first.startswith("THE WHOLE FLEET: SCALE-OUT PAUSED by ada since 1970-01-01 00:00:00 UTC: quota")
    assert "\x1b[31m" not in first


def test_groups_in_trouble_are_first_in_the_list() -> None:
    states = {"a": "running", "b": "warning", "c": "error", "d": "scaling"}
    groups: list[Any] = [plain(a_status()) | {"group": name, "condition": word} for name, word in states.items()]
    console = Console(width=200, highlight=False)
    with console.capture() as captured:
        console.print(groups_table(groups))
    assert [line[0] for line in captured.get().splitlines()[1:]] == ["c", "b", "a", "d"]


def test_the_list_of_groups_begins_with_endpoints_that_do_not_answer() -> None:
    dead = "calls to http://nova:8774 are held back: 5 calls in a row failed"
    endpoints = [{"endpoint": "http://glance", "because": ""}, {"endpoint": "http://nova:8774", "because": dead}]

    lines = _printed(plain(a_status()), endpoints).splitlines()

    assert lines[0] == dead
    assert "glance" not in "".join(lines)
