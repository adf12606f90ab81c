"""Turn rows into ticks: find the readings of a group that were one poll.

# Note [One tick]

Rows of one instant are one poll. Where rows of a group are closer together than its interval:

* readings of one series come about once an interval: members were asked one after another. A poll then lasts until
  a series repeats itself, and at most 0.95 intervals;
** they come more often: the file is finer than the group's interval. Of each series the first row within 0.95
  intervals counts, as if it had been polled then; the others are skipped.

A poll has the time of its first row. An instant without a row is a missed tick: its answers are unknown, so windows
have a silent tick there and no hold grows over it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from collector.samples import Floats
from config.units import Seconds
from handler.replay.samples import Index, Places, Samples, Unreplayable, ranks

_TICK = 0.95
"""Of an interval: polls may come this much early. As in `trigger.conditions.timers`, jitter loses no tick."""

_FINER = 0.75
"""Of an interval: a series whose readings come more often was not recorded at this interval."""

_COARSER = 1.5
"""In intervals: ticks further apart are not successive. Source: DESIGN.md "Judging", duration."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ticks:
    """One group's rows by poll, each poll's sorted by counter and member."""

    samples: Samples
    starts: Places
    """(tick,) where each poll's rows begin."""
    cadence: Seconds | None
    """The usual time between two readings of a series; ``None``: no series has two."""

    @property
    def ends(self) -> Index:
        """Return (tick,) where each poll's rows end."""
        return np.append(self.starts[1:], len(self.samples)).astype(np.intp)

    def part(self, first: int, last: int) -> Ticks:
        """Return the polls from ``first`` until just before ``last``, without copying their rows."""
        begins = int(self.starts[first])
        ends = int(self.starts[last]) if last < len(self.starts) else len(self.samples)
        return replace(self, samples=self.samples.between(begins, ends), starts=self.starts[first:last] - begins)

    def coarser_than(self, interval: Seconds) -> bool:
        """Tell whether the readings are too far apart for this interval: no hold ever grows, and windows have gaps."""
        return self.cadence is not None and self.cadence > _COARSER * interval


def ticks_of(samples: Samples, interval: Seconds) -> Ticks:
    """Divide the rows of one group, in any order, into polls. See Note [One tick].

    Raises:
        Unreplayable: a series has two different readings of one instant.
    """
    series = ranks(samples.counter) * (len(samples.member.words) + 1) + ranks(samples.member)
    starts = _in_order(samples.at, series, interval)
    if starts is not None:
        steps = np.diff(samples.at[starts])
        return Ticks(samples=samples, starts=starts, cadence=float(np.median(steps)) if steps.size else None)
    by_series = _by_series(samples, series)
    kept = by_series[_first_of_each(samples, series, by_series)]
    steps = np.diff(samples.at[kept])[np.diff(series[kept]) == 0]
    cadence = float(np.median(steps)) if steps.size else None
    in_time = kept[np.lexsort((series[kept], samples.at[kept]))]
    tick = _numbered(samples.at[in_time], series[in_time], interval, cadence)
    taken = np.flatnonzero(tick >= 0)
    order = taken[np.lexsort((series[in_time][taken], tick[taken]))]
    numbers = tick[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).astype(np.int32)
    return Ticks(samples=samples.take(in_time[order]), starts=starts, cadence=cadence)


def _in_order(at: Floats, series: Index, interval: Seconds) -> Places | None:
    """Return where polls begin, if rows come poll by poll, each of the same series; ``None``: they do not.

    This is what most files are, and takes no sorting, and no copy of the rows.
    """
    width = int(np.count_nonzero(at == at[0]))
    if len(at) % width:
        return None
    instants, rows = at.reshape(-1, width), series.reshape(-1, width)
    steady = (instants == instants[:, :1]).all() and (np.diff(instants[:, 0]) >= _TICK * interval).all()
    alike = (rows == rows[:1]).all() and (np.diff(rows[0]) > 0).all()
    return np.arange(0, len(at), width, dtype=np.int32) if steady and alike else None


def _by_series(samples: Samples, series: Index) -> Index:
    """Order rows by series and time; their values order only rows of one series and instant."""
    order = np.lexsort((samples.at, series))
    twice = (np.diff(series[order]) == 0) & (np.diff(samples.at[order]) == 0)
    if twice.any():
        order = np.lexsort((samples.counted, samples.value, samples.reply, samples.at, series))
    return order.astype(np.intp)


def _first_of_each(samples: Samples, series: Index, order: Index) -> Index:
    """Return the places in ``order`` of rows that do not repeat the row before."""
    at, value, reply = samples.at[order], samples.value[order], samples.reply[order]
    same = (np.diff(series[order]) == 0) & (np.diff(at) == 0)
    differs = same & ((np.diff(value) != 0) | (np.diff(reply.astype(np.intp)) != 0))
    if differs.any():
        row = order[int(np.flatnonzero(differs)[0]) + 1]
        raise Unreplayable(
            f"{_named(samples, row)} has two different readings at {samples.at[row]:.3f}; "
            "expected one row a series and instant"
        )
    return np.flatnonzero(np.append(True, ~same)[: len(order)])


def _named(samples: Samples, row: int) -> str:
    parts = (samples.group, samples.member, samples.counter)
    return " ".join(words.words[words.codes[row]] for words in parts if words.codes[row] >= 0)


def _numbered(at: Floats, series: Index, interval: Seconds, cadence: Seconds | None) -> Index:
    """Return (row,) the poll of each row; -1: skipped. Rows come sorted by time."""
    fresh = np.diff(at, prepend=-np.inf) > 0
    instants = at[fresh]
    of_instant = np.cumsum(fresh) - 1
    if not instants.size or np.diff(instants).min(initial=np.inf) >= _TICK * interval:
        return of_instant.astype(np.intp)
    bounds = np.append(np.flatnonzero(fresh), len(at))
    finer = cadence is not None and cadence < _FINER * interval
    tick = np.full(len(at), -1, dtype=np.intp)
    number, began, seen = -1, -np.inf, set[int]()
    for place, instant in enumerate(instants.tolist()):
        rows = range(int(bounds[place]), int(bounds[place + 1]))
        codes = [int(series[row]) for row in rows]
        repeats = not finer and not seen.isdisjoint(codes)
        if instant - began >= _TICK * interval or repeats:
            number, began, seen = number + 1, instant, set()
        for row, code in zip(rows, codes, strict=True):
            if code not in seen:
                tick[row] = number
        seen.update(codes)
    return tick
