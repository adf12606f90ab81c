"""Counters as they are written: exactly one source each, and what its readings mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, Strict, field_validator, model_validator
from pydantic_core import PydanticCustomError

from config.counters.cloud_measures import CLOUDSTACK_FIELDS, NOVA_FIELDS, OPENNEBULA_ATTRIBUTES
from config.counters.cloudstack import written_out
from config.counters.haproxy import BACKEND_COLUMNS, COLUMNS
from config.counters.nitro import MEMBER_STATISTICS, VSERVER_STATISTICS
from config.counters.objects import ObjectShape
from config.document.addresses import BaseUrl
from config.document.counter_scalars import (
    AttributeName,
    BuiltinName,
    CloudstackName,
    HaproxyColumn,
    JsonPath,
    MetricName,
    NetscalerStatistic,
    NovaName,
    SnmpName,
)
from config.document.declared import NO_UNIT, Declared, key, must
from config.document.gnocchi import GnocchiCounterDocument
from config.document.scalars import Given, HttpPath, Label, Name, Port, PositiveSpan, Span, Text
from config.document.sources import HttpAccessDocument
from config.model.counters import CounterKind, Per
from config.model.measures import alternatives, factor
from config.model.reductions import Reduce

_Lax = Strict(False)
Number = Annotated[float, Field(allow_inf_nan=False, title="number")]


class HttpCounterDocument(HttpAccessDocument):
    """A number in what an HTTP endpoint answers: of every member (port, path), or of the group (url)."""

    hidden: ClassVar[frozenset[str]] = HttpAccessDocument.hidden | {"url"}

    port: Annotated[Port | None, Given] = key("Port of every member's endpoint.", 9100, left_out="none: url says where")
    path: Annotated[HttpPath | None, Given] = key(
        "Path of every member's endpoint.", "/metrics", left_out="none: url says where"
    )
    tls: bool = key("Whether members' endpoints speak TLS.", False, default=False)
    url: Annotated[BaseUrl | None, Given] = key(
        "The address that answers for the group; $group stands for its name.",
        "https://queue.example.org/$group",
        left_out="none: port and path say where",
    )
    jsonpath: Annotated[JsonPath | None, Given] = key(
        "The number in a JSON answer, as a JSONPath (RFC 9535).", "$.queue.waiting", left_out="none: metric says which"
    )
    metric: Annotated[MetricName | None, Given] = key(
        "The sample in an OpenMetrics or Prometheus answer.",
        "http_requests_in_flight",
        left_out="none: jsonpath says which",
    )
    labels: dict[Label, Text] = key("Labels that the sample must have.", {"handler": "/buy"}, default={})

    @model_validator(mode="after")
    def _one_place_and_one_pick(self) -> Self:
        member = self.port is not None or self.path is not None
        if member == (self.url is not None):
            message = "write port and path for an endpoint of every member, or url for one of the group"
            raise PydanticCustomError("sentence", message, {"key": ""})
        if member and (self.port is None or self.path is None):
            missing = "port" if self.port is None else "path"
            raise PydanticCustomError("sentence", "{missing} is missing", {"missing": missing, "key": ""})
        if (self.jsonpath is None) == (self.metric is None):
            message = "write jsonpath or metric: one of them selects the value in the answer"
            raise PydanticCustomError("sentence", message, {"key": ""})
        if self.labels and self.metric is None:
            raise PydanticCustomError("sentence", "labels go with metric", {"key": "labels"})
        return self


class PluginDocument(Declared):
    """A source of another author."""

    name: Name = must("Its entry point in the group trimtab.sources.", "weather")
    options: dict[Name, str | Number | bool] = key("For the plugin to read.", {"city": "Paris"}, default={})


class CounterDocument(Declared):
    """Something that can be measured, of every member or of the group as a whole. Exactly one source."""

    choice: ClassVar[tuple[str, ...]] = (
        "snmp",
        "haproxy",
        "netscaler",
        "prometheus",
        "push",
        "http",
        "plugin",
        "alert",
        "opennebula",
        "cloudstack",
        "nova",
        "gnocchi",
        "builtin",
    )
    choice_of: ClassVar[str] = "the source of the counter"
    refused: ClassVar[Mapping[str, str]] = {
        "openstack": "write nova for values of hypervisors, or gnocchi for values that Ceilometer stores"
    }

    snmp: Annotated[SnmpName | None, Given] = key(
        "An SNMP object of every member's agent, with its instance: a well-known name or a numeric OID. With rows: a "
        "column of a table, without instance.",
        "UCD-SNMP-MIB::ssCpuUser.0",
        "1.3.6.1.4.1.2021.11.9.0",
    )
    haproxy: Annotated[HaproxyColumn | None, Given] = key(
        "A column of HAProxy's show stat: of every member's server line, or with per: group of the backend's.", "scur"
    )
    netscaler: Annotated[NetscalerStatistic | None, Given] = key(
        "A statistic of a NetScaler, by NITRO's name or CloudStack's: of every member, or with per: group of the "
        "virtual server.",
        "avgsvrttfb",
        "RESPTIME",
    )
    prometheus: Annotated[Text | None, Given] = key(
        "A query in PromQL; $group stands for the group's name. One value for the group, or with label one per member.",
        'sum(rabbitmq_queue_messages{queue="work"})',
    )
    push: Annotated[Label | None, Given] = key(
        "The name under which members (or with per: group, applications) send the value.", "ORDERS_PENDING"
    )
    http: Annotated[HttpCounterDocument | None, Given] = key(
        "A number in the answer of an HTTP endpoint, in JSON or OpenMetrics.",
        {"port": 9100, "path": "/metrics", "metric": "http_requests_in_flight"},
    )
    plugin: Annotated[PluginDocument | None, Given] = key(
        "A source of another author, as an entry point of the group trimtab.sources.",
        {"name": "weather", "options": {"city": "Paris"}},
    )
    alert: Annotated[Name | None, Given] = key(
        "An alert that brings a value, of the group as a whole; of several that fire, the greatest.", "depth"
    )
    opennebula: Annotated[AttributeName | None, Given] = key(
        "An attribute of members' virtual machines on OpenNebula: measured by hypervisors, or sent by guests.",
        "NETTX",
    )
    cloudstack: Annotated[CloudstackName | None, Given] = key(
        "What CloudStack measures of members' virtual machines: a field of listVirtualMachinesMetrics.", "cpuused"
    )
    nova: Annotated[NovaName | None, Given] = key(
        "What hypervisors measure of members' servers on OpenStack: a part of Nova's diagnostics, and a field of it.",
        "cpu_details.time",
    )
    gnocchi: Annotated[GnocchiCounterDocument | None, Given] = key(
        "A metric that Gnocchi keeps of members' servers on OpenStack.", {"metric": "memory.usage", "granularity": "5m"}
    )
    builtin: Annotated[BuiltinName | None, Given] = key(
        "A counter that CloudStack ships, by its name there; it stands for the source and the unit that measure the "
        "same here.",
        "Linux User CPU - percentage",
    )
    server: Annotated[Name | None, Given] = key(
        "The entry of sources that is asked: for prometheus and netscaler where there is more than one, for haproxy "
        "where the statistics page is to be read and not the runtime socket.",
        "prom",
        left_out="the only one of its kind; for haproxy the runtime socket",
    )
    label: Annotated[Label | None, Given] = key(
        "With prometheus: the label that names the member, by name or address.",
        "instance",
        left_out="the answer is one value for the group",
    )
    over: Annotated[PositiveSpan | None, Given] = key(
        "With prometheus: a range query over so long a time; rows says how its points become one.",
        "60s",
        left_out="an instant query",
    )
    rows: Annotated[Literal["avg", "min", "max", "sum", "count", "last"] | None, Given] = key(
        "How an answer of several rows (of a table, a path, a query) becomes one value.",
        "sum",
        left_out="an answer has one row; counts of nova are added up",
    )
    lag: Span = key("How long after the event the value is available.", "60s", default=0)
    per: Annotated[Annotated[Per, _Lax] | None, Given] = key(
        "What a value belongs to: each member, or the group as a whole.",
        "member",
        left_out="it follows from the source",
    )
    kind: Annotated[Annotated[CounterKind, _Lax] | None, Given] = key(
        "gauge: the reading is the value. counter: it rises for ever and becomes a rate per second.",
        "counter",
        left_out="known for well-known names, else gauge",
    )
    bits: Annotated[Literal[32, 64] | None, Given] = key(
        "Width at which a rising counter wraps.", 32, left_out="known for well-known names, else 64", unit="bits"
    )
    unit: Annotated[Text | None, Given] = key(
        "Unit of the value. Values of well-known names are converted to it where that has a meaning.",
        "percent",
        left_out="known for well-known names, else none",
    )
    scale: Annotated[Annotated[float, Field(gt=0, allow_inf_nan=False)] | None, Given] = key(
        "By what a reading, or its rate, is multiplied to have the unit.",
        0.01,
        left_out="nothing: it is taken as it is",
        unit=NO_UNIT,
    )
    range: Annotated[Annotated[list[Number], Field(min_length=2, max_length=2)] | None, Given] = key(
        "Least and greatest possible value: lets a result count while some members have no value.",
        [0, 100],
        left_out="known for well-known names, else none",
    )

    shared: bool = key(
        "Members share what it measures: of twice as many, each shows half. For trimtab replay --model shared-load.",
        True,
        default=False,
    )

    @model_validator(mode="before")
    @classmethod
    def _written_out(cls, entry: object) -> object:
        return written_out(entry)

    @field_validator("range")
    @classmethod
    def _in_order(cls, value: list[float] | None) -> list[float] | None:
        if value is not None and value[0] >= value[1]:
            raise ValueError("a range with the lesser value first")
        return value

    @model_validator(mode="after")
    def _fitting_source(self) -> Self:
        for rule in (_keys_of_source, _who_answers, _sharing, _instances, _columns, _rising_rows):
            if (wrong := rule(self)) is not None:
                place, message = wrong
                raise PydanticCustomError("sentence", "{message}", {"message": message, "key": place})
        return self

    @model_validator(mode="after")
    def _fitting_unit(self) -> Self:
        shape = self.shape
        if shape and shape.unit and self.unit and self.scale is None and factor(shape.unit, self.unit) is None:
            raise PydanticCustomError(
                "sentence",
                "{unit} is not a unit for this counter, which gives {known}: write one of {units}, or add a scale",
                {
                    "unit": ascii(self.unit),
                    "known": shape.unit,
                    "units": ", ".join(alternatives(shape.unit)),
                    "key": "unit",
                },
            )
        return self

    @property
    def answers(self) -> Per:
        """What a value belongs to, whether it is written or follows from the source."""
        return self.per or _natural(self)

    @property
    def reduction(self) -> Reduce | None:
        """How rows become one value. Of Nova's parts, counts are added up unless it is written."""
        if self.rows is None and self.nova is not None:
            return Reduce.SUM if NOVA_FIELDS[self.nova].kind is CounterKind.RISING else None
        return None if self.rows is None else Reduce(self.rows)

    @property
    def shape(self) -> ObjectShape | None:
        """What is known of the source, if it is a well-known one. Of another kind, its values are something else."""
        shape = _known(self)
        if shape is not None and self.kind not in {None, shape.kind}:
            return ObjectShape(bits=shape.bits)
        return shape


