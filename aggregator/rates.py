"""Turn readings into measurements: rising counters become rates, and every value gets its unit.

All arrays run over the scrape's series at once. `Columns` holds the values that depend only on the layout, and is
made once per layout. `Baseline` holds the last answers, and is replaced at every poll.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggregator.ranges import LARGEST, Ranges, ranges_of, slack_of, within
from collector.samples import Bools, Codes, Floats, Layout, Reply, Scrape, Series
from config.model.counters import Counter, CounterKind
from config.units import Seconds

Ints = npt.NDArray[np.intp]

UPTIME_WRAP: Seconds = 2**32 / 100
"""sysUpTime counts hundredths in 32 bits: about 497 days. Source: RFC 3418, `sysUpTime`; RFC 2578, TimeTicks."""

UPTIME_SLACK: Seconds = 5.0
"""Tolerance for an uptime: some agents count whole seconds, and an answer takes time to arrive."""

IN_STEP = (0.5, 1.5)
"""Limits for the speed of an uptime against our clock: clocks drift less than this. A slower uptime is an old answer
once more (some whole seconds may be missing); a faster one is another agent's, or our clock stood still meanwhile."""

CONSECUTIVE = 1.5
"""Readings at most this many intervals apart are consecutive. Source: DESIGN.md "Judging", duration."""


class SeriesReadings(NamedTuple):
    """Readings as in a `Scrape`: (series,), or (poll, series) for many polls at once."""

    value: Floats
    reply: Codes
    replied_at: Floats
    uptime: Floats

    @property
    def usable(self) -> Bools:
        """Tell which readings can be measurements."""
        usable: Bools = (self.reply == Reply.OK) & (np.abs(self.value) <= LARGEST)
        return usable


def readings_of(scrapes: Sequence[Scrape]) -> SeriesReadings:
    """Put polls of one layout together: (poll, series)."""
    return SeriesReadings(
        value=np.stack([scrape.value for scrape in scrapes]),
        reply=np.stack([scrape.reply for scrape in scrapes]),
        replied_at=np.stack([scrape.replied_at for scrape in scrapes]),
        uptime=np.stack([scrape.uptime for scrape in scrapes]),
    )


