"""Judging the conditions of many groups at once, in columns: what `trigger.conditions.judging` says of each alone.

A group can be judged in columns if every policy of it adds, removes or sets, and every condition of these compares one
aggregate with a threshold of its own. Expressions, thresholds per member, steps and targets need more than that:
those groups are judged one by one. What follows from the file alone is laid out once (`rows_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aggregator.cells import WindowColumns
from aggregator.frames import WindowKey
from aggregator.rates import Ints
from aggregator.specs import window_key
from collector.samples import Bools, Floats
from config.model.adjustments import Adjustment
from config.model.catalogue import Catalogue, Compare, Condition, Policy
from config.units import GroupId
from trigger.conditions.judging import every_and_none
from trigger.verdicts import Truth

Codes = npt.NDArray[np.int8]
WindowOf = Callable[[GroupId, WindowKey], int]
"""Returns where the aggregate that answers a window stands in `WindowColumns`."""

TRUTHS = (Truth.FALSE, Truth.TRUE, Truth.UNKNOWN)
"""What a code stands for."""
_FALSE, _TRUE, _UNKNOWN = range(len(TRUTHS))
_LACKING = np.int8(len(TRUTHS))
"""There is no aggregate: a truth would not say why it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConditionRows:
    """Conditions as policies ask for them: group by group, policy by policy; all arrays are (row,).

    Windows may be those of one tick, (window,), or of many, (tick, window): codes are (row,) or (tick, row) then.
    """

    groups: Mapping[GroupId, slice]
    """The rows of each group that can be judged in columns."""
    whose: Sequence[GroupId]
    """(row,)"""
    window: Ints
    """Where its aggregate stands in `WindowColumns`."""
    threshold: Floats
    quorum: Floats
    """Infinite: there is none."""
    shrinking: Bools
    compares: Sequence[tuple[Compare, Ints]]
    """Which rows compare in which way."""

    def truths(self, windows: WindowColumns) -> Codes:
        """Judge every row; Note [Missing answers] of `trigger.conditions.judging`."""
        low, value, high = (column[..., self.window] for column in (windows.low, windows.value, windows.high))
        heard = windows.lack[..., self.window] == 0
        by_interval = self._within(low, high)
        unbounded = (by_interval == _UNKNOWN) & (np.isinf(low) | np.isinf(high)) & ~self.shrinking
        by_value = heard & (unbounded | (windows.coverage[..., self.window] >= self.quorum))
        return np.where(by_value, self._within(value, value), by_interval) if by_value.any() else by_interval

    def _within(self, low: Floats, high: Floats) -> Codes:
        codes = np.full(low.shape, _UNKNOWN, dtype=np.int8)
        for compare, rows in self.compares:
            every, none = every_and_none(compare, low[..., rows], high[..., rows], self.threshold[rows])
            codes[..., rows] = np.where(every, _TRUE, np.where(none, _FALSE, _UNKNOWN))
        return codes


class LastTruths:
    """The truths of a slot's groups, in columns, and which of them are as at the tick before.

    Args:
        catalogue: declares the groups.
        groups: the slot's.
        window: where the aggregate that answers a window stands in `WindowColumns`.
    """

    def __init__(self, catalogue: Catalogue, groups: Sequence[GroupId], window: WindowOf) -> None:
        self.catalogue = catalogue
        self._rows = rows_of(catalogue, groups, window)
        self._others = frozenset(groups) - self._rows.groups.keys()
        """Groups that cannot be judged in columns."""
        self._before: Codes | None = None
        self._now: Codes | None = None
        self._values: Sequence[float] = ()

    def unlike(self, windows: WindowColumns) -> Set[GroupId]:
        """Judge a tick, and find the groups whose tick is not like the one before, or cannot be compared.

        The next tick is compared with this one only after `keep`. A tick may fail for a part of the groups: those that
        it was decided about go by its truths from then on, and the others by those of the tick before.
        """
        rows, before = self._rows, self._before
        self._before = None
        self._now = now = np.where(windows.lack[rows.window] != 0, _LACKING, rows.truths(windows))
        self._values = windows.value[rows.window].tolist()
        if before is None:
            return self._others | rows.groups.keys()
        other = np.flatnonzero((before != now) | (now == _LACKING))
        return self._others | {rows.whose[row] for row in other.tolist()}

    def values(self, group: GroupId) -> tuple[float | None, ...]:
        """What the group's conditions measured at this tick, in the order of `Explanation.measured`."""
        return tuple(self._values[self._rows.groups[group]])

    def keep(self) -> None:
        """Compare the next tick with this one: all groups were decided about."""
        self._before = self._now


