"""How many values become one: across members, over a window, or across the rows of one answer."""

from __future__ import annotations

import enum


class Reduce(enum.Enum):
    """How many values become one, across members or over a window."""

    AVG = "avg"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    LAST = "last"
    """Over the window only."""
    COUNT = "count"
    """Members (or samples) that were heard."""
