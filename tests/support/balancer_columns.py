"""Behaviour by driver: every driver has a column, and every cell of it is tried, or says why it is empty."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from config.model import CloudstackRuleBalancer, HaproxyBalancer, NetscalerBalancer, OctaviaBalancer, SharedListener
from handler.world import SeatState
from tests.support.balancer_relay import Trouble
from tests.support.balancers import Stage, haproxy_stage, listener_stage, several_stage, template_stage
from tests.support.cloudstack_rules import rule_stage
from tests.support.netscaler_stage import netscaler_stage
from tests.support.octavia_stage import octavia_stage


class Behaviour(enum.Enum):
    """What a balancer can be asked about beside what every one is."""

    TRAFFIC = "traffic"
    """Requests go to whom it gives work."""
    CIRCUIT = "circuit"
    """It is left alone while it answers nobody."""


Cell = Behaviour | Trouble


@dataclass(frozen=True, kw_only=True)
class Column:
    """One driver."""

    name: str
    kind: type
    """Of its declaration."""
    stage: Callable[[Path], AbstractContextManager[Stage]]
    empty: Mapping[Cell, str] = field(default_factory=dict)
    """Cells that are not tried, and why."""
    idle: SeatState = SeatState.DRAINING
    """What a member is once it is drained and has nothing in hand."""
    real: str | None = None
    """The program that it needs."""

    @property
    def cells(self) -> frozenset[Cell]:
        return frozenset(cell for cell in (*Behaviour, *Trouble) if cell not in self.empty)


_NO_HTTP = "it is not reached over HTTP: nobody on the way can answer 503"
_LINE = {Trouble.UNAVAILABLE: _NO_HTTP}
_PLAYED = "the appliance is played, and its traffic is not"

COLUMNS = (
    Column(
        name="shared_listener",
        kind=SharedListener,
        stage=listener_stage,
        empty={**_LINE, Behaviour.CIRCUIT: "its holder is ours, and is started where it does not answer"},
    ),
    Column(name="haproxy", kind=HaproxyBalancer, stage=haproxy_stage, empty=_LINE, real="haproxy"),
    Column(name="haproxy_template", kind=HaproxyBalancer, stage=template_stage, empty=_LINE, real="haproxy"),
    Column(name="haproxy_several", kind=HaproxyBalancer, stage=several_stage, empty=_LINE, real="haproxy"),
    Column(
        name="netscaler",
        kind=NetscalerBalancer,
        stage=netscaler_stage,
        empty={Behaviour.TRAFFIC: _PLAYED},
        idle=SeatState.PARKED,
    ),
    Column(name="octavia", kind=OctaviaBalancer, stage=octavia_stage, empty={Behaviour.TRAFFIC: _PLAYED}),
    Column(
        name="cloudstack_rule",
        kind=CloudstackRuleBalancer,
        stage=rule_stage,
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
