"""Remember a week of load as smoothed logarithms, for any number of groups side by side.

Rings have a row per step and a column per group. Rows of the past never change, so the memory is shared by the states
of all steps. About 0.55 MB a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from collector.samples import Floats
from trigger.forecast.arrays import added
from trigger.forecast.horizons import DAY, WEEK, Horizons

_RECENT = 256
"""Rows of what only the newest steps need: more than two hours."""
_LONG = WEEK * DAY + 128
"""Rows of what a week later needs."""
NARROW, WIDE = 2, 10
"""Steps to both sides of a smoothed value."""
AROUND = 30
"""Steps to both sides over which past errors are averaged."""
HEADS = 2
"""Forecasts: 0 for growing, 1 for shrinking."""

Ring = npt.NDArray[Any]
Index = npt.NDArray[np.intp]
_DAYS_BACK: Index = DAY * np.arange(1, WEEK + 1)


class LoadMemory:
    """The rings of some groups. ``step`` is the number of the newest row; ``first - 1``: none yet.

    Args:
        groups: how many.
        horizons: of all of them.
        first: the number of the first row.
    """

    def __init__(self, groups: int, horizons: Horizons, first: int = 0) -> None:
        self.groups, self.horizons = groups, horizons
        self.first, self.step = first, first - 1
        self.level: Ring = np.zeros((_RECENT, groups))
        """ln(load + 0.25)."""
        self._sum: Ring = np.zeros((_RECENT, groups))
        """The running sum of all levels."""
        self.smooth: Ring = np.zeros((2, _LONG, groups), dtype=np.float32)
        """(narrow or wide, step, group) the mean level around a step."""
        self.highest: Ring = np.zeros((2, _LONG, groups), dtype=np.float32)
        """The highest of these over the steps that shrinking looks ahead."""
        self.errors: Ring = np.zeros((_RECENT, HEADS, groups))
        """(step that was forecast from, head, group)."""
        self.spread: Ring = np.zeros((_LONG, HEADS, groups), dtype=np.float32)
        """The mean error around a step."""
        self.ahead = range(1, horizons.shrink + 1, 2)
        """Steps after one, of which the highest is taken."""

    @property
    def is_empty(self) -> bool:
        """Whether it has no row yet."""
        return self.step < self.first

    @property
    def rings(self) -> tuple[Ring, ...]:
        """All rings; the last axis of each is the group."""
        return (self.level, self._sum, self.errors, self.smooth, self.highest, self.spread)

    @property
    def bytes(self) -> int:
        """Memory of all rings."""
        return sum(ring.nbytes for ring in self.rings)

    @classmethod
    def of(cls, rings: Sequence[Ring], horizons: Horizons, first: int, step: int) -> LoadMemory:
        """Return a memory with these rings, in the order of `rings`; it writes to them."""
        memory = cls(rings[0].shape[-1], horizons, first)
        memory.level, memory._sum, memory.errors, memory.smooth, memory.highest, memory.spread = rings
        memory.step = step
        return memory

    @property
    def stored(self) -> tuple[Ring, ...]:
        """The rings that all others follow from."""
        return (self.level, self._sum, self.errors, self.smooth, self.spread)

    @classmethod
    def restored(cls, stored: Sequence[Ring], horizons: Horizons, first: int, step: int) -> LoadMemory:
        """Return the memory that had these `stored` rings; rows that are never read again may differ."""
        level, sums, errors, smooth, spread = stored
        memory = cls.of((level, sums, errors, smooth, smooth.copy(), spread), horizons, first, step)
        highest = np.full_like(smooth, -np.inf)
        for ahead in memory.ahead:
            np.maximum(highest, np.roll(smooth, -ahead, axis=1), out=highest)
        memory.highest = highest
        return memory

    def append(self, level: Floats) -> None:
        """Add a step: (group,)."""
        self.step += 1
        now = self.step
        if now == self.first:  # as if the load had always been so: means over the time before are finite and flat
            self.level[:] = level
            self._sum[(now + np.arange(_RECENT)) % _RECENT] = level * np.arange(1 - _RECENT, 1)[:, None]
        self._sum[now % _RECENT] = self._sum[(now - 1) % _RECENT] + level
        self.level[now % _RECENT] = level
        for kind, width in enumerate((NARROW, WIDE)):
            self.smooth[kind, (now - width) % _LONG] = self.mean(2 * width + 1)
        last = (now - WIDE - self.horizons.shrink) % _LONG
        ahead = range(last + self.ahead.start, last + self.ahead.stop, self.ahead.step)
        self.highest[:, last] = np.maximum.reduce(_rows(self.smooth, ahead, 1), axis=1)

    def mean(self, steps: int, before: int = 0) -> Floats:
        """Return the mean level of the last ``steps`` steps, up to ``before`` steps ago: (group,)."""
        end = self.step - before
        found: Floats = (self._sum[end % _RECENT] - self._sum[(end - steps) % _RECENT]) / steps
        return found

    def means(self, steps: Index) -> Floats:
        """Return the mean level of the last steps, for each of these numbers of steps: (number, group)."""
        end = self.step % _RECENT
        found: Floats = (self._sum[end] - self._sum.take(end - steps, 0)) / steps[:, None]
        return found

    def ago(self, steps: int | Index) -> Floats:
        """Return the level so many steps ago: (group,), or (number, group) for several numbers."""
        found: Floats = self.level[self.step % _RECENT - steps]  # rows below 0 count from the end of the ring
        return found

    def highest_since(self, steps: int) -> Floats:
        """Return the highest level of the last ``steps`` steps, fewer than are remembered: (group,)."""
        end = self.step % _RECENT + 1
        found: Floats = np.maximum.reduce(_rows(self.level, range(end - steps, end)), axis=0)
        return found

    def learn_errors(self, origins: Sequence[int], errors: Floats) -> None:
        """Add the error of one forecast of each head: (head, group); ``origins``: the step of each."""
        for head, origin in enumerate(origins):
            self.errors[origin % _RECENT, head] = errors[head]
            end = origin % _RECENT + 1
            around = _rows(self.errors[:, head], range(end - 2 * AROUND - 1, end))
            self.spread[(origin - AROUND) % _LONG, head] = added(around, 0) / len(around)

    def days_back(self, ring: Ring, ahead: int = 0) -> Floats:
        """Return the rows of this time on each of the last seven days, ``ahead`` steps later: (…, day, …, group).

        Args:
            ring: `smooth` or `highest` (their second axis is the step), or `spread` (its first).
            ahead: fewer than a day.
        """
        rows = (self.step + ahead) % _LONG - _DAYS_BACK
        return ring.take(rows, 0 if ring is self.spread else 1).astype(np.float64)


def _rows(ring: Ring, rows: range, axis: int = 0) -> Ring:
    """Return some rows of a ring, which go over its end at most once: a view, if they do not."""
    size = ring.shape[axis]
    if rows.start < 0 or rows.stop > size:
        found: Ring = ring.take(np.arange(rows.start, rows.stop, rows.step) % size, axis)
    else:
        found = ring[(slice(None),) * axis + (slice(rows.start, rows.stop, rows.step),)]
    return found
