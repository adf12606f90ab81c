"""A whole group on a real OpenNebula: grown, killed in the middle, shrunk, and measured."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.daemon import Daemon, a_daemon
from tests.support.opennebula_bed import NebulaBedStage, a_quota, a_user, facts
from tests.support.waiting import PATIENT, until

pytestmark = pytest.mark.bed("opennebula")


MODEL = """
counters:
  cpu: {{opennebula: CPU, range: [0, 400]}}
  memory: {{opennebula: MEMORY}}
  sent: {{opennebula: NETTX}}
  price: {{opennebula: PRICE}}
clouds:
  bed:
    opennebula: {{endpoint: {endpoint}, user: {user}, password: {{env: BED_PASSWORD}}, timeout: 15s}}
    budget: {{outstanding: 40, per_hour: 1000}}
profiles: {{web: {{cloud: bed, template: web, networks: [tier]}}}}
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
def stage() -> Iterator[NebulaBedStage]:
    with a_user("TEMPLATE") as cloud:
        yield NebulaBedStage(cloud=cloud)


@pytest.fixture
def daemon(stage: NebulaBedStage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    monkeypatch.setenv("BED_PASSWORD", facts()["password"])
    with a_daemon(MODEL.format(endpoint=stage.cloud.endpoint, user=stage.cloud.user)) as daemon:
        try:
            yield daemon
        finally:
            daemon.clear()


def scaled(daemon: Daemon, size: int) -> None:
    until(lambda: daemon.trimtab("scale", "web", str(size)).code == 0, every=0.2)


def whole(stage: NebulaBedStage, daemon: Daemon, size: int) -> None:
    """No duplicate, no orphan: what OpenNebula has is what serves."""
    until(lambda: len(stage.machines()) == size, every=0.2)
    assert sorted(vm.mark for vm in stage.machines()) == sorted(daemon.serving())
    assert len(set(daemon.serving())) == size


def test_a_group_survives_a_kill_in_the_middle_of_growing_and_of_shrinking_opennebula_bed(
    stage: NebulaBedStage, daemon: Daemon
) -> None:
    daemon.start()
    scaled(daemon, 3)
    daemon.settled(3, within=PATIENT)

    for size, pause in ((15, 1.5), (4, 0.5)):
        scaled(daemon, size)
        time.sleep(pause)
        daemon.stop(signal.SIGKILL)
        daemon.start()
        daemon.settled(size, within=PATIENT)
        whole(stage, daemon, size)


def test_a_quota_stops_a_group_which_goes_on_when_it_is_raised_opennebula_bed(
    stage: NebulaBedStage, daemon: Daemon
) -> None:
    a_quota(stage.cloud, VMS=2)
    daemon.start()
    scaled(daemon, 4)
    until(lambda: "quota" in str(daemon.json("status", "web")), every=0.2)
    assert len(stage.machines()) <= 2

    a_quota(stage.cloud, VMS=-1)

    daemon.settled(4, within=PATIENT)
    whole(stage, daemon, 4)


def test_members_are_measured_as_opennebula_measures_machines_opennebula_bed(
    stage: NebulaBedStage, daemon: Daemon
) -> None:
    daemon.start()
    scaled(daemon, 2)
    daemon.settled(2, within=PATIENT)

    def probed(*counters: str) -> list[Any]:
        rows: list[Any] = daemon.trimtab("probe", "web", *counters, "--json").json
        return rows

    until(lambda: {each["reply"] for each in probed("cpu", "memory", "sent")} == {"ok"}, every=0.5)
    assert {each["reply"] for each in probed("price")} == {"no_such_counter"}
    (vm, *_) = stage.machines()
    stage.wire.ask("vm.update", vm.id, "<TEMPLATE><PRICE>7.5</PRICE></TEMPLATE>", 1)  # as a guest does, over OneGate

    by_series = {(each["counter"], each["member"]): each for each in probed("cpu", "memory", "sent", "price")}
    memory, sent, price = (by_series[counter, vm.mark] for counter in ("memory", "sent", "price"))
    assert all(0 <= each["value"] <= 400 for (counter, _), each in by_series.items() if counter == "cpu")
    assert memory["value"] == memory["reading"] * 1024
    assert 0 < memory["value"] <= 64 * 2**20
    assert memory["age"] < 10
    assert (sent["kind"], sent["unit"]) == ("counter", "bytes/s")
    assert sent["reading"] > 0
    assert price["value"] == 7.5
