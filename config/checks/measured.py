"""What counters may say about the clouds that answer for them; run by `config.checks.catalogue`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from config.checks.findings import Finding, followed_at
from config.model.catalogue import Catalogue, Group
from config.model.clouds import Cloud, CloudstackCloud, OneflowCloud, OpennebulaCloud, OpenstackCloud
from config.model.counters import CloudstackField, Counter, CounterSource, GnocchiMetric, NovaField, OpennebulaAttribute
from config.units import CounterId, PolicyId, format_span

_ANSWERING: Mapping[type[CounterSource], tuple[tuple[type[Cloud], ...], str]] = MappingProxyType(
    {
        OpennebulaAttribute: ((OpennebulaCloud, OneflowCloud), "OpenNebula"),
        CloudstackField: ((CloudstackCloud,), "CloudStack"),
        NovaField: ((OpenstackCloud,), "OpenStack"),
        GnocchiMetric: ((OpenstackCloud,), "OpenStack"),
    }
)


def elsewhere(catalogue: Catalogue) -> Iterator[Finding]:
    """A cloud knows only its own machines."""
    for group in catalogue.groups.values():
        profile = catalogue.profiles.get(group.profile)
        cloud = None if profile is None else catalogue.clouds.get(profile.cloud)
        for policy in group.policies if cloud is not None else ():
            lacking: dict[str, list[Counter]] = {}
            for counter in _counters(catalogue, policy):
                kinds, name = _ANSWERING.get(type(counter.source), ((object,), ""))
                if not isinstance(cloud, kinds):
                    lacking.setdefault(name, []).append(counter)
            for name, counters in lacking.items():
                needs = ", ".join(counter.id for counter in counters)
                message = f"needs {needs} from {name}, but the group's members are not on it"
                leans = tuple(("counters", counter.id) for counter in counters)
                yield Finding(followed_at(group, policy), message, (("groups", group.id, "profile"), *leans))


def late(catalogue: Catalogue) -> Iterator[Finding]:
    """The value of a period is there when the period has ended, and as old as it is long before the next one is."""
    told: set[CounterId] = set()
    for group in catalogue.groups.values():
        for counter in (each for policy in group.policies for each in _counters(catalogue, policy)):
            stale = _stale(group, counter)
            if stale is not None and counter.id not in told:
                told.add(counter.id)
                yield stale


def _stale(group: Group, counter: Counter) -> Finding | None:
    limit = group.freshness * group.interval + counter.lag
    if not isinstance(counter.source, GnocchiMetric) or limit > counter.source.granularity:
        return None
    period, allowed = format_span(counter.source.granularity), format_span(limit)
    message = (
        f"it has one value every {period}, but what is older than {allowed} is stale for {group.id}: "
        f"write lag: {period} or more"
    )
    where = ("counters", counter.id, "gnocchi")
    return Finding(where, message, (where, ("groups", group.id)))


def _counters(catalogue: Catalogue, name: PolicyId) -> list[Counter]:
    policy = catalogue.policies.get(name)
    conditions = (catalogue.conditions.get(condition) for condition in (policy.when if policy else ()))
    names = {counter for condition in conditions if condition for counter in condition.counters}
    return [catalogue.counters[name] for name in sorted(names) if name in catalogue.counters]
