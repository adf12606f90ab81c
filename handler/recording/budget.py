"""Keep recordings within the disk budget: the oldest hours are thinned first, and later removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from config.model.observability import Recording
from config.units import Instant
from handler.recording.files import Form, Segment

_THIN_SHARE = 0.5
"""The share of the budget that thinned files may take before the oldest are removed. Otherwise years of them would
leave no space for full days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thin:
    """Make one thinned file of an hour."""

    segments: tuple[Segment, ...]
    """All closed segments of one run and hour, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Remove one file."""

    segment: Segment


def next_step(sizes: Mapping[Segment, int], settings: Recording, room: int, now: Instant) -> Thin | Remove | None:
    """Return the next step; ``None``: nothing is too old or too large.

    Args:
        sizes: the files on the disk, in bytes.
        settings: the budget, and how long every sample is kept.
        room: bytes of the budget that must be free.
        now: wall clock. Only hours that are over are thinned.
    """
    short = sum(sizes.values()) + room > settings.budget
    hours = _whole_hours(sizes, now)
    if aged := next((hour for hour in hours if hour[0].until + settings.whole <= now), None):
        return Thin(segments=aged)
    if not short:
        return None
    thin = sorted((each for each in sizes if each.form is Form.THIN), key=age)
    if thin and (not hours or sum(sizes[each] for each in thin) > _THIN_SHARE * settings.budget):
        return Remove(segment=thin[0])
    if hours:
        return Thin(segments=hours[0])
    closed = sorted((each for each in sizes if each.form is Form.WHOLE), key=age)
    return Remove(segment=closed[0]) if closed else None


def _whole_hours(sizes: Mapping[Segment, int], now: Instant) -> list[tuple[Segment, ...]]:
    """Return the hours that are over and have only closed files, oldest first.

    Hours before the clock was set back are over, even if they are in the future now.
    """
    newest = max((each.run for each in sizes), default=0)
    hours: dict[tuple[int, int], list[Segment]] = {}
    for each in sorted(sizes, key=age):
        if each.form is not Form.THIN:
            hours.setdefault((each.run, each.hour), []).append(each)
    return [
        tuple(each)
        for each in hours.values()
        if (each[0].until <= now or each[0].run < newest) and all(segment.form is Form.WHOLE for segment in each)
    ]


def age(segment: Segment) -> tuple[int, int, int]:
    """Return a key by the order of recording, not of the clock: a wrong clock makes nothing old."""
    return segment.run, segment.hour, segment.number
