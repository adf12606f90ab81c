"""Real daemons over stores that are older than their fleets: a backup that is put back, a disk that is rolled back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, a_daemon
from tests.support.waiting import until

FLEET = """\
clouds: {box: {%s}}
profiles: {web: {cloud: box, command: [sleep, "1000"]}}
groups: {web: {profile: web, min: 1, max: 10, interval: 500ms, drain: 0s}}
"""
PROCESSES = FLEET % "process: {}"
SIMULATED = FLEET.replace(', command: [sleep, "1000"]', "") % "simulated: {boot: {median: 50ms, p95: 80ms}, stop: 50ms}"


def grown(daemon: Daemon, size: int) -> None:
    daemon.json("scale", "web", str(size))
    daemon.settled(size)


def doubted(daemon: Daemon) -> None:
    """The group is in doubt, and stays as it is for many passes."""
    until(lambda: daemon.group()["older_store"], process=daemon.process, log=daemon.log)
    before = daemon.group()["decided_at"]
    until(lambda: daemon.group()["decided_at"] > before + 3, process=daemon.process, log=daemon.log)


@pytest.mark.parametrize("model", [PROCESSES, SIMULATED], ids=["processes", "simulated"])
def test_a_backup_that_is_put_back_costs_no_member(model: str) -> None:
    with a_daemon(model) as daemon:
        copy = daemon.place / "copy.sqlite"
        daemon.start()
        daemon.settled(1)
        grown(daemon, 3)
        assert daemon.json("backup", str(copy))["groups"] == 1
        refused = daemon.trimtab("backup", str(copy))
        assert (refused.code, "--force" in refused.err) == (1, True)
        grown(daemon, 8)
        members, pids = sorted(daemon.serving()), daemon.pids()

        held = daemon.trimtab("restore", str(copy))
        assert (held.code, f"held by process {daemon.pid}" in held.err) == (1, True)
        daemon.stop()
        replaced = Path(daemon.json("restore", str(copy))["replaced"])
        assert replaced.exists()

        daemon.start()
        doubted(daemon)
        group = daemon.group()
        assert (sorted(daemon.serving()), daemon.pids()) == (members, pids)
        assert (group["desired"], group["condition"], group["reason"]) == (8, "error", "older_store")
        assert "trimtab store adopt web" in daemon.trimtab("why", "web").out
        assert "older_store" in {event["name"] for event in daemon.json("history", "web")}

        assert "size 8 is kept" in daemon.trimtab("store", "adopt").out
        daemon.settled(8)
        grown(daemon, 9)
        assert sorted(set(daemon.serving()) - set(members)) == [f"web-{daemon.installation}-9"]


def test_a_disk_that_is_rolled_back_costs_no_member() -> None:
    with a_daemon(SIMULATED) as daemon:
        daemon.start()
        daemon.settled(1)
        grown(daemon, 3)
        daemon.stop()
        old = shutil.copy(daemon.state / "trimtab.sqlite", daemon.place / "old")
        daemon.start()
        grown(daemon, 8)
        members = sorted(daemon.serving())
        daemon.stop()
        shutil.copy(old, daemon.state / "trimtab.sqlite")

        daemon.start()
        doubted(daemon)
        until(lambda: sorted(daemon.serving()) == members, process=daemon.process, log=daemon.log)
        assert daemon.group()["desired"] == 8
        daemon.json("store", "adopt", "web")
        daemon.settled(8)
        assert sorted(daemon.serving()) == members


def test_a_backup_of_now_goes_on_by_itself() -> None:
    with a_daemon(SIMULATED) as daemon:
        daemon.start()
        daemon.settled(1)
        grown(daemon, 3)
        daemon.stop()
        daemon.json("backup", str(daemon.place / "copy"))
        daemon.json("restore", str(daemon.place / "copy"))
        daemon.start()
        daemon.settled(3)
        assert daemon.group()["older_store"] is None
        assert "store_agrees" in {event["name"] for event in daemon.json("history", "web")}
        grown(daemon, 4)


def test_a_backup_put_back_into_an_empty_directory_is_the_same_installation() -> None:
    with a_daemon(SIMULATED) as daemon:
        daemon.start()
        daemon.settled(1)
        daemon.stop()
        copy, keys = daemon.place / "copy", (daemon.state / "member-keys").read_bytes()
        installation = daemon.installation
        daemon.json("backup", str(copy))
        other = Daemon(daemon.place / "other")
        assert other.json("restore", str(copy))["replaced"] is None
        assert (other.installation, (other.state / "member-keys").read_bytes()) == (installation, keys)
        third = Daemon(daemon.place / "third")
        third.state.mkdir(parents=True)
        (third.state / "installation").write_text("abcdef\n")
        refused = third.trimtab("restore", str(copy))
        assert (refused.code, f"belongs to installation {installation}" in refused.err) == (1, True)
