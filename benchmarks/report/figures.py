"""What a benchmark yields: a quantity that was measured in several rounds, or what was not measured and why."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

OURS = "Trimtab"
ROUNDS = 3
"""Rounds of a figure, unless it declares others: reports show the median, with the least and the greatest."""


def rounds_of(part: int) -> int:
    """Return the rounds of a figure: one where only a part is run, whose figures do not matter."""
    return ROUNDS if part == 1 else 1


class Bound(Enum):
    """Which side of a goal is the good one."""

    AT_MOST = "≤"
    AT_LEAST = "≥"


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure is meant to be, in its own unit."""

    bound: Bound
    value: float

    def met(self, figure: float) -> bool:
        """Whether a figure is on the good side."""
        return figure <= self.value if self.bound is Bound.AT_MOST else figure >= self.value


def at_most(value: float) -> Goal:
    """A goal that a figure must not exceed."""
    return Goal(Bound.AT_MOST, value)


def at_least(value: float) -> Goal:
    """A goal that a figure must reach."""
    return Goal(Bound.AT_LEAST, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One quantity of one job, measured several times in one run.

    ``job`` says what was done, with its size, in the same words in every run: runs are compared by it. ``samples`` has
    one value of each round, in order, in ``unit``; ``memory`` the MiB that were resident at most in the process that
    did it, where that was measured. ``by`` names the program: Trimtab, or the peer beside it.
    """

    job: str
    unit: str
    samples: tuple[float, ...]
    by: str = OURS
    memory: tuple[float, ...] = ()
    goal: Goal | None = None

    @property
    def median(self) -> float:
        """The middle round."""
        return statistics.median(self.samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMeasured:
    """A job that this machine cannot do, and why: a program that is not installed."""

    job: str
    because: str
    by: str = OURS


Measured = Figure | NotMeasured


def once(job: str, value: float, unit: str, *, by: str = OURS, goal: Goal | None = None) -> Figure:
    """A figure that is counted rather than measured, so that one round says it all."""
    return Figure(job=job, unit=unit, samples=(value,), by=by, goal=goal)


def times(job: str, more: Figure, less: Figure, goal: Goal | None = None) -> Figure:
    """How many times the one figure is the other, round by round: both were measured in turns, in the same minute.

    Raises:
        ValueError: the two have not as many rounds, or not the same unit.
    """
    if more.unit != less.unit:
        raise ValueError(f"{more.unit} of “{more.job}” cannot be compared with {less.unit} of “{less.job}”")
    pairs = zip(more.samples, less.samples, strict=True)
    return Figure(job=job, unit="×", samples=tuple(one / other for one, other in pairs), by=less.by, goal=goal)


def spread(samples: Sequence[float]) -> float:
    """How far apart the rounds are, as a share of their median; 0.0: one round, or a median of 0."""
    middle = statistics.median(samples)
    return (max(samples) - min(samples)) / abs(middle) if middle else 0.0
