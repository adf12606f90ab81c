"""A whole group in a role of a real OneFlow: grown, killed in the middle, corrected, and shrunk."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from handler.orchestrators.oneflow.parsing import ServiceRole
from handler.orchestrators.opennebula.parsing import OpennebulaMachine
from tests.support.daemon import Daemon, a_daemon
from tests.support.oneflow_bed import FlowBedStage
from tests.support.opennebula_bed import facts
from tests.support.orchestrators import installation
from tests.support.waiting import PATIENT, until

pytestmark = pytest.mark.bed("oneflow")


MODEL = """
clouds:
  bed:
    oneflow: {{endpoint: {flow}, rpc: {rpc}, user: {user}, password: {{env: BED_PASSWORD}}, timeout: 30s}}
    budget: {{outstanding: 40, per_hour: 1000}}
profiles: {{web: {{cloud: bed, service: "{service}", role: node}}}}
groups:
  web:
    profile: web
    min: 0
    max: 40
    interval: 2s
    drain: 0s
    grace: 1s
    budget: {{outstanding: 40, per_hour: 1000}}
"""


@pytest.fixture
def stage() -> Iterator[FlowBedStage]:
    stage = FlowBedStage()
    try:
        yield stage
    finally:
        stage.clear()


@pytest.fixture
def service(stage: FlowBedStage) -> int:
    return stage.service(f"shop-{installation()}", nodes=2)


@pytest.fixture
def daemon(stage: FlowBedStage, service: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    known = facts()
    monkeypatch.setenv("BED_PASSWORD", known["oneflow_password"])
    endpoints = {"flow": known["oneflow"], "rpc": known["endpoint"], "user": known["oneflow_user"]}
    with a_daemon(MODEL.format(service=service, **endpoints)) as daemon:
        try:
            yield daemon
        finally:
            daemon.clear()
            if (daemon.state / "installation").exists():
                stage.here = daemon.installation


def scaled(daemon: Daemon, size: int) -> None:
    until(lambda: daemon.trimtab("scale", "web", str(size)).code == 0, every=0.2)  # once it has looked


def role_of(stage: FlowBedStage, service: int) -> ServiceRole:
    return stage.shown(service).roles["node"]


def nodes(stage: FlowBedStage, service: int) -> dict[int, OpennebulaMachine]:
    """All machines of the service that OneFlow or OpenNebula lists."""
    listed = role_of(stage, service).nodes
    suffix = f"(service_{service})"
    return {vm.id: vm for vm in stage.machines() if vm.id in listed or vm.name.endswith(suffix)}


def whole(stage: FlowBedStage, daemon: Daemon, service: int, size: int) -> None:
    """No duplicate, no orphan: the role's nodes, OpenNebula's machines and members in service are the same."""
    daemon.settled(size, within=PATIENT)
    until(lambda: len(nodes(stage, service)) == size, every=0.2)
    until(lambda: len(role_of(stage, service).nodes) == size, every=0.5)
    role, there = role_of(stage, service), nodes(stage, service)
    assert role.cardinality == size
    assert sorted(role.nodes) == sorted(there)
    assert sorted(vm.mark for vm in there.values()) == sorted(daemon.serving())
    assert len(set(daemon.serving())) == size


def test_a_group_in_a_role_survives_kills_and_replaces_a_member_that_is_off_oneflow_bed(
    stage: FlowBedStage, daemon: Daemon, service: int
) -> None:
    stood = set(nodes(stage, service))
    daemon.start()
    whole(stage, daemon, service, 2)
    assert set(nodes(stage, service)) == stood  # taken, not made again

    scaled(daemon, 8)
    for pause in (0.5, 2.0):
        time.sleep(pause)
        daemon.stop(signal.SIGKILL)
        daemon.start()
    whole(stage, daemon, service, 8)
    assert role_of(stage, service).next_number == 8  # no more were ever made

    (off, *_) = sorted(nodes(stage, service))
    stage.wire.ask("vm.action", "poweroff-hard", off)
    until(lambda: off not in {vm.id for vm in stage.machines()}, every=0.5)
    whole(stage, daemon, service, 8)
    assert role_of(stage, service).next_number == 9

    scaled(daemon, 2)
    time.sleep(1.0)
    daemon.stop(signal.SIGKILL)
    daemon.start()
    whole(stage, daemon, service, 2)

    scaled(daemon, 0)
    whole(stage, daemon, service, 0)
    assert not stage.machines()
    assert role_of(stage, service).next_number == 9
