"""What the command line's tables look like: rows of full answers, and the same rows with what may be absent absent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from handler.cli import edit_text, roll_tables, tables

Row = dict[str, Any]
_ANSWERS: Final = Path(__file__).with_name("files") / "answers.json"
_HOSTILE: Final = "[red]x\x1b[31m"
_WIDE, _NARROW = 160, 60


def tables_text() -> str:
    """Every table, wide and narrow; what would steer a terminal is spelt out, so that styles can be read."""
    drawn = [f"{'=' * 3} {name}, {width}\n{_drawn(table, width)}" for name, table in _tables() for width in _WIDTHS]
    return "\n".join(drawn)


_WIDTHS: Final = (_WIDE, _NARROW)


def _drawn(table: Any, width: int) -> str:
    console = Console(
        highlight=False, emoji=False, markup=False, width=width, force_terminal=True, color_system="standard",
        _environ={},
    )  # fmt: skip
    with console.capture() as captured:
        console.print(table)
    return captured.get().replace("\x1b", "␛")


def _tables() -> Iterator[tuple[str, Any]]:
    answers = json.loads(_ANSWERS.read_text(encoding="utf-8"))["answers"]

    def rows(path: str) -> list[Row]:
        body = answers[path]["body"]
        found: list[Row] = body if isinstance(body, list) else body["garbage"]
        return found

    (group,) = rows("GET /api/v1/groups")
    groups = [group, *_variants(group, _GROUPS)]
    yield "groups", tables.groups_table(groups, [{"because": "nova is left alone"}, {"because": ""}])
    yield "no groups", tables.groups_table([])
    yield "a group", tables.group_page(groups[1])
    for name, path, variants, draw in (
        ("members", "GET /api/v1/groups/{group}/members", _MEMBERS, tables.members_table),
        ("garbage", "GET /api/v1/garbage", _GARBAGE, tables.garbage_table),
        ("history", "GET /api/v1/groups/{group}/history", _HISTORY, tables.history_table),
        ("hooks", "GET /api/v1/hooks", _HOOKS, tables.hooks_table),
        ("probe", "GET /api/v1/groups/{group}/probe", _PROBES, tables.probe_table),
        ("definitions", "GET /api/v1/groups/{group}/definitions", _DEFINITIONS, roll_tables.definitions_table),
        ("edits", "GET /api/v1/groups/{group}/definitions", _DEFINITIONS, edit_text.edits_table),
    ):
        (first,) = rows(path)
        yield name, draw([first, *_variants(first, variants)])
        yield f"{name}: none", draw([])
    yield "counters", tables.counters_page([{**_COUNTER, **changed} for changed in _COUNTERS])
    yield "a world", tables.world_table(_world(answers["POST /api/v1/groups/{group}/observe"]["body"]))


def _variants(row: Row, variants: tuple[Mapping[str, Any], ...]) -> list[Row]:
    return [{**row, **changed} for changed in variants]


def _world(world: Row) -> Row:
    (member,) = world["members"]
    server = member["server"] | {"raw_state": "ACTIVE"}
    members = [
        member,
        member | {"name": "web-2", "record": None, "server": None, "disproved": False, "ready": None},
        member | {"name": "web-3", "server": None, "disproved": True, "ready": False},
        member | {"name": _HOSTILE, "server": server},
    ]
    return world | {"members": members, "complete": False, "because": "two projects are silent"}


_GROUPS: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "group": "web", "condition": "error", "desired": None, "forced": False, "members": [], "roll": None,
        "fleet_pause": None, "messages": [_HOSTILE], "quiets": [], "queued": None, "old": 0,
    },
    {"group": _HOSTILE, "condition": "running", "reason": "steady", "mode": "act", "forced": False},
)  # fmt: skip
_MEMBERS: Final = (
    {"name": "web-2", "state": "in_service", "address": None, "protected": False, "warming": False, "unready": ""},
    {"name": _HOSTILE, "state": "broken", "unheard_since": None},
)
_GARBAGE: Final = (
    {"name": "old", "age": None, "server_id": None, "raw_state": ""},
    {"name": _HOSTILE, "age": 187500.0, "kind": "open_intent"},
)
_HISTORY: Final = (
    {"desired_from": None, "clamps": [], "result": "failed"},
    {"desired_to": None, "by": _HOSTILE, "result": None, "message": ""},
    {"desired_to": None, "result": "retry", "message": _HOSTILE},
)
_ALERTS: Final = {"push": False, "policy": None, "observe": False}
_HOOKS: Final = (
    {**_ALERTS, "name": "grafana", "groups": [], "directions": [], "revoked_at": None, "signed": False},
    {**_ALERTS, "name": "plain", "revoked_at": None, "last_used_at": None},
    {"name": "values", "policy": None, "observe": False, "effects": [], "revoked_at": None, "last_used_at": None},
    {"name": "events", "policy": None, "effects": [], "revoked_at": None, "last_used_at": None},
)
_PROBES: Final = (
    {"reply": "ok", "member": None, "value": None, "kind": "counter"},
    {"reply": "ok", "value": 71.25, "unit": "percent"},
    {"reply": "no_answer", "said": "", "remedy": _HOSTILE},
)
_DEFINITIONS: Final = (
    {"number": 6, "changes": [], "declared": False, "in_force": False, "converged_at": None, "edits": []},
    {"number": 5, "profile": "0123456789abcdef", "changes": ["command", _HOSTILE]},
)
_COUNTER: Final[Row] = {
    "group": "SNMP", "source": "snmp", "name": "IF-MIB::ifHCInOctets", "table": True, "per": ["member", "group"],
    "kind": "counter", "unit": "bytes/s", "description": "What comes in.",
}  # fmt: skip
_COUNTERS: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"name": "UCD-SNMP-MIB::ssCpuUser.0", "table": False, "unit": ""},
    {"group": "HAProxy", "source": "haproxy", "name": "scur", "table": False, "description": ""},
)
