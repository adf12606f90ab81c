from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.errors import TrimtabError
from handler.daemon.run import running
from handler.orchestrators.process import procfs
from handler.runtime.directory import StateDirectory
from tests.support.daemon import Daemon, a_daemon, alive, trimtab
from tests.support.orchestrators import bearing
from tests.support.waiting import until

INTERVAL = 0.5
MODEL = """\
clouds: {local: {process: {}, budget: {outstanding: 50, per_hour: 500}}}
profiles: {web: {cloud: local, command: [sleep, "3600"]}}
groups:
  web: {profile: web, min: 2, max: 6, interval: 0.5s, warm_up: 0s, drain: 0s, grace: 1s, budget: {per_hour: 500}}
"""


@pytest.fixture(scope="module")
def one() -> Iterator[Daemon]:
    """Starting takes a second: the tests share a daemon, and start it again if they stop it."""
    with a_daemon(MODEL) as daemon:
        yield daemon.start()


@pytest.fixture
def daemon(one: Daemon) -> Daemon:
    """The daemon with its file as it was and two members."""
    one.declare(MODEL)
    assert one.trimtab("reload").code == 0
    until(lambda: one.group()["desired"] is not None, every=0.05)
    one.json("scale", "web", "2")
    one.settled(2)
    return one


def births(daemon: Daemon) -> dict[str, tuple[int, int]]:
    """Member → (pid, start): the same process, not only the same number."""
    found = {name: (pid, procfs.look(pid)) for name, pid in daemon.pids().items()}
    return {
        name: (pid, process.started) for name, (pid, process) in found.items() if process is not None and process.alive
    }


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_members_outlive_the_daemon_and_the_next_one_adopts_them(daemon: Daemon, number: signal.Signals) -> None:
    before, revision = births(daemon), daemon.group()["revision"]
    assert daemon.stop(number) == (-number if number is signal.SIGKILL else 0)
    assert births(daemon) == before
    assert daemon.trimtab("status").code == 3
    daemon.start().settled(2)
    assert births(daemon) == before
    assert daemon.json("status", "web")["revision"] == revision


def test_a_second_daemon_is_refused_with_the_process_that_holds_the_state_directory(daemon: Daemon) -> None:
    second = trimtab("run", str(daemon.file), "--state", str(daemon.state), "--port", "0")
    assert second.code == 1
    assert f"process {daemon.pid}" in second.err
    assert daemon.trimtab("status").code == 0


@pytest.mark.parametrize(
    ("text", "host"),
    [(MODEL.replace("min: 2", "min: 20"), "127.0.0.1"), (MODEL, "0.0.0.0"), (MODEL, "127.0.0.1")],
    ids=["a bad file", "an open address", "a newer store"],
)
def test_a_start_that_is_refused_leaves_no_socket_behind_and_holds_nothing(
    tmp_path: Path, text: str, host: str
) -> None:
    file, state = tmp_path / "model.yaml", tmp_path / "s"
    file.write_text(text)
    state.mkdir()
    with contextlib.closing(sqlite3.connect(state / "trimtab.sqlite")) as connection, connection:
        connection.executescript("CREATE TABLE alembic_version (version_num); INSERT INTO alembic_version VALUES (9);")

    async def start() -> None:
        async with running(file, state, host=host, port=0):
            raise AssertionError("started")

    with pytest.raises(TrimtabError):
        asyncio.run(start())
    assert not (state / "trimtab.sock").exists()
    held = StateDirectory(state)
    held.hold()
    held.release()


def test_a_member_killed_is_replaced(daemon: Daemon) -> None:
    (first, victim), (second, _) = sorted(daemon.pids().items())
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(serving := daemon.serving()) == 2 and first not in serving, every=0.05)
    assert second in daemon.serving()


