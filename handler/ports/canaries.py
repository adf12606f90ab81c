"""Settings that run beside the declared ones on simulated fleets, as the store keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from config.units import GroupId, Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFigures:
    """What one simulated fleet came to."""

    hours: float
    """Member-hours."""
    over: float
    """Minutes over the limit."""
    changes: int
    """Of the desired size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryDay:
    """One day, replayed by both settings: what the recording has of it."""

    begin: Instant
    end: Instant
    declared: FleetFigures
    tried: FleetFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A setting that is tried day after day."""

    at: Instant
    """Since when."""
    by: str
    values: Mapping[str, str]
    """That are tried, by name of a parameter, as a person writes them."""
    beside: Mapping[str, str]
    """All values of the group as they are declared: days beside other ones count no more."""
    over: float | None
    """The goal: minutes a day over the limit; ``None``: no more than the declared setting has."""
    changes: float | None
    """The goal: changes of size a day; ``None``: any number."""
    switches: bool
    """The daemon applies the values itself once it would propose them."""
    looked_until: Instant
    """The end of the last day that was looked at."""
    days: tuple[CanaryDay, ...]
    """Oldest first."""
    problem: str
    """Why the last day could not be compared, or the values not be applied; empty: there is none."""


class CanaryStore(Protocol):
    """One of them for each group."""

    def canaries(self) -> Mapping[GroupId, Canary]:
        """All that run."""
        ...

    def save_canary(self, group: GroupId, canary: Canary | None) -> None:
        """Write down how one stands; ``None``: it has ended.

        Raises:
            StoreError: there is no such group, or it cannot be written.
        """
        ...
