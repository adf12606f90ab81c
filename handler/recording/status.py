"""The status of a recording, for people and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.model.observability import Recording
from config.units import Instant, Seconds
from handler.recording.files import Form, Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The size of a recording and its beginning. Instants are the beginnings of files."""

    bytes: int
    oldest_at: Instant | None
    """The oldest row."""
    oldest_whole_at: Instant | None
    """The oldest row that is a single sample."""


def extent_of(sizes: Mapping[Segment, int]) -> Extent:
    """Measure the files on the disk."""
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
    """Whether and how samples are recorded now, and the existing recording."""

    on: bool
    declared: bool
    """The file has ``record``."""
    by: str | None
    """The person who switched it, against the file."""
    until: Instant | None
    """When the switch ends; ``None``: not by itself."""
    budget: int
    whole: Seconds
    then: Seconds
    bytes: int
    oldest_at: Instant | None
    oldest_whole_at: Instant | None
    samples: int
    """Samples written since it was switched on."""
    dropped_ticks: int
    """Ticks left out since the daemon's start."""
    trouble: str | None
    """Why the recording cannot be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures for metrics."""

    on: bool
    settings: Recording | None
    extent: Extent | None
    """``None``: not measured since the start."""
    samples: int
    dropped_ticks: int
