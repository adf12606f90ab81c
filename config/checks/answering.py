"""What counters may say about the servers, plugins and clouds that answer for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from importlib.metadata import entry_points
from types import MappingProxyType

from config.build.counters import UNNAMED
from config.checks.findings import Finding, followed_at
from config.model.access import HaproxyStats, NetscalerStats, PrometheusServer, ServerSource
from config.model.catalogue import Catalogue, Group
from config.model.clouds import Cloud, CloudstackCloud, OneflowCloud, OpennebulaCloud, OpenstackCloud
from config.model.counters import (
    SOURCE_WORDS,
    CloudstackField,
    Counter,
    CounterSource,
    GnocchiMetric,
    HaproxyField,
    NetscalerField,
    NovaField,
    OpennebulaAttribute,
    Per,
    PluginValue,
    PrometheusQuery,
)
from config.model.where import Where, hint
from config.units import CounterId, PolicyId, SourceId, format_span


def named(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    """Every counter that names a server: where, of which section, which name."""
    for counter in catalogue.counters.values():
        if (server := _server_of(counter)) is not None and server != UNNAMED:
            yield ("counters", counter.id, "server"), "sources", server


def needs_balancer(counter: Counter) -> bool:
    """Whether a counter is read from the runtime sockets of the group's own balancers."""
    return isinstance(counter.source, HaproxyField) and counter.source.server is None


def unclear(catalogue: Catalogue) -> Iterator[Finding]:
    """A counter that names no server, where not exactly one can be meant."""
    for counter in catalogue.counters.values():
        if _server_of(counter) != UNNAMED:
            continue
        kind, word = _kind_of(counter), SOURCE_WORDS[type(counter.source)]
        fitting = sorted(name for name, source in catalogue.sources.items() if isinstance(source, kind))
        if fitting:
            message = f"several sources fit: write server: {' or '.join(fitting)}"
        else:
            message = f"no source fits: declare one, as sources: {{NAME: {{{word}: ...}}}}"
        yield Finding(("counters", counter.id, word), message, (("sources",),))


def kinds(catalogue: Catalogue) -> Iterator[Finding]:
    """A server of another kind than the counter's."""
    for counter, source in _served(catalogue):
        if not isinstance(source, _kind_of(counter)):
            word = SOURCE_WORDS[type(counter.source)]
            yield Finding(
                ("counters", counter.id, "server"), f"{source.id} is not a {word} source", (("sources", source.id),)
            )


def objects(catalogue: Catalogue) -> Iterator[Finding]:
    """A statistic of a virtual server, where none is named."""
    for counter, source in _served(catalogue):
        if not isinstance(source, NetscalerStats) or not isinstance(counter.source, NetscalerField):
            continue
        if counter.per is Per.GROUP and source.virtual_server is None:
            message = f"the counter reads the group's virtual server, but the source {source.id} names none"
            leans = (("sources", source.id), ("counters", counter.id, "server"))
            yield Finding(("counters", counter.id, "per"), message, leans)


def _served(catalogue: Catalogue) -> Iterator[tuple[Counter, ServerSource]]:
    for counter in catalogue.counters.values():
        source = catalogue.sources.get(_server_of(counter) or UNNAMED)
        if source is not None:
            yield counter, source


def _server_of(counter: Counter) -> SourceId | None:
    match counter.source:
        case HaproxyField(server=server) | NetscalerField(server=server) | PrometheusQuery(server=server):
            return server
        case _:
            return None


def _kind_of(counter: Counter) -> type[ServerSource]:
    match counter.source:
        case NetscalerField():
            return NetscalerStats
        case HaproxyField():
            return HaproxyStats
        case _:
            return PrometheusServer


ENTRY_POINTS = "trimtab.sources"
"""The group of entry points that plugins are found by. Source: packaging.python.org, "Entry points specification"."""


def installed(catalogue: Catalogue) -> AbstractSet[str]:
    """Return the names of installed plugins, without importing any. Empty if no counter uses a plugin."""
    if not any(isinstance(counter.source, PluginValue) for counter in catalogue.counters.values()):
        return frozenset()
    return {found.name for found in entry_points(group=ENTRY_POINTS)}


def missing_plugins(catalogue: Catalogue, known: AbstractSet[str]) -> Iterator[Finding]:
    """A counter that names a plugin which is not installed."""
    for counter in catalogue.counters.values():
        if isinstance(counter.source, PluginValue) and counter.source.plugin not in known:
            others = hint(counter.source.plugin, known) if known else ""
            message = (
                f"no plugin {counter.source.plugin!a} is installed{others}: install, beside trimtab, the package that "
                f"has it as an entry point of {ENTRY_POINTS}"
            )
            yield Finding(("counters", counter.id, "plugin", "name"), message)


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
    reported: set[CounterId] = set()
    for group in catalogue.groups.values():
        for counter in (each for policy in group.policies for each in _counters(catalogue, policy)):
            stale = _stale(group, counter)
            if stale is not None and counter.id not in reported:
                reported.add(counter.id)
                yield stale


def _stale(group: Group, counter: Counter) -> Finding | None:
    limit = group.freshness * group.interval + counter.lag
    if not isinstance(counter.source, GnocchiMetric) or limit > counter.source.granularity:
        return None
    period, allowed = format_span(counter.source.granularity), format_span(limit)
    message = (
        f"the counter has one value every {period}, but a value older than {allowed} is stale for group {group.id}: "
        f"write lag: {period} or more"
    )
    where = ("counters", counter.id, "gnocchi")
    return Finding(where, message, (where, ("groups", group.id)))


def _counters(catalogue: Catalogue, name: PolicyId) -> list[Counter]:
    policy = catalogue.policies.get(name)
    conditions = (catalogue.conditions.get(condition) for condition in (policy.when if policy else ()))
    names = {counter for condition in conditions if condition for counter in condition.counters}
    return [catalogue.counters[name] for name in sorted(names) if name in catalogue.counters]
