"""Revisions and rolls as tables and text, from the API's JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from handler.cli.columns import Column, table
from handler.cli.time_format import clock_text

Row = dict[str, Any]

_SHORT = 12
"""Characters shown of a digest."""


def _numbered(each: Row) -> str:
    flags = [word for word, key in (("declared", "declared"), ("in force", "in_force")) if each[key]]
    return f"{each['number']} {', '.join(flags)}".rstrip()


_DEFINITIONS: tuple[Column[Row], ...] = (
    Column("REVISION", _numbered),
    Column("SINCE (UTC)", lambda each: clock_text(each["at"])),
    Column("PROFILE", lambda each: each["profile"][:_SHORT]),
    Column("MEMBERS", lambda each: str(each["members"])),
    Column("CONVERGED (UTC)", lambda each: clock_text(each["converged_at"])),
    Column("WHAT CHANGED", lambda each: "; ".join(each["changes"]) or "–"),
)


def definitions_table(revisions: list[Row]) -> RenderableType:
    """Return one line for each revision, newest first."""
    return table(_DEFINITIONS, revisions)


def roll_words(roll: Row) -> str:
    """Return the state of a roll as text.

    >>> roll = {"state": "running", "done": 7, "remaining": 13, "protected": [], "target": "0123456789abcdef"}
    >>> roll_words({**roll, "surge": "2", "unavailable": "0", "because": "", "by": "ada"})
    'rolling 7/20 to profile 0123456789ab, surge 2, unavailable 0, by ada'
    """
    progress = f"{roll['done']}/{roll['done'] + roll['remaining']} to profile {roll['target'][:_SHORT]}"
    kept = f"; protected, and left as they are: {', '.join(roll['protected'])}" if roll["protected"] else ""
    if roll["state"] == "running":
        budgets = f"surge {roll['surge']}, unavailable {roll['unavailable']}"
        going = roll.get("leaving", 0)
        still = f"; {going} of another profile still {'leaves' if going == 1 else 'leave'}" if going else ""
        return f"rolling {progress}, {budgets}, by {roll['by']}{still}{kept}"
    because = f": {roll['because']}" if roll["because"] else ""
    return f"roll {roll['state']} at {progress}{because}"


def rolling_lines(group: Row) -> Iterator[str]:
    """Yield a group's lines about definitions and rolls, if there is something to report."""
    back = group["rollback"]
    if back is not None:
        yield (
            f"rolled back by {back['by']} at {clock_text(back['at'])} UTC: new members are made from the profile of "
            f"revision {back['revision']}, not from the file's"
        )
    roll = group["roll"]
    if roll is not None and roll["state"] != "done":
        yield roll_words(roll)
    elif group["old"]:
        yield f"{group['old']} members were made from an earlier profile; to replace them: trimtab roll"
    if group["pending"] and group["converged_at"] is not None:
        yield f"not converged since its last change; converged before that, at {clock_text(group['converged_at'])} UTC"
