"""Behaviour by driver: every driver has a column, and every cell of it is tried, or says why it is empty."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from config.model import CloudstackRuleBalancer, HaproxyBalancer, NetscalerBalancer, OctaviaBalancer, SharedListener
from config.units import MemberName
from handler.balancers.octavia import OctaviaDriver
from handler.world import SeatState
from tests.support.balancer_relay import Trouble
from tests.support.balancers import Stage, a_name, haproxy_stage, listener_stage, several_stage, template_stage
from tests.support.cloudstack_rules import RuleStage, rule_stage
from tests.support.cloudstack_wire import UNSEEN, error
from tests.support.netscaler_stage import NetscalerStage, netscaler_stage
from tests.support.octavia_stage import OctaviaStage, octavia_stage


class Behaviour(enum.Enum):
    """What a balancer can be asked about beside what every one is."""

    TRAFFIC = "traffic"
    """Requests go to whom it gives work."""
    CIRCUIT = "circuit"
    """It is left alone while it answers nobody."""
    RENEWED = "renewed"
    """Its session or the credentials end between two calls."""
    UNSEATED = "unseated"
    """A member's seat is taken away behind our back."""
    PAGED = "paged"
    """It has more members than a page of its answers."""
    AMBIGUOUS = "ambiguous"
    """Its name means two things."""
    UNICODE = "unicode"
    """Its name is not ASCII."""


Cell = Behaviour | Trouble


@dataclass(frozen=True, kw_only=True)
class Column:
    """One driver."""

    name: str
    kind: type
    """Of its declaration."""
    stage: Callable[[Path], AbstractContextManager[Stage]]
    acts: Mapping[Behaviour, Callable[..., Any]] = field(default_factory=dict)
    """How a behaviour is brought about on a stage, where that takes something; `Behaviour.UNSEATED` of one member."""
    empty: Mapping[Cell, str] = field(default_factory=dict)
    """Cells that are not tried, and why."""
    idle: SeatState = SeatState.DRAINING
    """What a member is once it is drained and has nothing in hand."""
    real: str | None = None
    """The program that it needs."""

    @property
    def cells(self) -> frozenset[Cell]:
        return frozenset(cell for cell in (*Behaviour, *Trouble) if cell not in self.empty)


_MANY = 250


def _elsewhere(stage: Stage, name: MemberName) -> None:
    """Somebody else says it to HAProxy, or to the holder."""
    other = stage.driver_at(stage.address)
    other.drain(name)
    other.leave(name)


def _unbound(stage: NetscalerStage, name: MemberName) -> None:
    for seat in [seat for seat in stage.members if seat[0] == name]:
        del stage.members[seat]


def _out_of_the_pool(stage: OctaviaStage, name: MemberName) -> None:
    for own_id in [own_id for own_id, member in stage.pool.members.items() if member["name"] == name]:
        del stage.pool.members[own_id]


def _crowded_pool(stage: OctaviaStage) -> None:
    stage.octavia.most = 100
    for number in range(_MANY):
        stage.octavia.seat(stage.pool, a_name(), f"10.2.{number // 250}.{number % 250}")


def _off_the_rule(stage: RuleStage, name: MemberName) -> None:
    stage.rule.vms[:] = [vm for vm in stage.rule.vms if stage.wire.vms[vm].name != name]
    for tag in [tag for tag in stage.rule.tags if tag.endswith(name)]:
        del stage.rule.tags[tag]


def _crowded_rule(stage: RuleStage) -> None:
    stage.rule.vms += [stage.wire.add(a_name()).id for _ in range(_MANY)]


def _renamed_pool(stage: OctaviaStage) -> OctaviaDriver:
    stage.octavia.tree("back", "wéb 网")
    return stage.driver(pool="wéb 网")


_NO_HTTP = "it is not reached over HTTP: nobody on the way can answer 503"
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
_OF_LINE = {Behaviour.UNSEATED: _elsewhere}
_PLAYED = "the appliance is played, and its traffic is not"

COLUMNS = (
    Column(
        name="shared_listener",
        kind=SharedListener,
        stage=listener_stage,
        acts=_OF_LINE,
        empty={**_LINE, Behaviour.CIRCUIT: "its holder is ours, and is started where it does not answer"},
    ),
    Column(name="haproxy", kind=HaproxyBalancer, stage=haproxy_stage, acts=_OF_LINE, empty=_LINE, real="haproxy"),
    Column(
        name="haproxy_template",
        kind=HaproxyBalancer,
        stage=template_stage,
        acts=_OF_LINE,
        empty=_LINE,
        real="haproxy",
    ),
    Column(
        name="haproxy_several",
        kind=HaproxyBalancer,
        stage=several_stage,
        acts=_OF_LINE,
        empty=_LINE,
        real="haproxy",
    ),
    Column(
        name="netscaler",
        kind=NetscalerBalancer,
        stage=netscaler_stage,
        acts={
            Behaviour.RENEWED: lambda stage: stage.appliance.expire(),
            Behaviour.UNSEATED: _unbound,
            Behaviour.UNICODE: lambda stage: stage.driver(),  # its service group is called so in every test
        },
        empty={
            Behaviour.TRAFFIC: _PLAYED,
            Behaviour.PAGED: "NITRO answers in pages only to who asks for them",
            Behaviour.AMBIGUOUS: "an appliance has no two service groups of one name",
        },
        idle=SeatState.PARKED,
    ),
    Column(
        name="octavia",
        kind=OctaviaBalancer,
        stage=octavia_stage,
        acts={
            Behaviour.RENEWED: lambda stage: stage.wire.expire(),
            Behaviour.UNSEATED: _out_of_the_pool,
            Behaviour.PAGED: _crowded_pool,
            Behaviour.AMBIGUOUS: lambda stage: stage.octavia.tree("back"),
            Behaviour.UNICODE: _renamed_pool,
        },
        empty={Behaviour.TRAFFIC: _PLAYED},
    ),
    Column(
        name="cloudstack_rule",
        kind=CloudstackRuleBalancer,
        stage=rule_stage,
        acts={
            Behaviour.RENEWED: lambda stage: stage.wire.script("listLoadBalancerRules", error(401, UNSEEN)),
            Behaviour.UNSEATED: _off_the_rule,
            Behaviour.PAGED: _crowded_rule,
            Behaviour.AMBIGUOUS: lambda stage: stage.wire.make(),
            Behaviour.UNICODE: lambda stage: stage.driver(),  # the rule is called so in every test
        },
        empty={Behaviour.TRAFFIC: "the cloud is played, and what balances for it is not"},
    ),
)


def asked(*cells: Cell) -> list[object]:
    """Every driver that has all of these cells."""
    return [
        pytest.param(column, id=column.name, marks=pytest.mark.real(column.real) if column.real else ())
        for column in COLUMNS
        if column.cells.issuperset(cells)
    ]
