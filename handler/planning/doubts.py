"""What a listing may be doubted for: values for plan, status and history."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.units import MemberName


class Ground(enum.Enum):
    """What a listing is doubted for."""

    PARTIAL = "partial"
    """It says itself that it is not all."""
    SHRUNK = "shrunk"
    """It lacks a greater share of the members than the group's ``distrust``."""
    CONTRADICTED = "contradicted"
    """It lacks members that a balancer gives work."""
    STALE = "stale"
    """It shows members that were proved gone."""
    MANY_LOST = "many_lost"
    """Many members are gone, broken or being deleted at once, and there is too little evidence of it."""
    HEARD = "heard"
    """It says of members that they are gone, and an independent source hears them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One reason why a listing is not believed."""

    ground: Ground
    members: tuple[MemberName, ...]
    """Whom it is about, sorted."""
    words: str
    """Why, and what would confirm it; for people."""
