"""Three workers, and a fleet that grows: killed, stopped and without their database, they make each member once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator

import pytest

from tests.support.waiting import until
from tests.support.workers import SPAN, WorkersBed, a_bed

pytestmark = [pytest.mark.real("postgres")]
_ROUNDS = int(os.environ.get("TRIMTAB_NIGHTLY", "0")) // 100 or 1
_LANES = 8
"""Calls that a worker makes side by side: so many may be on their way when it is stopped."""


@pytest.fixture
def bed() -> Iterator[WorkersBed]:
    with a_bed() as bed:
        for name in "abc":
            bed.worker(name).start()
        bed.holder()
        bed.watch()
        yield bed


def test_a_fleet_that_grows_under_workers_that_fail_has_each_member_once(bed: WorkersBed) -> None:
    chance, began, size = random.Random(_ROUNDS), time.time(), 1  # noqa: S311 - it decides when to fail
    for _ in range(_ROUNDS):
        for fail in (killed, stopped, without_database):
            size += 12
            grown = len(bed.machines()) + chance.randrange(1, 9)
            bed.holder().json("scale", "web", str(size))
            until(lambda grown=grown: len(bed.machines()) >= grown, every=0.005)
            fail(bed)
            holder = bed.holder()
            until(lambda size=size, holder=holder: holder.acts and len(holder.serving()) == size, every=0.1)
        bed.holder().json("scale", "web", "1")
        size = 1
        bed.holder().settled(1)

    holder = bed.holder()
    assert sorted(holder.serving()) == bed.machines()
    assert holder.json("garbage")["garbage"] == []
    assert bed.stale_marks() == []
    names = [vm.name for vm in bed.wire.vms.values()]
    assert len(names) == len(set(names)), "a member was made twice"
    assert len(bed.late_calls(began)) <= _LANES * _ROUNDS


def killed(bed: WorkersBed) -> None:
    """Kill the holder; another one acts within the span, and some time to start."""
    holder = bed.holder()
    holder.signal(signal.SIGKILL)
    until(lambda: not holder.runs)
    bed.other(holder)
    holder.start()


def stopped(bed: WorkersBed) -> None:
    """Stop the holder for longer than its lease; when it goes on, it finds that it has none."""
    holder = bed.holder()
    ended = len(holder.lines("lease_ended")) + len(holder.lines("not_taken_over"))
    holder.signal(signal.SIGSTOP)
    bed.other(holder)
    holder.signal(signal.SIGCONT)
    until(lambda: len(holder.lines("lease_ended")) + len(holder.lines("not_taken_over")) > ended, every=0.05)


def without_database(bed: WorkersBed) -> None:
    """Kill the database, and start it again."""
    bed.server.kill()
    time.sleep(SPAN / 2)
    bed.server.start()
