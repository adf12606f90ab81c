"""A daemon with a group at its size, in a service of OneFlow that does not scale: status, why and metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from config.units import Instant
from tests.support.daemon import Daemon, a_daemon
from tests.support.oneflow_stage import OneflowStage, oneflow_stage
from tests.support.oneflow_wire import WARNING
from tests.support.opennebula_wire import POWEROFF
from tests.support.waiting import until

DECLARED = """
clouds:
  prod:
    oneflow: {{endpoint: "{flow}", rpc: "{rpc}", user: fleet, password: {{env: FLOW_PASSWORD}}}}
profiles:
  web: {{cloud: prod, service: shop, role: node}}
groups:
  web: {{profile: web, min: 1, max: 9, interval: 1s}}
"""


@pytest.fixture
def stage() -> Iterator[OneflowStage]:
    with oneflow_stage(clock=lambda: Instant(time.time())) as stage:
        yield stage


@pytest.fixture
def daemon(stage: OneflowStage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    monkeypatch.setenv("COLUMNS", "300")
    (password,) = {stage.wire.users["fleet"]}
    with a_daemon(DECLARED.format(flow=stage.address, rpc=stage.endpoint), {"FLOW_PASSWORD": password}) as daemon:
        yield daemon


def test_status_and_why_show_what_oneflow_waits_for_and_what_else_scales(stage: OneflowStage, daemon: Daemon) -> None:
    flow = stage.flow
    shop = flow.service("shop", "node", "db", nodes=2)
    flow.role(shop, "node")["elasticity_policies"] = [{"type": "CHANGE"}]
    off = flow.nodes(shop, "db")[0]
    stage.wire.vms[off].state, stage.wire.vms[off].lcm = POWEROFF, 0
    flow.services[shop]["state"] = flow.role(shop, "db")["state"] = WARNING
    daemon.start()

    until(lambda: len(daemon.serving()) == 2, log=daemon.log, process=daemon.process)
    until(lambda: not daemon.group()["waits"], log=daemon.log)

    assert daemon.group()["condition"] == "warning"
    for text in (daemon.trimtab("status", "web").out, daemon.trimtab("why", "web").out):
        assert f"it is WARNING, and scales only after all its nodes run: it waits for node {off} (POWEROFF)" in text
        assert "OneFlow scales role node as well, by 1 policies of its own" in text
    assert "problem: prod: service shop" in daemon.trimtab("why", "web").out
    assert f"node {off} (POWEROFF)" in daemon.get("/groups/web").text