class Measured(NamedTuple):
    """Measurements. The arrays have one entry per series of the layout, for each poll."""

    value: Floats
    """In the counter's unit; meaningless unless ``usable`` or ``outside``."""
    usable: Bools
    outside: Bools
    """Answered, but outside the declared range or not a finite number: such a value does not count as an answer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """The counters' definitions, spread over the series of one layout."""

    interval: Seconds
    """Between two polls."""
    scale: Floats
    """(series,)"""
    ranges: Ranges
    rising: Ints
    """The rows of the layout with rising counters; the arrays below, and a `Baseline`, have one entry for each."""
    series: tuple[Series, ...]
    """(rising,)"""
    modulus: Floats
    """(rising,) Readings wrap to 0 at this number; 0.0: never."""
    fastest: Floats
    """(rising,) Greatest rate of the reading per second that the declared range allows; `LARGEST` without one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Baseline:
    """The last answer of each rising series, with which the next one is compared."""

    columns: Columns | None
    """The arrays follow the rising rows of these columns; ``None``: of another layout, compare by ``series``."""
    series: tuple[Series, ...]
    value: Floats
    at: Floats
    """Steady seconds; NaN: not answered yet."""
    uptime: Floats
    """NaN: unknown."""

    def only(self, keep: Callable[[Series], bool]) -> Baseline:
        """Keep only some series."""
        rows = [index for index, series in enumerate(self.series) if keep(series)]
        return Baseline(
            columns=None,
            series=tuple(self.series[row] for row in rows),
            value=self.value[rows],
            at=self.at[rows],
            uptime=self.uptime[rows],
        )

    def joined(self, other: Baseline) -> Baseline:
        """Return a baseline with the series of both, which have none in common."""
        return Baseline(
            columns=None,
            series=self.series + other.series,
            value=np.concatenate([self.value, other.value]),
            at=np.concatenate([self.at, other.at]),
            uptime=np.concatenate([self.uptime, other.uptime]),
        )


NO_BASELINE = Baseline(columns=None, series=(), value=np.zeros(0), at=np.zeros(0), uptime=np.zeros(0))


def columns_of(layout: Layout, runs: Ints, counters: Sequence[Counter], interval: Seconds) -> Columns:
    """Spread the counters' definitions over a layout.

    Args:
        layout: the layout.
        runs: (series,) index into ``counters``; negative for series that no policy needs: they are ignored.
        counters: one per run.
        interval: between two polls.
    """
    asked = np.flatnonzero(runs >= 0)
    rises = np.array([counter.kind is CounterKind.RISING for counter in counters], dtype=np.bool_)
    rising = asked[rises[runs[asked]]]
    scale = np.ones(len(layout.series))
    scale[asked] = np.array([counter.scale for counter in counters])[runs[asked]]
    return Columns(
        interval=interval,
        scale=scale,
        ranges=ranges_of(asked, runs, counters),
        rising=rising,
        series=tuple(layout.series[row] for row in rising),
        modulus=np.array([_modulus(counter) for counter in counters])[runs[rising]],
        fastest=np.array([_fastest(counter) for counter in counters])[runs[rising]],
    )


def measure(columns: Columns, before: Baseline, scrape: Scrape) -> tuple[Measured, Baseline]:
    """Turn the readings of one poll into values in their units.

    A gauge's value is its reading × scale. A rising counter's value is its rate per second since its last answer ×
    scale; it has no value where `_rates` has none. After a missing reading the next rate is over the longer time. A
    value outside the declared range is no measurement; see Note [One meaning of range]. Its reading is still the next
    baseline: if the rate between two readings is impossible, either reading may be wrong.

    Returns:
        The values, and the baseline for the next poll. The baseline drops a series that left the layout.
    """
    readings = SeriesReadings(scrape.value, scrape.reply, scrape.replied_at, scrape.uptime)
    earlier, now = _aligned(before, columns), _answers(columns, readings)
    return _measured(columns, readings, earlier, now), _newest(earlier, now)


def measure_all(columns: Columns, before: Baseline, readings: SeriesReadings) -> tuple[Measured, Baseline]:
    """Do the same as `measure` for consecutive polls, all at once.

    Args:
        columns: of the layout of all polls.
        before: the baseline for the first poll.
        readings: (poll, series) each.

    Returns:
        The values, (poll, series), and the baseline for the poll after the last.
    """
    now = _answers(columns, readings)
    earlier, after = _followed(_aligned(before, columns), now)
    return _measured(columns, readings, earlier, now), after


def _measured(columns: Columns, readings: SeriesReadings, earlier: Baseline, now: Baseline) -> Measured:
    answered, slack = readings.reply == Reply.OK, np.zeros(readings.value.shape)
    value = np.where(answered, readings.value, 0.0)
    wild = answered & ~readings.usable
    with np.errstate(over="ignore", invalid="ignore"):
        if columns.rising.size:
            rate = _rates(columns, earlier, now)
            answered[..., columns.rising] = ~np.isnan(rate)
            value[..., columns.rising] = np.where(np.isnan(rate), value[..., columns.rising], rate)
            slack[..., columns.rising] = slack_of(now.at - earlier.at)
        value *= columns.scale
    judged, near = within(columns.ranges, value, slack)
    usable = answered & near & ~wild
    outside = (answered & ~near) | wild
    return Measured(value=np.where(usable, judged, np.where(outside, value, 0.0)), usable=usable, outside=outside)


def _modulus(counter: Counter) -> float:
    return 0.0 if counter.bits >= _WIDEST else 2.0**counter.bits


_WIDEST = 64
"""A 64-bit counter does not wrap within the life of its agent: going back is a reset. Source: RFC 2863, 3.1.6."""


def _fastest(counter: Counter) -> float:
    if counter.range is None or counter.scale == 0.0:
        return LARGEST
    return min(max(map(abs, counter.range)) / abs(counter.scale), LARGEST)


def _answers(columns: Columns, readings: SeriesReadings) -> Baseline:
    rows = columns.rising
    heard = readings.usable[..., rows]
    return Baseline(
        columns=columns,
        series=columns.series,
        value=np.where(heard, readings.value[..., rows], 0.0),
        at=np.where(heard, readings.replied_at[..., rows], np.nan),
        uptime=np.where(heard, readings.uptime[..., rows], np.nan),
    )


def _aligned(before: Baseline, columns: Columns) -> Baseline:
    """Reorder a baseline for this layout; new series have no last answer."""
    if before.columns is columns:
        return before
    places = {series: index for index, series in enumerate(before.series)}
    old = np.array([places.get(series, -1) for series in columns.series], dtype=np.intp)
    known = old >= 0
    at, value, uptime = np.full(old.size, np.nan), np.zeros(old.size), np.full(old.size, np.nan)
    at[known], value[known], uptime[known] = before.at[old[known]], before.value[old[known]], before.uptime[old[known]]
    return Baseline(columns=columns, series=columns.series, value=value, at=at, uptime=uptime)


def _rates(columns: Columns, before: Baseline, now: Baseline) -> Floats:
    """Compute the rate of the reading per second; NaN where there is none.

    There is no rate at the first answer; where time did not advance; after a reset; where the uptime does not keep
    step with our clock; where the reading went back and the counter is 64 bits wide (a reset) or the uptime is unknown
    (a wrap or a reset); and where a narrow counter may have wrapped more than once (`_certain`).
    """
    elapsed = now.at - before.at
    delta = now.value - before.value
    back = delta < 0
    advance = np.where(back, delta + columns.modulus, delta)
    clear = ~back | ~np.isnan(before.uptime + now.uptime)
    valid = (elapsed > 0) & (advance >= 0) & clear
    valid &= ~_restarted(before, now, elapsed) & ~_repeated(before, now, elapsed) & ~_leapt(before, now, elapsed)
    valid &= _certain(columns, elapsed, np.where(back, advance, 0.0))
    rate: Floats = np.divide(advance, elapsed, out=np.full(elapsed.shape, np.nan), where=valid)
    return rate


def _restarted(before: Baseline, now: Baseline, elapsed: Floats) -> Bools:
    """Tell where the agent has restarted since its last answer; an unknown uptime is no evidence.

    Its uptime went back, or is shorter than the time since the last answer. A wrapped uptime is no restart.
    """
    back = now.uptime < before.uptime
    young = now.uptime + UPTIME_SLACK < elapsed
    wrapped = np.abs(before.uptime + elapsed - UPTIME_WRAP - now.uptime) <= UPTIME_SLACK
    return (back | young) & ~wrapped


def _repeated(before: Baseline, now: Baseline, elapsed: Floats) -> Bools:
    """Tell where the agent's clock stood still since its last answer: the agent repeats that answer."""
    grown = now.uptime - before.uptime
    slow: Bools = (grown >= 0) & (grown < IN_STEP[0] * elapsed - 1.0)
    return slow & ~_restarted(before, now, elapsed)


