"""Which part of what was recorded somebody asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from config.units import GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part of a recording."""

    groups: frozenset[GroupId] = frozenset()
    """None: all."""
    since: float = -math.inf
    """Seconds since the epoch."""
    until: float = math.inf
    """Not included."""
