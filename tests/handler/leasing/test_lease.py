"""Whatever is delayed, lost or stopped, no two workers may act at the same time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from config.units import Monotonic
from handler.leasing.lease import Held, LeaseRow, Watched, held, may_act, may_take, watched

SPAN = 10.0
ROW = LeaseRow(epoch=4, process="p1", renewals=7, span=SPAN)
SEEN = Watched(row=ROW, since=Monotonic(100.0))


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
    assert may_take(watched(SEEN, row, Monotonic(now)), Monotonic(now)) is taken


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
    lease: Held | Watched | None = None
    asked: Asked | None = None
    terms: int = field(default=0)

    def clock(self, now: float) -> Monotonic:
        return Monotonic(self.ahead + now * self.rate)


class Workers(RuleBasedStateMachine):
    """Three workers, a row that changes atomically, and messages that take any time, or never arrive."""

    @initialize(
        ahead=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
        rates=st.lists(st.floats(0.98, 1.02), min_size=3, max_size=3),
    )
    def begin(self, ahead, rates):
        self.now = 0.0
        self.row = LeaseRow(epoch=0, process="", renewals=0, span=SPAN)
        self.workers = [Worker(name, *clock) for name, *clock in zip("abc", ahead, rates, strict=True)]
        self.epochs: list[int] = []

    @rule(span=st.floats(0.0, 6.0))
    def time_passes(self, span):
        self.now += span

    @rule(which=st.integers(0, 2))
    def one_asks(self, which):
        worker = self.workers[which]
        now = worker.clock(self.now)
        if worker.asked is not None:
            return
        match worker.lease:
            case Held():
                worker.asked = Asked("renew", now, self.row)
            case Watched(row=row) as seen if may_take(seen, now):
                worker.asked = Asked("take", now, row)
            case _:
                worker.asked = Asked("look", now, self.row)

    @rule(which=st.integers(0, 2))
    def the_database_serves_one(self, which):
        worker = self.workers[which]
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
            assert isinstance(worker.lease, Held)
            asked.outcome = (self.row.process, self.row.epoch) == (worker.name, worker.lease.epoch)
            if asked.outcome:
                self.row = replace(self.row, renewals=self.row.renewals + 1)

    @rule(which=st.integers(0, 2))
    def one_is_answered(self, which):
        worker = self.workers[which]
        asked, now = worker.asked, worker.clock(self.now)
        if asked is None or not asked.served:
            return
        worker.asked = None
        if isinstance(asked.outcome, LeaseRow):
            before = worker.lease if isinstance(worker.lease, Watched) else None
            worker.lease = watched(before, asked.outcome, now)
        elif not asked.outcome:
            worker.lease = None
        elif isinstance(worker.lease, Held):
            worker.lease = held(worker.lease.epoch, Monotonic(asked.at), SPAN)
        else:
            worker.lease = held(asked.row.epoch + 1, Monotonic(asked.at), SPAN)
            worker.terms += 1

    @rule(which=st.integers(0, 2))
    def an_answer_is_lost(self, which):
        self.workers[which].asked = None

    @rule(which=st.integers(0, 2))
    def one_is_killed_and_starts_anew(self, which):
        worker = self.workers[which]
        worker.lease = worker.asked = None
        worker.name += "'"

    @precondition(lambda self: any(isinstance(worker.lease, Held) for worker in self.workers))
    @rule()
    def the_holder_hands_over(self):
        for worker in self.workers:
            if isinstance(worker.lease, Held) and (self.row.process, self.row.epoch) == (
                worker.name,
                worker.lease.epoch,
            ):
                worker.lease = worker.asked = None
                self.row = replace(self.row, process="")

    @invariant()
    def at_most_one_may_act(self):
        acting = [worker.name for worker in self.workers if may_act(worker.lease, worker.clock(self.now))]
        assert len(acting) <= 1

    @invariant()
    def only_the_newest_epoch_may_act(self):
        for worker in self.workers:
            if may_act(worker.lease, worker.clock(self.now)):
                assert isinstance(worker.lease, Held)
                assert worker.lease.epoch == self.row.epoch

    @invariant()
    def no_epoch_comes_twice(self):
        assert len(self.epochs) == len(set(self.epochs))


TestWorkers = Workers.TestCase
TestWorkers.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
