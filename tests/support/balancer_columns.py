"""Behaviour by driver: every driver has a column, and every cell of it is tried, or says why it is empty."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from config.model.balancers import HaproxyBalancer, SharedListener
from config.model.catalogue import CloudstackRuleBalancer, NetscalerBalancer, OctaviaBalancer
from config.units import MemberName
from handler.balancers.octavia.driver import OctaviaDriver
from handler.planning.world import RegistrationState
from tests.support.balancer_relay import Trouble
from tests.support.balancers import Stage, a_name, haproxy_stage, listener_stage, several_stage, template_stage
from tests.support.cloudstack_rules import RuleStage, rule_stage
from tests.support.cloudstack_wire import UNSEEN, error
from tests.support.netscaler import nitro
from tests.support.netscaler_stage import NetscalerStage, netscaler_stage
from tests.support.octavia_stage import OctaviaStage, octavia_stage
from tests.support.openstack_wire import Refused, Request


class Behaviour(enum.Enum):
    """What a balancer can be asked about beside what every one is."""

    TRAFFIC = "traffic"
    """Requests go to the members to which it gives work."""
    CIRCUIT = "circuit"
    """It is left alone while it does not answer."""
    RENEWED = "renewed"
    """Its session or the credentials end between two calls."""
    DEREGISTERED = "deregistered"
    """A member's registration is removed behind our back."""
    PAGED = "paged"
    """It has more members than a page of its answers."""
    AMBIGUOUS = "ambiguous"
    """Its name means two things."""
    UNICODE = "unicode"
    """Its name is not ASCII."""
    MISSING = "missing"
    """Its own object is deleted, and others of its kind stay: it is not found."""
    ALONE = "alone"
    """Its own object is deleted, and no other of its kind is left: that proves nothing."""
    DENIED = "denied"
    """Its own object is not shown, and neither is the list of the others: that proves nothing."""
    WEIGHTLESS = "weightless"
    """A member is given the weight 0 behind our back."""


Cell = Behaviour | Trouble
Undo = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Column:
    """One driver."""

    name: str
    kind: type
    """Of its declaration."""
    stage: Callable[[Path], AbstractContextManager[Stage]]
    acts: Mapping[Behaviour, Callable[..., Any]] = field(default_factory=dict)
    """How a behaviour is brought about on a stage, where that takes something; `Behaviour.DEREGISTERED` of one member.
    What brings about a missing object returns how it is undone."""
    empty: Mapping[Cell, str] = field(default_factory=dict)
    """Cells that are not tried, and why."""
    idle: RegistrationState = RegistrationState.DRAINING
    """What a member is once it is drained and has nothing in hand."""
    real: str | None = None
    """The program that it needs."""

    @property
    def cells(self) -> frozenset[Cell]:
        return frozenset(cell for cell in (*Behaviour, *Trouble) if cell not in self.empty)


_MANY = 250


def _elsewhere(stage: Stage, name: MemberName) -> None:
    """Drain and remove the member through another client of HAProxy, or of the holder."""
    other = stage.driver_at(stage.address)
    other.drain(name)
    other.leave(name)


def _unbound(stage: NetscalerStage, name: MemberName) -> None:
    for registration in [registration for registration in stage.members if registration[0] == name]:
        del stage.members[registration]


def _out_of_the_pool(stage: OctaviaStage, name: MemberName) -> None:
    for own_id in [own_id for own_id, member in stage.pool.members.items() if member["name"] == name]:
        del stage.pool.members[own_id]


def _crowded_pool(stage: OctaviaStage) -> None:
    stage.octavia.most = 100
    for number in range(_MANY):
        stage.octavia.registration(stage.pool, a_name(), f"10.2.{number // 250}.{number % 250}")


def _off_the_rule(stage: RuleStage, name: MemberName) -> None:
    stage.rule.vms[:] = [vm for vm in stage.rule.vms if stage.wire.vms[vm].name != name]
    for tag in [tag for tag in stage.rule.tags if tag.endswith(name)]:
        del stage.rule.tags[tag]


