"""Passes that wait for a listing at the same time share one call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

import pytest

from config.model.catalogue import Cloud, ProcessCloud
from config.units import CloudId, GroupId, Instant
from handler.convergence.inventory import AskedListing
from handler.planning.world import Listing
from handler.runtime.fresh_listings import FreshListings
from tests.support.waiting import PATIENT, until

BOX = ProcessCloud(id=CloudId("box"))
MANY = [GroupId(f"g{number}") for number in range(20)]


class Lister:
    """A cloud that answers when it is let."""

    def __init__(self) -> None:
        self.calls: list[Sequence[GroupId]] = []
        self.begun = 0
        self.open = threading.Event()
        self.error: Exception | None = None

    def __call__(self, cloud: Cloud, groups: Sequence[GroupId]) -> Mapping[GroupId, AskedListing]:
        self.begun += 1
        number = self.begun
        self.calls.append(groups)
        assert self.open.wait(PATIENT)
        if self.error is not None:
            raise self.error
        listing = Listing(servers=(), complete=True)
        return {group: AskedListing(asked_at=Instant(number), listing=listing) for group in groups}


def test_a_few_groups_are_listed_each_by_itself_and_many_by_one_call() -> None:
    lister = Lister()

    async def play() -> None:
        listings = FreshListings(lister)
        waiting = [asyncio.create_task(listings.of(BOX, group)) for group in MANY]
        await asyncio.sleep(0)
        lister.open.set()
        await asyncio.gather(*waiting)
        await listings.stop()

    asyncio.run(play())
    assert [len(groups) for groups in lister.calls] == [1, 1, 1, 1, 16]


def test_no_group_gets_a_listing_that_was_asked_for_before_it_came() -> None:
    lister = Lister()

    async def play() -> tuple[AskedListing, AskedListing]:
        listings = FreshListings(lister)
        early = [asyncio.create_task(listings.of(BOX, group)) for group in MANY]
        await asyncio.to_thread(until, lambda: lister.begun == 5)  # the shared call is under way
        late = asyncio.create_task(listings.of(BOX, GroupId("late")))
        await asyncio.sleep(0)
        lister.open.set()
        results = await asyncio.gather(*early, late)
        await listings.stop()
        return results[-2], results[-1]

    early, late = asyncio.run(play())
    assert late.asked_at > early.asked_at


def test_what_listing_raises_reaches_every_pass_that_waits_for_it() -> None:
    lister = Lister()
    lister.error = LookupError("a defect")
    lister.open.set()

    async def play() -> list[AskedListing | BaseException]:
        listings = FreshListings(lister)
        results = await asyncio.gather(*(listings.of(BOX, group) for group in MANY), return_exceptions=True)
        await listings.stop()
        return results

    assert {type(result) for result in asyncio.run(play())} == {LookupError}


def test_a_pass_that_waits_when_the_daemon_stops_gets_no_listing() -> None:
    lister = Lister()

    async def play() -> None:
        listings = FreshListings(lister)
        waiting = [asyncio.create_task(listings.of(BOX, group)) for group in MANY]
        await asyncio.to_thread(until, lambda: lister.begun == 5)
        late = asyncio.create_task(listings.of(BOX, GroupId("late")))
        await asyncio.sleep(0)
        lister.open.set()
        await listings.stop()
        with pytest.raises(asyncio.CancelledError):
            await late
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(play())


def test_groups_that_a_shared_listing_leaves_out_are_listed_side_by_side_and_none_waits_for_another() -> None:
    slow, answers = MANY[-1], threading.Event()

    def partial(cloud: Cloud, groups: Sequence[GroupId]) -> Mapping[GroupId, AskedListing]:
        if len(groups) > 1:
            return {}
        assert groups[0] != slow or answers.wait(PATIENT)
        return {groups[0]: AskedListing(asked_at=Instant(0), listing=Listing(servers=(), complete=False))}

    async def play() -> None:
        listings = FreshListings(partial)
        waiting = {group: asyncio.create_task(listings.of(BOX, group)) for group in MANY}
        await asyncio.gather(*(answer for group, answer in waiting.items() if group != slow))
        assert not waiting[slow].done()
        answers.set()
        await waiting[slow]
        await listings.stop()

    asyncio.run(play())
