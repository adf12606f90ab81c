"""A fleet grows and shrinks under load, and no request is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from handler.demo.load import LoadTally, drive
from tests.support.daemon import Daemon, a_daemon
from tests.support.haproxy import Haproxy, running_haproxy
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, until

ROOT = Path(__file__).parents[2]
_RATE = 80.0
_MODEL = """\
clouds: {{local: {{process: {{}}}}}}
balancers: {{edge: {balancer}}}
profiles:
  web:
    cloud: local
    directory: {root}
    command: {command}
    ready: {{http: /healthz, port: 8081, within: 30s}}
groups:
  web:
    profile: web
    balancers: [{{use: edge, port: {port}}}]
    min: 2
    max: 4
    interval: 30s
    drain: 5s
    grace: 5s
"""


def model(balancer: object, port: int, *where: str) -> str:
    command = [sys.executable, "-m", "handler.demo.member", "--slots", "8", "--service-time", "20ms", *where]
    command += ["--snmp-port", "1161", "--health-port", "8081"]
    return _MODEL.format(balancer=json.dumps(balancer), root=ROOT, port=port, command=json.dumps(command))


@dataclass
class Load:
    """Requests at a steady rate, from another thread, for as long as the block lasts; none is left unanswered."""

    target: tuple[str, int]
    tally: LoadTally = field(default_factory=LoadTally)
    rate: float = _RATE

    def __enter__(self) -> Load:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._drive()), daemon=True)
        self._thread.start()
        until(lambda: self.tally.ok > _RATE / 4)
        return self

    def __exit__(self, *_: object) -> None:
        self.rate = 0.0
        self._thread.join(timeout=PATIENT)

    async def _drive(self) -> None:
        driving = asyncio.create_task(drive(self.target, lambda _: self.rate, 600.0, self.tally))
        while self.rate > 0.0 or self.tally.in_flight > 0:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        driving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await driving


class Scene(Protocol):
    daemon: Daemon
    target: tuple[str, int]


@dataclass
class BehindHaproxy:
    daemon: Daemon
    haproxy: Haproxy

    @property
    def target(self) -> tuple[str, int]:
        return "127.0.0.1", self.haproxy.frontend_port

    def registered(self) -> set[str]:
        """Servers that HAProxy gives work to."""
        lines = self.haproxy.ask(f"show servers state {self.haproxy.backend}").splitlines()[2:]
        return {line.split()[3] for line in lines if line and line.split()[6] == "0"}


@dataclass
class BehindListener:
    daemon: Daemon
    target: tuple[str, int]


@pytest.fixture(scope="module")
def behind_haproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BehindHaproxy]:
    with running_haproxy(tmp_path_factory.mktemp("haproxy")) as haproxy:
        declared = {"haproxy": {"socket": str(haproxy.socket), "backend": haproxy.backend}}
        with a_daemon(model(declared, 8082, "--listen", "8082")) as daemon:
            yield BehindHaproxy(daemon.start(), haproxy)


@pytest.fixture(scope="module")
def behind_listener() -> Iterator[BehindListener]:
    port = free_tcp_port()
    declared = {"shared_listener": {"listen": f"127.0.0.1:{port}"}}
    with a_daemon(model(declared, port, "--listener", "edge")) as daemon:
        yield BehindListener(daemon.start(), ("127.0.0.1", port))


def grow_and_shrink(scene: Scene) -> None:
    daemon = scene.daemon
    daemon.settled(2)
    first = set(daemon.serving())
    with Load(scene.target) as load:
        daemon.json("scale", "web", "4")
        daemon.settled(4)
        assert first < set(daemon.serving())
        before = load.tally.ok
        until(lambda: load.tally.ok > before + _RATE / 4)
        daemon.json("scale", "web", "2")
        daemon.settled(2)
        before = load.tally.ok
        until(lambda: load.tally.ok > before + _RATE / 4)
    assert not first & set(daemon.serving())  # the oldest left, by name
    assert load.tally.failures == {}
    assert load.tally.in_flight == 0


@pytest.mark.real("haproxy")
def test_behind_haproxy_no_request_fails_while_the_fleet_grows_and_shrinks(behind_haproxy: BehindHaproxy) -> None:
    grow_and_shrink(behind_haproxy)
    assert behind_haproxy.registered() == set(behind_haproxy.daemon.serving())


@pytest.mark.real("haproxy")
def test_a_haproxy_that_was_reloaded_has_its_members_back_long_before_the_next_interval(
    behind_haproxy: BehindHaproxy,
) -> None:
    daemon = behind_haproxy.daemon
    daemon.settled(2)
    behind_haproxy.haproxy.reload()
    until(lambda: behind_haproxy.registered() == set(daemon.serving()) != set(), every=0.05)
    with Load(behind_haproxy.target) as load:
        until(lambda: load.tally.ok > _RATE / 2)
    assert load.tally.failures == {}


def test_on_a_shared_listener_no_request_fails_while_the_fleet_grows_and_shrinks(
    behind_listener: BehindListener,
) -> None:
    grow_and_shrink(behind_listener)


def test_on_a_shared_listener_no_request_fails_while_the_daemon_is_away(behind_listener: BehindListener) -> None:
    daemon = behind_listener.daemon
    daemon.settled(2)
    before = daemon.pids()
    with Load(behind_listener.target) as load:
        daemon.stop()
        daemon.start().settled(2)
    assert daemon.pids() == before
    assert load.tally.failures == {}
