"""Judge one condition against one cell of a frame, in Kleene's logic.

# Note [Missing answers]

A condition is TRUE or FALSE only if no missing answer could change it:

====================================  ==========================  =========================
The aggregate                         may shrink (remove, set)    only grows (add)
====================================  ==========================  =========================
there is none (`Insufficient`)        UNKNOWN                     UNKNOWN
too few for a rank, there is a range  the whole interval decides  the whole interval decides
quorum declared and reached           the value decides           the value decides
all members answered                  the value decides           the value decides
missing answers, with a range         the whole interval decides  the whole interval decides
missing answers, without a range      UNKNOWN                     the value decides
====================================  ==========================  =========================

"The whole interval decides": TRUE if every value from ``low`` to ``high`` satisfies the comparison, FALSE if none
does, else UNKNOWN. Source: DESIGN.md "Judging".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import assert_never, overload

import numpy as np

from aggregator.frames import Aggregate, Cell, Insufficient
from collector.samples import Bools, Floats
from config.model.catalogue import Compare, Condition
from trigger.verdicts import ConditionVerdict, Truth

_EQUAL_WITHIN = 1e-9
"""Relative: an average of three times 0.1 equals 0.1. CloudStack compares exactly, and so almost never equal."""


def judge(condition: Condition, cell: Cell, *, shrinking: bool) -> ConditionVerdict:
    """Judge ``condition`` by its aggregate.

    Args:
        condition: the condition.
        cell: the aggregate that `aggregator.specs.window_key` names for it.
        shrinking: the policy may remove members, so missing answers count against it: Note [Missing answers].
    """
    match cell:
        case Insufficient():
            truth = _truth_within(condition, cell.low, cell.high)
        case Aggregate():
            truth = _truth_of(condition, cell, shrinking=shrinking)
        case _:
            assert_never(cell)
    return ConditionVerdict(condition=condition.id, truth=truth, cells=(cell,))


def held_against(condition: Condition, size: int | None) -> Condition:
    """Return the condition with its effective threshold: a threshold per member is multiplied by ``size``.

    Without members the threshold is 0, so any backlog creates the first member.
    """
    if not condition.per_member or size is None:
        return condition
    return replace(condition, threshold=condition.threshold * size)


def conjunction(truths: Iterable[Truth]) -> Truth:
    """Kleene's AND: FALSE if any truth is, else UNKNOWN if any is, else TRUE.

    Of no truths it is UNKNOWN, not TRUE: a policy without conditions has measured nothing, and must not fire.

    >>> conjunction([Truth.TRUE, Truth.UNKNOWN]).name, conjunction([Truth.FALSE, Truth.UNKNOWN]).name
    ('UNKNOWN', 'FALSE')
    """
    of_all: Truth | None = None
    for truth in truths:
        if truth is Truth.FALSE:
            return truth
        if of_all is not Truth.UNKNOWN:
            of_all = truth
    return Truth.UNKNOWN if of_all is None else of_all


def at_least(needed: int, truths: Collection[Truth]) -> Truth:
    """Kleene's M of N: TRUE if ``needed`` are TRUE, FALSE if fewer can be, else UNKNOWN. Of no truths, UNKNOWN.

    AND is N of N, OR is 1 of N.

    >>> at_least(2, [Truth.TRUE, Truth.UNKNOWN, Truth.FALSE]).name, at_least(1, [Truth.TRUE, Truth.UNKNOWN]).name
    ('UNKNOWN', 'TRUE')
    """
    sure = sum(truth is Truth.TRUE for truth in truths)
    possible = sure + sum(truth is Truth.UNKNOWN for truth in truths)
    if truths and sure >= needed:
        return Truth.TRUE
    return Truth.FALSE if truths and possible < needed else Truth.UNKNOWN


def _truth_of(condition: Condition, aggregate: Aggregate, *, shrinking: bool) -> Truth:
    if condition.quorum is not None and aggregate.coverage >= condition.quorum:
        return _truth_within(condition, aggregate.value, aggregate.value)
    by_interval = _truth_within(condition, aggregate.low, aggregate.high)
    unbounded = math.isinf(aggregate.low) or math.isinf(aggregate.high)
    if by_interval is Truth.UNKNOWN and unbounded and not shrinking:
        return _truth_within(condition, aggregate.value, aggregate.value)
    return by_interval


def _truth_within(condition: Condition, low: float, high: float) -> Truth:
    """Judge all values from ``low`` to ``high`` at once. NaN makes the result UNKNOWN."""
    every, none = every_and_none(condition.compare, low, high, condition.threshold)
    if every:
        return Truth.TRUE
    return Truth.FALSE if none else Truth.UNKNOWN


def refuted(condition: Condition, low: Floats, high: Floats) -> Bools:
    """Tell where no value from ``low`` to ``high`` satisfies ``condition``: there it is FALSE for every policy.

    This holds for every row of Note [Missing answers]: a value that decides lies within these bounds.

    Args:
        condition: the condition.
        low: (tick,) the bounds of its cells; infinite where there are none.
        high: (tick,)
    """
    _, none = every_and_none(condition.compare, low, high, condition.threshold)
    return none


@overload
def every_and_none(compare: Compare, low: float, high: float, threshold: float) -> tuple[bool, bool]: ...
@overload
def every_and_none(compare: Compare, low: Floats, high: Floats, threshold: float | Floats) -> tuple[Bools, Bools]: ...
def every_and_none(
    compare: Compare, low: float | Floats, high: float | Floats, threshold: float | Floats
) -> tuple[bool | Bools, bool | Bools]:
    """Tell whether every value and whether no value satisfies; for one interval or a column of intervals."""
    match compare:
        case Compare.ABOVE:
            return low > threshold, high <= threshold
        case Compare.AT_LEAST:
            return low >= threshold, high < threshold
        case Compare.BELOW:
            return high < threshold, low >= threshold
        case Compare.AT_MOST:
            return high <= threshold, low > threshold
        case Compare.EQUALS:
            slack = _EQUAL_WITHIN * np.maximum(1.0, np.abs(threshold))
            least, most = threshold - slack, threshold + slack
            return (least <= low) & (high <= most), (high < least) | (low > most)
        case _:
            assert_never(compare)
