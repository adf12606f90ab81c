"""What a group waits for that no part of the file will ever tell it: warnings of `config.checks.lint`."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.balancers import Balancer, SharedListener
from config.model.catalogue import (
    Catalogue,
    CloudstackRuleBalancer,
    Group,
    ManagedBalancer,
    ProcessCloud,
    SimulatedCloud,
)
from config.model.counters import asks_members


def unchecked(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups whose unhealthy members are to be replaced, and whose balancers check nobody's health."""
    for group in catalogue.groups.values():
        if group.repair.unhealthy is None or any(
            _may_check(catalogue.balancers[use.balancer]) for use in group.balancers
        ):
            continue
        named = ", ".join(use.balancer for use in group.balancers)
        whom = f"no balancer of the group says who is healthy ({named})" if named else "the group has no balancer"
        message = (
            f"{whom}, so nobody is ever seen to fail: leave it out, or have members serve behind a balancer "
            "that checks them (haproxy, netscaler, octavia, or managed with a health_monitor)"
        )
        yield Finding(("groups", group.id, "repair", "unhealthy"), message)


def unheard(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups whose members only their cloud can tell of: when it says that many are gone, a person is needed.

    The kernel is believed of processes, and members of a simulated cloud are only played.
    """
    for group in catalogue.groups.values():
        profile = catalogue.profiles[group.profile]
        if isinstance(catalogue.clouds[profile.cloud], ProcessCloud | SimulatedCloud) or profile.ready is not None:
            continue
        if any(_may_check(catalogue.balancers[use.balancer]) for use in group.balancers):
            continue
        if not _asks_members(group, catalogue):
            message = (
                f"only the cloud {profile.cloud} can tell whether members are there: if it says that three or more are "
                "gone at once, nothing is replaced before trimtab converge; give the profile a ready probe, a policy "
                "of the group a counter that members answer (snmp, http, push), or the group a balancer that checks "
                "their health"
            )
            yield Finding(("groups", group.id), message)


def _asks_members(group: Group, catalogue: Catalogue) -> bool:
    conditions = (name for policy in group.policies for name in catalogue.policies[policy].when)
    counters = (name for condition in conditions for name in catalogue.conditions[condition].counters)
    return any(asks_members(catalogue.counters[name]) for name in counters)


def _may_check(balancer: Balancer) -> bool:
    """Whether a balancer may know who is healthy; most of them are told elsewhere whether they check."""
    if isinstance(balancer, ManagedBalancer):
        return balancer.health_monitor is not None
    return not isinstance(balancer, SharedListener | CloudstackRuleBalancer)