_Wrong = tuple[str, str]
"""The key at which to point, and what is wrong."""

_ONLY_WITH: Mapping[str, tuple[str, ...]] = {
    "server": ("prometheus", "netscaler", "haproxy"),
    "label": ("prometheus",),
    "over": ("prometheus",),
    "rows": ("snmp", "prometheus", "http", "plugin", "nova"),
}


def _keys_of_source(entry: CounterDocument) -> _Wrong | None:
    for stray, sources in _ONLY_WITH.items():
        if getattr(entry, stray) is not None and all(getattr(entry, source) is None for source in sources):
            return stray, f"{stray} goes with {' or '.join(sources)}: remove it"
    if entry.over is not None and entry.rows is None:
        return "over", "a range query returns many points: write rows, for example rows: avg, to reduce them to one"
    return None


def _natural(entry: CounterDocument) -> Per:
    """What a value belongs to unless it is written."""
    if entry.alert is not None or (entry.prometheus is not None and entry.label is None):
        return Per.GROUP
    return Per.GROUP if entry.http is not None and entry.http.url is not None else Per.MEMBER


_WHY_NO_PER: Mapping[str, str] = {
    "alert": "an alert brings one value for the whole group, not one per member: remove per",
    "snmp": "an SNMP value is always per member: remove per",
    "http": "port or url decides whether a value is per member: remove per",
    "opennebula": "an OpenNebula value is always per member: remove per",
    "cloudstack": "a CloudStack value is always per member: remove per",
    "nova": "Nova answers for every member: remove per",
    "gnocchi": "Gnocchi answers for every member: remove per",
}


