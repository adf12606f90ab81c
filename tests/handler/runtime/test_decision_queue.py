from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from config.errors import StoreError
from config.load import parse
from config.model.catalogue import Adjustment, AdjustmentVerb, Catalogue
from config.units import Monotonic, PolicyId
from handler.planning.steps import Plan
from handler.planning.world import World
from handler.ports.store import Store
from handler.ports.stored import RepeatedTick, StoredTick
from handler.runtime import clock
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.decision_task import DecisionTask
from handler.runtime.definitions import definition_of
from handler.runtime.group_runtime import GroupRuntime, LastPass
from handler.store.sqlite import SqliteStore
from tests.support.engines import MODEL, WEB
from tests.support.memory_store import MemoryStore
from tests.support.waiting import PATIENT
from tests.support.worlds import INSTALLATION
from trigger.conditions.timers import Kept, hold
from trigger.guards.pauses import paused
from trigger.reasons import Reason
from trigger.requests import Decision, Fleet, GroupState, Pause, Request, RequestCause
from trigger.verdicts import Evaluation, Hold, Truth

CATALOGUE = parse(MODEL, "model.yaml")
OUT = PolicyId("out")


@dataclass
class SlowStore(MemoryStore):
    """Counts what each write of decisions holds, and makes it wait until it is let go."""

    batches: list[int] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)
    writing: threading.Event = field(default_factory=threading.Event)

    def record(self, ticks: Sequence[StoredTick], repeated: Sequence[RepeatedTick] = ()) -> None:
        self.batches.append(len(ticks) + len(repeated))
        self.writing.set()
        assert self.open.wait(PATIENT)
        super().record(ticks, repeated)


class Entrance:
    """A decision queue, one group runtime, and a fleet of two in service."""

    def __init__(self, store: Store, catalogue: Catalogue = CATALOGUE) -> None:
        self.catalogue = catalogue
        self.decided: list[Decision] = []
        self.store = store
        self.queue = DecisionQueue(store, lambda: self.catalogue, self.decided.append)
        definition = definition_of(catalogue, WEB)
        store.declare((definition,), clock.wall())
        fleet = Fleet(listed=True, marked=2, in_service=2, creates_left=10, back_off_until=None)
        world = World(group=WEB, at=clock.wall(), complete=True, because="", members=(), balancer_views={})
        plan = Plan(group=WEB, revision=0, steps=(), waits=())
        seen = LastPass(at=clock.wall(), world=world, plan=plan, states={}, fleet=fleet, failures=(), retries=())
        self.runtime = GroupRuntime(id=WEB, definition=definition, state=GroupState(desired=2, revision=1), seen=seen)

    def task(self, size: int, *, name: str = "ada") -> DecisionTask:
        """A person asks for a size."""
        request = Request(
            id=f"{name}-{size}",
            group=WEB,
            cause=RequestCause.PERSON,
            by=name,
            adjustment=Adjustment(verb=AdjustmentVerb.SET, amount=size),
            quiet_time=60.0,
        )
        return DecisionTask(runtime=self.runtime, at=clock.moment(), requests=(request,))

    def add(self, count: int = 1, *, name: str = "alarm") -> DecisionTask:
        request = Request(
            id=name, group=WEB, cause=RequestCause.ALARM, by=name,
            adjustment=Adjustment(verb=AdjustmentVerb.ADD, amount=count), policy=OUT, quiet_time=0.0,
        )  # fmt: skip
        return DecisionTask(runtime=self.runtime, at=clock.moment(), requests=(request,))

    def tick(self) -> DecisionTask:
        """A tick at which the conditions of policy ``out`` are TRUE."""
        now = clock.moment()

        def judge(holds: Mapping[PolicyId, Kept], size: int | None) -> Evaluation:
            before = holds.get(OUT)
            kept = hold(before if isinstance(before, Hold) else None, Truth.TRUE, now.steady, 30.0)
            after = {} if kept is None else {OUT: kept}
            return Evaluation(group=WEB, at=now, advices=(), holds=after, carried=holds, size=size)

        judged = judge(self.runtime.holds, self.runtime.state.desired)
        return DecisionTask(runtime=self.runtime, at=now, evaluation=judged, judge=judge)

    def stored(self) -> GroupState:
        return next(group.state for group in self.store.groups() if group.id == WEB)


