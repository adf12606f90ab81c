"""Instants as files spell them."""

from __future__ import annotations

import math
from datetime import UTC, datetime


def instant_of(text: str) -> float:
    """Read epoch seconds, or ISO 8601 (UTC where it names no zone), as seconds since the epoch.

    Raises:
        ValueError: neither.

    >>> instant_of("2026-03-01T12:00:00Z"), instant_of("1772366400.5")
    (1772366400.0, 1772366400.5)
    """
    if is_number(text):
        return float(text)
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def is_number(text: str) -> bool:
    """Whether it spells a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
