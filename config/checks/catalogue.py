"""What each part of a catalogue may say about the others.

`config.document.file` judges one value at a time; the rules here see several at once. Each yields findings, which point
at one value and may depend on others: a finding that depends on a refused value has no cause of its own, so it is
dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from itertools import chain, islice

from config.bounds import MOST_PROBLEMS
from config.checks import (
    alerts,
    answering,
    balancers,
    cloudstack_api,
    contradictions,
    programs,
    ranks,
    references,
    thresholds,
    timings,
    workers,
)
from config.checks.findings import Finding, as_written, followed_at, problem_of
from config.errors import Problem, by_place
from config.model.adjustments import Adjustment, FollowForecast
from config.model.balancers import HaproxyBalancer, SharedListener
from config.model.catalogue import AdjustmentVerb, AnyCondition, BalancerUse, Catalogue, Group, Holds, Policy
from config.model.counters import Counter
from config.model.where import Where
from config.units import PolicyId, Seconds, exact_span, format_span


def check(
    catalogue: Catalogue, refused: AbstractSet[Where] = frozenset(), installed: AbstractSet[str] | None = None
) -> tuple[Problem, ...]:
    """Find the contradictions between parts of a catalogue, in the order of the file: at most `MOST_PROBLEMS`.

    Args:
        catalogue: as declared; of what was refused it may hold anything or nothing.
        refused: sections, entities or values that have a problem already: no finding that depends on them is reported.
        installed: the plugins that are installed; ``None``: unknown, and not checked.
    """
    found = chain.from_iterable(rule(catalogue) for rule in _RULES)
    missing = () if installed is None else answering.missing_plugins(catalogue, installed)
    holders = frozenset(part for place in refused for part in _around(place))
    sound = (each for each in chain(found, missing) if not _leans_on(catalogue, each, refused, holders))
    problems = {problem_of(catalogue, finding) for finding in islice(sound, MOST_PROBLEMS)}
    return tuple(sorted(problems, key=by_place))


def _leans_on(catalogue: Catalogue, finding: Finding, refused: AbstractSet[Where], holders: AbstractSet[Where]) -> bool:
    """Whether the place of a finding, or any value that it depends on, was refused.

    ``holders`` are all places at or around what was refused.
    """
    leans = [as_written(catalogue, lean) for lean in finding.leans]
    return any(
        part in refused for place in (as_written(catalogue, finding.where), *leans) for part in _around(place)
    ) or (any(lean in holders for lean in leans))


def _around(place: Where) -> Iterator[Where]:
    """A place, and every place that holds it, the whole file included."""
    return (place[:length] for length in range(len(place) + 1))


def _written(catalogue: Catalogue, *places: Where) -> Where:
    """The first of these places that the file itself fills in: a default cannot be pointed at."""
    return next((where for where in places if where in catalogue.sites), places[0])


# Policies.


def _least_amounts(catalogue: Catalogue) -> Iterator[Finding]:
    for policy in catalogue.policies.values():
        action = policy.adjustment
        if isinstance(action, Adjustment) and action.verb is AdjustmentVerb.SET and action.at_least:
            message = "at_least needs add or remove: set gives the size itself, no change"
            yield Finding(("policies", policy.id, "at_least"), message, (("policies", policy.id, "set"),))


def _counted(catalogue: Catalogue) -> Iterator[Finding]:
    for policy in catalogue.policies.values():
        if policy.in_a_row is None:
            continue
        if policy.duration > 0:
            message = "in_a_row counts evaluations, and duration measures time: keep one"
            yield Finding(("policies", policy.id, "in_a_row"), message, (("policies", policy.id, "duration"),))
        if policy.holds is Holds.AVERAGE:
            message = "in_a_row counts evaluations, and holds: average needs none: remove one of them"
            yield Finding(("policies", policy.id, "in_a_row"), message, (("policies", policy.id, "holds"),))


def _durations(catalogue: Catalogue) -> Iterator[Finding]:
    """Shorter than the interval it would have the same effect as 0s (DESIGN.md, Judging)."""
    slowest: dict[PolicyId, Group] = {}
    for group, policy in _followed(catalogue):
        if 0 < policy.duration < group.interval:
            slowest[policy.id] = max(slowest.get(policy.id, group), group, key=lambda group: group.interval)
    for name, group in slowest.items():
        message = (
            f"{exact_span(catalogue.policies[name].duration)} is shorter than the interval of the group {group.id}, "
            f"{exact_span(group.interval)}: write 0s, or at least that"
        )
        yield Finding(("policies", name, "duration"), message, (("groups", group.id, "interval"),))


def _followed(catalogue: Catalogue) -> Iterator[tuple[Group, Policy]]:
    for group in catalogue.groups.values():
        for name in group.policies:
            if (policy := catalogue.policies.get(name)) is not None:
                yield group, policy


def _watched(catalogue: Catalogue) -> Iterator[tuple[Group, AnyCondition]]:
    for group, policy in _followed(catalogue):
        for name in policy.when:
            if (condition := catalogue.conditions.get(name)) is not None:
                yield group, condition


def _windows(catalogue: Catalogue) -> Iterator[Finding]:
    """A window is a ring of whole intervals; one message per condition and interval.

    The windows of a forecast are no choice of the file: they are filled up to whole intervals.
    """
    seen: set[tuple[str, Seconds]] = set()
    forecasts = [policy for policy in catalogue.policies.values() if isinstance(policy.adjustment, FollowForecast)]
    made = {name for policy in forecasts for name in policy.when}
    for group, condition in _watched(catalogue):
        if condition.window is None or condition.id in made or (condition.id, group.interval) in seen:
            continue
        seen.add((condition.id, group.interval))
        intervals = condition.window / group.interval
        if intervals >= 1 and abs(intervals - round(intervals)) < _ROUNDING:
            continue
        what = "shorter than one interval" if intervals < 1 else "not a whole number of intervals"
        fitting = exact_span(max(1, round(intervals)) * group.interval)
        message = (
            f"{exact_span(condition.window)} is {what} of the group {group.id}, "
            f"{exact_span(group.interval)}; the nearest that fits is {fitting}"
        )
        yield Finding(("conditions", condition.id, "window"), message, (("groups", group.id, "interval"),))


# Balancers.


def _listeners(catalogue: Catalogue) -> Iterator[Finding]:
    """Two sockets cannot listen on one address; the address for all takes the port of every other."""
    listeners = [balancer for balancer in catalogue.balancers.values() if isinstance(balancer, SharedListener)]
    for index, second in enumerate(listeners):
        for first in listeners[:index]:
            everywhere = {first.address, second.address} & {"0.0.0.0", "::"}  # noqa: S104 compared, never bound
            if first.port == second.port and (first.address == second.address or everywhere):
                where = ("balancers", second.id, "shared_listener", "listen")
                message = f"{second.address}:{second.port} is already used by the balancer {first.id}"
                yield Finding(where, message, (("balancers", first.id),))


def _ports(catalogue: Catalogue) -> Iterator[Finding]:
    for group, index, use in _uses(catalogue):
        balancer = catalogue.balancers.get(use.balancer)
        if isinstance(balancer, SharedListener) and balancer.port != use.port:
            message = (
                f"{use.port} is not the port of the shared listener {balancer.id}, {balancer.port}: "
                "members use the socket of the listener"
            )
            where = ("groups", group.id, "balancers", str(index), "port")
            yield Finding(where, message, (("balancers", balancer.id),))


def _uses(catalogue: Catalogue) -> Iterator[tuple[Group, int, BalancerUse]]:
    for group in catalogue.groups.values():
        for index, use in enumerate(group.balancers):
            yield group, index, use


def _unseen_fields(catalogue: Catalogue) -> Iterator[Finding]:
    """HAProxy knows only the members that it serves."""
    for group in catalogue.groups.values():
        uses = [catalogue.balancers.get(use.balancer) for use in group.balancers]
        if any(balancer is None or isinstance(balancer, HaproxyBalancer) for balancer in uses):
            continue
        for name in group.policies:
            unseen = _counters(catalogue, name, answering.needs_balancer)
            if unseen:
                message = f"needs {', '.join(unseen)} from HAProxy, but the group has no haproxy balancer"
                leans = tuple(("counters", counter) for counter in unseen)
                yield Finding(followed_at(group, name), message, (("groups", group.id, "balancers"), *leans))


def _counters(catalogue: Catalogue, name: PolicyId, wanted: Callable[[Counter], bool]) -> list[str]:
    policy = catalogue.policies.get(name)
    conditions = (catalogue.conditions.get(condition) for condition in (policy.when if policy else ()))
    names = (counter for condition in conditions if condition for counter in condition.counters)
    counters = (catalogue.counters.get(name) for name in names)
    return sorted({counter.id for counter in counters if counter and wanted(counter)})


# Groups.


def _bounds(catalogue: Catalogue) -> Iterator[Finding]:
    for group in catalogue.groups.values():
        here = ("groups", group.id)
        bounds = ((*here, "min"), (*here, "max"))
        if group.minimum > group.maximum:
            yield Finding((*here, "min"), f"{group.minimum} is more than max, {group.maximum}", bounds)
        elif group.blind_floor is not None and not group.minimum <= group.blind_floor <= group.maximum:
            message = f"the floor {group.blind_floor} is outside min to max, {group.minimum} to {group.maximum}"
            yield Finding((*here, "blind"), message, bounds)


def _build_times(catalogue: Catalogue) -> Iterator[Finding]:
    for group in catalogue.groups.values():
        profile = catalogue.profiles.get(group.profile)
        if profile is None or profile.ready is None or group.build_timeout >= profile.ready.within:
            continue
        timeout, within = ("groups", group.id, "build_timeout"), ("profiles", profile.id, "ready", "within")
        message = (
            f"the group {group.id} gives up on a build after {format_span(group.build_timeout)}, before the "
            f"profile {profile.id} says that it must be ready, {format_span(profile.ready.within)}"
        )
        yield Finding(_written(catalogue, timeout, within), message, (timeout, within, ("groups", group.id, "profile")))


_ROUNDING = 1e-9
"""Intervals are decimal fractions of a second, which binary numbers miss by less than this."""

_RULES: tuple[Callable[[Catalogue], Iterator[Finding]], ...] = (
    references.unknown,
    references.repeats,
    references.unreachable_secrets,
    thresholds.quorums,
    thresholds.units,
    thresholds.ranges,
    ranks.unreachable,
    thresholds.shared,
    thresholds.targets,
    thresholds.kept_levels,
    thresholds.fired,
    _least_amounts,
    contradictions.unreachable_counts,
    _counted,
    contradictions.unreachable_steps,
    _durations,
    timings.stabilisations,
    _windows,
    contradictions.contradictions,
    _listeners,
    _ports,
    cloudstack_api.clouds,
    cloudstack_api.rules,
    balancers.makers,
    balancers.shapes,
    balancers.ports,
    balancers.networks,
    balancers.owners,
    balancers.elsewhere,
    balancers.maps,
    _unseen_fields,
    answering.elsewhere,
    answering.late,
    _bounds,
    _build_times,
    programs.fitting,
    programs.shared_roles,
    balancers.pools,
    answering.unclear,
    answering.kinds,
    answering.objects,
    alerts.fired_policies,
    alerts.floors,
    alerts.values,
    alerts.contradictions,
    workers.on_several_machines,
    workers.without_a_worker,
)
