"""Rows that rise for ever, added up: each row unwrapped by itself, so that the total never wraps and never jumps.

The sum of counters is no counter: it falls when one row wraps, jumps when an interface comes, and falls when one
goes. What can be added up is by how much each row has risen since it was last read. That total begins at 0 and only
rises; where it is unknown by how much a row has risen it begins anew, and says so by an uptime that is too young to
reach back to the reading before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from collector.samples import Series
from config.model.counters import Counter
from config.units import Seconds

_WIDEST = 64
"""A counter so wide does not wrap within the life of its agent: going back is a reset. Source: RFC 2863, 3.1.6."""
_UPTIME_WRAP: Seconds = 2**32 / 100
"""sysUpTime counts hundredths in 32 bits. Source: RFC 3418, `sysUpTime`."""
_SLACK: Seconds = 5.0
"""How far an uptime may be off: whole-second agents, and the time an answer was under way."""
_IN_STEP = (0.5, 1.5)
"""How fast an uptime may run by our clock; see `aggregator.rates`, which judges readings likewise."""
_CONSECUTIVE = 1.5
"""Readings at most this many intervals apart follow on each other. Source: DESIGN.md "Judging", duration."""
_KEPT_INTERVALS = 10
_LEAST_KEPT: Seconds = 60.0
BEGUN: Seconds = -60.0
"""The uptime of a total that begins with this reading: no slack makes it reach back to an earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """How a counter's rows rise."""

    modulus: int
    """Readings wrap to 0 at this number; 0: they never do."""
    fastest: float
    """Greatest rise per second that the declared range allows; infinite without one."""
    interval: Seconds
    """Between two polls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What the rows of one column have risen by since it began."""

    value: float
    rows: Mapping[str, float]
    """The last reading of each row."""
    at: float
    """Steady seconds of that reading."""
    agent: Seconds
    """The agent's uptime then; NaN: unknown."""
    since: float
    """Steady seconds of the reading that it began with."""

    @property
    def uptime(self) -> Seconds:
        """How long it has been counting."""
        return BEGUN if self.at == self.since else self.at - self.since


class Totals:
    """The total of every series that needs one, from poll to poll."""

    def __init__(self) -> None:
        self._kept: dict[Series, tuple[Total, float]] = {}
        self._tidied_at = -math.inf

    def advance(self, series: Series, rows: Mapping[str, float], *, at: float, uptime: Seconds, law: Law) -> Total:
        """Take a new reading into the total of a series; see `advance`."""
        before, _ = self._kept.get(series, (None, 0.0))
        total = advance(before, rows, at=at, uptime=uptime, law=law)
        self._keep(series, total, law)
        return total

    def repeat(self, series: Series, law: Law) -> None:
        """Note that a series is asked for, and that its last reading came once more."""
        if series in self._kept:
            self._keep(series, self._kept[series][0], law)

    def tidy(self, now: float) -> None:
        """Forget the series that are no longer asked for, by steady seconds."""
        self._kept = {series: kept for series, kept in self._kept.items() if kept[1] >= now}
        self._tidied_at = now

    def _keep(self, series: Series, total: Total, law: Law) -> None:
        """Keep it from now on: a reading may be of long ago."""
        asked_at = max(total.at, self._tidied_at)
        self._kept[series] = total, asked_at + max(_KEPT_INTERVALS * law.interval, _LEAST_KEPT)


def law_of(counter: Counter, interval: Seconds) -> Law:
    """How the rows of this counter rise."""
    fastest = math.inf
    if counter.range is not None and counter.scale:
        fastest = max(map(abs, counter.range)) / abs(counter.scale)
    return Law(modulus=0 if counter.bits >= _WIDEST else 2**counter.bits, fastest=fastest, interval=interval)


def advance(before: Total | None, rows: Mapping[str, float], *, at: float, uptime: Seconds, law: Law) -> Total:
    """Take a new reading of all rows into the total.

    A row that is new is a baseline from which it will count; one that has gone no longer counts.

    Args:
        before: the total at the reading before; ``None``: there was none.
        rows: at least one.
        at: steady seconds, after those of ``before``.
        uptime: of the agent; NaN: unknown.
        law: how the rows rise.

    Returns:
        The total, which began anew if the agent has restarted or its uptime does not keep step with our clock, if a
        row went back and did not wrap, if a narrow row may have wrapped more than once since, or if none of the rows
        is known.
    """
    gained = None if before is None else _gained(before, rows, at, uptime, law)
    if before is None or gained is None:
        return Total(value=0.0, rows=rows, at=at, agent=uptime, since=at)
    return Total(value=before.value + gained, rows=rows, at=at, agent=uptime, since=before.since)


def _gained(before: Total, rows: Mapping[str, float], at: float, uptime: Seconds, law: Law) -> float | None:
    elapsed = at - before.at
    known = rows.keys() & before.rows.keys()
    if not known or elapsed <= 0 or _restarted(before, elapsed, uptime) or not _unbroken(elapsed, law):
        return None
    rises = [_rise(rows[row] - before.rows[row], elapsed, law) for row in known]
    back = any(rows[row] < before.rows[row] for row in known)
    if back and math.isnan(before.agent + uptime):
        return None  # wrapped or restarted: which of them is unknown
    certain = [rise for rise in rises if rise is not None]
    return sum(certain) if len(certain) == len(rises) else None


def _rise(delta: float, elapsed: Seconds, law: Law) -> float | None:
    if delta >= 0:
        return delta
    wrapped = delta + law.modulus
    return wrapped if 0 <= wrapped <= law.fastest * elapsed else None


def _restarted(before: Total, elapsed: Seconds, uptime: Seconds) -> bool:
    """Its uptime went back, is too short to reach back, or has grown by another time; one that wrapped did neither."""
    wrapped = abs(before.agent + elapsed - _UPTIME_WRAP - uptime) <= _SLACK
    grown = uptime - before.agent
    in_step = not grown < _IN_STEP[0] * elapsed - 1.0 and not grown > _IN_STEP[1] * elapsed + _SLACK
    return (uptime < before.agent or uptime + _SLACK < elapsed or not in_step) and not wrapped


def _unbroken(elapsed: Seconds, law: Law) -> bool:
    """A narrow row that was silent for a while may have gone round more than once."""
    return not law.modulus or elapsed <= _CONSECUTIVE * law.interval or law.fastest * elapsed < law.modulus