def _leapt(before: Baseline, now: Baseline, elapsed: Floats) -> Bools:
    """Tell where the agent's uptime grew much more than our clock since its last answer.

    A negative uptime marks the first reading of a series, and says nothing about clocks.
    """
    leapt: Bools = now.uptime - before.uptime > IN_STEP[1] * elapsed + UPTIME_SLACK
    return leapt & (before.uptime >= 0)


def _certain(columns: Columns, elapsed: Floats, wrapped: Floats) -> Bools:
    """Tell where a counter's advance is unambiguous.

    After a gap, a narrow counter may have wrapped more than once: only a declared range that is too slow for a full
    round within the gap rules this out. And an advance that assumes a wrap must be possible within the declared
    range: otherwise the counter was cleared while its agent kept running.

    ``wrapped`` is the advance where the reading went back, else 0.0.
    """
    most = columns.fastest * elapsed
    unbroken = elapsed <= CONSECUTIVE * columns.interval
    certain: Bools = (columns.modulus == 0) | ((unbroken | (most < columns.modulus)) & (wrapped <= most))
    return certain


def _newest(before: Baseline, now: Baseline) -> Baseline:
    """Keep the last answer of each series: the new one if it is newer, and no repetition."""
    older = _older(before, now)
    return Baseline(
        columns=now.columns,
        series=now.series,
        value=np.where(older, before.value, now.value),
        at=np.where(older, before.at, now.at),
        uptime=np.where(older, before.uptime, now.uptime),
    )


def _older(before: Baseline, now: Baseline) -> Bools:
    """Tell where no answer is newer than the last."""
    return np.isnan(now.at) | (now.at <= before.at) | _repeated(before, now, now.at - before.at)


def _followed(before: Baseline, now: Baseline) -> tuple[Baseline, Baseline]:
    """Return the baseline of each of many polls, (poll, rising), and the baseline of the poll after them."""
    earlier = replace(
        now,
        value=np.concatenate([before.value[np.newaxis], now.value[:-1]]),
        at=np.concatenate([before.at[np.newaxis], now.at[:-1]]),
        uptime=np.concatenate([before.uptime[np.newaxis], now.uptime[:-1]]),
    )
    if not _older(earlier, now).any():
        return earlier, replace(now, value=now.value[-1], at=now.at[-1], uptime=now.uptime[-1])
    last = [before]
    for poll in _polls(now):
        last.append(_newest(last[-1], poll))
    return _stacked(last[:-1]), last[-1]


def _polls(many: Baseline) -> list[Baseline]:
    return [
        replace(many, value=value, at=at, uptime=uptime)
        for value, at, uptime in zip(many.value, many.at, many.uptime, strict=True)
    ]


def _stacked(polls: Sequence[Baseline]) -> Baseline:
    value, at, uptime = (np.stack([getattr(poll, name) for poll in polls]) for name in ("value", "at", "uptime"))
    return replace(polls[0], value=value, at=at, uptime=uptime)
