"""What goes when the disk budget is used up: the oldest hours are thinned first, and later removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from config.model.observability import Recording
from config.units import Instant
from handler.recording.files import Form, Segment

_THIN_SHARE = 0.5
"""Of the budget: what is thinned may take so much before the oldest of it is removed. Otherwise years of it would leave
no room for whole days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thin:
    """Make one thinned file of an hour."""

    segments: tuple[Segment, ...]
    """All closed ones of one run and hour, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Give the space of one file back."""

    segment: Segment


def next_step(sizes: Mapping[Segment, int], settings: Recording, room: int, now: Instant) -> Thin | Remove | None:
    """Say what is to be done next; ``None``: nothing is too old or too much.

    Args:
        sizes: what stands on the disk, in bytes.
        settings: the budget, and how long samples are kept whole.
        room: bytes of the budget that are to be free.
        now: wall clock. Only hours that are over by it are thinned.
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
    """Hours that are over and have closed files only, oldest first.

    Those before the clock was set back are over, even if they lie in the future now.
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
    """The earlier recorded, the older, whatever the clock said: a clock that was wrong makes nothing old."""
    return segment.run, segment.hour, segment.number
