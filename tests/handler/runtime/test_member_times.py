"""How long members take is learned from the store, whenever another one came into service."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from config.errors import StoreError
from config.units import CloudId, GroupId, Instant
from handler.planning.world import Record
from handler.ports.stored import MemberSpans
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.member_times import MemberTimesWatch
from tests.handler.runtime.test_statuses import a_runtime
from tests.support.memory_store import MemoryStore
from tests.support.worlds import NOW, WEB, a_member, a_record, a_world


def a_booted(sequence: int, took: float, profile: str) -> Record:
    return a_record(
        sequence,
        intended_at=NOW,
        made_at=Instant(NOW + 1.0),
        in_service_at=Instant(NOW + took),
        profile=profile,
    )


def shown(runtime: GroupRuntime, record: Record) -> GroupRuntime:
    """Have a pass see one member."""
    assert runtime.seen is not None
    runtime.seen = replace(runtime.seen, world=a_world(replace(a_member(1), record=record)))
    return runtime


def test_the_times_of_a_group_follow_its_members() -> None:
    store, runtime = MemoryStore(), a_runtime(2)
    watch = MemberTimesWatch(store, {WEB: runtime})
    profile = runtime.definition.profile_digest

    async def scene() -> None:
        first = a_booted(1, 90.0, profile)
        store.save((first,), CloudId("local"))
        shown(runtime, first)
        await watch.look()
        assert runtime.times.boot is not None
        assert (runtime.times.boot.most, runtime.times.boot.members) == (90.0, 1)
        assert runtime.times.drain is None
        second = a_booted(2, 200.0, profile)
        ended = replace(first, drained_at=Instant(NOW + 300.0), gone_at=Instant(NOW + 330.0))
        store.save((ended, second), CloudId("local"))
        shown(runtime, second)
        await watch.look()

    asyncio.run(scene())
    assert runtime.times.boot is not None
    assert runtime.times.drain is not None
    assert (runtime.times.boot.most, runtime.times.boot.members, runtime.times.drain.most) == (200.0, 2, 30.0)


def test_a_pass_that_found_no_other_member_asks_the_store_nothing() -> None:
    store, runtime = MemoryStore(), a_runtime(2)
    watch = MemberTimesWatch(store, {WEB: runtime})

    async def scene() -> None:
        record = a_booted(1, 90.0, "web")
        shown(runtime, record)
        await watch.look()
        before = runtime.times
        store.save((record,), CloudId("local"))
        shown(runtime, record)
        await watch.look()
        assert runtime.times is before

    asyncio.run(scene())


class AwayOnce(MemoryStore):
    """Cannot be read the first time."""

    away = True

    def member_spans(self, group: GroupId, newest: int) -> tuple[MemberSpans, ...]:
        if self.away:
            self.away = False
            raise StoreError("it cannot be reached")
        return super().member_spans(group, newest)


def test_what_the_store_could_not_tell_is_asked_again() -> None:
    store, runtime = AwayOnce(), a_runtime(2)
    watch = MemberTimesWatch(store, {WEB: runtime})

    async def scene() -> None:
        first = a_booted(1, 90.0, runtime.definition.profile_digest)
        store.save((first,), CloudId("local"))
        shown(runtime, first)
        with pytest.raises(StoreError):
            await watch.look()
        await watch.look()

    asyncio.run(scene())
    assert runtime.times.boot is not None


def test_a_group_that_was_deleted_is_passed_over() -> None:
    asyncio.run(MemberTimesWatch(MemoryStore(), {}).learn([GroupId("gone")]))
