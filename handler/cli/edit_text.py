"""Edits of the file as text, from the API's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, NoReturn

import typer
from rich.console import RenderableType

from config.errors import first_lines
from handler.cli.columns import Column, table
from handler.cli.terminal import DONE, PROBLEMS, lines, print_json
from handler.cli.time_format import moment_text

Row = dict[str, Any]

_NAMED = 5
"""The most groups that a line names."""
_SHOWN = 200
"""The most edits that a reload prints; ``--json`` has all."""


def end_reload(status: int, answer: Row, *, json: bool) -> NoReturn:
    """Print the result of bringing a file into force, and end the command with its exit code."""
    refused = status == HTTPStatus.CONFLICT
    if json:
        print_json(answer)
    elif refused:
        lines(first_lines([f"{p['file']}:{p['line']}: {p['message']}" for p in answer["problems"]], "problem"))
    else:
        lines(reload_lines(answer))
    raise typer.Exit(PROBLEMS if refused else DONE)


def reload_lines(answer: Row) -> Iterator[str]:
    """Yield the groups that were added, changed or removed, then the edits, one line each."""
    edits: Sequence[Row] = answer["edits"]
    groups = [f"{word} {', '.join(answer[word])}" for word in ("added", "changed", "orphaned") if answer[word]]
    if groups:
        yield "; ".join(groups)
    elif edits:
        yield "no group changed"
    else:
        yield "nothing changed"
    for edit in edits[:_SHOWN]:
        yield f"{edit['file']}:{edit['line']}: {edit_words(edit)}{_touching(edit['groups'])}"
    if len(edits) > _SHOWN:
        yield f"and {len(edits) - _SHOWN} more: see --json"
    if answer.get("revision") is not None:
        yield f"revision {answer['revision']} is in force for every daemon over the store"


def edit_words(edit: Row) -> str:
    """Return the text of one edit.

    >>> edit_words({"key": "conditions.busy.above", "act": "changed", "before": "80", "after": "85"})
    'conditions.busy.above: 80 → 85'
    """
    if edit["before"] is None and edit["after"] is None:
        return f"{edit['key']}: {edit['act']}"
    return f"{edit['key']}: {edit['before'] or 'not set'} → {edit['after'] or 'not set'}"


_EDITS: tuple[Column[tuple[Row, Row]], ...] = (
    Column("EDITED (UTC)", lambda edit: moment_text(edit[0]["at"])),
    Column("WHO", lambda edit: edit[0]["by"]),
    Column("WHAT", lambda edit: edit_words(edit[1])),
    Column("WHERE", lambda edit: f"{edit[1]['file']}:{edit[1]['line']}"),
)
"""Columns over pairs: the edits of one save, and one of them."""


def edits_table(revisions: list[Row]) -> RenderableType | None:
    """Return one line for each edited key, newest first; ``None``: there is none."""
    saved = [each for revision in revisions for each in revision["edits"]]
    return table(_EDITS, [(each, edit) for each in saved for edit in each["edits"]]) if saved else None


def _touching(groups: Sequence[str]) -> str:
    if not groups:
        return ""
    more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
    return f" (groups: {', '.join(groups[:_NAMED])}{more})"
