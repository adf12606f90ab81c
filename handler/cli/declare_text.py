"""What is declared over the API as text, from the API's JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from rich.console import RenderableType

from config.errors import first_lines
from handler.cli.columns import Column, table
from handler.cli.edit_text import edit_words
from handler.cli.time_format import moment_text

Row = dict[str, Any]
_NAMED = 5
"""The most entities that a line names."""


def _what(revision: Row) -> str:
    changes = revision["changes"]
    named = ", ".join(f"{each['act']} {each['section']}.{each['id']}" for each in changes[:_NAMED])
    more = f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
    restored = "" if revision["restored"] is None else f"restored {revision['restored']}: "
    return f"{restored}{named}{more}"


_ENTRIES: tuple[Column[Row], ...] = (
    Column("SECTION", itemgetter("section")),
    Column("ID", itemgetter("id")),
    Column("NAME", itemgetter("name")),
    Column("ACCOUNT", itemgetter("account")),
    Column("OWNER", itemgetter("owner")),
    Column("WHERE", itemgetter("at")),
    Column("STATE", lambda entry: "quarantined" if entry["quarantined"] else "", lambda _: "error"),
)
_REVISIONS: tuple[Column[Row], ...] = (
    Column("REVISION", lambda revision: str(revision["number"])),
    Column("WHEN (UTC)", lambda revision: moment_text(revision["at"])),
    Column("WHO", itemgetter("by")),
    Column("FROM", itemgetter("origin")),
    Column("WHAT", _what),
)


def entries_table(entries: list[Row]) -> RenderableType:
    """Return one line for each entity."""
    return table(_ENTRIES, entries, nothing="nothing is declared")


def revisions_table(revisions: list[Row]) -> RenderableType:
    """Return one line for each revision."""
    return table(_REVISIONS, revisions, nothing="nothing was ever declared over the API")


def entry_lines(entry: Row) -> Iterator[str]:
    """Yield an entity: what it is, and its document as YAML has it."""
    yield f"{entry['section']}.{entry['id']} ({entry['name']}), declared by the {entry['owner']} at {entry['at']}"
    yield from (f"quarantined: {problem}" for problem in entry["quarantined"])
    yield f"used by: {', '.join(entry['used_by']) or 'nothing'}"
    for key, value in entry["declared"].items():
        yield f"  {key}: {json.dumps(value, ensure_ascii=False)}"


def change_lines(answer: Row) -> Iterator[str]:
    """Yield what a change did, or would do, or the problems that it was refused for."""
    if answer["problems"]:
        yield from first_lines([f"{p['file']}:{p['line']}: {p['message']}" for p in answer["problems"]], "problem")
        return
    if not answer["entities"]:
        yield "nothing changes"
        return
    yield "would change:" if answer["dry_run"] else f"revision {answer['revision']}:"
    for each in answer["entities"]:
        yield f"  {each['section']}.{each['id']} ({each['name']}): {each['act']}"
    yield from (f"  {line}" for line in first_lines(_changes(answer), "edit"))
    yield from map(_group_line, answer["groups"])


def _changes(answer: Row) -> list[str]:
    """Return the edits that say more than that an entity comes or goes."""
    return [edit_words(edit) for edit in answer["edits"] if edit["act"] == "changed" or edit["key"].count(".") > 1]


def _group_line(group: Row) -> str:
    members = "1 member" if group["members"] == 1 else f"{group['members']} members"
    before, after = group["desired_from"], group["desired_to"]
    size = f", size {before} → {after} by its bounds" if after is not None and before != after else ""
    return f"  group {group['group']}: {group['act']}, {members}{size}"
