"""Ranks that count further than there are values: M of N with an M that N never reaches.

Of fewer values than its rank, a condition takes the last one (`config.model.reductions.Rank`). A small group may so
share a condition with large ones; but where no group that asks ever has so many, the condition is not what it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from config.checks.findings import Finding
from config.model.catalogue import AnyCondition, Catalogue, Condition, Group, Holds
from config.model.counters import Per
from config.model.reductions import Rank, Reduction
from config.model.where import Where
from config.units import ConditionId, Seconds, format_span


def unreachable(catalogue: Catalogue) -> Iterator[Finding]:
    """Find ranks beyond the members, or the ticks of the window, of every group that asks for them."""
    asked = _askers(catalogue)
    for condition in catalogue.conditions.values():
        askers = asked.get(condition.id, ())
        if isinstance(condition.across, Rank):
            yield from _across(catalogue, condition, condition.across, [asker.group for asker in askers])
        for rank in dict.fromkeys(each for each in _over(condition) if isinstance(each, Rank)):
            yield from _over_time(condition, rank, [asker.group for asker in askers if asker.windowed])


class _Asker(NamedTuple):
    group: Group
    windowed: bool
    """By the condition's own reduction over time, and not by the average over a policy's duration."""


def _over(condition: AnyCondition) -> tuple[Reduction, ...]:
    """How values over the window become one: in an expression each term by itself."""
    return (
        (condition.aggregate,)
        if isinstance(condition, Condition)
        else tuple(term.aggregate for term in condition.terms)
    )


def _askers(catalogue: Catalogue) -> Mapping[ConditionId, Sequence[_Asker]]:
    """Return the groups that ask for each condition, once for each of their policies."""
    found: dict[ConditionId, list[_Asker]] = {}
    for group in catalogue.groups.values():
        for policy in (catalogue.policies[name] for name in group.policies if name in catalogue.policies):
            for condition in dict.fromkeys(policy.when):
                found.setdefault(condition, []).append(_Asker(group, policy.holds is not Holds.AVERAGE))
    return found


def _across(catalogue: Catalogue, condition: AnyCondition, rank: Rank, groups: Sequence[Group]) -> Iterator[Finding]:
    where: Where = ("conditions", condition.id, "across")
    counters = [catalogue.counters[name] for name in condition.counters if name in catalogue.counters]
    if counters and all(counter.per is Per.GROUP for counter in counters):
        if rank.nth > 1:
            named = counters[0].id
            message = f"the counter {named} has one value for the whole group, and no {rank.value}: remove it"
            yield Finding(where, message, (("counters", named, "per"),))
        return
    largest = max(groups, key=lambda group: group.maximum, default=None)
    if largest is not None and rank.nth > (there := max(1, largest.maximum)):
        message = (
            f"{rank.value} needs more members than the {there} that the group {largest.id} may have: "
            f"the highest possible rank is {_to(rank, there)}"
        )
        yield Finding(where, message, _ELSEWHERE)


def _over_time(condition: AnyCondition, rank: Rank, groups: Sequence[Group]) -> Iterator[Finding]:
    finest = min(groups, key=lambda group: group.interval, default=None)
    if finest is None or rank.nth <= (there := _ticks(condition.window, finest.interval)):
        return
    window = finest.interval if condition.window is None else condition.window
    message = (
        f"{rank.value} needs more ticks than the {there} that the window of {format_span(window)} has in the group "
        f"{finest.id}: the highest possible rank is {_to(rank, there)}, and it needs a window of "
        f"{format_span(rank.nth * finest.interval)}"
    )
    here = ("conditions", condition.id)
    yield Finding((*here, "aggregate"), message, ((*here, "window"), *_ELSEWHERE))


def _ticks(window: Seconds | None, interval: Seconds) -> int:
    return 1 if window is None else max(1, math.ceil(window / interval - _ROUNDING))


def _to(rank: Rank, nth: int) -> str:
    return Rank(nth, rank.highest).value


_ROUNDING = 1e-6
"""Forgives 0.3 / 0.1 = 2.9999999999999996."""
_ELSEWHERE: tuple[Where, ...] = (("groups",), ("policies",))
"""A group or policy that was refused might have been one with enough."""
