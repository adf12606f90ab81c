"""Three workers of three shards, whose fleets change: killed, stopped and without their database, for a night.

A fault hits all shards that one process works for at once; each shard has each of its members once in the end.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

import pytest

from tests.support.nightly import nightly
from tests.support.shards import ShardedWorker, ShardsBed, a_bed_of
from tests.support.waiting import until
from tests.support.workers import SPAN

pytestmark = [pytest.mark.real("postgres"), nightly]
_SHARDS = ("north", "south", "west")
_SIZES = (1, 4, 9, 14)
_ROUNDS = int(os.environ.get("TRIMTAB_NIGHTLY", "0")) // 1000 * 6 or 6


def killed(bed: ShardsBed, worker: ShardedWorker) -> None:
    """Kill a worker, and start it once others act for its shards."""
    worker.kill()
    bed.holders()
    worker.start()


def stopped(bed: ShardsBed, worker: ShardedWorker) -> None:
    """Stop a worker for longer than its leases."""
    worker.signal(signal.SIGSTOP)
    time.sleep(1.5 * SPAN)
    worker.signal(signal.SIGCONT)


def without_database(bed: ShardsBed, worker: ShardedWorker) -> None:
    """Kill the database of all shards, and start it again."""
    bed.server.kill()
    time.sleep(SPAN / 2)
    bed.server.start()


_FAULTS: tuple[Callable[[ShardsBed, ShardedWorker], None], ...] = (killed, stopped, without_database)


def test_fleets_of_several_shards_have_each_member_once_whatever_befalls_the_workers() -> None:
    chance = random.Random(_ROUNDS)  # noqa: S311 - it decides when to fail
    with a_bed_of(*_SHARDS) as bed:
        for name in "abc":
            bed.worker(name).start()
        for _ in range(_ROUNDS):
            for fault in chance.sample(_FAULTS, len(_FAULTS)):
                size = chance.choice(_SIZES)
                for shard in _SHARDS:
                    bed.resize(shard, size)
                holder = bed.workers[bed.holders()[chance.choice(_SHARDS)]]
                time.sleep(chance.uniform(0.0, 2.0))
                fault(bed, holder)
                until(lambda size=size: all(bed.is_settled(shard, size) for shard in _SHARDS), every=0.2)
        bed.has_each_member_once()
