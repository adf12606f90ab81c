"""Which groups are polled and decided together, and when."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from config.model.catalogue import Catalogue, Mode
from config.units import GroupId, Seconds

_FEW_GROUPS = 25
_MANY_GROUPS = 200
"""Groups of a slot, at most on average: so many are polled at once, and a tick's arrays are as good as free."""
_SLOTS = 16
"""As many slots an interval spread the polls well enough; a larger fleet has larger slots before it has more."""
_MISSED = 1.5
"""Intervals from the newest tick to the next regular one, above which there was one in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Groups that are polled and decided together."""

    interval: Seconds
    phase: Seconds
    """Offset of the tick within the interval."""
    groups: tuple[GroupId, ...]

    def number(self, steady: float) -> int:
        """The tick that a reading of the steady clock belongs to."""
        return math.floor((steady - self.phase) / self.interval)

    def next_at(self, steady: float) -> float:
        """When the next tick is due, in steady seconds."""
        return (self.number(steady) + 1) * self.interval + self.phase

    def due_after(self, newest_at: float, steady: float) -> float:
        """When the next tick is due after the newest one; at once, if it was due while no daemon ran.

        >>> slot = Slot(interval=30.0, phase=0.0, groups=())
        >>> slot.due_after(60.2, 88.0), slot.due_after(60.2, 91.0)
        (90.0, 91.0)
        """
        following = self.next_at(steady)
        return steady if following - newest_at > _MISSED * self.interval else following


def slots_of(catalogue: Catalogue, groups: Iterable[GroupId]) -> tuple[Slot, ...]:
    """Spread groups over slots: by interval, then by a hash of the name, so that a reload moves no other group.

    >>> Slot(interval=30.0, phase=0.0, groups=()).next_at(61.0)
    90.0
    """
    by_interval: dict[Seconds, list[GroupId]] = {}
    for group in sorted(groups):
        declared = catalogue.groups[group]
        if declared.mode is not Mode.OFF:
            by_interval.setdefault(declared.interval, []).append(group)
    slots = []
    for interval, members in sorted(by_interval.items()):
        count = _slots(len(members))
        for index in range(count):
            inside = tuple(group for group in members if zlib.crc32(group.encode()) % count == index)
            if inside:
                slots.append(Slot(interval=interval, phase=index * interval / count, groups=inside))
    return tuple(slots)


def _slots(groups: int) -> int:
    """How many slots there are for so many groups of one interval.

    A tick of a slot costs about as much as the ticks of a hundred groups that rest, whatever the number of its own:
    most of that is calls of numpy on short columns.

    >>> [_slots(groups) for groups in (25, 400, 1_000, 4_000, 10_000)]
    [1, 16, 16, 32, 64]
    """
    fine, coarse = (1 << max(0, math.ceil(math.log2(groups / each))) for each in (_FEW_GROUPS, _MANY_GROUPS))
    return max(coarse, min(fine, _SLOTS))