def _crowded_rule(stage: RuleStage) -> None:
    stage.rule.vms += [stage.wire.add(a_name()).id for _ in range(_MANY)]


def _renamed_pool(stage: OctaviaStage) -> OctaviaDriver:
    stage.octavia.tree("back", "wéb 网")
    return stage.driver(pool="wéb 网")


def _without_group(stage: NetscalerStage, *others: str) -> Undo:
    kept = dict(stage.there.groups)
    stage.there.groups.clear()
    stage.there.groups.update({other: {} for other in others})
    return lambda: (stage.there.groups.clear(), stage.there.groups.update(kept))


def _without_list(stage: NetscalerStage) -> Undo:
    back = _without_group(stage, "other")
    words = "Not authorized to execute this command"
    stage.appliance.instead = lambda path: nitro(403, 2138, words) if path == "config/servicegroup" else None
    return lambda: (back(), setattr(stage.appliance, "instead", lambda path: None))


def _without_pool(stage: OctaviaStage, *others: str) -> Undo:
    kept = dict(stage.octavia.pools)
    stage.octavia.pools.clear()
    for other in others:
        stage.octavia.tree(other, other)
    return lambda: (stage.octavia.pools.clear(), stage.octavia.pools.update(kept))


def _without_pools(stage: OctaviaStage) -> Undo:
    back, before = _without_pool(stage, "back"), stage.octavia.answer

    def answer(request: Request) -> tuple[int, Any]:
        if "fields" in request.query:
            raise Refused(403, {"faultcode": "Client", "faultstring": _BY_POLICY, "debuginfo": None})
        return before(request)

    stage.octavia.answer = answer  # type: ignore[method-assign] # one role, while it lasts
    return lambda: (back(), delattr(stage.octavia, "answer"))


def _without_rule(stage: RuleStage, *others: str) -> Undo:
    kept = list(stage.wire.rules)
    stage.wire.rules.clear()
    for other in others:
        stage.wire.make(other)

    def undo() -> None:
        stage.wire.rules[:] = kept

    return undo


def _without_rules(stage: RuleStage) -> Undo:
    stage.wire.forbidden.add("listLoadBalancerRules")
    return lambda: stage.wire.forbidden.discard("listLoadBalancerRules")


def _weightless(stage: OctaviaStage, name: MemberName) -> None:
    for member in stage.pool.members.values():
        if member["name"] == name:
            member["weight"] = 0


_BY_POLICY = "Policy does not allow this request to be performed."
_NO_HTTP = "it is not reached over HTTP: no proxy on the way can answer 503"
_NOBODY_LOGS_IN = "there are no credentials: who may open its socket may steer it"
_WHOLE = "an answer is one, however long"
_ONE_NAME = "its name is one of a file, which has each once"
_LINE = {
    Trouble.UNAVAILABLE: _NO_HTTP,
    Behaviour.RENEWED: _NOBODY_LOGS_IN,
    Behaviour.PAGED: _WHOLE,
    Behaviour.AMBIGUOUS: _ONE_NAME,
    Behaviour.UNICODE: "backends and sockets have names of ASCII",
}
_OF_LINE: Mapping[Behaviour, Callable[..., Any]] = {Behaviour.DEREGISTERED: _elsewhere}
_OF_HAPROXY: Mapping[Behaviour, Callable[..., Any]] = {
    **_OF_LINE,
    Behaviour.MISSING: lambda stage: stage.lose(others=True),
    Behaviour.ALONE: lambda stage: stage.lose(others=False),
    Behaviour.WEIGHTLESS: lambda stage, name: stage.reweigh(name, "0"),
}
_NEVER_MISSING = "its holder is ours, and is started where it does not answer: it is never not found"
_NO_WEIGHTS = "it knows no weight 0"
_HAPROXY = {**_LINE, Behaviour.DENIED: "who may open its socket may list its backends"}
_PLAYED = "the appliance is played, and its traffic is not"

