"""Counters and the servers that answer for them: from the document to the model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import assert_never

from config.counters.objects import ObjectShape
from config.document import sources as written
from config.document.counters import CounterDocument, HttpCounterDocument
from config.model.access import HaproxyStats, NetscalerStats, PrometheusServer, ServerSource
from config.model.counters import (
    AlertedValue,
    CloudstackField,
    Counter,
    CounterSource,
    FixedAddress,
    HaproxyField,
    HttpValue,
    JsonPick,
    MemberAddress,
    MetricPick,
    NetscalerField,
    NovaField,
    OpennebulaAttribute,
    PluginValue,
    PrometheusQuery,
    PushedValue,
)
from config.model.measures import factor
from config.units import AlertId, CounterId, SourceId

UNNAMED = SourceId("")
"""The server of a counter that names none, where not exactly one can be meant. `config.checks.catalogue` refuses it."""


def server(id: SourceId, entry: written.SourceDocument) -> ServerSource:
    """One entry of ``sources``."""
    match entry.kind:
        case written.PrometheusDocument() as kind:
            return PrometheusServer(id=id, url=kind.url, access=kind.access, timeout=kind.timeout)
        case written.HaproxyStatsDocument() as kind:
            return HaproxyStats(id=id, url=kind.url, backend=kind.backend, access=kind.access, timeout=kind.timeout)
        case written.NetscalerDocument() as kind:
            return NetscalerStats(
                id=id,
                url=kind.url,
                user=kind.user,
                password=kind.password.ref,
                virtual_server=kind.virtual_server,
                service_group=kind.service_group,
                trust=kind.trust,
                timeout=kind.timeout,
            )
        case _:
            assert_never(entry.kind)


_UNKNOWN = ObjectShape(bits=64)


def counter(id: CounterId, entry: CounterDocument, sources: Mapping[SourceId, ServerSource]) -> Counter:
    """One entry of ``counters``: what is written wins over what is known of the source; units convert."""
    shape = entry.shape or _UNKNOWN
    unit = entry.unit or shape.unit
    converted = (factor(shape.unit, unit) if shape.unit else None) or 1.0
    return Counter(
        id=id,
        source=_reading(entry, sources),
        per=entry.answers,
        rows=entry.reduction,
        kind=entry.kind or shape.kind,
        bits=entry.bits or shape.bits,
        unit=unit,
        scale=entry.scale if entry.scale is not None else shape.scale * converted,
        range=_range(entry, shape, converted),
        lag=entry.lag,
        shared=entry.shared,
    )


def _range(entry: CounterDocument, shape: ObjectShape, converted: float) -> tuple[float, float] | None:
    if entry.range is not None:
        low, high = entry.range
        return float(low), float(high)
    if shape.range is None or entry.scale is not None:
        return None
    return shape.range[0] * converted, shape.range[1] * converted


def _reading(entry: CounterDocument, sources: Mapping[SourceId, ServerSource]) -> CounterSource:
    if entry.snmp is not None:
        return entry.snmp.object
    if entry.http is not None:
        return _http(entry.http)
    if entry.push is not None:
        return PushedValue(name=entry.push)
    if entry.plugin is not None:
        return PluginValue(plugin=entry.plugin.name, options=MappingProxyType(dict(entry.plugin.options)))
    if entry.alert is not None:
        return AlertedValue(alert=AlertId(entry.alert))
    return _served(entry, sources)


def _served(entry: CounterDocument, sources: Mapping[SourceId, ServerSource]) -> CounterSource:
    """What the cloud or a server answers for; a lone server of its kind need not be named."""
    if (known := _of_cloud(entry)) is not None:
        return known
    if entry.haproxy is not None:
        return HaproxyField(field=entry.haproxy, server=None if entry.server is None else SourceId(entry.server))
    kind = PrometheusServer if entry.prometheus is not None else NetscalerStats
    fitting = [name for name, source in sources.items() if isinstance(source, kind)]
    meant = SourceId(entry.server) if entry.server is not None else fitting[0] if len(fitting) == 1 else UNNAMED
    if entry.prometheus is not None:
        return PrometheusQuery(query=entry.prometheus, server=meant, label=entry.label, over=entry.over)
    return NetscalerField(field=entry.netscaler or "", server=meant)


def _of_cloud(entry: CounterDocument) -> CounterSource | None:
    if entry.opennebula is not None:
        return OpennebulaAttribute(name=entry.opennebula)
    if entry.cloudstack is not None:
        return CloudstackField(name=entry.cloudstack)
    if entry.nova is not None:
        return NovaField(name=entry.nova)
    return None if entry.gnocchi is None else entry.gnocchi.meant


def _http(entry: HttpCounterDocument) -> HttpValue:
    at: MemberAddress | FixedAddress
    if entry.url is not None:
        at = FixedAddress(url=entry.url)
    else:
        at = MemberAddress(port=entry.port or 0, path=entry.path or "", tls=entry.tls)
    pick: JsonPick | MetricPick
    if entry.jsonpath is not None:
        pick = JsonPick(path=entry.jsonpath)
    else:
        pick = MetricPick(name=entry.metric or "", labels=MappingProxyType(dict(entry.labels)))
    return HttpValue(at=at, pick=pick, access=entry.access, timeout=entry.timeout)
