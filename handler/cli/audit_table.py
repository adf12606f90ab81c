"""The audit trail as a table."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from rich.console import RenderableType

from handler.cli.columns import Column, table
from handler.cli.time_format import clock_text

Row = dict[str, Any]


def _whence(line: Row) -> str:
    return " ".join(filter(None, (line["way"], line.get("credential", ""), line.get("peer", ""))))


def _result(line: Row) -> str:
    return "unknown: the daemon ended" if line["result"] == "asked" else str(line["result"])


def _what(line: Row) -> str:
    return " ".join(filter(None, (line.get("on") or line["act"], line.get("given", ""))))


_COLUMNS: tuple[Column[Row], ...] = (
    Column("AT (UTC)", lambda line: clock_text(line["at"])),
    Column("WHO", itemgetter("who")),
    Column("FROM", _whence),
    Column("WHAT", _what),
    Column("RESULT", _result),
    Column("OUTCOME", lambda line: str(line.get("outcome", ""))),
    Column("REASON", lambda line: str(line.get("because", ""))),
)


def audit_table(wanted: list[Row]) -> RenderableType:
    """Return one line for each request."""
    return table(_COLUMNS, wanted, nothing="nothing was asked for")