def _who_answers(entry: CounterDocument) -> _Wrong | None:
    if entry.alert is not None and entry.kind is CounterKind.RISING:
        return "kind", "an alert brings a value, not a rising count: remove kind"
    if entry.gnocchi is not None and (message := entry.gnocchi.misread(entry.kind)) is not None:
        return "kind", message
    if entry.per is None or entry.per is _natural(entry):
        return None
    if entry.prometheus is not None and entry.label is None:
        return "per", "one value per member needs label: the label that names the member"
    if entry.prometheus is not None:
        return "per", "one value for the group needs no label: remove label, or per"
    message = next((message for source, message in _WHY_NO_PER.items() if getattr(entry, source) is not None), None)
    return None if message is None else ("per", message)


def _sharing(entry: CounterDocument) -> _Wrong | None:
    if entry.shared and entry.answers is Per.GROUP:
        return "shared", "a value of the whole group is not shared among members: remove shared"
    return None


def _instances(entry: CounterDocument) -> _Wrong | None:
    """An object has an instance, a column has rows; a numeric OID is taken at its word."""
    if entry.nova == "cpu_details.utilisation" and entry.rows is None:
        return "nova", "a server has several cores: write rows: avg, or max"
    name = "" if entry.snmp is None else entry.snmp.object.name
    if not name or name.lstrip(".")[:1].isdigit():
        return None
    instance = "." in name.rpartition("::")[2]
    if entry.rows is None and not instance:
        return "snmp", f"write its instance ({name}.0, or .1 and so on), or rows: how all of them become one"
    if entry.rows is not None and instance:
        return "snmp", "rows reads the whole column: leave the instance away, or remove rows"
    return None


