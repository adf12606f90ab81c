"""Tables made of columns: a column has a title and the text for a row; one function draws every table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from handler.logs import printable

_STYLE = {
    "error": "bold red", "warning": "yellow", "orphaned": "yellow", "deleting": "yellow", "paused": "cyan",
    "starting": "cyan", "scaling": "green", "cooldown": "blue", "running": "green",
    "broken": "red", "unknown": "yellow", "in_service": "green", "failed": "red", "retry": "yellow",
    "limited": "yellow",
}  # fmt: skip
_SECTION = "bold cyan"

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column of a table."""

    title: str
    value: Callable[[Row], str]
    """The text for a row; it is never read as markup."""
    style: Callable[[Row], str] | None = None
    """The word that gives a row's cell its colour, such as a state."""

    def cell(self, row: Row) -> Text:
        """Draw the cell of one row."""
        style = "" if self.style is None else _STYLE.get(self.style(row), "")
        return Text(printable(self.value(row)), style=style)


def table(
    columns: Sequence[Column[Row]],
    rows: Sequence[Row],
    *,
    nothing: str | None = None,
    section: Callable[[Row], str] | None = None,
) -> RenderableType:
    """Draw a line for each row.

    Args:
        columns: from left to right.
        rows: from top to bottom.
        nothing: the text for no rows; ``None``: draw the titles alone.
        section: the section that a row belongs to; a line above the section's first row names it.
    """
    if nothing is not None and not rows:
        return Text(nothing)
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(column.title, overflow="fold")
    above = ""
    for row in rows:
        if section is not None and section(row) != above:
            above = section(row)
            drawn.add_row(Text(printable(above), style=_SECTION))
        drawn.add_row(*(column.cell(row) for column in columns))
    return drawn
