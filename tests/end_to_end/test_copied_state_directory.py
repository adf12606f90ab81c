"""Two real daemons over copies of one state directory: one keeps the fleet, the other one says that it does not."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

import pytest

from tests.end_to_end.test_older_store import PROCESSES, SIMULATED
from tests.support.daemon import Daemon, a_daemon
from tests.support.waiting import until


@contextlib.contextmanager
def copies(model: str, shared: str) -> Iterator[tuple[Daemon, Daemon]]:
    """A daemon that runs with three members, and a copy of its state directory for another one."""
    with a_daemon(model) as first:
        first.start()
        first.settled(1)
        first.json("scale", "web", "3")
        first.settled(3)
        second = Daemon(first.place / "second")
        second.place.mkdir()
        second.declare(model)
        shutil.copytree(first.state, second.state, ignore=shutil.ignore_patterns("*.sock", shared), symlinks=True)
        (second.state / shared).symlink_to(first.state / shared)
        try:
            yield first, second
        finally:
            if second.process is not None and second.process.poll() is None:
                second.stop()


def stopped(daemon: Daemon) -> None:
    until(lambda: daemon.json("store", "status")["superseded"], process=daemon.process, log=daemon.log)
    until(lambda: daemon.group()["reason"] == "superseded", process=daemon.process, log=daemon.log)


def acts(daemon: Daemon) -> None:
    until(lambda: not daemon.json("store", "status")["superseded"], process=daemon.process, log=daemon.log)


def machines(first: Daemon) -> list[str]:
    return sorted(member["name"] for member in first.group()["members"])


def passed(daemon: Daemon, seconds: float = 4.0) -> None:
    before = daemon.group()["decided_at"]
    until(lambda: daemon.group()["decided_at"] > before + seconds, process=daemon.process, log=daemon.log)


def test_on_a_cloud_the_daemon_that_started_last_keeps_the_fleet() -> None:
    with copies(SIMULATED, "simulated") as (first, second):
        before = machines(first)
        second.start()
        stopped(first)
        passed(first)
        assert machines(first) == machines(second) == before
        group = first.group()
        assert (group["condition"], "trimtab store adopt" in group["messages"][0]) == ("error", True)
        assert "trimtab_superseded 1.0" in first.get("/metrics").text
        assert "trimtab_superseded 0.0" in second.get("/metrics").text
        assert first.lines("superseded")
        assert first.trimtab("scale", "web", "5").code == 1
        assert (first.get("/healthz").status, first.get("/readyz").status) == (200, 200)

        second.json("scale", "web", "4")
        second.settled(4)
        passed(first)
        assert len(machines(second)) == 4

        assert first.json("store", "adopt")["claim"]
        acts(first)
        stopped(second)
        passed(first)
        assert set(before) <= set(machines(first))
        assert first.lines("acts_again")


def test_processes_are_kept_by_the_daemon_that_came_first_until_a_person_says_otherwise() -> None:
    with copies(PROCESSES, "members") as (first, second):
        before, pids = machines(first), first.pids()
        second.start()
        stopped(second)
        passed(second)
        passed(first)
        assert (machines(first), first.pids()) == (before, pids)
        assert "lock of this installation" in second.json("store", "status")["superseded"]

        second.json("store", "adopt")
        acts(second)
        stopped(first)
        passed(second)
        passed(first)
        assert (machines(second), first.pids()) == (before, pids)


@pytest.mark.parametrize("kind", ["simulated", "processes"])
def test_a_restart_stops_nothing(kind: str) -> None:
    with a_daemon(PROCESSES if kind == "processes" else SIMULATED) as daemon:
        for size in (2, 3, 4):
            daemon.start()
            daemon.settled(1 if size == 2 else size - 1)
            daemon.json("scale", "web", str(size))
            daemon.settled(size)
            assert daemon.json("store", "status")["claim"].startswith(f"{size - 1}-")
            daemon.stop()
