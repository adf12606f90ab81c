"""From readings to measurements: rising counters become rates, and every value is brought into its unit.

All arrays run over the scrape's series at once. What depends only on the layout is a `Columns`, made once per
layout; what is remembered from poll to poll is a `Baseline`, replaced and never changed.
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
"""How far an uptime may be off: whole-second agents, and the time an answer was under way."""

IN_STEP = (0.5, 1.5)
"""How fast an uptime may run by our clock: clocks drift, but not so much. What is slower is an answer that was given
before (some whole seconds may be missing); what is faster is another agent's, or our clock stood still meanwhile."""

CONSECUTIVE = 1.5
"""Readings at most this many intervals apart follow on each other. Source: DESIGN.md "Judging", duration."""


class SeriesReadings(NamedTuple):
    """What was read, as a `Scrape` has it: (series,), or (poll, series) of many polls at once."""

    value: Floats
    reply: Codes
    replied_at: Floats
    uptime: Floats

    @property
    def usable(self) -> Bools:
        """Which of them can be measurements."""
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
    """What was measured. Both arrays have one entry per series of the layout, for each poll."""

    value: Floats
    """In the counter's unit; meaningless unless ``usable`` or ``outside``."""
    usable: Bools
    outside: Bools
    """Answered, but outside the declared range, or no number to count with: such a value was not heard."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """What the counters' definitions mean for one layout."""

    interval: Seconds
    """Between two polls."""
    scale: Floats
    """(series,)"""
    ranges: Ranges
    rising: Ints
    """Which rows of the layout rise for ever; the arrays below, and a `Baseline`, have one entry for each."""
    series: tuple[Series, ...]
    """(rising,)"""
    modulus: Floats
    """(rising,) Readings wrap to 0 at this number; 0.0: they never do."""
    fastest: Floats
    """(rising,) Greatest rate of the reading per second that the declared range allows; `LARGEST` without one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Baseline:
    """The last answer of each rising series: what the next one is compared with."""

    columns: Columns | None
    """Whose rising rows the arrays follow; ``None``: another layout's, compare by ``series``."""
    series: tuple[Series, ...]
    value: Floats
    at: Floats
    """Steady seconds; NaN: not answered yet."""
    uptime: Floats
    """NaN: unknown."""

    def only(self, keep: Callable[[Series], bool]) -> Baseline:
        """Forget the series that are not to be kept."""
        rows = [index for index, series in enumerate(self.series) if keep(series)]
        return Baseline(
            columns=None,
            series=tuple(self.series[row] for row in rows),
            value=self.value[rows],
            at=self.at[rows],
            uptime=self.uptime[rows],
        )

    def joined(self, other: Baseline) -> Baseline:
        """Remember the series of both, which have none in common."""
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
        layout: whose series.
        runs: (series,) index into ``counters``; negative for series that nobody asks for: they are left alone.
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

    A gauge is its reading × scale. A rising counter is its rate per second since its last answer × scale, and has no
    value where `_rates` has none. Where a reading was missing, the next rate is over the longer time. What lies outside
    its declared range is not measured; see Note [One meaning of range]. It is the next one's baseline all the same:
    of two readings whose rate is impossible, it is not known which one is wrong.

    Returns:
        The values, and the baseline for the next poll. A series that left the layout is forgotten.
    """
    readings = SeriesReadings(scrape.value, scrape.reply, scrape.replied_at, scrape.uptime)
    earlier, now = _aligned(before, columns), _answers(columns, readings)
    return _measured(columns, readings, earlier, now), _newest(earlier, now)


def measure_all(columns: Columns, before: Baseline, readings: SeriesReadings) -> tuple[Measured, Baseline]:
    """Do the same for polls that follow on each other, all at once.

    Args:
        columns: of the layout that all of them have.
        before: what the first is compared with.
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
    """Bring a baseline into this layout's order; newcomers have none."""
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

    None at the first answer; where time did not advance; after a reset; where the uptime does not keep step with our
    clock; where the reading went back and the counter is 64 bits wide (a reset) or the uptime is unknown (a wrap or a
    reset, nobody can tell); and where a narrow counter may have wrapped unseen (`_certain`).
    """
    elapsed = now.at - before.at
    delta = now.value - before.value
    back = delta < 0
    advance = np.where(back, delta + columns.modulus, delta)
    told = ~back | ~np.isnan(before.uptime + now.uptime)
    valid = (elapsed > 0) & (advance >= 0) & told
    valid &= ~_restarted(before, now, elapsed) & ~_repeated(before, now, elapsed) & ~_leapt(before, now, elapsed)
    valid &= _certain(columns, elapsed, np.where(back, advance, 0.0))
    rate: Floats = np.divide(advance, elapsed, out=np.full(elapsed.shape, np.nan), where=valid)
    return rate


def _restarted(before: Baseline, now: Baseline, elapsed: Floats) -> Bools:
    """Tell where the agent began to count anew since its last answer; unknown uptimes tell nothing.

    Its uptime went back, or it is too short to reach back to the last answer. An uptime that wrapped did neither.
    """
    back = now.uptime < before.uptime
    young = now.uptime + UPTIME_SLACK < elapsed
    wrapped = np.abs(before.uptime + elapsed - UPTIME_WRAP - now.uptime) <= UPTIME_SLACK
    return (back | young) & ~wrapped


def _repeated(before: Baseline, now: Baseline, elapsed: Floats) -> Bools:
    """Tell where the agent's clock has stood still since its last answer: it is that answer once more."""
    grown = now.uptime - before.uptime
    slow: Bools = (grown >= 0) & (grown < IN_STEP[0] * elapsed - 1.0)
    return slow & ~_restarted(before, now, elapsed)