def of_policies(policies: Iterable[Policy], codes: Codes) -> Codes:
    """Combine the truths of a group's conditions, (tick, row), into those of its policies, (tick, policy).

    Source: `trigger.conditions.judging.at_least`, of which `conjunction` is the case that all are needed.
    """
    truths, first = [np.zeros((len(codes), 0), dtype=np.int8)], 0
    for policy in policies:
        part = codes[:, first : first + len(policy.when)]
        first += len(policy.when)
        needed = len(policy.when) if policy.enough is None else policy.enough
        sure, possible = (part == _TRUE).sum(axis=1), (part != _FALSE).sum(axis=1)
        truth = np.where(sure >= needed, _TRUE, np.where(possible < needed, _FALSE, _UNKNOWN))
        truths.append((truth if policy.when else np.full(len(codes), _UNKNOWN)).astype(np.int8)[:, np.newaxis])
    return np.concatenate(truths, axis=1)


def rows_of(catalogue: Catalogue, groups: Iterable[GroupId], window: WindowOf) -> ConditionRows:
    """Lay out the conditions of those groups that can be judged in columns.

    Args:
        catalogue: declares the groups.
        groups: any.
        window: where the aggregate that answers a window stands in `WindowColumns`.
    """
    places: dict[GroupId, slice] = {}
    rows: list[tuple[GroupId, int, Condition, bool]] = []
    for group in groups:
        declared, first = catalogue.groups[group], len(rows)
        policies = [catalogue.policies[name] for name in declared.policies]
        if not all(_alone(catalogue, policy) for policy in policies):
            continue
        for policy in policies:
            for condition in _compared(catalogue, policy):
                place = window(group, window_key(condition, policy, declared))
                rows.append((group, place, condition, policy.adjustment.may_shrink))
        places[group] = slice(first, len(rows))
    return _laid_out(places, rows)


def _laid_out(places: Mapping[GroupId, slice], rows: Sequence[tuple[GroupId, int, Condition, bool]]) -> ConditionRows:
    conditions = [condition for _, _, condition, _ in rows]
    kinds = [(compare, [row for row, each in enumerate(conditions) if each.compare is compare]) for compare in Compare]
    return ConditionRows(
        groups=places,
        whose=[group for group, *_ in rows],
        window=np.array([place for _, place, *_ in rows], dtype=np.intp),
        threshold=np.array([condition.threshold for condition in conditions], dtype=np.float64),
        quorum=np.array([np.inf if each.quorum is None else each.quorum for each in conditions], dtype=np.float64),
        shrinking=np.array([shrinking for *_, shrinking in rows], dtype=np.bool_),
        compares=[(compare, np.array(of, dtype=np.intp)) for compare, of in kinds if of],
    )


def _alone(catalogue: Catalogue, policy: Policy) -> bool:
    """Whether what a policy says follows from the truths of conditions, each of which a number alone decides."""
    simple = isinstance(policy.adjustment, Adjustment)
    return simple and len(_compared(catalogue, policy)) == len(policy.when)


def _compared(catalogue: Catalogue, policy: Policy) -> Sequence[Condition]:
    conditions = (catalogue.conditions[name] for name in policy.when)
    return [each for each in conditions if isinstance(each, Condition) and not each.per_member]
