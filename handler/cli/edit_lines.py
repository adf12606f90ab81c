"""What people read of edits of the file, from the API's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from handler.cli.moments import moment_text
from handler.logs import printable

_NAMED = 5
"""Groups that a line names."""
_SHOWN = 200
"""Edits that a reload prints; ``--json`` has all."""


def reload_lines(answer: dict[str, Any]) -> Iterator[str]:
    """Say which groups came, changed or left, and then what was edited, a line each."""
    edits: Sequence[dict[str, Any]] = answer["edits"]
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
        yield f"and {len(edits) - _SHOWN} more: see trimtab reload --json"


def edit_words(edit: dict[str, Any]) -> str:
    """Say what one edit changed.

    >>> edit_words({"key": "conditions.busy.above", "act": "changed", "before": "80", "after": "85"})
    'conditions.busy.above: 80 → 85'
    """
    if edit["before"] is None and edit["after"] is None:
        return f"{edit['key']}: {edit['act']}"
    return f"{edit['key']}: {edit['before'] or 'not set'} → {edit['after'] or 'not set'}"


def edits_table(revisions: list[dict[str, Any]]) -> RenderableType | None:
    """One line for each key that was edited, newest first; ``None``: none was."""
    told = [each for revision in revisions for each in revision["edits"]]
    if not told:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("EDITED (UTC)", "WHO", "WHAT", "WHERE"):
        table.add_column(column, overflow="fold")
    for each in told:
        for edit in each["edits"]:
            row = (moment_text(each["at"]), each["by"], edit_words(edit), f"{edit['file']}:{edit['line']}")
            table.add_row(*(Text(printable(text)) for text in row))
    return table


def _touching(groups: Sequence[str]) -> str:
    if not groups:
        return ""
    more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
    return f" (groups: {', '.join(groups[:_NAMED])}{more})"
