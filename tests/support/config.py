"""A small valid declaration, and catalogues drawn at random."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path

from hypothesis import strategies as st

from config.build.digest import digest_of
from config.load import parse
from config.model.access import OPEN, HaproxyStats, NetscalerStats, PrometheusServer, SecretRef, ServerSource
from config.model.adjustments import Rounding, Step, Steps
from config.model.balancers import Balancer, HaproxyBalancer, ServerTemplate, SharedListener
from config.model.calendars import Calendar
from config.model.catalogue import (
    Adjustment,
    AdjustmentVerb,
    BalancerUse,
    Budget,
    Catalogue,
    Cloud,
    Compare,
    Condition,
    Group,
    Mode,
    Policy,
    ProcessCloud,
    ProcessRecipe,
    Profile,
    Site,
)
from config.model.clouds import Calls
from config.model.counters import AlertedValue, Counter, CounterKind, HaproxyField, SnmpObject
from config.model.effects import Alert, BringValue, FirePolicy, Freeze, FrozenDirection, RaiseFloor, Shield
from config.model.recipes import ResourceLimits
from config.model.reductions import Reduce
from config.model.schedules import LastsFor, Once, ScheduledBound, ScheduledChange, ScheduledLimit

EXAMPLE = Path("config/examples/web.yaml")

DECLARATION = """\
counters:
  cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0}
  sessions: {haproxy: scur}
conditions:
  busy: {counter: cpu, above: 80}
  idle: {counter: cpu, below: 30}
policies:
  out: {when: [busy], add: 2}
  in: {when: [idle], remove: 10%}
clouds:
  local: {process: {}}
balancers:
  edge: {haproxy: {socket: /run/haproxy.sock, backend: web}}
profiles:
  web: {cloud: local, command: [serve]}
groups:
  web: {profile: web, min: 2, max: 8, policies: [out, in]}
