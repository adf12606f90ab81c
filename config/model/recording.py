"""How samples are recorded."""

from __future__ import annotations

from dataclasses import dataclass

from config.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is kept of the samples of every tick, and for how long."""

    budget: int = 10 << 30
    """Bytes on the disk, never exceeded."""
    whole: Seconds = 7 * 86400.0
    """How long every sample is kept, while the budget allows it."""
    then: Seconds = 300.0
    """How much time one row stands for after that; divides an hour."""


DEFAULTS = Recording()
"""For a recording that a person switches on, where the file declares none."""
