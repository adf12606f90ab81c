"""Find entries without effect: no used entry names them, or no part of the file provides the data that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from config.model.cloudstack_api import CloudstackApi
from config.model.counters import AlertedValue, asks_members
from config.model.edits import servers_of
from config.model.effects import BringValue

_WITHOUT_EFFECT: Mapping[str, str] = {
    "sources": "no counter uses it",
    "counters": "no condition reads it and no group observes it, so it is never measured",
    "conditions": "no policy uses it, so it is never judged",
    "policies": "no group uses it, so it changes no size",
    "clouds": "no profile names it",
    "balancers": "no group uses it",
    "profiles": "no group uses it",
}
"""Section → why an entry that no other entry names has no effect. Groups and alerts have one by themselves."""


def unused(catalogue: Catalogue) -> Iterator[Finding]:
    """Find every entry that no other entry names, and alerts with a value that no counter takes."""
    named = _named(catalogue)
    for section, why in _WITHOUT_EFFECT.items():
        entries = getattr(catalogue, section)
        for name in (*entries, *catalogue.schedules) if section == "policies" else entries:
            if str(name) not in named[section]:
                yield Finding((section, name), f"{why}: use it, or remove it")
    origins = (counter.source for counter in catalogue.counters.values())
    taken = {source.alert for source in origins if isinstance(source, AlertedValue)}
    for alert in catalogue.alerts.values():
        if isinstance(alert.effect, BringValue) and alert.id not in taken:
            message = f"no counter takes the value: declare one, as counters: {{NAME: {{alert: {alert.id}}}}}"
            yield Finding(("alerts", alert.id, "value"), message)


def _named(catalogue: Catalogue) -> Mapping[str, set[str]]:
    """Section → the names that something asks for."""
    groups, api = catalogue.groups.values(), catalogue.cloudstack_api or CloudstackApi()
    of_rules = {each.balancer for each in api.rules.values()}
    of_zones = {cloud for each in api.zones.values() for cloud in (each.cloud, *each.acts_as.values())}
    return {
        "sources": {server for counter in catalogue.counters.values() for server in servers_of(counter)},
        "counters": {
            *(name for condition in catalogue.conditions.values() for name in condition.counters),
            *(name for group in groups for name in group.observed),
        },
        "conditions": {name for policy in catalogue.policies.values() for name in policy.when},
        "policies": {name for group in groups for name in (*group.policies, *(each.id for each in group.schedules))},
        "clouds": {profile.cloud for profile in catalogue.profiles.values()} | of_zones,
        "balancers": {use.balancer for group in groups for use in group.balancers} | of_rules,
        "profiles": {group.profile for group in groups},
    }


def exclusive_of_nothing(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups that are exclusive and have no balancer."""
    for group in catalogue.groups.values():
        if group.exclusive and not group.balancers:
            message = "the group has no balancer, so it has no effect: put its members behind one, or remove it"
            yield Finding(("groups", group.id, "exclusive"), message)


def unchecked(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups that replace unhealthy members, and have no balancer that checks members' health."""
    for group in catalogue.groups.values():
        if group.repair.unhealthy is None or any(
            _may_check(catalogue.balancers[use.balancer]) for use in group.balancers
        ):
            continue
        named = ", ".join(use.balancer for use in group.balancers)
        reason = f"no balancer of the group checks its members ({named})" if named else "the group has no balancer"
        message = (
            f"{reason}, so no failure is ever detected: remove it, or put the members behind a balancer "
            "that checks them (haproxy, netscaler, octavia, or managed with a health_monitor)"
        )
        yield Finding(("groups", group.id, "repair", "unhealthy"), message)


def unheard(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups with no evidence of their members but the cloud's: if it reports many as gone, a person must decide.

    The kernel's word on processes is enough, and a simulated cloud has no real members.
    """
    for group in catalogue.groups.values():
        profile = catalogue.profiles[group.profile]
        if isinstance(catalogue.clouds[profile.cloud], ProcessCloud | SimulatedCloud) or profile.ready is not None:
            continue
        if any(_may_check(catalogue.balancers[use.balancer]) for use in group.balancers):
            continue
        if not _asks_members(group, catalogue):
            message = (
                f"only the cloud {profile.cloud} shows whether members exist: if it reports three or more "
                "gone at once, no member is replaced before trimtab converge; give the profile a ready probe, a policy "
                "of the group a counter that members answer (snmp, http, push), or the group a balancer that checks "
                "their health"
            )
            yield Finding(("groups", group.id), message)


def _asks_members(group: Group, catalogue: Catalogue) -> bool:
    conditions = (name for policy in group.policies for name in catalogue.policies[policy].when)
    counters = (name for condition in conditions for name in catalogue.conditions[condition].counters)
    return any(asks_members(catalogue.counters[name]) for name in counters)


def _may_check(balancer: Balancer) -> bool:
    """Whether a balancer may know which members are healthy; most are configured outside Trimtab to check or not."""
    if isinstance(balancer, ManagedBalancer):
        return balancer.health_monitor is not None
    return not isinstance(balancer, SharedListener | CloudstackRuleBalancer)
