"""A worker that waits for the lease logs what bars all of them, once, and its end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

from config.errors import Refused
from config.units import Monotonic
from handler.daemon.lease_keeper import LeaseKeeper
from handler.leasing.lease import LeaseRow
from handler.leasing.workers import Looked, Presence, SeenWorker
from handler.observability.worker_gauges import WorkerGauges
from tests.support.waiting import PATIENT, until

B = Presence(name="b", process="p2", url="http://b:8460", version="1.0")
ELSEWHERE = "clouds.box is on a, and this worker is b"
NOT_THERE = Looked(
    row=LeaseRow(epoch=4, process="p1", renewals=7, span=10.0),
    worker="a",
    left=-20.0,
    declaration="",
    applied=0,
    sealing="",
    schema="",
    workers=(),
    clock=0.0,
)


@dataclass
class AbandonedLease:
    """The lease of a holder that is gone, as the store shows it to the one worker that is left."""

    own: Presence = B

    def prepare(self) -> None: ...

    def read(self) -> Looked:
        return NOT_THERE

    def look(self, own: Presence) -> Looked:
        return replace(NOT_THERE, workers=(SeenWorker(presence=own, age=0.0, up=60.0),))


def test_that_no_worker_may_act_is_logged_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    problem = [ELSEWHERE]
    caplog.set_level(logging.INFO, logger="trimtab")
    lease = AbandonedLease()
    keeper = LeaseKeeper(lease, B, 10.0, lambda: Monotonic(0.0), lambda seen: problem[0])  # type: ignore[arg-type]

    async def looks() -> None:
        await keeper.start()
        await keeper.start()
        problem[0] = ""
        await keeper.start()

    asyncio.run(looks())
    events = [record.getMessage().split()[0].removeprefix("event=") for record in caplog.records]
    assert events == ["cannot_take_over", "no_worker_may_act", "can_take_over", "a_worker_may_act"]


def test_a_worker_that_cannot_read_the_database_says_so_and_its_gauges_have_no_samples() -> None:
    now = [Monotonic(100.0)]
    keeper = LeaseKeeper(AbandonedLease(), B, 10.0, lambda: now[0], lambda seen: "")  # type: ignore[arg-type]
    asyncio.run(keeper.start())
    fresh = samples(keeper)
    now[0] = Monotonic(130.0)

    assert (keeper.status().unread_s, keeper.status().workers[0].age_s, keeper.status().left_s) == (30.0, 30.0, -50.0)
    assert fresh - samples(keeper) == {f"trimtab_worker_{name}" for name in ("lease_epoch", "standbys", "barred")}
    with pytest.raises(Refused, match="no other worker could take over now"):
        keeper.hand_over()


def test_the_databases_clock_is_not_taken_from_a_look_during_which_the_database_hung() -> None:
    now, hangs = [100.0], iter([20.0, 0.25, 38.0, 0.5])

    @dataclass
    class HangingLease(AbandonedLease):
        def look(self, own: Presence) -> Looked:
            now[0] += next(hangs)
            return replace(super().look(own), clock=5000.0 + now[0])

    keeper = LeaseKeeper(HangingLease(), B, 10.0, lambda: Monotonic(now[0]), lambda seen: "")  # type: ignore[arg-type]

    async def looks() -> list[float]:
        found = []
        for _ in range(4):
            await keeper.start()
            found.append(keeper.ahead - 5000.0)
        return found

    assert asyncio.run(looks()) == [10.0, 0.125, 0.125, 0.25]


@dataclass
class SlowLease(AbandonedLease):
    """A lease whose taking lasts until the test lets it end."""

    asked: threading.Event = field(default_factory=threading.Event)
    ends: threading.Event = field(default_factory=threading.Event)
    released: list[int] = field(default_factory=list)

    def take(self, row: LeaseRow, own: Presence, span: float) -> SimpleNamespace:
        self.asked.set()
        assert self.ends.wait(PATIENT)
        return SimpleNamespace(epoch=row.epoch + 1)

    def release(self, epoch: int, own: Presence) -> None:
        self.released.append(epoch)

    def leave(self, own: Presence) -> None: ...

    def close(self) -> None: ...


def test_a_worker_that_is_stopped_while_it_takes_the_lease_gives_it_back() -> None:
    lease, now = SlowLease(), iter(range(0, 10_000, 100))
    keeper = LeaseKeeper(lease, B, 10.0, lambda: Monotonic(next(now)), lambda seen: "")  # type: ignore[arg-type]

    async def stopped() -> None:
        await keeper.start()
        obtaining = asyncio.create_task(keeper.obtain())
        await asyncio.to_thread(lease.asked.wait, PATIENT)
        obtaining.cancel()
        lease.ends.set()
        await asyncio.gather(obtaining, return_exceptions=True)
        await keeper.leave()

    asyncio.run(stopped())
    assert lease.released == [5]


@dataclass
class SharedLease(AbandonedLease):
    """A lease that was given back, and another worker of a higher priority that could take it."""

    row: LeaseRow = field(default_factory=lambda: replace(NOT_THERE.row, process=""))
    others: tuple[SeenWorker, ...] = (
        SeenWorker(presence=replace(B, name="c", process="p3", priority=5), age=0.0, up=90.0),
    )
    written: list[int] = field(default_factory=list)
    """The priority that this worker wrote of itself, each time."""

    def read(self) -> Looked:
        return replace(NOT_THERE, row=self.row, workers=self.others)

    def look(self, own: Presence) -> Looked:
        self.written.append(own.priority)
        return replace(self.read(), workers=(SeenWorker(presence=own, age=0.0, up=90.0), *self.others))

    def take(self, row: LeaseRow, own: Presence, span: float) -> SimpleNamespace:
        self.row = replace(row, epoch=row.epoch + 1, process=own.process)
        return SimpleNamespace(epoch=self.row.epoch, overtaken=threading.Event())

    def renew(self, epoch: int, own: Presence, span: float, declaration: str) -> bool:
        return True

    def release(self, epoch: int, own: Presence) -> None:
        self.row = replace(self.row, process="")


def test_a_lease_that_is_free_is_left_to_a_worker_of_a_higher_priority_for_two_seconds() -> None:
    lease, now = SharedLease(), [Monotonic(100.0)]
    keeper = LeaseKeeper(lease, B, 0.1, lambda: now[0], lambda seen: "")  # type: ignore[arg-type]

    async def taken() -> int:
        """How often it has the lease after two more looks."""
        looks = len(lease.written)
        await asyncio.to_thread(until, lambda: keeper.taken or len(lease.written) > looks + 1)
        return keeper.taken

    async def taken_at(*instants: float) -> list[int]:
        await keeper.start()
        obtaining, found = asyncio.create_task(keeper.obtain()), []
        for now[0] in map(Monotonic, instants):
            found.append(await taken())
        await obtaining
        return found

    assert asyncio.run(taken_at(100.0, 101.9, 102.0)) == [0, 0, 1]


def test_a_holder_hands_over_to_a_worker_of_a_higher_priority_and_has_none_itself_from_then_on() -> None:
    lease, now = SharedLease(others=()), itertools.count(100.0, 20.0)
    own = replace(B, priority=3)
    keeper = LeaseKeeper(lease, own, 10.0, lambda: Monotonic(next(now)), lambda seen: "")  # type: ignore[arg-type]

    async def acts() -> None:
        await keeper.start()
        term = await keeper.obtain()
        lease.others = SharedLease().others
        keeping = asyncio.create_task(keeper.keep(term, str))
        await asyncio.wait_for(keeper.handing_over.wait(), PATIENT)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await keeper.give_back()
        await keeper.start()

    asyncio.run(acts())
    assert (lease.row.process, lease.written[0], lease.written[-1]) == ("", 3, 0)


def priorities_after_a_lease(*instants: float, by_hand: bool) -> list[int]:
    """The priority that a worker which wants the lease back writes at instants after it lost the lease at 0."""
    lease, now = SharedLease(others=()), [Monotonic(0.0)]
    keeper = LeaseKeeper(lease, replace(B, priority=3), 0.1, lambda: now[0], lambda seen: "", wants_it_back=True)  # type: ignore[arg-type]

    async def written() -> list[int]:
        await keeper.start()
        await keeper.obtain()
        if by_hand:
            lease.others = SharedLease().others
            await keeper.start()
            keeper.hand_over()
        await keeper.give_back()
        found = []
        for now[0] in map(Monotonic, instants):
            await keeper.start()
            found.append(lease.written[-1])
        return found

    return asyncio.run(written())


def test_a_worker_that_wants_the_lease_back_has_its_priority_again_ten_minutes_after_it_was_lost() -> None:
    assert priorities_after_a_lease(1.0, 599.0, 600.0, 700.0, by_hand=False) == [0, 0, 3, 3]


def test_a_lease_that_a_person_has_handed_over_is_not_wanted_back() -> None:
    assert priorities_after_a_lease(1.0, 600.0, 9000.0, by_hand=True) == [0, 0, 0]


def test_the_lease_is_taken_and_renewed_while_requests_that_hang_have_all_other_threads() -> None:
    keeper = LeaseKeeper(SharedLease(others=()), B, 0.1, lambda: Monotonic(0.0), lambda seen: "")  # type: ignore[arg-type]
    goes_on, named = threading.Event(), asyncio.Event()

    async def acts() -> bool:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))

        def digest() -> str:
            loop.call_soon_threadsafe(named.set)
            return "-"

        hanging = asyncio.create_task(asyncio.to_thread(goes_on.wait, PATIENT))
        await keeper.start()
        keeping = asyncio.create_task(keeper.keep(await keeper.obtain(), digest))
        await asyncio.wait({asyncio.create_task(named.wait()), hanging}, return_when=asyncio.FIRST_COMPLETED)
        keeping.cancel()
        goes_on.set()
        await asyncio.gather(keeping, return_exceptions=True)
        await keeper.give_back()
        return await hanging

    assert asyncio.run(acts())
    assert named.is_set()


def samples(keeper: LeaseKeeper) -> set[str]:
    return {sample.name for metric in WorkerGauges(keeper).collect() for sample in metric.samples}