def test_killed_between_a_decision_and_its_end_the_next_daemon_finishes_it_once(daemon: Daemon) -> None:
    before = births(daemon)
    decided = daemon.json("scale", "web", "6")
    assert decided["desired_to"] == 6
    quiets = daemon.group()["quiets"]
    daemon.stop(signal.SIGKILL)
    daemon.start().settled(6)
    status = daemon.group()
    assert status["revision"] == decided["revision"]
    assert status["quiets"] == quiets != []
    after = births(daemon)
    assert len(after) == 6
    assert before.items() <= after.items()
    assert len(bearing(f"TRIMTAB_INSTALLATION={daemon.installation}")) == 6


def test_hup_reloads_and_a_bad_file_is_reported_line_by_line_and_changes_nothing(daemon: Daemon) -> None:
    daemon.declare(MODEL.replace("min: 2", "min: 3"))
    os.kill(daemon.pid, signal.SIGHUP)
    daemon.settled(3)
    daemon.declare(MODEL.replace("min: 2", "min: 7").replace("interval: 0.5s", "intervall: 0.5s"))
    os.kill(daemon.pid, signal.SIGHUP)
    until(lambda: len(daemon.lines("reload_problem")) == 2, log=daemon.log)  # by no other test
    assert daemon.json("status", "web")["minimum"] == 3
    result = daemon.trimtab("reload")
    assert result.code == 1
    assert [line.split(":")[1] for line in result.out.splitlines()] == ["4", "4"]


def test_a_disk_without_room_costs_no_member_and_is_reported(daemon: Daemon) -> None:
    """No file of the daemon may grow, its write-ahead log neither: as on a full disk, every write fails."""
    before = births(daemon)
    grown = (daemon.state / "trimtab.sqlite-wal").stat().st_size
    free = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (grown, resource.RLIM_INFINITY))
    result = daemon.trimtab("scale", "web", "4", "--json")
    assert result.code == 1
    assert "store" in result.json["error"]
    first, pid = sorted(daemon.pids().items())[0]
    os.kill(pid, signal.SIGKILL)
    until(lambda: first not in daemon.serving() and daemon.group()["condition"] == "error", every=0.05, log=daemon.log)
    assert "trimtab.sqlite" in " ".join(daemon.group()["messages"])
    assert daemon.group()["desired"] == 2
    assert births(daemon).items() <= before.items()
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, free)
    daemon.settled(2)
    assert first not in daemon.serving()
    assert daemon.trimtab("scale", "web", "3").code == 0
    daemon.settled(3)


def test_a_lost_store_is_no_lost_fleet(daemon: Daemon) -> None:
    daemon.json("scale", "web", "4")
    daemon.settled(4)
    before = births(daemon)
    daemon.stop()
    for path in daemon.state.glob("trimtab.sqlite*"):
        path.unlink()
    daemon.start().settled(4)
    assert births(daemon) == before
    daemon.json("scale", "web", "5")
    daemon.settled(5)
    assert before.items() <= births(daemon).items()
    assert alive([pid for pid, _ in before.values()])


def test_a_group_that_leaves_the_file_goes_on_until_it_is_deleted(daemon: Daemon) -> None:
    pids = list(daemon.pids().values())
    daemon.declare("groups: {}\n")
    assert daemon.trimtab("reload").out.splitlines()[0] == "orphaned web"
    assert daemon.json("status", "web")["condition"] == "orphaned"
    assert alive(pids)
    assert daemon.trimtab("delete", "web", "--members").code == 0
    until(lambda: daemon.json("status") == [] and not alive(pids[:1]) and not alive(pids[1:]), every=0.05)


def test_the_log_is_lines_of_fields_without_secrets(daemon: Daemon) -> None:
    body, headers = {"size": 3}, {"X-Trimtab-User": "grace"}
    daemon.ask("PUT", "/api/v1/groups/web/size", body, bearer=daemon.token, headers=headers)
    daemon.settled(3)
    lines = daemon.log.read_text().splitlines()
    assert all(line.startswith("time=20") and " event=" in line for line in lines)
    assert daemon.token not in daemon.log.read_text()
    [grown] = [line for line in daemon.lines("desired") if "by=grace" in line]
    assert "size_from=2 size_to=3" in grown
    assert "cause=person" in grown
