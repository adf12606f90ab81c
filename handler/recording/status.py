"""What can be said of a recording, for people and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.model.observability import Recording
from config.units import Instant, Seconds
from handler.recording.files import Form, Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much is there, and from when on. Instants are those that files were begun at."""

    bytes: int
    oldest_at: Instant | None
    """Of anything."""
    oldest_whole_at: Instant | None
    """Of samples as they were read."""


def extent_of(sizes: Mapping[Segment, int]) -> Extent:
    """Measure what stands on the disk."""
    return Extent(
        bytes=sum(sizes.values()),
        oldest_at=_oldest(each.first for each in sizes),
        oldest_whole_at=_oldest(each.first for each in sizes if each.form is not Form.THIN),
    )


def _oldest(firsts: Iterable[int]) -> Instant | None:
    first = min(firsts, default=None)
    return None if first is None else Instant(float(first))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingStatus:
    """Whether and how samples are recorded now, and what is there."""

    on: bool
    declared: bool
    """The file has ``record``."""
    by: str | None
    """Who said otherwise."""
    until: Instant | None
    """When that ends; ``None``: not by itself."""
    budget: int
    whole: Seconds
    then: Seconds
    bytes: int
    oldest_at: Instant | None
    oldest_whole_at: Instant | None
    samples: int
    """Written since it was switched on."""
    dropped_ticks: int
    """Since the daemon's start."""
    trouble: str | None
    """Why nothing can be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What metrics tell."""

    on: bool
    settings: Recording | None
    extent: Extent | None
    """``None``: nothing has been looked at since the start."""
    samples: int
    dropped_ticks: int
