"""Instants as people read them on the command line."""

from __future__ import annotations

from datetime import UTC, datetime


def clock_text(at: float | None) -> str:
    """An instant as UTC date and time; a dash for not yet."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") if at is not None else "–"
