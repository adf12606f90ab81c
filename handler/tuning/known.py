"""Which counters tell what they would have shown at another size, and by which limit a group's load is judged. Pure.

# Note [Known at another size]

A replay at another size needs to know what the counters would have shown there. That is known

* of a counter of each member that is marked ``shared: true``: members share what it measures;
* of a total that the file itself takes for a load: the threshold or the target is one member's share (``per_member``,
  ``each``), or a forecast goes by it. A forecast by a counter of each member is none: replay counts the recorded
  members for it.

It is not known of anything else, such as a queue's length: more members would have emptied it, and nothing says when.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from config.errors import Refused
from config.model.adjustments import Adjustment, AdjustmentVerb, FollowForecast, Steps, TargetLoad, Tracking
from config.model.catalogue import AnyCondition, Catalogue, Compare, Condition, ExpressionCondition, Policy
from config.model.counters import Per
from config.model.reductions import Rank, Reduce, Reduction, Statistic
from config.units import CounterId, GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimit:
    """What shows the load of a group, and how much of it a member may carry."""

    condition: Condition
    """It names the counter, and how the values of members become one."""
    each: float
    """In the unit of the counter."""

    is_total: bool
    """Whether the value is of all members together."""

    @property
    def words(self) -> str:
        """As people say it: ``cpu (avg) above 80``."""
        if self.is_total:
            return f"{self.condition.counter} above {self.each:g} a member"
        return f"{self.condition.counter} ({self.condition.across.value}) above {self.each:g}"


def require_known(catalogue: Catalogue, group: GroupId) -> None:
    """Make sure that all counters are known at another size. See Note [Known at another size].

    Raises:
        Refused: names each condition with a counter that is not, and what to do.
    """
    if reasons := list(dict.fromkeys(_unknown(catalogue, group))):
        raise Refused("\n".join(f"group {group}: {reason}" for reason in reasons))


def _unknown(catalogue: Catalogue, group: GroupId) -> Iterator[str]:
    for name in catalogue.groups[group].policies:
        policy = catalogue.policies[name]
        if _is_load(policy):
            yield from _unknown_level(catalogue, policy)
            continue
        if isinstance(policy.adjustment, FollowForecast):
            yield f"policy {policy.id}: a forecast by a counter of each member cannot be replayed at another size"
            continue
        for condition in (catalogue.conditions[each] for each in policy.when):
            for counter in () if isinstance(condition, Condition) and condition.per_member else condition.counters:
                if not catalogue.counters[counter].shared:
                    yield _reason(catalogue, policy, condition, counter)


def _unknown_level(catalogue: Catalogue, policy: Policy) -> Iterator[str]:
    """Yield why it is not known what members of a forecast that learns what they carry would have shown."""
    for condition in (catalogue.conditions[each] for each in policy.when[1:]):
        for counter in () if catalogue.counters[condition.counters[0]].shared else condition.counters:
            yield _reason(catalogue, policy, condition, counter)


def _reason(catalogue: Catalogue, policy: Policy, condition: AnyCondition, counter: CounterId) -> str:
    where = f"policy {policy.id}, condition {condition.id}"
    if catalogue.counters[counter].per is Per.GROUP:
        return (
            f"{where}: it is not known what {counter} would have been at another size: it is one value of the whole "
            "group. If it is a load, compare one member's share with it (per_member: true)"
        )
    return (
        f"{where}: it is not known what {counter} would have been at another size: if members share what it measures, "
        "mark the counter shared: true"
    )


def _is_load(policy: Policy) -> bool:
    match policy.adjustment:
        case FollowForecast(capacity=capacity):
            return not capacity.per_member
        case Tracking(load=load):
            return load is TargetLoad.TOTAL
        case Adjustment() | Steps():
            return False
        case _:
            assert_never(policy.adjustment)


def limit_of(catalogue: Catalogue, group: GroupId, wanted: float | None) -> LoadLimit:
    """Find by what the load of a group is judged: the first condition or target by which it grows.

    Args:
        catalogue: any.
        group: a group of it; `require_known`.
        wanted: the limit of a member, in the counter's unit, instead of the one that is written.

    Raises:
        Refused: the group grows by nothing that has such a limit.
    """
    for name in catalogue.groups[group].policies:
        policy = catalogue.policies[name]
        for condition in (catalogue.conditions[each] for each in policy.when):
            each = _limit(policy, condition)
            if each is not None and isinstance(condition, Condition) and _is_level(condition.across):
                total = condition.per_member or condition.across is Reduce.SUM
                total = total or catalogue.counters[condition.counter].per is Per.GROUP
                return LoadLimit(condition=condition, each=each if wanted is None else wanted, is_total=total)
    raise Refused(
        f"group {group}: no policy grows it above a threshold or after a target, so there is no limit by which to judge"
    )


def _limit(policy: Policy, condition: AnyCondition) -> float | None:
    """Return what a member may carry, by one condition of a policy that adds; ``None``: it has no such limit."""
    match policy.adjustment:
        case Tracking(verb=AdjustmentVerb.ADD, level=level):
            return level
        case FollowForecast(capacity=capacity):
            return capacity.each
        case Adjustment(verb=AdjustmentVerb.ADD) | Steps():
            pass
        case _:
            return None
    if isinstance(condition, ExpressionCondition) or condition.compare not in {Compare.ABOVE, Compare.AT_LEAST}:
        return None
    return condition.threshold


def _is_level(across: Reduction) -> bool:
    """Tell whether the value grows and shrinks as the load of each member does."""
    match across:
        case Reduce():
            return across not in {Reduce.COUNT, Reduce.LAST}
        case Statistic():
            return across is not Statistic.STDDEV
        case Rank():
            return True
        case _:
            assert_never(across)
