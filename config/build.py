"""A document → the model that the core sees. Nothing is decided here: every default stands in the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from config import build_conditions, build_targets, openstack_document, outside
from config import document as written
from config.balancers import NetscalerBalancer
from config.build_counters import counter, server
from config.clouds import Calls
from config.cloudstack_rule_document import CloudstackRuleDocument
from config.digest import digest_of
from config.effects import Alert, BringValue, Effect, FirePolicy, Freeze, RaiseFloor, Shield
from config.haproxy_document import HaproxyDocument
from config.managed_document import ManagedDocument
from config.model import (
    Balancer,
    BalancerUse,
    Budget,
    Catalogue,
    Cloud,
    CloudstackCloud,
    CloudstackRecipe,
    Group,
    HaproxyBalancer,
    InARow,
    ManagedBalancer,
    NoProgram,
    OctaviaBalancer,
    OpennebulaCloud,
    OpennebulaRecipe,
    OpenstackCloud,
    OpenstackRecipe,
    Policy,
    ProcessCloud,
    ProcessRecipe,
    Profile,
    ReadyProbe,
    Recipe,
    SharedListener,
    SimulatedCloud,
    Site,
)
from config.netscaler_document import NetscalerBalancerDocument
from config.notices import Notify, NotifyCommand, NotifyTarget, NotifyUrl, Severity
from config.part_document import parts_of
from config.policy_document import PolicyDocument
from config.recipes import attributes_of
from config.schedule_document import schedule_of
from config.schedules import Schedule
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
    SourceId,
)


def build(document: written.Document, sites: Mapping[tuple[str, ...], Site]) -> Catalogue:
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
        elif entry.followed is None:
            policies[PolicyId(name)] = _policy(PolicyId(name), entry)
        else:
            conditions |= {each.id: each for each in build_targets.conditions(name, entry.followed, counters)}
            policies |= {each.id: each for each in build_targets.policies(name, entry.followed, counters)}
    clouds = {CloudId(name): _cloud(CloudId(name), entry) for name, entry in document.clouds.items()}
    balancers = {
        BalancerId(name): _balancer(BalancerId(name), entry, clouds) for name, entry in document.balancers.items()
    }
    profiles = {ProfileId(name): _profile(ProfileId(name), entry) for name, entry in document.profiles.items()}
    told = _notify(document.notify)
    groups = {GroupId(name): _group(GroupId(name), entry, told, document) for name, entry in document.groups.items()}
    alerts = {AlertId(name): _alert(AlertId(name), entry) for name, entry in document.alerts.items()}
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
        record=None if document.record is None else document.record.settings,
        sites=MappingProxyType(dict(sites)),
    )


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


def _budget(entry: written.BudgetDocument) -> Budget:
    return Budget(outstanding=entry.outstanding, per_hour=entry.per_hour)


def _cloud(id: CloudId, entry: written.CloudDocument) -> Cloud:
    if entry.simulated is not None:
        return SimulatedCloud(
            id=id, behaviour=entry.simulated.behaviour, budget=_budget(entry.budget), calls=_calls(entry.calls)
        )
    if (there := entry.cloudstack) is not None:
        return CloudstackCloud(
            id=id,
            endpoint=there.endpoint,
            api_key=there.api_key.ref,
            secret=there.secret.ref,
            trust=there.trust,
            timeout=there.timeout,
            job_timeout=there.job_timeout,
            expunge=there.expunge is True,
            budget=_budget(entry.budget),
            calls=_calls(entry.calls),
        )
    if (nebula := entry.opennebula) is not None:
        return OpennebulaCloud(
            id=id,
            endpoint=nebula.endpoint,
            user=nebula.user,
            password=nebula.password.ref,
            trust=nebula.trust,
            timeout=nebula.timeout,
            network=nebula.network,
            hard=nebula.hard is True,
            budget=_budget(entry.budget),
            calls=_calls(entry.calls),
        )
    if entry.openstack is not None:
        access, calls = entry.openstack.access, _calls(entry.calls)
        return OpenstackCloud(id=id, access=access, budget=_budget(entry.budget), calls=calls)
    return ProcessCloud(id=id, budget=_budget(entry.budget), calls=_calls(entry.calls))


def _calls(entry: written.CallsDocument | None) -> Calls | None:
    return None if entry is None else Calls(count=entry.count, per=entry.per, at_once=entry.at_once)


def _balancer(id: BalancerId, entry: written.BalancerDocument, clouds: Mapping[CloudId, Cloud]) -> Balancer:
    match entry.kind:
        case written.SharedListenerDocument(listen=listen):
            return SharedListener(id=id, address=listen.host, port=listen.port)
        case HaproxyDocument(backend=backend, slots=slots) as kind:
            first, *further = kind.sockets or [kind.socket or ""]
            return HaproxyBalancer(id=id, socket=first, further=tuple(further), backend=backend, template=slots)
        case CloudstackRuleDocument() as there:
            return there.balancer(id)
        case NetscalerBalancerDocument() as there:
            return NetscalerBalancer(
                id=id,
                url=there.url,
                user=there.user,
                password=there.password.ref,
                service_group=there.service_group,
                delay=there.delay,
                save=there.save is True,
                trust=there.trust,
                timeout=there.timeout,
            )
        case openstack_document.OctaviaDocument() as pool:
            return _pool(id, pool, clouds.get(CloudId(pool.cloud)))
        case ManagedDocument() as there:
            return _managed(id, there, clouds)


def _managed(id: BalancerId, entry: ManagedDocument, clouds: Mapping[CloudId, Cloud]) -> ManagedBalancer:
    cloud = CloudId(entry.cloud)
    return ManagedBalancer(
        id=id,
        on=cloud,
        cloud=clouds.get(cloud),
        loadbalancer=entry.loadbalancer,
        vip=None if entry.vip is None else entry.vip.vip,
        listener=entry.listener.listener,
        pool=entry.pool.pool,
        health_monitor=None if entry.health_monitor is None else entry.health_monitor.monitor,
        lb_status_timeout=entry.lb_status_timeout,
    )


def _pool(id: BalancerId, there: openstack_document.OctaviaDocument, cloud: Cloud | None) -> OctaviaBalancer:
    return OctaviaBalancer(
        id=id,
        cloud=CloudId(there.cloud),
        access=cloud.access if isinstance(cloud, OpenstackCloud) else None,
        load_balancer=there.load_balancer,
        pool=there.pool,
        subnet=there.subnet,
        weight=there.weight,
        lb_status_timeout=there.lb_status_timeout,
    )


def _profile(id: ProfileId, entry: written.ProfileDocument) -> Profile:
    ready = entry.ready
    return Profile(
        id=id,
        cloud=CloudId(entry.cloud),
        recipe=_recipe(entry),
        snmp=entry.snmp.access,
        ready=None if ready is None else ReadyProbe(path=ready.http, port=ready.port, within=ready.within),
        parts=parts_of(entry.parts),
    )


def _recipe(entry: written.ProfileDocument) -> Recipe:
    if entry.command is not None:
        given = MappingProxyType(dict(entry.env))
        return ProcessRecipe(command=tuple(entry.command), env=given, directory=entry.directory)
    if entry.image is not None and entry.flavor is not None:
        return _server(entry, image=entry.image, flavor=entry.flavor)
    if entry.template is not None and entry.zone is None and entry.offering is None:
        return OpennebulaRecipe(
            template=entry.template, networks=tuple(entry.networks), extra=attributes_of(entry.extra or ())
        )
    if entry.zone is None or entry.template is None or entry.offering is None:
        return NoProgram()  # on CloudStack, `config.programs` says which is missing
    return CloudstackRecipe(
        zone=entry.zone,
        template=entry.template,
        offering=entry.offering,
        networks=tuple(entry.networks),
        affinity_groups=tuple(entry.affinity_groups),
        user_data=entry.user_data or "",
        parameters=entry.parameters or (),
        short_names=entry.short_names is True,
    )


def _server(entry: written.ProfileDocument, *, image: str, flavor: str) -> OpenstackRecipe:
    nowhere = entry.networks == [openstack_document.NOWHERE]
    return OpenstackRecipe(
        image=image,
        flavor=flavor,
        networks=() if nowhere else tuple(entry.networks),
        no_network=nowhere,
        key_name=entry.key_name,
        security_groups=tuple(entry.security_groups),
        availability_zone=entry.availability_zone,
        server_group=entry.server_group,
        boot_volume=None if entry.boot_volume is None else entry.boot_volume.volume,
        user_data=entry.user_data or "",
        metadata=MappingProxyType(dict(entry.metadata or ())),
        config_drive=entry.config_drive is True,
        reach=entry.reach.reach,
    )


def _notify(entry: written.NotifyDocument | None) -> Notify | None:
    if entry is None:
        return None
    return Notify(target=_target(entry), on=tuple(severity for severity in Severity if severity in entry.on))


def _target(entry: written.NotifyDocument) -> NotifyTarget:
    if entry.url is not None and entry.secret is not None:
        return NotifyUrl(url=entry.url, secret=entry.secret.ref)
    return NotifyCommand(command=tuple(entry.command or ()))


def _group(id: GroupId, entry: written.GroupDocument, for_all: Notify | None, document: written.Document) -> Group:
    return Group(
        id=id,
        profile=ProfileId(entry.profile),
        balancers=tuple(BalancerUse(balancer=BalancerId(use.use), port=use.port) for use in entry.balancers),
        minimum=entry.min,
        maximum=entry.max,
        interval=entry.interval,
        policies=tuple(policy for name in entry.policies for policy in _followed(name, document)),
        schedules=_schedules(entry.policies, document),
        named=tuple(PolicyId(name) for name in entry.policies),
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
        budget=_budget(entry.budget),
        roll=entry.roll.budgets,
        max_growth=None if entry.max_growth is None else entry.max_growth.pace,
        max_shrinkage=None if entry.max_shrinkage is None else entry.max_shrinkage.pace,
        flap_damping=None if entry.flap_damping is None else entry.flap_damping.damping,
        stabilisation=entry.stabilisation,
        freezes=tuple(freeze.window for freeze in entry.freeze),
        service=entry.service,
        notify=_notify(entry.notify) or for_all,
    )


def _schedules(names: Sequence[str], document: written.Document) -> tuple[Schedule, ...]:
    entries = ((PolicyId(name), document.policies.get(name)) for name in names)
    return tuple(schedule_of(name, entry) for name, entry in entries if entry is not None and entry.is_scheduled)


def _followed(name: str, document: written.Document) -> tuple[PolicyId, ...]:
    """The policies that one name in a group's list stands for; none for one that goes by a schedule."""
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