def _columns(entry: CounterDocument) -> _Wrong | None:
    """Not every line has every column, and not every object every statistic."""
    if entry.haproxy is not None and entry.haproxy not in _columns_of(entry):
        return "haproxy", f"{'a backend' if entry.answers is Per.GROUP else 'a server'} has no number in this column"
    if entry.netscaler is not None and entry.netscaler not in _statistics_of(entry):
        return "netscaler", f"{'a virtual server' if entry.answers is Per.GROUP else 'a member'} has no such statistic"
    return None


def _rising_rows(entry: CounterDocument) -> _Wrong | None:
    """Counts that rise can be added up row by row; the greatest of them, say, is no count that rises."""
    known = _known(entry)
    kind = entry.kind or (known.kind if known else CounterKind.GAUGE)
    if kind is CounterKind.RISING and entry.rows not in {None, "sum"}:
        return "rows", "values of rising counters can only be added up: write rows: sum"
    if kind is CounterKind.RISING and entry.over is not None:
        return "over", "a rising counter has no sum over time: remove over, or write rate(...) in the query"
    return None


def _known(entry: CounterDocument) -> ObjectShape | None:
    if entry.snmp is not None:
        return entry.snmp.shape
    if entry.haproxy is not None:
        return _columns_of(entry).get(entry.haproxy)
    if entry.netscaler is not None:
        return _statistics_of(entry).get(entry.netscaler)
    return _known_to_cloud(entry)


def _columns_of(entry: CounterDocument) -> Mapping[str, ObjectShape]:
    return BACKEND_COLUMNS if entry.answers is Per.GROUP else COLUMNS


def _statistics_of(entry: CounterDocument) -> Mapping[str, ObjectShape]:
    return VSERVER_STATISTICS if entry.answers is Per.GROUP else MEMBER_STATISTICS


def _known_to_cloud(entry: CounterDocument) -> ObjectShape | None:
    if entry.opennebula is not None:
        return OPENNEBULA_ATTRIBUTES.get(entry.opennebula)
    if entry.cloudstack is not None:
        return CLOUDSTACK_FIELDS[entry.cloudstack]
    if entry.nova is not None:
        return NOVA_FIELDS[entry.nova]
    return None if entry.gnocchi is None else entry.gnocchi.shape
