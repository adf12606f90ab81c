"""What became of each part of a template."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.model.where import Where


class Fate(enum.Enum):
    """What became of something; in the order in which people want to know it."""

    MAPPED = "mapped"
    """It stands in the declaration, and does there what it did."""
    KEPT = "kept"
    """OneFlow's own reading of it is kept, where Trimtab's would be another."""
    DIFFERS = "differs"
    """Trimtab's reading counts, and it is another than OneFlow's."""
    UNMAPPED = "unmapped"
    """It does not stand in the declaration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One sentence about one part."""

    fate: Fate
    where: Where
    """Which part of the template; empty: all of it."""
    said: str