COLUMNS = (
    Column(
        name="shared_listener",
        kind=SharedListener,
        stage=listener_stage,
        acts=_OF_LINE,
        empty={
            **_LINE,
            Behaviour.CIRCUIT: "its holder is ours, and is started where it does not answer",
            Behaviour.MISSING: _NEVER_MISSING,
            Behaviour.ALONE: _NEVER_MISSING,
            Behaviour.DENIED: _NEVER_MISSING,
            Behaviour.WEIGHTLESS: _NO_WEIGHTS,
        },
    ),
    Column(name="haproxy", kind=HaproxyBalancer, stage=haproxy_stage, acts=_OF_HAPROXY, empty=_HAPROXY, real="haproxy"),
    Column(
        name="haproxy_template",
        kind=HaproxyBalancer,
        stage=template_stage,
        acts=_OF_HAPROXY,
        empty=_HAPROXY,
        real="haproxy",
    ),
    Column(
        name="haproxy_several",
        kind=HaproxyBalancer,
        stage=several_stage,
        acts=_OF_HAPROXY,
        empty=_HAPROXY,
        real="haproxy",
    ),
    Column(
        name="netscaler",
        kind=NetscalerBalancer,
        stage=netscaler_stage,
        acts={
            Behaviour.RENEWED: lambda stage: stage.appliance.expire(),
            Behaviour.DEREGISTERED: _unbound,
            Behaviour.UNICODE: lambda stage: stage.driver(),  # its service group is called so in every test
            Behaviour.MISSING: lambda stage: _without_group(stage, "other"),
            Behaviour.ALONE: _without_group,
            Behaviour.DENIED: _without_list,
        },
        empty={
            Behaviour.TRAFFIC: _PLAYED,
            Behaviour.PAGED: "NITRO answers in pages only to who asks for them",
            Behaviour.AMBIGUOUS: "an appliance has no two service groups of one name",
            Behaviour.WEIGHTLESS: "weights are 1 to 100",
        },
        idle=RegistrationState.PARKED,
    ),
    Column(
        name="octavia",
        kind=OctaviaBalancer,
        stage=octavia_stage,
        acts={
            Behaviour.RENEWED: lambda stage: stage.wire.expire(),
            Behaviour.DEREGISTERED: _out_of_the_pool,
            Behaviour.PAGED: _crowded_pool,
            Behaviour.AMBIGUOUS: lambda stage: stage.octavia.tree("back"),
            Behaviour.UNICODE: _renamed_pool,
            Behaviour.MISSING: lambda stage: _without_pool(stage, "back"),
            Behaviour.ALONE: _without_pool,
            Behaviour.DENIED: _without_pools,
            Behaviour.WEIGHTLESS: _weightless,
        },
        empty={Behaviour.TRAFFIC: _PLAYED},
    ),
    Column(
        name="cloudstack_rule",
        kind=CloudstackRuleBalancer,
        stage=rule_stage,
        acts={
            Behaviour.RENEWED: lambda stage: stage.wire.script("listLoadBalancerRules", error(401, UNSEEN)),
            Behaviour.DEREGISTERED: _off_the_rule,
            Behaviour.PAGED: _crowded_rule,
            Behaviour.AMBIGUOUS: lambda stage: stage.wire.make(),
            Behaviour.UNICODE: lambda stage: stage.driver(),  # the rule is called so in every test
            Behaviour.MISSING: lambda stage: _without_rule(stage, "other"),
            Behaviour.ALONE: _without_rule,
            Behaviour.DENIED: _without_rules,
        },
        empty={
            Behaviour.TRAFFIC: "the cloud is played, and what balances for it is not",
            Behaviour.WEIGHTLESS: _NO_WEIGHTS,
        },
    ),
)


def asked(*cells: Cell) -> list[object]:
    """Every driver that has all of these cells."""
    return [
        pytest.param(column, id=column.name, marks=pytest.mark.real(column.real) if column.real else ())
        for column in COLUMNS
        if column.cells.issuperset(cells)
    ]
