"""Three workers, and a fleet that grows: killed, stopped and without their database, they make each member once."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.support.nightly import nightly
from tests.support.waiting import until
from tests.support.workers import SPAN, WorkersBed, a_bed

pytestmark = [pytest.mark.real("postgres")]
_ROUNDS = int(os.environ.get("TRIMTAB_NIGHTLY", "0")) // 100 or 1


def test_a_fleet_that_grows_under_workers_that_fail_has_each_member_once() -> None:
    with a_bed() as bed:
        for name in "abc":
            bed.worker(name).start()
        bed.grow(killed, stopped, without_database, rounds=_ROUNDS, seed=_ROUNDS)
        bed.has_each_member_once()


@nightly
def test_a_fleet_that_shrinks_and_is_replaced_under_workers_that_fail_has_each_member_once() -> None:
    with a_bed() as bed:
        for name in "abc":
            bed.worker(name).start()
        bed.shrink_and_roll(killed, stopped, without_database, rounds=_ROUNDS, seed=_ROUNDS)
        bed.has_each_member_once()


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
