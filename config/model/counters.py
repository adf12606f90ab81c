"""What can be measured: counters, and where the reading of each comes from."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.model.access import OPEN, HttpAccess
from config.model.reductions import Reduce
from config.units import AlertId, CounterId, Seconds, SourceId


class Per(enum.Enum):
    """What a value belongs to: each member, or the group as a whole."""

    MEMBER = "member"
    GROUP = "group"


class CounterKind(enum.Enum):
    """How a reading is to be understood."""

    GAUGE = "gauge"
    RISING = "counter"
    """Rises for ever and wraps or resets: only its rate per second means anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnmpObject:
    """One SNMP object of every member's agent, or (with the counter's ``rows``) a whole column of a table."""

    oid: str
    """Numeric, no leading dot: ``1.3.6.1.4.1.2021.11.9.0``; with the instance, unless it is a column."""
    name: str
    """As the operator wrote it, for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxyField:
    """One column of HAProxy's statistics: of the member's server line, or of the backend's (per group)."""

    field: str
    server: SourceId | None = None
    """A `HaproxyStats`. ``None``: the runtime sockets of the group's own balancers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetscalerField:
    """One NITRO statistic: of the member's service (group member), or of the virtual server (per group)."""

    field: str
    """NITRO's own name, ``avgsvrttfb``; CloudStack's names have been translated."""
    server: SourceId
    """A `NetscalerStats`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusQuery:
    """The answer to a query in PromQL."""

    query: str
    """``$group`` stands for the group's name; so one query serves every group."""
    server: SourceId
    """A `PrometheusServer`."""
    label: str | None = None
    """Per member: the label that names the member, by name or by address (with or without a port)."""
    over: Seconds | None = None
    """A range query over so long a time, up to now; the counter's ``rows`` says how its points become one.
    ``None``: an instant query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedValue:
    """A number that members, or applications on behalf of the group, send by themselves."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAddress:
    """An address that every member answers at."""

    port: int
    path: str
    tls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedAddress:
    """An address that answers for the group."""

    url: str
    """``$group`` stands for the group's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonPick:
    """The number that a JSONPath (RFC 9535) finds in a JSON document."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPick:
    """A sample of OpenMetrics (or Prometheus) text."""

    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Labels that it must have, each with exactly this value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpValue:
    """A number picked out of what an HTTP endpoint answers."""

    at: MemberAddress | FixedAddress
    pick: JsonPick | MetricPick
    access: HttpAccess = OPEN
    timeout: Seconds = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginValue:
    """A number from a plugin: an entry point of the group ``trimtab.sources``."""

    plugin: str
    """The entry point's name."""
    options: Mapping[str, str | float | bool] = field(default_factory=lambda: MappingProxyType({}))
    """As written, for the plugin to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertedValue:
    """A number that an alert brought, for the group as a whole; absent once the alert's time to live is over."""

    alert: AlertId


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaAttribute:
    """An attribute that OpenNebula, the cloud of the group's profile, has of the member's virtual machine."""

    name: str
    """In upper case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackField:
    """A field that CloudStack, the cloud of the group's profile, has of the member's virtual machine."""

    name: str
    """A key of `config.counters.cloud_measures.CLOUDSTACK_FIELDS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NovaField:
    """A field of the diagnostics that Nova, of the cloud of the group's profile, has of the member's server."""

    name: str
    """A key of `config.counters.cloud_measures.NOVA_FIELDS`: which part of the answer, and what of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GnocchiMetric:
    """A metric that Gnocchi, of the cloud of the group's profile, keeps of the member's server."""

    name: str
    aggregation: str
    """Over one period of the archive policy: ``mean``, ``rate:mean``."""
    granularity: Seconds
    """How long a period is."""


CounterSource = (
    SnmpObject
    | HaproxyField
    | NetscalerField
    | PrometheusQuery
    | PushedValue
    | HttpValue
    | PluginValue
    | AlertedValue
    | OpennebulaAttribute
    | CloudstackField
    | NovaField
    | GnocchiMetric
)
"""Closed union of where readings come from."""

SOURCE_WORDS: Mapping[type[CounterSource], str] = MappingProxyType(
    {
        SnmpObject: "snmp",
        HaproxyField: "haproxy",
        NetscalerField: "netscaler",
        PrometheusQuery: "prometheus",
        PushedValue: "push",
        HttpValue: "http",
        PluginValue: "plugin",
        AlertedValue: "alert",
        OpennebulaAttribute: "opennebula",
        CloudstackField: "cloudstack",
        NovaField: "nova",
        GnocchiMetric: "gnocchi",
    }
)
"""What each kind of source is called: in the file, in metrics and in logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """Something that can be measured."""

    id: CounterId
    source: CounterSource
    per: Per = Per.MEMBER
    rows: Reduce | None = None
    """How an answer of several rows (of a table, a path, a query) becomes one reading. ``None``: it has one row."""
    kind: CounterKind = CounterKind.GAUGE
    bits: int = 64
    """Width at which a RISING counter wraps. 64 never wraps in practice: going back is then a reset."""
    unit: str = ""
    scale: float = 1.0
    """Reading (or its rate per second) × scale = value in ``unit``."""
    range: tuple[float, float] | None = None
    """Least and greatest possible value, in ``unit``; lets an answer count while some members have no value."""
    lag: Seconds = 0.0
    """How much later than it happened a reading can be had: windows end so long ago, and age allows for it."""
    shared: bool = False
    """Members share what it measures: of twice as many, each shows half of it. Only replay looks at it."""


def asks_members(counter: Counter) -> bool:
    """Whether the members themselves answer for the counter, at their own addresses or by pushing.

    Such a value shows that the member is there. A share of members' values that one place answers for does not: one
    address under ``http``, a balancer, Prometheus, the cloud.
    """
    source = counter.source
    if counter.per is Per.GROUP:
        return False
    if isinstance(source, HttpValue):
        return isinstance(source.at, MemberAddress)
    return isinstance(source, SnmpObject | PushedValue)


def source_word(counter: Counter) -> str:
    """What the source of a counter is called; of a plugin, its own name."""
    source = counter.source
    return source.plugin if isinstance(source, PluginValue) else SOURCE_WORDS[type(source)]
