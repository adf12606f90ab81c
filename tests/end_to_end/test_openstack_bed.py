"""A whole group on a real OpenStack, behind a real Octavia: grown, killed in the middle, shrunk with drain."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from handler.planning.launches import LaunchId
from tests.support.daemon import Daemon, a_daemon
from tests.support.openstack_bed import BedStage, FileAccess, Front, a_front
from tests.support.waiting import PATIENT, until

pytestmark = pytest.mark.bed("openstack")


_SENLIN = 197.0
"""Seconds that Senlin takes from 4 to 20 behind Octavia on the same machine: 12 a node."""

MODEL = """
clouds:
  bed:
    openstack: {{cloud: {cloud}, config: {file}, timeout: 60s}}
    budget: {{outstanding: 40, per_hour: 1000}}
balancers: {{lb: {{octavia: {{cloud: bed, pool: {pool}, lb_status_timeout: 60s}}}}}}
profiles: {{web: {{cloud: bed, image: {image}, flavor: {flavor}, networks: [{network}]}}}}
groups:
  web:
    profile: web
    balancers: [{{use: lb, port: 80}}]
    min: 0
    max: 40
    drain: 2s
    grace: 1s
    budget: {{outstanding: 40, per_hour: 1000}}
"""


@pytest.fixture
def front() -> Iterator[Front]:
    with a_front(BedStage()) as front:
        yield front


@pytest.fixture
def daemon(front: Front) -> Iterator[Daemon]:
    with a_daemon(MODEL.format(pool=front.pool, **FileAccess().facts)) as daemon:
        try:
            yield daemon
        finally:
            daemon.clear()
            if (daemon.state / "installation").exists():
                front.stage.here = daemon.installation
                front.stage.clear()


def scaled(daemon: Daemon, size: int) -> float:
    """Scale, and wait until every member serves; return the seconds that took."""
    until(lambda: daemon.trimtab("scale", "web", str(size)).code == 0, every=0.2)  # once it has looked
    begun = time.monotonic()
    daemon.settled(size, within=PATIENT)
    return time.monotonic() - begun


def whole(front: Front, daemon: Daemon, size: int) -> None:
    """No duplicate, no orphan: what Nova has, what Octavia has registered and what serves are the same."""
    serving = sorted(daemon.serving())
    ours = [
        server.name
        for server in front.stage.nova.everything().machines
        if server.mark is not None and server.mark.installation == daemon.installation and server.task != "deleting"
    ]
    registered = {entry.name: entry for entry in front.registered() if LaunchId.parse(entry.name)}
    assert len(serving) == size
    assert sorted(ours) == sorted(registered) == serving
    assert all(entry.up and entry.weight == 1 for entry in registered.values())


def test_a_group_behind_octavia_grows_fast_survives_a_kill_and_shrinks_with_drain(
    front: Front, daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    front.register_foreign("10.20.255.1")
    daemon.start()
    first = scaled(daemon, 4)
    grown = scaled(daemon, 20)
    whole(front, daemon, 20)
    shrunk = scaled(daemon, 4)
    whole(front, daemon, 4)
    with capsys.disabled():
        print(f"\n0 to 4 in {first:.1f} s, 4 to 20 in {grown:.1f} s, 20 to 4 with drain in {shrunk:.1f} s")  # noqa: T201

    assert grown < _SENLIN / 2
    assert "database" in {entry.name for entry in front.registered()}
    assert "409" not in daemon.log.read_text()
    assert not [line for line in daemon.json("history", "web") if "409" in str(line["message"])]


def test_a_group_behind_octavia_survives_a_kill_in_the_middle_of_growing_and_of_shrinking(
    front: Front, daemon: Daemon
) -> None:
    daemon.start()
    scaled(daemon, 3)

    for size, pause in ((10, 4.0), (3, 2.0)):
        assert daemon.trimtab("scale", "web", str(size)).code == 0
        time.sleep(pause)
        daemon.stop(signal.SIGKILL)
        daemon.start()
        daemon.settled(size, within=PATIENT)
        whole(front, daemon, size)
