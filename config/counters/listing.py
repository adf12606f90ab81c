"""Every counter that has a name of its own, for people who look for one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from config.counters.cloud_measures import CLOUDSTACK_FIELDS, NOVA_FIELDS, OPENNEBULA_ATTRIBUTES
from config.counters.cloudstack import SHIPPED
from config.counters.haproxy import BACKEND_COLUMNS, COLUMNS
from config.counters.nitro import MEMBER_STATISTICS, VSERVER_STATISTICS
from config.counters.objects import KnownObject, ObjectShape
from config.counters.well_known import ENTRIES, WELL_KNOWN
from config.model.counters import Per


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterName:
    """One name, and how it is written into a counter."""

    group: str
    """Where the name comes from: CloudStack, a MIB, HAProxy, NetScaler, OpenNebula, Nova."""
    key: str
    """The key of the counter that takes the name: ``snmp``."""
    name: str
    """As it is written; of a column of a table, without an instance."""
    per: tuple[Per, ...]
    """What a value can belong to."""
    table: bool = False
    """A column of a table: write an instance (``.1``) after the name, or ``rows`` beside it."""
    shape: ObjectShape
    """Of what answers for members, where that differs from groups."""


def listed(more: Iterable[KnownObject] = ()) -> Iterator[CounterName]:
    """Every built-in name, group by group; ``more`` objects come after those of SNMP."""
    yield from _cloudstack()
    yield from _of_both("CloudStack", "cloudstack", CLOUDSTACK_FIELDS, {})
    objects = (*ENTRIES, *(entry for entry in more if entry.name not in WELL_KNOWN.by_name))
    modules = {module: place for place, module in enumerate(dict.fromkeys(map(_module, objects)))}
    for entry in sorted(objects, key=lambda entry: modules[_module(entry)]):
        name = entry.name if entry.column else f"{entry.name}.0"
        yield CounterName(
            group=_module(entry), key="snmp", name=name, per=(Per.MEMBER,), table=entry.column, shape=entry.shape
        )
    yield from _of_both("HAProxy", "haproxy", COLUMNS, BACKEND_COLUMNS)
    yield from _of_both("NetScaler", "netscaler", MEMBER_STATISTICS, VSERVER_STATISTICS)
    yield from _of_both("OpenNebula", "opennebula", OPENNEBULA_ATTRIBUTES, {})
    yield from _of_both("Nova", "nova", NOVA_FIELDS, {})


def matching(entries: Iterable[CounterName], word: str) -> Iterator[CounterName]:
    """Those that have a word, in any capitals, in their group, name, unit or description."""
    wanted = word.lower()
    for entry in entries:
        texts = (entry.group, entry.key, entry.name, entry.shape.unit, entry.shape.description)
        if any(wanted in part.lower() for part in texts):
            yield entry


def _cloudstack() -> Iterator[CounterName]:
    shapes = {"haproxy": COLUMNS, "netscaler": MEMBER_STATISTICS}
    for shipped in SHIPPED:
        if shipped.keys:
            key, name = next(iter(shipped.keys.items()))
            known = WELL_KNOWN.resolve(name)
            shape = known.shape if known is not None else shapes[key][name]
            documented = ObjectShape(
                kind=shape.kind, unit=shipped.keys.get("unit", shape.unit), description=shipped.description
            )
            yield CounterName(group="CloudStack", key="builtin", name=shipped.name, per=(Per.MEMBER,), shape=documented)


def _module(entry: KnownObject) -> str:
    return entry.name.partition("::")[0]


def _of_both(
    group: str, key: str, members: Mapping[str, ObjectShape], groups: Mapping[str, ObjectShape]
) -> Iterator[CounterName]:
    for name in sorted(members.keys() | groups.keys()):
        per = tuple(scope for scope, table in ((Per.MEMBER, members), (Per.GROUP, groups)) if name in table)
        yield CounterName(group=group, key=key, name=name, per=per, shape=members.get(name) or groups[name])
