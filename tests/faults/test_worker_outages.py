"""What befalls the machines of workers and of their database, for a night: `make nightly`.

Clocks that are an hour wrong, a network that is cut, a standby that is promoted, a disk that is full: a fleet that
grows meanwhile has each member once, as in `test_workers`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.faults.test_workers import killed
from tests.support.nightly import nightly
from tests.support.postgresql import QUICK, Server, running
from tests.support.postgresql_pair import a_pair
from tests.support.waiting import until
from tests.support.workers import SPAN, WorkersBed, a_bed, over

NIGHTLY = int(os.environ.get("TRIMTAB_NIGHTLY", "0"))
ROUNDS = NIGHTLY // 1000 or 1
pytestmark = [
    pytest.mark.real("postgres"),
    nightly,
]
of_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may cut a network, and make a small disk")


def test_workers_whose_clocks_are_an_hour_apart_take_over_from_each_other() -> None:
    with a_bed() as bed:
        for name, ahead in (("a", 3600.0), ("b", -3600.0), ("c", 0.0)):
            bed.worker(name, ahead=ahead).start()
        bed.grow(killed, killed, killed, rounds=ROUNDS)
        bed.has_each_member_once()


@of_root
def test_a_holder_that_is_cut_off_from_the_database_is_followed_by_another_and_comes_back_as_a_standby() -> None:
    with running(*QUICK, "listen_addresses=*") as server, over(server) as bed, contextlib.ExitStack() as undo:
        server.trust("10.9.0.0/16")
        for name in "abc":
            _address("add", name)
            undo.callback(_address, "del", name)
            worker = bed.worker(name)
            worker.declare(bed.model.replace(bed.store.url, f"postgresql://trimtab@{_ADDRESSES[name]}/trimtab"))
            worker.start()
        bed.grow(_cut_off, _cut_off, _cut_off, rounds=ROUNDS)
        bed.has_each_member_once(reads_on=True)
        bed.clear()  # while they reach the database


_ADDRESSES = {"a": "10.9.1.1", "b": "10.9.2.1", "c": "10.9.3.1"}
"""Where each worker finds the database."""


def _cut_off(bed: WorkersBed) -> None:
    holder = bed.holder()
    _address("del", holder.name)
    try:
        bed.other(holder)
        time.sleep(SPAN)
    finally:
        _address("add", holder.name)
    until(lambda: bed.role(holder) == "standby", every=0.2)


def _address(act: str, worker: str) -> None:
    """Add or delete an address of this machine: packets to one that is gone are lost, as where a cable is cut."""
    command = ["ip", "addr", act, f"{_ADDRESSES[worker]}/32", "dev", "lo"]
    subprocess.run(command, check=True, capture_output=True)


def test_a_promoted_standby_has_every_intent_and_workers_go_on_there() -> None:
    with running() as first, over(first) as bed, a_pair(first) as pair:

        def promoted(bed: WorkersBed) -> None:
            pair.promote()
            bed.server = pair.primary

        def joined(bed: WorkersBed) -> None:
            pair.join()

        for name in "abc":
            worker = bed.worker(name)
            worker.declare(bed.model.replace(bed.store.url, pair.url))
            worker.start()
        bed.grow(promoted, joined, promoted, joined, rounds=ROUNDS)
        bed.has_each_member_once()
        bed.clear()  # while the database is there


@of_root
def test_a_database_whose_disk_is_full_goes_on_once_there_is_space() -> None:
    with _a_small_disk() as disk, contextlib.ExitStack() as undo:
        server = Server(disk, (*QUICK, "min_wal_size=32MB", "max_wal_size=32MB"))
        server.initialise()
        server.start()
        undo.callback(server.stop)
        bed = undo.enter_context(over(server))

        def filled(bed: WorkersBed) -> None:
            ballast = disk / "ballast"
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while file.write(bytes(4096)) == 4096:
                    pass
            until(lambda: _is_stuck(server, bed), every=0.2)
            time.sleep(SPAN)
            ballast.unlink()
            if server.has_ended:
                server.start()

        for name in "abc":
            bed.worker(name).start()
        bed.grow(filled, filled, rounds=ROUNDS)
        bed.has_each_member_once()


@contextlib.contextmanager
def _a_small_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="trimtab-pg-") as place:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", place], check=True)
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)


def _is_stuck(server: Server, bed: WorkersBed) -> bool:
    """Have the server need space, and see whether it can go on."""
    if server.has_ended:
        return True
    try:
        server.execute("SELECT pg_switch_wal()", bed.store)
    except psycopg.Error:
        return True
    return False
