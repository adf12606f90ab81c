"""The last half hour of one group in numbers, for charts. In memory only, in columns, and never longer than that.

What was not known is absent (``None``), never zero; where nothing was recorded there is no row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from config.model.catalogue import Compare
from config.units import ConditionId, CounterId, Instant, PolicyId, Seconds
from trigger.explain.explanation import ConditionExplanation, Explanation
from trigger.verdicts import Foreseen

KEPT: Seconds = 1800.0
POINTS_AT_MOST = 600
_SHORTEST: Seconds = 120.0
"""What a chart shows at least."""
_FORESEEN = 4
"""Numbers of a forecast in a row: `foreseen_row`."""
_CHANGES = 60
"""Rows beyond the ticks, for what happens between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionLine:
    """What one condition's values are of: only equal lines continue one another."""

    condition: ConditionId
    counter: CounterId
    unit: str
    across: str
    aggregate: str
    window: Seconds
    compare: Compare
    per_group: bool = False
    """One value for the group: ``across`` does not apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Columns of equal length, oldest first; ``None``: not known at that instant."""

    at: tuple[Instant, ...]
    desired: tuple[float | None, ...]
    in_service: tuple[float | None, ...]
    minimum: tuple[float | None, ...]
    maximum: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One condition's columns, over the instants of `Picture.at`."""

    line: ConditionLine
    values: tuple[float | None, ...]
    thresholds: tuple[float | None, ...]
    least: tuple[float | None, ...] = ()
    """Of the ticks that one row stands for; empty: each row is one tick."""
    greatest: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseenCurve:
    """What one forecast said at some instants, in members; columns of equal length, oldest first."""

    policy: PolicyId
    at: tuple[Instant, ...]
    """When it was said."""
    within: tuple[float | None, ...]
    """How far ahead it was for, in seconds."""
    load: tuple[float | None, ...]
    """What was measured at that instant."""
    coming: tuple[float | None, ...]
    """The load that was forecast for so long after it."""
    at_most: tuple[float | None, ...]
    """The same with its headroom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is kept of one group at one moment."""

    interval: Seconds
    """How far apart ticks are; a much longer gap is a time of which nothing is known."""
    began: Instant | None
    """When the first row ever was recorded by this daemon; ``None``: none was."""
    sizes: Sizes
    at: tuple[Instant, ...]
    """When conditions were judged."""
    curves: tuple[Curve, ...]
    foreseen: tuple[ForeseenCurve, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What is kept of one group's sizes at one moment, in few rows: enough for a small chart."""

    begin: Instant
    """Where the chart begins."""
    apart: Seconds
    """How far apart rows are."""
    sizes: Sizes


class SeriesRecorder:
    """Records one group. Lives on the event loop."""

    def __init__(self, interval: Seconds) -> None:
        self._interval = interval
        self._began: Instant | None = None
        self._sizes = _Ring(4, _ticks(interval) + _CHANGES)
        self._lines: tuple[ConditionLine, ...] = ()
        self._picks: tuple[int, ...] = ()
        """Where the value of each line stood among all that the last tick measured."""
        self._row: list[float | None] = []
        """Values and thresholds of the last tick."""
        self._judged = _Ring(0, _ticks(interval))
        self._foreseen: dict[PolicyId, _Ring] = {}

    def paced(self, interval: Seconds) -> None:
        """Ticks come at another interval from now on; what was recorded stays."""
        if interval == self._interval:
            return
        self._interval = interval
        self._sizes = self._sizes.like(4, _ticks(interval) + _CHANGES)
        self._judged = self._judged.like(2 * len(self._lines), _ticks(interval))
        self._foreseen = {policy: ring.like(_FORESEEN, _ticks(interval)) for policy, ring in self._foreseen.items()}

    def sized(self, at: Instant, *, desired: int | None, in_service: int | None, minimum: int, maximum: int) -> None:
        """Record the sizes at one instant."""
        self._began = at if self._began is None else self._began
        self._sizes.add(at, (desired, in_service, minimum, maximum))

    def foresaw(self, at: Instant, foreseen: Mapping[PolicyId, Foreseen]) -> None:
        """Record what the forecasts of one tick said."""
        for policy, said in foreseen.items():
            ring = self._foreseen.setdefault(policy, _Ring(_FORESEEN, _ticks(self._interval)))
            ring.add(at, foreseen_row(said))

    def judged(self, explanation: Explanation) -> None:
        """Record every condition of one tick, once even if several policies use it."""
        by_line = {line_of(condition): condition for policy in explanation.policies for condition in policy.conditions}
        if tuple(by_line) != self._lines:
            self._exchange(tuple(by_line))
        places = {id(measured): place for place, measured in enumerate(explanation.measured)}
        self._picks = tuple(places[id(condition)] for condition in by_line.values())
        self._row = [number for condition in by_line.values() for number in (condition.value, condition.threshold)]
        self._judged.add(explanation.at, self._row)

    def repeated(self, at: Instant, values: Sequence[float | None]) -> bool:
        """Record a tick whose conditions and thresholds are those of the last one; False: there is none to repeat.

        Args:
            at: when it was.
            values: of every aggregate, in the order of `Explanation.measured`.
        """
        if not self._row and values:
            return False
        self._row[::2] = [values[place] for place in self._picks]
        self._judged.add(at, self._row)
        return True

    def last_sizes(self) -> tuple[float | None, ...] | None:
        """Desired, in service, min and max as last recorded."""
        last = self._sizes.last()
        return None if last is None else tuple(map(_known, last))

    def sketch(self, now: Instant, parts: int) -> Sketch:
        """The sizes of the last half hour, the last row of each of so many equal parts."""
        rows, begin = _recent(self._sizes.rows(), now), begin_of(self._began, now)
        part = np.floor(parts * (rows[:, 0] - begin) / (now - begin))
        last = np.append(part[1:] != part[:-1], True)[: len(rows)]  # numpy's own
        apart = max(self._interval, (now - begin) / parts)
        return Sketch(begin=begin, apart=Seconds(apart), sizes=_sizes(rows[last]))

    def picture(self, now: Instant) -> Picture:
        """Everything of the last half hour."""
        sizes, judged = (_recent(ring.rows(), now) for ring in (self._sizes, self._judged))
        columns = [_column(judged, index) for index in range(1, judged.shape[1])]
        return Picture(
            interval=self._interval,
            began=self._began,
            sizes=_sizes(sizes),
            at=_instants(judged),
            curves=tuple(
                Curve(line=line, values=columns[2 * index], thresholds=columns[2 * index + 1])
                for index, line in enumerate(self._lines)
            ),
            foreseen=tuple(
                curve
                for policy, ring in self._foreseen.items()
                if (curve := _foreseen_curve(policy, _recent(ring.rows(), now))).at
            ),
        )

    def _exchange(self, lines: tuple[ConditionLine, ...]) -> None:
        """Go on with other conditions; those that stay keep their past."""
        places = [self._lines.index(line) if line in self._lines else None for line in lines]
        taken = [None if place is None else 2 * place + side for place in places for side in (0, 1)]
        self._judged = self._judged.like(2 * len(lines), _ticks(self._interval), taken)
        self._lines = lines


class _Ring:
    """Rows of an instant and ``width`` numbers in a fixed piece of memory; the newest row replaces the oldest."""

    def __init__(self, width: int, capacity: int) -> None:
        self._table = np.full((capacity, 1 + width), np.nan)
        self._first = 0
        self._count = 0

    def add(self, at: Instant, row: Sequence[float | None]) -> None:
        """Add a row. A clock that was set back takes the rows that would be in the future with it."""
        capacity = len(self._table)
        while self._count and self._table[(self._first + self._count - 1) % capacity, 0] >= at:
            self._count -= 1
        self._table[(self._first + self._count) % capacity] = (at, *(np.nan if n is None else n for n in row))
        if self._count < capacity:
            self._count += 1
        else:
            self._first = (self._first + 1) % capacity

    def last(self) -> list[float] | None:
        """The numbers of the newest row; ``None``: there is none."""
        if not self._count:
            return None
        newest: list[float] = self._table[(self._first + self._count - 1) % len(self._table), 1:].tolist()
        return newest

    def rows(self) -> npt.NDArray[np.float64]:
        """A copy, oldest first."""
        places = (self._first + np.arange(self._count)) % len(self._table)
        copied: npt.NDArray[np.float64] = self._table[places]
        return copied

    def like(self, width: int, capacity: int, taken: Sequence[int | None] | None = None) -> _Ring:
        """Another ring with the newest rows of this one; ``taken``: which column each of its columns continues."""
        other, rows = _Ring(width, capacity), self.rows()[-capacity:]
        other._count = len(rows)
        other._table[: len(rows), 0] = rows[:, 0]
        for column, source in enumerate(range(width) if taken is None else taken):
            if source is not None:
                other._table[: len(rows), 1 + column] = rows[:, 1 + source]
        return other


def foreseen_row(said: Foreseen) -> tuple[float | None, float | None, float | None, float | None]:
    """Return how far ahead a forecast looked, the load, what was coming, and that with its headroom."""
    return said.within, said.load, said.coming, said.at_most


def _foreseen_curve(policy: PolicyId, rows: npt.NDArray[np.float64]) -> ForeseenCurve:
    within, load, coming, at_most = (_column(rows, 1 + place) for place in range(_FORESEEN))
    return ForeseenCurve(policy=policy, at=_instants(rows), within=within, load=load, coming=coming, at_most=at_most)


def begin_of(began: Instant | None, now: Instant) -> Instant:
    """Return where a chart of the last half hour begins; ``began``: when the first row ever was recorded."""
    return Instant(max(now - KEPT, min(now if began is None else began, now - _SHORTEST)))


def _ticks(interval: Seconds) -> int:
    return max(2, min(POINTS_AT_MOST, math.ceil(KEPT / interval) + 1))


def _recent(rows: npt.NDArray[np.float64], now: Instant) -> npt.NDArray[np.float64]:
    recent: npt.NDArray[np.float64] = rows[rows[:, 0] >= now - KEPT]
    return recent


def _sizes(rows: npt.NDArray[np.float64]) -> Sizes:
    return Sizes(
        at=_instants(rows),
        desired=_column(rows, 1),
        in_service=_column(rows, 2),
        minimum=_column(rows, 3),
        maximum=_column(rows, 4),
    )


def _instants(rows: npt.NDArray[np.float64]) -> tuple[Instant, ...]:
    return tuple(Instant(float(at)) for at in rows[:, 0])


def _column(rows: npt.NDArray[np.float64], index: int) -> tuple[float | None, ...]:
    return tuple(map(_known, rows[:, index]))


def _known(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def line_of(condition: ConditionExplanation) -> ConditionLine:
    """Return what a condition's values are of."""
    return ConditionLine(
        condition=condition.condition,
        counter=condition.counter,
        unit=condition.unit,
        across=condition.across,
        aggregate=condition.aggregate,
        window=condition.window,
        compare=condition.compare,
        per_group=condition.per_group,
    )
