"""A real daemon whose PostgreSQL is killed, is away, and comes back: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon, a_daemon, alive
from tests.support.orchestrators import bearing
from tests.support.postgresql import Server, running
from tests.support.waiting import until

pytestmark = pytest.mark.real("postgres")
MODEL = """\
store: {url: '%s'}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [sleep, "1000"]}}
groups: {web: {profile: web, min: 1, max: 12, interval: 500ms, drain: 0s}}
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def daemon(server: Server) -> Iterator[Daemon]:
    with a_daemon(MODEL % server.create("trimtab").url) as daemon:
        yield daemon.start()


def healthy(daemon: Daemon) -> bool:
    return daemon.ask("GET", "/readyz", unix=True).status == 200


def says_the_store_is_away(daemon: Daemon) -> bool:
    readiness = daemon.ask("GET", "/readyz", unix=True)
    return readiness.status == 503 and "cannot be reached" in json.loads(readiness.text)["checks"]["store"]


def processes(daemon: Daemon) -> list[int]:
    """Every process that was ever made as a member and runs, whether or not the daemon knows it."""
    return bearing(f"TRIMTAB_INSTALLATION={daemon.installation}")


def test_a_fleet_that_grows_while_its_database_is_killed_has_each_member_once(server, daemon):
    daemon.settled(1)
    daemon.json("scale", "web", "12")
    for size in (2, 4, 7, 10):
        until(lambda size=size: len(processes(daemon)) >= size, every=0.01, process=daemon.process, log=daemon.log)
        server.kill()  # whatever is under way is hit
        server.start()
    daemon.settled(12)
    members = daemon.pids()
    assert len(members) == 12
    assert sorted(processes(daemon)) == sorted(members.values())
    assert sorted(daemon.serving()) == sorted(members)
    assert daemon.json("garbage")["garbage"] == []
    daemon.json("scale", "web", "2")
    daemon.settled(2)
    assert len(processes(daemon)) == 2


def test_while_the_database_is_away_members_serve_and_nothing_is_decided(server, daemon):
    daemon.json("scale", "web", "3")
    daemon.settled(3)
    before = daemon.pids()
    server.kill()
    until(lambda: says_the_store_is_away(daemon), process=daemon.process, log=daemon.log)
    refused = daemon.trimtab("scale", "web", "6")
    assert (refused.code, "cannot be reached" in refused.err) == (1, True)
    assert daemon.group()["desired"] == 3
    assert alive(list(before.values()))

    server.start()
    until(lambda: healthy(daemon), process=daemon.process, log=daemon.log)
    daemon.settled(3)
    assert daemon.pids() == before
    daemon.json("scale", "web", "4")
    daemon.settled(4)
    assert set(before) < set(daemon.serving())


def test_a_daemon_that_starts_without_its_database_says_so_and_changes_nothing(server):
    place = server.create("other")
    server.kill()
    with a_daemon(MODEL % place.url) as daemon:
        with pytest.raises(AssertionError):
            daemon.start()
        assert "cannot be reached" in daemon.log.read_text()
        assert not (daemon.state / "installation").exists()
    server.start()