"""


def declared(*changes: tuple[str, str]) -> Catalogue:
    """The small declaration with some of its text changed; refused as `config.load.parse` refuses."""
    text = DECLARATION
    for before, after in changes:
        assert text.count(before) == 1, f"{before!r} must stand once in the declaration"
        text = text.replace(before, after)
    return parse(text, "web.yaml")


def _section(names: st.SearchStrategy[str], make: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    def with_id(pair: tuple[str, object]) -> tuple[str, object]:
        return pair[0], dataclasses.replace(pair[1], id=pair[0])  # type: ignore[type-var]  # entities are dataclasses

    pairs = st.lists(st.tuples(names, make).map(with_id), max_size=3, unique_by=lambda pair: pair[0])
    return pairs.map(dict)


names = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
numbers = st.floats(min_value=-1e6, max_value=1e6)
spans = st.integers(0, 3600).map(float)
counters: st.SearchStrategy[object] = st.builds(
    Counter,
    id=names,
    source=st.builds(SnmpObject, oid=st.just("1.3.6.1"), name=names)
    | st.builds(HaproxyField, field=names)
    | st.builds(AlertedValue, alert=names),
    kind=st.sampled_from(CounterKind),
    unit=names,
    range=st.none() | st.tuples(numbers, numbers),
)
conditions: st.SearchStrategy[object] = st.builds(
    Condition,
    id=names,
    counter=names,
    across=st.sampled_from(Reduce),
    window=st.none() | spans,
    compare=st.sampled_from(Compare),
    threshold=numbers,
)
adjustments = st.builds(
    Adjustment,
    verb=st.sampled_from(AdjustmentVerb),
    amount=numbers,
    percent=st.booleans(),
    rounding=st.sampled_from(Rounding),
)
stairs = st.builds(Step, over=numbers, adjustment=adjustments)
policies: st.SearchStrategy[object] = st.builds(
    Policy,
    id=names,
    when=st.lists(names, max_size=3).map(tuple),
    duration=spans,
    adjustment=adjustments | st.builds(Steps, by=names, steps=st.lists(stairs, min_size=1, max_size=2).map(tuple)),
)
times = st.builds(Once, at=numbers) | st.builds(Calendar, cron=st.just("0 9 * * *"), timezone=names)
schedules: st.SearchStrategy[object] = st.builds(
    ScheduledLimit,
    id=names,
    times=times,
    until=times | st.builds(LastsFor, span=spans),
    limit=st.sampled_from(ScheduledBound),
    size=st.integers(0, 9),
) | st.builds(ScheduledChange, id=names, times=times, adjustment=adjustments, grace=spans | st.just(math.inf))
clouds: st.SearchStrategy[Cloud] = st.builds(
    ProcessCloud,
    id=names,
    budget=st.builds(Budget, per_hour=st.integers(1, 9)),
    calls=st.none() | st.builds(Calls, count=st.integers(2, 9)),
)
balancers: st.SearchStrategy[Balancer] = st.builds(
    SharedListener, id=names, address=names, port=st.integers(1, 9)
) | st.builds(
    HaproxyBalancer,
    id=names,
    socket=names,
    backend=names,
    further=st.tuples(names),
    template=st.none() | st.builds(ServerTemplate, prefix=names, map=names),
)
recipes = st.builds(
    ProcessRecipe,
    command=st.tuples(names),
    env=st.dictionaries(names, st.text(max_size=3), max_size=2),
    limits=st.builds(ResourceLimits, memory=st.none() | st.integers(1, 9), nice=st.none() | st.integers(0, 19)),
    new_privileges=st.booleans(),
)
profiles: st.SearchStrategy[object] = st.builds(Profile, id=names, cloud=names, recipe=recipes)
groups: st.SearchStrategy[object] = st.builds(
    Group,
    id=names,
    profile=names,
    balancers=st.lists(st.builds(BalancerUse, balancer=names, port=st.integers(1, 9)), max_size=2).map(tuple),
    minimum=st.integers(0, 9),
    maximum=st.integers(0, 9),
    interval=st.integers(1, 90).map(float),
    policies=st.lists(names, max_size=3).map(tuple),
    mode=st.sampled_from(Mode),
)
alerts: st.SearchStrategy[object] = st.builds(
    Alert,
    id=names,
    match=st.dictionaries(names, names, min_size=1, max_size=2),
    groups=st.lists(names, min_size=1, max_size=2).map(tuple),
    group_label=st.none() | names,
    effect=st.builds(FirePolicy, policy=names)
    | st.builds(RaiseFloor, size=st.integers(1, 9))
    | st.builds(Shield)
    | st.builds(Freeze, way=st.sampled_from(FrozenDirection))
    | st.builds(BringValue, field=names),
    ttl=spans,
)


secrets = st.builds(SecretRef, env=names)
sources: st.SearchStrategy[ServerSource] = (
    st.builds(PrometheusServer, id=names, url=names, access=st.just(OPEN), timeout=spans)
    | st.builds(HaproxyStats, id=names, url=names, backend=names, access=st.just(OPEN), timeout=spans)
    | st.builds(NetscalerStats, id=names, url=names, user=names, password=secrets, timeout=spans)
)


@st.composite
def catalogues(draw: st.DrawFn) -> Catalogue:
    """Any catalogue, sound or not."""
    sections = {
        "sources": draw(_section(names, sources)),
        "counters": draw(_section(names, counters)),
        "conditions": draw(_section(names, conditions)),
        "policies": draw(_section(names, policies)),
        "schedules": draw(_section(names, schedules)),
        "clouds": draw(_section(names, clouds)),
        "balancers": draw(_section(names, balancers)),
        "profiles": draw(_section(names, profiles)),
        "groups": draw(_section(names, groups)),
        "alerts": draw(_section(names, alerts)),
    }
    sites: Mapping[tuple[str, ...], Site] = {}
    return Catalogue(digest=digest_of(*sections.values()), sites=sites, **sections)  # type: ignore[arg-type]  # ids


def digest_again(catalogue: Catalogue, *, backwards: bool = False) -> str:
    """The digest of a catalogue's sections, each in its own order or turned around."""
    parts = {field.name: getattr(catalogue, field.name) for field in dataclasses.fields(Catalogue) if field.init}
    sections: list[Mapping[str, object]] = [
        part
        for name, part in parts.items()
        if isinstance(part, Mapping) and name not in {"event_buses", "on_workers", "sites", "written"}
    ]
    if backwards:
        sections = [dict(reversed(list(section.items()))) for section in sections]
    return digest_of(*sections)