def play(store: Store, scene: Callable[[Entrance], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene(Entrance(store)))


async def written(store: SlowStore) -> None:
    """Until a write is under way."""
    assert await asyncio.to_thread(store.writing.wait, 5.0)


def an_open_store() -> SlowStore:
    store = SlowStore()
    store.open.set()
    return store


def test_decisions_that_wait_at_the_same_moment_share_one_write() -> None:
    store = SlowStore()

    async def scene(entrance: Entrance) -> None:
        first = asyncio.create_task(entrance.queue.ask(entrance.task(3)))
        await written(store)
        others = [asyncio.create_task(entrance.queue.ask(entrance.tick())) for _ in range(7)]
        await asyncio.sleep(0)
        store.open.set()
        await asyncio.gather(first, *others)

    play(store, scene)
    assert store.batches == [1, 7]


def test_two_requests_of_one_batch_build_on_each_other() -> None:
    async def scene(entrance: Entrance) -> None:
        first, second = await entrance.queue.ask_all([entrance.task(3), entrance.task(4)])
        assert (first.desired_from, first.desired_to) == (2, 3)
        assert (second.desired_from, second.desired_to) == (3, 4)
        assert second.state.revision == first.state.revision + 1
        assert entrance.runtime.state == second.state == entrance.stored()

    play(an_open_store(), scene)


def test_more_questions_than_fit_one_write_are_all_answered_in_order() -> None:
    store = an_open_store()

    async def scene(entrance: Entrance) -> None:
        tasks = [entrance.task(3 + number % 2, name=f"p{number}") for number in range(300)]
        decisions = await entrance.queue.ask_all(tasks)
        assert [decision.winner is not None for decision in decisions] == [True] * 300
        assert decisions[-1].state == entrance.runtime.state

    play(store, scene)
    assert sum(store.batches) == 300
    assert len(store.batches) > 1


def test_as_many_as_alerts_are_passed_at_once_share_one_write_and_let_others_have_turns() -> None:
    store = an_open_store()

    async def scene(entrance: Entrance) -> None:
        turns_while_deciding = 0

        async def take_turns() -> None:
            nonlocal turns_while_deciding
            while not store.writing.is_set():
                turns_while_deciding += 1
                await asyncio.sleep(0)

        others = asyncio.create_task(take_turns())
        await entrance.queue.ask_all([entrance.task(3 + number % 2, name=f"p{number}") for number in range(200)])
        await others
        assert turns_while_deciding > 200 / 25 - 1

    play(store, scene)
    assert store.batches == [200]


def test_a_decision_counts_only_once_it_is_written() -> None:
    store = SlowStore()

    async def scene(entrance: Entrance) -> None:
        asking = asyncio.create_task(entrance.queue.ask(entrance.task(3)))
        await written(store)
        assert entrance.runtime.state.desired == 2
        assert not entrance.decided
        store.open.set()
        await asking
        assert entrance.runtime.state.desired == 3
        assert entrance.runtime.wake.is_set()

    play(store, scene)


def test_nothing_counts_if_the_write_fails_and_the_queue_works_again_afterwards() -> None:
    store = an_open_store()

    async def scene(entrance: Entrance) -> None:
        before = entrance.runtime.state
        store.full = True
        asked = [entrance.queue.ask(entrance.task(size)) for size in (3, 4)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(answer) for answer in answers] == [StoreError, StoreError]
        assert entrance.runtime.state == before == GroupState(desired=2, revision=1)
        assert not entrance.decided
        assert not entrance.runtime.wake.is_set()
        assert entrance.runtime.unrecorded is not None
        store.full = False
        decision = await entrance.queue.ask(entrance.task(4))
        assert decision.desired_to == entrance.runtime.state.desired == entrance.stored().desired == 4
        assert entrance.runtime.unrecorded is None

    play(store, scene)


def test_a_change_of_state_counts_only_once_it_is_written() -> None:
    store = an_open_store()

    async def scene(entrance: Entrance) -> None:
        async def pause() -> None:
            at = clock.moment()
            change = entrance.queue.change
            await change(entrance.runtime, lambda s: paused(s, Pause.ALL), act="pause", by="ada", message="", at=at)

        store.full = True
        with pytest.raises(StoreError):
            await pause()
        assert entrance.runtime.state.pause is Pause.NO
        store.full = False
        await pause()
        assert entrance.runtime.state.pause is entrance.stored().pause is Pause.ALL

    play(store, scene)


def test_a_waiter_that_is_cancelled_while_its_batch_is_written_takes_no_other_s_answer() -> None:
    store = SlowStore()

    async def scene(entrance: Entrance) -> None:
        first = asyncio.create_task(entrance.queue.ask(entrance.tick()))
        await written(store)
        store.writing.clear()
        leader = asyncio.create_task(entrance.queue.ask(entrance.task(3)))
        follower = asyncio.create_task(entrance.queue.ask(entrance.task(4)))
        await asyncio.sleep(0)
        store.open.set()
        await first
        store.open.clear()
        await written(store)
        leader.cancel()
        await asyncio.sleep(0)
        store.open.set()
        async with asyncio.timeout(PATIENT):
            decision = await follower
            with pytest.raises(asyncio.CancelledError):
                await leader
        assert decision.desired_to == 4
        assert entrance.runtime.state.desired == entrance.stored().desired == 4

    play(store, scene)


def test_a_stored_decision_counts_even_if_its_caller_is_gone() -> None:
    store = SlowStore()

    async def scene(entrance: Entrance) -> None:
        asking = asyncio.create_task(entrance.queue.ask(entrance.task(3)))
        await written(store)
        asking.cancel()
        store.open.set()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert entrance.runtime.state == entrance.stored()
        assert entrance.runtime.state.desired == 3

    play(store, scene)


def test_a_question_taken_back_before_its_turn_is_not_decided() -> None:
    store = SlowStore()

    async def scene(entrance: Entrance) -> None:
        first = asyncio.create_task(entrance.queue.ask(entrance.tick()))
        await written(store)
        regretted = asyncio.create_task(entrance.queue.ask(entrance.task(3)))
        kept = asyncio.create_task(entrance.queue.ask(entrance.add(1)))
        await asyncio.sleep(0)
        regretted.cancel()
        store.open.set()
        await first
        decision = await kept
        assert (decision.desired_from, decision.desired_to) == (2, 3)
        assert len(entrance.decided) == 2

    play(store, scene)


def test_a_pause_that_is_being_written_is_written_before_the_next_may_pass() -> None:
    store, gate = an_open_store(), threading.Event()

    async def scene(entrance: Entrance) -> None:
        store.after_write = lambda: gate.wait(PATIENT) and None
        at = clock.moment()
        pausing = asyncio.create_task(
            entrance.queue.change(
                entrance.runtime, lambda s: paused(s, Pause.ALL), act="pause", by="ada", message="", at=at
            )
        )
        while not store.events:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        pausing.cancel()
        asking = asyncio.create_task(entrance.queue.ask(entrance.task(3)))
        await asyncio.sleep(0)
        gate.set()
        decision = await asking
        assert decision.reason is Reason.PAUSED
        assert entrance.runtime.state.pause is entrance.stored().pause is Pause.ALL
        with pytest.raises(asyncio.CancelledError):
            await pausing

    play(store, scene)


def test_a_defect_in_one_decision_leaves_no_caller_waiting_for_ever() -> None:
    store = an_open_store()

    async def scene(entrance: Entrance) -> None:
        broken = replace(entrance.task(3), runtime=replace_definition(entrance.runtime))
        async with asyncio.timeout(PATIENT):
            answers = await asyncio.gather(
                entrance.queue.ask(broken), entrance.queue.ask(entrance.task(4)), return_exceptions=True
            )
        assert all(isinstance(answer, BaseException) for answer in answers[:1])
        assert (await entrance.queue.ask(entrance.task(4))).desired_to == 4

    def replace_definition(runtime: GroupRuntime) -> GroupRuntime:
        nothing: Any = None
        return GroupRuntime(id=runtime.id, definition=nothing, state=runtime.state, seen=runtime.seen)

    play(store, scene)


def test_a_tick_judged_before_holds_began_anew_does_not_bring_them_back() -> None:
    """Alarm and tick wait at the same moment; the alarm goes first."""
    long_ago = Hold(true_since=Monotonic(0.0), last_true=Monotonic(clock.moment().steady))

    async def scene(entrance: Entrance) -> None:
        entrance.runtime.holds = {OUT: long_ago}
        tick = entrance.tick()
        decisions = await entrance.queue.ask_all([entrance.add(1), tick])
        assert decisions[0].restarts_holds
        begun = Hold(true_since=tick.at.steady, last_true=tick.at.steady)
        assert entrance.runtime.holds == {OUT: begun}
        await entrance.queue.ask(entrance.tick())
        assert list(entrance.runtime.holds.values()) != [begun]
        assert [kept.true_since for kept in entrance.runtime.holds.values() if isinstance(kept, Hold)] == [
            tick.at.steady
        ]

    play(an_open_store(), scene)


@pytest.mark.parametrize(("bounds", "clamped"), [((1, 1), 1), ((3, 5), 3), ((1, 5), 2)])
def test_a_look_at_changed_bounds_clamps_at_once(bounds: tuple[int, int], clamped: int) -> None:
    async def scene(entrance: Entrance) -> None:
        group = replace(entrance.runtime.definition.group, minimum=bounds[0], maximum=bounds[1])
        entrance.runtime.definition = replace(entrance.runtime.definition, group=group)
        decision = await entrance.queue.ask(DecisionTask(runtime=entrance.runtime, at=clock.moment()))
        assert entrance.runtime.state.desired == clamped
        assert (decision.reason is Reason.BOUNDS) is (clamped != 2)

    play(an_open_store(), scene)


def test_the_real_store_has_what_the_queue_answers(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "trimtab.sqlite", installation=INSTALLATION)

    async def scene(entrance: Entrance) -> None:
        await asyncio.gather(*(entrance.queue.ask(entrance.task(size)) for size in (3, 4, 3)))
        assert entrance.stored() == entrance.runtime.state
        assert entrance.runtime.state.revision == 4

    play(store, scene)
    store.close()
    again = SqliteStore.open(tmp_path / "trimtab.sqlite", installation=INSTALLATION)
    assert again.groups()[0].state.desired == 3
    assert {event.by for event in again.history(WEB, before=None, limit=9)} >= {"person ada"}
    again.close()
