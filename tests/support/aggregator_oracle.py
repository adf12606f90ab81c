"""What a window should come to, worked out slowly and plainly from everything that was ever polled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aggregator.frames import Aggregate, Cell, Insufficient, Lack
from config.model.counters import Counter, CounterKind
from config.model.reductions import Reduce
from tests.support.aggregator import Answer, Reading

BINARY = {Reduce.MIN: min, Reduce.MAX: max, Reduce.SUM: math.fsum, Reduce.COUNT: len}


def reduce_all(how: Reduce, values: Sequence[float]) -> float:
    if how is Reduce.AVG:
        return math.fsum(values) / len(values)
    if how is Reduce.LAST:
        return values[-1]
    return float(BINARY[how](values))


@dataclass
class Tick:
    """What one tick brought: a value, or ``None``, for each member that counts."""

    values: list[float | None]
    newest: float = -math.inf
    left_out: int = 0

    @property
    def heard(self) -> list[float]:
        return [value for value in self.values if value is not None]

    def bound(self, across: Reduce, unheard: float) -> float:
        """The value had every unheard member answered ``unheard``."""
        return reduce_all(across, [unheard if value is None else value for value in self.values])


@dataclass
class Oracle:
    """One window of one counter of one group."""

    counter: Counter
    across: Reduce
    aggregate: Reduce
    needed: int
    interval: float
    freshness: int
    ticks: dict[int, Tick] = field(default_factory=dict)
    before: dict[str, tuple[float, Reading]] = field(default_factory=dict)

    def take(self, number: int, at: float, answers: Mapping[str, Answer], warming: frozenset[str]) -> Cell:
        self.before = {name: last for name, last in self.before.items() if name in answers}
        tick = Tick(values=[])
        for name, answer in answers.items():
            reading = Reading(answer) if isinstance(answer, float) else answer
            value = None if reading is None else self._value(name, at + reading.late, reading)
            if name in warming:
                tick.left_out += 1
                continue
            tick.values.append(value)
            if value is not None and reading is not None:
                tick.newest = max(tick.newest, at + reading.late)
        self.ticks[number] = tick
        return self._cell(number, at)

    def _value(self, name: str, at: float, reading: Reading) -> float | None:
        if self.counter.kind is CounterKind.GAUGE:
            return self._possible(reading.value * self.counter.scale, 0.0)
        earlier = self.before.get(name)
        if earlier is None:
            self.before[name] = at, reading
            return None
        then, last = earlier
        if at <= then:
            return None
        advance = self._advance(last, reading, at - then)
        if not self._repeated(last, reading, at - then):
            self.before[name] = at, reading
        if advance is None:
            return None
        return self._possible(advance / (at - then) * self.counter.scale, min(1.0 / (at - then), 0.1))

    def _possible(self, value: float, slack: float) -> float | None:
        """A value that its range allows; one that exceeds it by no more than a rate may be off is the range's end."""
        if self.counter.range is None:
            return value
        least, greatest = self.counter.range
        nearest = min(max(value, least), greatest)
        off = (slack + 1e-9) * max(abs(least), abs(greatest))
        return nearest if abs(value - nearest) <= off else None

    def _advance(self, last: Reading, reading: Reading, elapsed: float) -> float | None:
        known = not math.isnan(last.uptime) and not math.isnan(reading.uptime)
        if self._restarted(last, reading, elapsed) or self._repeated(last, reading, elapsed):
            return None
        if last.uptime >= 0 and reading.uptime - last.uptime > 1.5 * elapsed + 5.0:
            return None
        fastest = math.inf if self.counter.range is None else self.counter.range[1] / self.counter.scale
        narrow = self.counter.bits < 64
        if narrow and elapsed > 1.5 * self.interval and fastest * elapsed >= 2**self.counter.bits:
            return None
        if reading.value >= last.value:
            return reading.value - last.value
        if not narrow or not known:
            return None
        wrapped = reading.value - last.value + 2**self.counter.bits
        return wrapped if wrapped <= fastest * elapsed else None

    @staticmethod
    def _restarted(last: Reading, reading: Reading, elapsed: float) -> bool:
        return reading.uptime < last.uptime or reading.uptime + 5.0 < elapsed

    def _repeated(self, last: Reading, reading: Reading, elapsed: float) -> bool:
        slow = reading.uptime - last.uptime < 0.5 * elapsed - 1.0
        return slow and not self._restarted(last, reading, elapsed)

    def _cell(self, newest: int, at: float) -> Cell:
        now = self.ticks[newest]
        empty = max((number for number, tick in self.ticks.items() if not tick.values), default=-1)
        first = min((number for number in self.ticks if number > empty), default=newest)
        window = [self.ticks.get(number) for number in range(newest - self.needed + 1, newest + 1)]
        heard = [tick for tick in window if tick and tick.heard]
        last_answer = max((tick.newest for tick in heard), default=-math.inf)
        lacks = {
            Lack.NO_MEMBERS: not now.values,
            Lack.TOO_FEW: newest - first + 1 < self.needed,
            Lack.NO_SAMPLES: not heard,
            Lack.STALE: at - last_answer > self.freshness * self.interval,
        }
        for because, lacking in lacks.items():
            if lacking:
                return Insufficient(
                    because=because,
                    samples=len(heard),
                    needed=self.needed,
                    heard=len(now.heard),
                    expected=len(now.values),
                    left_out=now.left_out,
                )
        value = reduce_all(self.aggregate, [reduce_all(self.across, tick.heard) for tick in heard])
        low, high = self._bounds(newest)
        return Aggregate(
            value=value,
            low=min(low, value),
            high=max(high, value),
            samples=len(heard),
            needed=self.needed,
            heard=len(now.heard),
            expected=len(now.values),
            coverage=min(len(tick.heard) / len(tick.values) if tick and tick.values else 0.0 for tick in window),
            age=max(at - last_answer, 0.0),
            left_out=now.left_out,
        )

    def _bounds(self, newest: int) -> tuple[float, float]:
        numbers = range(newest - self.needed + 1, newest + 1)
        if self.aggregate is Reduce.COUNT:
            answered = sum(1 for number in numbers if number in self.ticks and self.ticks[number].heard)
            return float(answered), float(self.needed)
        matters = [newest] if self.aggregate is Reduce.LAST else numbers
        certain = all(number in self.ticks and _complete(self.ticks[number]) for number in matters)
        if self.across is not Reduce.COUNT and self.counter.range is None and not certain:
            return -math.inf, math.inf
        rows = [self._row(number) for number in numbers]
        return reduce_all(self.aggregate, [low for low, _ in rows]), reduce_all(
            self.aggregate, [high for _, high in rows]
        )

    def _row(self, number: int) -> tuple[float, float]:
        """The bounds of one tick; a missed one had the members of the tick before it or of the one after."""
        if number in self.ticks:
            maybe = [self.ticks[number]]
        else:
            before, after = max(n for n in self.ticks if n < number), min(n for n in self.ticks if n > number)
            maybe = [Tick(values=[None] * len(self.ticks[n].values)) for n in (before, after)]
        if self.across is Reduce.COUNT:
            return min(len(tick.heard) for tick in maybe), max(len(tick.values) for tick in maybe)
        least, greatest = self.counter.range or (-math.inf, math.inf)
        return min(tick.bound(self.across, least) for tick in maybe), max(
            tick.bound(self.across, greatest) for tick in maybe
        )


def _complete(tick: Tick) -> bool:
    return bool(tick.values) and None not in tick.values
