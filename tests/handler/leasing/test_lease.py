"""Whatever is delayed, lost or stopped, no two workers may act at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.units import Monotonic
from handler.leasing.lease import LeaseRow, ObservedLease, OwnLease, held, may_act, may_take, observed
from tests.support.nightly import runs

SPAN = 10.0
ROW = LeaseRow(epoch=4, process="p1", renewals=7, span=SPAN)
SEEN = ObservedLease(row=ROW, since=Monotonic(100.0))


@pytest.mark.parametrize(
    ("row", "now", "taken"),
    [
        pytest.param(ROW, 109.9, False, id="held until its span is over"),
        pytest.param(ROW, 110.0, True, id="not renewed for its span"),
        pytest.param(replace(ROW, renewals=8), 110.0, False, id="renewed since"),
        pytest.param(replace(ROW, epoch=5, process="p2", renewals=0), 110.0, False, id="taken by another"),
        pytest.param(replace(ROW, process=""), 100.1, True, id="given back"),
        pytest.param(replace(ROW, renewals=6), 110.0, False, id="a promoted standby lacks the last renewal"),
        pytest.param(replace(ROW, span=30.0), 115.0, False, id="its holder declared a longer span"),
    ],
)
def test_a_lease_is_taken_only_once_its_holder_has_stopped(row, now, taken):
    assert may_take(observed(SEEN, row, Monotonic(now)), Monotonic(now)) is taken


def test_the_time_of_a_holder_counts_from_when_it_asked_and_ends_before_that_of_a_watcher():
    mine = held(4, asked_at=Monotonic(100.0), span=SPAN)
    assert [may_act(mine, Monotonic(now)) for now in (100.0, 108.99, 109.0, 200.0)] == [True, True, False, False]


def test_a_watcher_does_not_act():
    assert not may_act(SEEN, Monotonic(500.0))
    assert not may_act(None, Monotonic(0.0))


@dataclass
class Asked:
    """A request on its way: read by the database at one time, answered at another."""

    what: str
    at: float
    row: LeaseRow
    served: bool = False
    outcome: LeaseRow | bool | None = None


@dataclass
class Worker:
    name: str
    ahead: float
    rate: float
    lease: OwnLease | ObservedLease | None = None
    asked: Asked | None = None

    def clock(self, now: float) -> Monotonic:
        return Monotonic(self.ahead + now * self.rate)


class Cluster:
    """Three workers, a row that changes atomically, and messages that take any time, or never arrive."""

    def __init__(self, clocks: Sequence[tuple[float, float]]) -> None:
        self.now = 0.0
        self.row = LeaseRow(epoch=0, process="", renewals=0, span=SPAN)
        self.workers = [Worker(name, *clock) for name, clock in zip("abc", clocks, strict=True)]
        self.epochs: list[int] = []

    def asks(self, worker: Worker) -> None:
        now = worker.clock(self.now)
        if worker.asked is None:
            match worker.lease:
                case OwnLease():
                    worker.asked = Asked("renew", now, self.row)
                case ObservedLease(row=row) as seen if may_take(seen, now):
                    worker.asked = Asked("take", now, row)
                case _:
                    worker.asked = Asked("look", now, self.row)

    def is_served(self, worker: Worker) -> None:
        asked = worker.asked
        if asked is None or asked.served:
            return
        asked.served = True
        if asked.what == "look":
            asked.outcome = self.row
        elif asked.what == "take":
            asked.outcome = self.row == asked.row
            if asked.outcome:
                self.row = LeaseRow(epoch=self.row.epoch + 1, process=worker.name, renewals=0, span=SPAN)
                self.epochs.append(self.row.epoch)
        else:
            asked.outcome = self.holds(worker)
            if asked.outcome:
                self.row = replace(self.row, renewals=self.row.renewals + 1)

    def is_answered(self, worker: Worker) -> None:
        asked, now = worker.asked, worker.clock(self.now)
        if asked is None or not asked.served:
            return
        worker.asked = None
        if isinstance(asked.outcome, LeaseRow):
            worker.lease = observed(
                worker.lease if isinstance(worker.lease, ObservedLease) else None, asked.outcome, now
            )
        elif not asked.outcome:
            worker.lease = None
        else:
            epoch = worker.lease.epoch if isinstance(worker.lease, OwnLease) else asked.row.epoch + 1
            worker.lease = held(epoch, Monotonic(asked.at), SPAN)

    def works(self, worker: Worker) -> None:
        """Ask, and be answered without delay."""
        self.asks(worker)
        self.is_served(worker)
        self.is_answered(worker)

    def gets_no_answer(self, worker: Worker) -> None:
        worker.asked = None

    def is_killed(self, worker: Worker) -> None:
        """It starts anew, and knows nothing."""
        worker.lease = worker.asked = None
        worker.name += "'"

    def hands_over(self, worker: Worker) -> None:
        if self.holds(worker):
            worker.lease = worker.asked = None
            self.row = replace(self.row, process="")

    def holds(self, worker: Worker) -> bool:
        lease = worker.lease
        return isinstance(lease, OwnLease) and (self.row.process, self.row.epoch) == (worker.name, lease.epoch)

    def check(self) -> None:
        acting = [worker for worker in self.workers if may_act(worker.lease, worker.clock(self.now))]
        assert len(acting) <= 1, "two workers may act"
        assert all(self.holds(worker) for worker in acting), "a worker may act under an epoch that is over"
        assert len(self.epochs) == len(set(self.epochs)), "an epoch came twice"


OFTEN = (Cluster.works,) * 6 + (Cluster.asks, Cluster.is_served, Cluster.is_answered) * 2
SELDOM = (Cluster.gets_no_answer, Cluster.is_killed, Cluster.hands_over)
SPANS = st.sampled_from((0.0, 0.0, 0.0, 0.5, 2.5, 5.5, 9.5))
ACTS = st.tuples(st.sampled_from(OFTEN + SELDOM), st.integers(0, 2), SPANS)
CLOCKS = st.tuples(st.floats(-1e6, 1e6), st.floats(0.98, 1.02))
"""By how much a clock is ahead, and how fast it runs."""


@runs(150, steps=80)
@given(st.lists(CLOCKS, min_size=3, max_size=3), st.lists(ACTS, min_size=80, max_size=80))
def test_no_two_workers_may_act_at_one_time_whatever_is_late_or_lost(clocks, acts):
    cluster = Cluster(clocks)
    for act, which, later in acts:
        act(cluster, cluster.workers[which])
        cluster.now += later
        cluster.check()
