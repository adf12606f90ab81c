"""Find settings that are valid but probably mistakes: warnings, where `config.checks.catalogue` refuses.

A warning says where, why it hurts, and a value that works. A file with warnings loads and runs. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from config.checks import contradictions, timings, vain_schedules
from config.checks.balancers import unpinned
from config.checks.findings import Finding, problem_of
from config.checks.oscillation import Resize, overlapping
from config.checks.reachability import Certain, certainties
from config.checks.vain_entries import exclusive_of_nothing, unchecked, unheard, unused
from config.errors import Problem, by_place
from config.model.adjustments import AdjustmentVerb, outright
from config.model.catalogue import Catalogue, Group, Policy, ProcessCloud, Profile, SimulatedCloud, Victims
from config.units import PolicyId, Seconds, format_span


def lint(catalogue: Catalogue, resize: Resize, certain: Certain) -> tuple[Problem, ...]:
    """Find settings of a valid catalogue that have no effect or do harm, in the order of the file.

    Args:
        catalogue: one that `config.checks.catalogue` has nothing against.
        resize: the arithmetic of sizes, `trigger.policies.sizing.resized`.
        certain: what is true whatever is measured, `trigger.conditions.expressions.certain`.
    """
    findings = [
        *overlapping(catalogue, resize),
        *contradictions.by_expressions(catalogue),
        *contradictions.never_together(catalogue),
        *certainties(catalogue, certain),
        *timings.endless_freezes(catalogue),
        *timings.fast_counts(catalogue),
        *timings.short_intervals(catalogue),
        *_short_quiet_times(catalogue),
        *_equal_bounds(catalogue),
        *_initial_sizes(catalogue),
        *_sizes_out_of_bounds(catalogue),
        *_zones_of_nowhere(catalogue),
        *vain_schedules.cancelled(catalogue),
        *unchecked(catalogue),
        *exclusive_of_nothing(catalogue),
        *unpinned(catalogue),
        *unheard(catalogue),
        *unused(catalogue),
    ]
    return tuple(sorted({problem_of(catalogue, finding) for finding in findings}, key=by_place))


def _short_quiet_times(catalogue: Catalogue) -> Iterator[Finding]:
    """Find quiet times that end before new members take their share of the load."""
    slowest: dict[PolicyId, tuple[Seconds, Group, Profile]] = {}
    for group, policy in _followed(catalogue):
        profile = catalogue.profiles[group.profile]
        lasts = group.warm_up + (profile.ready.within if profile.ready else 0.0)
        short = policy.adjustment.verb is AdjustmentVerb.ADD and policy.quiet_time < lasts
        if short and (policy.id not in slowest or lasts > slowest[policy.id][0]):
            slowest[policy.id] = lasts, group, profile
    for name, (lasts, group, profile) in slowest.items():
        boot = f"{format_span(profile.ready.within)} to be ready and " if profile.ready else ""
        message = (
            f"quiet time {format_span(catalogue.policies[name].quiet_time)} is shorter than a member's start, so the "
            f"group may overshoot: "
            f"a new member of {group.id} may take {boot}{format_span(group.warm_up)} to warm up, "
            f"and until then the same load can add more members; {format_span(lasts)} works"
        )
        yield Finding(("policies", name, "quiet_time"), message)


def _equal_bounds(catalogue: Catalogue) -> Iterator[Finding]:
    for group in catalogue.groups.values():
        if group.named and group.minimum == group.maximum:
            message = (
                f"{group.maximum} is min, too, so no policy ever changes the size: "
                f"write at least {group.maximum + 1}, or leave policies out"
            )
            yield Finding(("groups", group.id, "max"), message)


def _initial_sizes(catalogue: Catalogue) -> Iterator[Finding]:
    for group in catalogue.groups.values():
        first = group.minimum if group.initial is None else min(max(group.initial, group.minimum), group.maximum)
        if group.initial is not None and first != group.initial:
            message = (
                f"{group.initial} is outside the bounds, {group.minimum} to {group.maximum}, so a new group begins "
                f"with {first}: write that, or change the bounds"
            )
            yield Finding(("groups", group.id, "initial"), message)


def _sizes_out_of_bounds(catalogue: Catalogue) -> Iterator[Finding]:
    """A size that is set, and that bounds always change into another."""
    seen: set[PolicyId] = set()
    for group, policy in _followed(catalogue):
        action = outright(policy.adjustment)
        if action is None or action.verb is not AdjustmentVerb.SET or action.percent or policy.id in seen:
            continue
        size = min(max(action.amount, group.minimum), group.maximum)
        if size != action.amount:
            seen.add(policy.id)
            message = (
                f"{action.amount:g} is outside the bounds of the group {group.id}, {group.minimum} to "
                f"{group.maximum}, so the size is always {size:g}: write that, or change the bounds"
            )
            yield Finding(("policies", policy.id, "set"), message)


def _zones_of_nowhere(catalogue: Catalogue) -> Iterator[Finding]:
    for group in catalogue.groups.values():
        cloud = catalogue.clouds[catalogue.profiles[group.profile].cloud]
        if group.victims is Victims.ZONE_BALANCE and isinstance(cloud, ProcessCloud | SimulatedCloud):
            message = f"members on the cloud {cloud.id} are in no zone, so the oldest leave: write oldest"
            yield Finding(("groups", group.id, "victims"), message)


def _followed(catalogue: Catalogue) -> Iterator[tuple[Group, Policy]]:
    for group in catalogue.groups.values():
        for name in group.policies:
            yield group, catalogue.policies[name]
