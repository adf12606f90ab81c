"""What alerts from outside may say, given the groups and policies that they act on: rules of `checks.catalogue`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import assert_never

from config.checks.findings import Finding, followed_at
from config.model.catalogue import AdjustmentVerb, Catalogue, Group
from config.model.counters import AlertedValue
from config.model.effects import (
    Alert,
    BringValue,
    Effect,
    FirePolicy,
    Freeze,
    FrozenDirection,
    RaiseFloor,
    Shield,
    kind_of,
)
from config.model.where import Where, hint
from config.units import AlertId, GroupId, PolicyId


def effect_at(alert: Alert) -> Where:
    """Where an alert's effect stands."""
    return "alerts", alert.id, kind_of(alert.effect).value


def fired_policies(catalogue: Catalogue) -> Iterator[Finding]:
    """An alert fires what each of its groups has among its own policies: nothing else sizes a group."""
    for alert, group in _affected(catalogue):
        match alert.effect:
            case FirePolicy(policy=policy) if policy in catalogue.schedules:
                message = f"{policy!a} is a schedule: an alert can only fire a policy with conditions"
                yield Finding(effect_at(alert), message, (("policies", policy),))
            case FirePolicy(policy=policy) if policy in catalogue.policies and policy not in group.policies:
                known = hint(policy, group.policies)
                message = f"{policy!a} is not among the policies of the group {group.id}{known}"
                leans = (("alerts", alert.id, "groups"), ("groups", group.id, "policies"), ("policies", policy))
                yield Finding(effect_at(alert), message, leans)
            case _:
                continue


def floors(catalogue: Catalogue) -> Iterator[Finding]:
    """A floor outside the bounds of a group would say nothing there, or not what it says."""
    for alert, group in _affected(catalogue):
        least, most = group.minimum, group.maximum
        match alert.effect:
            case RaiseFloor(size=size) if least <= most and not least <= size <= most:
                message = f"the floor {size} is outside min to max of the group {group.id}, {least} to {most}"
                bounds = (("groups", group.id, "min"), ("groups", group.id, "max"))
                yield Finding(effect_at(alert), message, (("alerts", alert.id, "groups"), *bounds))
            case _:
                continue


def values(catalogue: Catalogue) -> Iterator[Finding]:
    """A counter reads what its alert brings, to the groups that the alert affects."""
    for counter in catalogue.counters.values():
        if isinstance(counter.source, AlertedValue):
            alert = catalogue.alerts.get(counter.source.alert)
            if alert is not None and not isinstance(alert.effect, BringValue):
                kind = kind_of(alert.effect).value
                message = f"the alert {alert.id} brings no value: it has {kind}, where a counter needs value"
                yield Finding(("counters", counter.id, "alert"), message, (("alerts", alert.id),))
    for group in catalogue.groups.values():
        for policy in group.policies:
            for alert in _read_by(catalogue, policy):
                if group.id not in alert.groups:
                    message = f"needs a value that the alert {alert.id} brings only to other groups: "
                    leans = (("alerts", alert.id), ("policies", policy))
                    yield Finding(followed_at(group, policy), message + ", ".join(alert.groups), leans)


def contradictions(catalogue: Catalogue) -> Iterator[Finding]:
    """Two alerts that always fire together, for one group, must not want and forbid the same."""
    for first, second in _alike(catalogue):
        shared = [group for group in first.groups if group in second.groups]
        wanted, forbidden = (_wants(catalogue, first), _wants(catalogue, second)), (_forbids(first), _forbids(second))
        if _clash(*wanted) or (wanted[0] and wanted[0] <= forbidden[1]) or (wanted[1] and wanted[1] <= forbidden[0]):
            message = (
                f"contradicts {kind_of(first.effect).value} of the alert {first.id}, which has the same match "
                f"and also affects {', '.join(shared)}"
            )
            leans = (("alerts", first.id), ("alerts", second.id, "match"), ("alerts", second.id, "groups"))
            yield Finding(effect_at(second), message, (*leans, *_fired(first), *_fired(second)))


def _alike(catalogue: Catalogue) -> Iterator[tuple[Alert, Alert]]:
    """Yield each two alerts that fire together for one group at least."""
    found: dict[tuple[object, GroupId], list[Alert]] = {}
    for alert in catalogue.alerts.values():
        for group in dict.fromkeys(alert.groups):
            found.setdefault((frozenset(alert.match.items()), group), []).append(alert)
    pairs = (pair for alike in found.values() for pair in combinations(alike, 2))
    yield from {(first.id, second.id): (first, second) for first, second in pairs}.values()


def _affected(catalogue: Catalogue) -> Iterator[tuple[Alert, Group]]:
    for alert in catalogue.alerts.values():
        for name in alert.groups:
            if (group := catalogue.groups.get(name)) is not None:
                yield alert, group


def _read_by(catalogue: Catalogue, name: PolicyId) -> Iterator[Alert]:
    """Return the alerts that bring values for a policy, by id."""
    policy = catalogue.policies.get(name)
    conditions = (catalogue.conditions.get(condition) for condition in (policy.when if policy else ()))
    names = (counter for condition in conditions if condition for counter in condition.counters)
    counters = (catalogue.counters.get(name) for name in names)
    sources = [counter.source for counter in counters if counter]  # not every source can be hashed
    read: set[AlertId] = {source.alert for source in sources if isinstance(source, AlertedValue)}
    return (catalogue.alerts[alert] for alert in sorted(read) if alert in catalogue.alerts)


_BOTH = frozenset({FrozenDirection.OUT, FrozenDirection.IN})


def _wants(catalogue: Catalogue, alert: Alert) -> frozenset[FrozenDirection]:
    """The directions that an alert may move a group in."""
    effect: Effect = alert.effect
    match effect:
        case FirePolicy(policy=name):
            policy = catalogue.policies.get(name)
            return _MOVES[policy.adjustment.verb] if policy else frozenset()
        case RaiseFloor():
            return frozenset({FrozenDirection.OUT})
        case Shield() | Freeze() | BringValue():
            return frozenset()
        case _:
            assert_never(effect)


_MOVES = {
    AdjustmentVerb.ADD: frozenset({FrozenDirection.OUT}),
    AdjustmentVerb.REMOVE: frozenset({FrozenDirection.IN}),
    AdjustmentVerb.SET: _BOTH,
}


def _forbids(alert: Alert) -> frozenset[FrozenDirection]:
    effect: Effect = alert.effect
    match effect:
        case Shield():
            return frozenset({FrozenDirection.IN})
        case Freeze(way=way):
            return _BOTH if way is FrozenDirection.BOTH else frozenset({way})
        case FirePolicy() | RaiseFloor() | BringValue():
            return frozenset()
        case _:
            assert_never(effect)


def _clash(one: frozenset[FrozenDirection], other: frozenset[FrozenDirection]) -> bool:
    return bool(one and other) and not one & other


def _fired(alert: Alert) -> tuple[Where, ...]:
    return (("policies", alert.effect.policy),) if isinstance(alert.effect, FirePolicy) else ()
