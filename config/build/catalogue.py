"""A document → the model that the core sees. Nothing is decided here: every default stands in the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from config.build import conditions as build_conditions
from config.build import forecasts as build_forecasts
from config.build import targets as build_targets
from config.build.balancers import balancer
from config.build.clouds import budget, cloud, event_bus
from config.build.counters import counter, server
from config.build.digest import digest_of
from config.build.profiles import profile
from config.document import file as outside
from config.document import file as written
from config.document.balancers import BalancerDocument
from config.document.clouds import CloudDocument
from config.document.policies import PolicyDocument
from config.document.schedules import instant_of
from config.document.sources import SourceDocument
from config.model.calendars import Calendar
from config.model.catalogue import (
    BalancerUse,
    Catalogue,
    Group,
    InARow,
    Policy,
    Site,
)
from config.model.daemon import ListenOn
from config.model.effects import Alert, BringValue, Effect, FirePolicy, Freeze, RaiseFloor, Shield
from config.model.observability import Notify, NotifyCommand, NotifySlack, NotifyTarget, NotifyUrl, Severity
from config.model.outbound import Outbound
from config.model.schedules import End, LastsFor, Once, Schedule, ScheduledBound, ScheduledChange, ScheduledLimit, Times
from config.units import (
    AlertId,
    BalancerId,
    CloudId,
    ConditionId,
    CounterId,
    Fraction,
    GroupId,
    PolicyId,
    ProfileId,
    Seconds,
    SourceId,
    WorkerName,
)

_AN_HOUR: Seconds = 3600.0


def schedule_of(id: PolicyId, entry: PolicyDocument) -> Schedule:
    """Return a policy with a schedule as the core sees it."""
    times: Times = _times(entry.schedule, entry.timezone) if entry.at is None else _once(entry.at, entry.timezone)
    size = entry.ceiling if entry.floor is None else entry.floor
    if size is not None and entry.until is not None:
        limit = ScheduledBound.CEILING if entry.floor is None else ScheduledBound.FLOOR
        return ScheduledLimit(id=id, times=times, until=_end(entry.until, entry.timezone), limit=limit, size=size)
    return ScheduledChange(
        id=id,
        times=times,
        adjustment=entry.outright,
        grace=_AN_HOUR if entry.missed is None else entry.missed,
        quiet_time=entry.quiet_time,
        quiet_scope=entry.quiet_scope,
    )


def _end(until: str | datetime | Seconds, timezone: str | None) -> End:
    match until:
        case str():
            return _times(until, timezone)
        case datetime():
            return _once(until, timezone)
        case span:
            return LastsFor(span=span)


def _times(cron: str | None, timezone: str | None) -> Calendar:
    return Calendar(cron=cron or "", timezone=timezone or "UTC")


def _once(moment: datetime, timezone: str | None) -> Once:
    return Once(at=instant_of(moment, timezone))


def build(
    document: written.Document, sites: Mapping[tuple[str, ...], Site], calendars: build_forecasts.Calendars
) -> Catalogue:
    """Make the catalogue of a document. References between entities are not looked at."""
    sources = {SourceId(name): server(SourceId(name), entry) for name, entry in document.sources.items()}
    counters = {CounterId(name): counter(CounterId(name), entry, sources) for name, entry in document.counters.items()}
    conditions = {
        ConditionId(name): build_conditions.condition(ConditionId(name), entry, counters)
        for name, entry in document.conditions.items()
    }
    policies = {}
    schedules = {}
    for name, entry in document.policies.items():
        if entry.is_scheduled:
            schedules[PolicyId(name)] = schedule_of(PolicyId(name), entry)
        elif entry.forecast is not None:
            conditions |= {
                each.id: each for each in build_forecasts.forecast_conditions(name, entry.forecast, counters)
            }
            policies[PolicyId(name)] = build_forecasts.forecast_policy(name, entry.forecast, counters, calendars)
        elif entry.followed is None:
            policies[PolicyId(name)] = _policy(PolicyId(name), entry)
        else:
            conditions |= {each.id: each for each in build_targets.conditions(name, entry.followed, counters)}
            policies |= {each.id: each for each in build_targets.policies(name, entry.followed, counters)}
    clouds = {CloudId(name): cloud(CloudId(name), entry) for name, entry in document.clouds.items()}
    balancers = {
        BalancerId(name): balancer(BalancerId(name), entry, clouds) for name, entry in document.balancers.items()
    }
    profiles = {ProfileId(name): profile(ProfileId(name), entry) for name, entry in document.profiles.items()}
    notify = _notify(document.notify)
    groups = {GroupId(name): _group(GroupId(name), entry, notify, document) for name, entry in document.groups.items()}
    alerts = {AlertId(name): _alert(AlertId(name), entry) for name, entry in document.alerts.items()}
    buses = {CloudId(name): event_bus(CloudId(name), entry) for name, entry in document.clouds.items()}
    by_conditions = (sources, counters, conditions, policies)
    return Catalogue(
        digest=digest_of(*by_conditions, schedules, clouds, balancers, profiles, groups, alerts),
        sources=MappingProxyType(sources),
        counters=MappingProxyType(counters),
        conditions=MappingProxyType(conditions),
        policies=MappingProxyType(policies),
        schedules=MappingProxyType(schedules),
        clouds=MappingProxyType(clouds),
        balancers=MappingProxyType(balancers),
        profiles=MappingProxyType(profiles),
        groups=MappingProxyType(groups),
        alerts=MappingProxyType(alerts),
        writable=document.writable,
        record=None if document.record is None else document.record.settings,
        listen=ListenOn() if document.listen is None else document.listen.settings,
        seal=None if document.seal is None else document.seal.key.ref,
        oidc=None if document.oidc is None else document.oidc.provider,
        outbound=Outbound() if document.outbound is None else document.outbound.settings,
        vault=None if document.vault is None else document.vault.access,
        cloudstack_api=None if document.cloudstack_api is None else document.cloudstack_api.settings,
        store=None if document.store is None else document.store.place,
        event_buses=MappingProxyType({name: bus for name, bus in buses.items() if bus is not None}),
        on_workers=MappingProxyType(dict(_on_workers(document))),
        sites=MappingProxyType(dict(sites)),
    )


def _on_workers(document: written.Document) -> Iterator[tuple[tuple[str, str], tuple[WorkerName, ...]]]:
    sections: Mapping[str, Mapping[str, CloudDocument | BalancerDocument | SourceDocument]] = {
        "clouds": document.clouds,
        "balancers": document.balancers,
        "sources": document.sources,
    }
    for section, entries in sections.items():
        for name, entry in entries.items():
            if entry.on is not None:
                yield (section, name), entry.on


def _policy(id: PolicyId, entry: PolicyDocument) -> Policy:
    return Policy(
        id=id,
        when=tuple(ConditionId(condition) for condition in entry.when or ()),
        enough=entry.match,
        duration=entry.duration,
        in_a_row=None if entry.in_a_row is None else InARow(times=entry.in_a_row.times, every=entry.in_a_row.every),
        holds=entry.holds,
        adjustment=entry.action,
        quiet_time=entry.quiet_time,
        quiet_scope=entry.quiet_scope,
    )


def _notify(entry: written.NotifyDocument | None) -> Notify | None:
    if entry is None:
        return None
    on = tuple(severity for severity in Severity if severity in entry.on)
    return Notify(target=_target(entry), on=on, decisions=entry.decisions)


def _target(entry: written.NotifyDocument) -> NotifyTarget:
    if entry.url is not None and entry.secret is not None:
        return NotifyUrl(url=entry.url, secret=entry.secret.ref, format=entry.format)
    if entry.slack is not None:
        return NotifySlack(url=entry.slack.ref)
    return NotifyCommand(command=tuple(entry.command or ()))


def _group(id: GroupId, entry: written.GroupDocument, for_all: Notify | None, document: written.Document) -> Group:
    return Group(
        id=id,
        profile=ProfileId(entry.profile),
        balancers=tuple(BalancerUse(balancer=BalancerId(use.use), port=use.port) for use in entry.balancers),
        exclusive=entry.exclusive,
        minimum=entry.min,
        maximum=entry.max,
        initial=entry.initial,
        interval=entry.interval,
        policies=tuple(policy for name in entry.policies for policy in _followed(name, document)),
        schedules=_schedules(entry.policies, document),
        named=tuple(PolicyId(name) for name in entry.policies),
        observed=tuple(CounterId(name) for name in entry.observe),
        member_values=entry.member_values,
        mode=entry.mode,
        quiet_time=entry.quiet_time,
        blind_floor=entry.blind.floor,
        drain=entry.drain,
        grace=entry.grace,
        build_timeout=entry.build_timeout,
        warm_up=entry.warm_up,
        on_vanish=entry.on_vanish,
        repair=entry.repair.settings,
        victims=entry.victims,
        distrust=Fraction(entry.distrust),
        freshness=entry.freshness,
        projection=entry.projection,
        budget=budget(entry.budget),
        roll=entry.roll.budgets,
        max_growth=None if entry.max_growth is None else entry.max_growth.pace,
        max_shrinkage=None if entry.max_shrinkage is None else entry.max_shrinkage.pace,
        flap_damping=None if entry.flap_damping is None else entry.flap_damping.damping,
        stabilisation=entry.stabilisation,
        keep_growth=entry.keep_growth,
        freezes=tuple(freeze.window for freeze in entry.freeze),
        service=entry.service,
        notify=_notify(entry.notify) or for_all,
    )


def _schedules(names: Sequence[str], document: written.Document) -> tuple[Schedule, ...]:
    entries = ((PolicyId(name), document.policies.get(name)) for name in names)
    return tuple(schedule_of(name, entry) for name, entry in entries if entry is not None and entry.is_scheduled)


def _followed(name: str, document: written.Document) -> tuple[PolicyId, ...]:
    """Return the policies that one name in a group's list stands for; none for a policy with a schedule."""
    entry = document.policies.get(name)
    if entry is not None and entry.is_scheduled:
        return ()
    if entry is None or entry.followed is None:
        return (PolicyId(name),)
    return tuple(PolicyId(name + side) for side in build_targets.sides_of(entry.followed))


def _alert(id: AlertId, entry: outside.AlertDocument) -> Alert:
    return Alert(
        id=id,
        match=MappingProxyType(dict(entry.match)),
        groups=tuple(GroupId(group) for group in entry.groups),
        group_label=entry.group_label,
        effect=_effect(entry),
        ttl=entry.ttl,
    )


def _effect(entry: outside.AlertDocument) -> Effect:
    if entry.fire is not None:
        return FirePolicy(policy=PolicyId(entry.fire))
    if entry.floor is not None:
        return RaiseFloor(size=entry.floor)
    if entry.freeze is not None:
        return Freeze(way=entry.freeze)
    if entry.value is not None:
        return BringValue(field=entry.value)
    return Shield()