def _leapt(before: Baseline, now: Baseline, elapsed: Floats) -> Bools:
    """Tell where the agent has counted for much longer than our clock has run since its last answer.

    A negative uptime says of a reading that it is the first of its kind, and nothing of clocks.
    """
    leapt: Bools = now.uptime - before.uptime > IN_STEP[1] * elapsed + UPTIME_SLACK
    return leapt & (before.uptime >= 0)


def _certain(columns: Columns, elapsed: Floats, wrapped: Floats) -> Bools:
    """Tell where a counter's advance can only be what it seems.

    A narrow counter that was silent for a while may have gone round more than once: only a declared range that is
    too slow for a whole round in that time rules it out. And an advance that is a wrap by inference must be
    possible within the declared range: otherwise the counter was cleared while its agent kept running.

    ``wrapped`` is the advance where the reading went back, else 0.0.
    """
    most = columns.fastest * elapsed
    unbroken = elapsed <= CONSECUTIVE * columns.interval
    certain: Bools = (columns.modulus == 0) | ((unbroken | (most < columns.modulus)) & (wrapped <= most))
    return certain


def _newest(before: Baseline, now: Baseline) -> Baseline:
    """Keep the last answer of each series: the new one where there is one that is newer, and no repetition."""
    older = _older(before, now)
    return Baseline(
        columns=now.columns,
        series=now.series,
        value=np.where(older, before.value, now.value),
        at=np.where(older, before.at, now.at),
        uptime=np.where(older, before.uptime, now.uptime),
    )


def _older(before: Baseline, now: Baseline) -> Bools:
    """Tell where there is no answer that is newer than the last."""
    return np.isnan(now.at) | (now.at <= before.at) | _repeated(before, now, now.at - before.at)


def _followed(before: Baseline, now: Baseline) -> tuple[Baseline, Baseline]:
    """Say what each of many polls is compared with, (poll, rising), and what the poll after them will be."""
    earlier = _stacked([before, *_polls(now)][:-1])
    if not _older(earlier, now).any():
        return earlier, _polls(now)[-1]
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
