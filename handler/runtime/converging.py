"""The convergence loop: one task per group, woken by a new revision, a forgetful balancer, or its interval."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeVar

from config.errors import DriverError, StoreError
from config.model.catalogue import Group, Mode
from config.units import BalancerId, MemberName, Moment, Seconds
from handler import logs
from handler.convergence.converge import Converger
from handler.convergence.pass_threads import PassThreads
from handler.convergence.passes import Pass
from handler.planning.evidence import Doubt
from handler.planning.roles import state_of
from handler.planning.status import MemberState
from handler.planning.world import BalancerView, Record, World
from handler.ports.store import Store
from handler.ports.stored import Event, EventKind, StoredGroup
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.decision_task import DecisionTask
from handler.runtime.fresh_listings import FreshListings
from handler.runtime.group_runtime import GroupRuntime, LastPass, profile_of
from handler.runtime.inventory_watch import InventoryWatch
from handler.runtime.loops import Guard, until_routine, until_set, whole
from handler.runtime.roll_progress import news_of, write
from handler.runtime.state_begins import state_begins
from trigger.decide import lowered, returned, vanished
from trigger.guards.outdated_requests import compared, say_older
from trigger.requests import Fleet, GroupState, Pause

_Result = TypeVar("_Result")

_LEAVING = frozenset({MemberState.DRAINING, MemberState.LEAVING})
_THINKING = 8
"""Passes that compute at a time…"""
_CALLING = 160
"""…and that wait for calls besides: one call each, as many as a cloud is usually given at once, and some to spare."""
_WORKERS = 8
"""Writes of what passes found, besides."""
_LONGEST_MESSAGE = 500


class Keeper:
    """Keeps every group converged. Passes run in worker threads, one at a time per group."""

    def __init__(
        self,
        *,
        converger: Converger,
        store: Store,
        queue: DecisionQueue,
        clock: Callable[[], Moment],
        saw: Callable[[GroupRuntime, Pass], None],
        rested: Callable[[GroupRuntime], None] = lambda runtime: None,
    ) -> None:
        self._converger = converger
        self._store = store
        self._queue = queue
        self._clock = clock
        self._saw = saw
        self._passes = PassThreads(_THINKING, _CALLING)
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="converge-notes")
        self._turns: dict[str, asyncio.Lock] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._listings = FreshListings(converger.listings)
        self._watch = InventoryWatch(compare=converger.compare, clock=clock, same=rested)

    def start(self, runtime: GroupRuntime) -> None:
        """Start the passes of a group."""
        self._watch.start()
        if runtime.id not in self._tasks:
            self._tasks[runtime.id] = asyncio.create_task(self._keep(runtime), name=f"converge-{runtime.id}")

    async def drop(self, runtime: GroupRuntime) -> None:
        """Stop the passes of a group, after the running one."""
        task = self._tasks.pop(runtime.id, None)
        self._watch.watch(runtime, None)
        async with self._turn(runtime):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def stop(self) -> None:
        """Stop the passes of all groups. Running calls finish; intents and marks are on disk already."""
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._watch.stop()
        await self._listings.stop()
        await asyncio.to_thread(self._passes.shutdown)
        await asyncio.to_thread(self._workers.shutdown, wait=True)

    def follow(self, step: Seconds) -> None:
        """The system's clock was set by so much."""
        self._watch.follow(step)

    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """Return the running loops: the daemon watches that none of them has died."""
        return tuple(self._tasks.values())

    async def alter(self, runtime: GroupRuntime, change: Callable[[], None]) -> None:
        """Run ``change`` on the store between two passes of a group, then wake the group."""
        async with self._turn(runtime):
            await self._in_thread(change)
        runtime.wake.set()

    @contextlib.asynccontextmanager
    async def between(self, runtime: GroupRuntime) -> AsyncIterator[None]:
        """Hold off the passes of a group, so that only this block writes its members; wake the group afterwards."""
        async with self._turn(runtime):
            yield
        runtime.wake.set()

    async def look(self, runtime: GroupRuntime, gather: Callable[[], _Result]) -> _Result:
        """Gather between two passes of a group, for what changes nothing: no pass follows from it."""
        async with self._turn(runtime):
            return await self._in_pass(gather)

    async def observe(self, runtime: GroupRuntime) -> World:
        """Gather now and keep the world. Failures of the last pass stay, since no step was tried."""
        async with self._turn(runtime):
            done = await self._in_pass(lambda: self._converger.observe(runtime.stored()))
            await self._compare_store(runtime, done)
        if runtime.seen is not None:
            over = {*(doubt.words for doubt in runtime.seen.plan.doubts), runtime.seen.plan.repair_stopped}
            retries = dict.fromkeys((*done.retries, *(retry for retry in runtime.seen.retries if retry not in over)))
            done = replace(done, failures=runtime.seen.failures, retries=tuple(retries))
        await self._take_in(runtime, done)
        return done.world

    async def converge(self, runtime: GroupRuntime, only: MemberName | None = None) -> Pass:
        """One pass, now: for all members, or by a person's order for one alone."""
        async with self._turn(runtime):
            accept = runtime.accept_vanished and only is None
            runtime.accept_vanished = runtime.accept_vanished and only is not None
            stored, kept = runtime.stored(), self._watch.kept(runtime)
            self._watch.watch(runtime, None)  # until this pass has come to its end: what it was to do may be on disk
            if hands_off(runtime):
                seen = await self._listings.of(stored.definition.cloud, runtime.id)
                done = await self._in_pass(lambda: self._converger.observe(stored, seen))
            else:
                anew = accept or only is not None or kept is None
                listed = await self._listings.of(stored.definition.cloud, runtime.id) if anew else kept
                run = partial(self._converger.run, stored, accept_vanished=accept, only=only, listed=listed)
                done = await self._in_pass(lambda: run(latest=lambda: runtime.state), urgent=not anew)
                await self._lower(runtime, done)
                await self._remember(runtime, stored, done)
            await self._compare_store(
                runtime, done
            )  # before a person may confirm: a pass from before knows nothing of it
        await self._take_in(runtime, done)
        return done

    async def _remember(self, runtime: GroupRuntime, stored: StoredGroup, done: Pass) -> None:
        """Have written down how a roll stands now, and that nothing was left to do."""
        now, serving = self._clock().wall, MemberState.IN_SERVICE
        states = ((m.name, state_of(m, done.world, stored.definition, now)) for m in done.world.members)
        rolls = stored.roll is not None and stored.roll.runs
        in_service = {name for name, state in states if state is serving} if rolls else set()
        news = news_of(stored, done, in_service, now)
        if news.wholly and runtime.whole == stored.in_force:
            news = replace(news, wholly=False)
        if not news.wholly and (news.roll, news.converged) == (stored.roll, stored.converged):
            return
        try:
            await self._in_thread(lambda: write(self._store, stored, news, now))
        except StoreError:
            return  # the next pass finds the same, and the group's status reports that the store cannot be written
        runtime.roll, runtime.converged = news.roll, news.converged
        if news.wholly:
            runtime.whole = stored.in_force
        if news.roll != stored.roll:
            runtime.wake.set()

    async def _keep_begun(self, runtime: GroupRuntime) -> None:
        """Have written down since when members are in their states, where that is news."""
        begun, kept = runtime.begun, runtime.begun_on_disk
        news = {name: began for name, began in begun.items() if kept.get(name) != began}
        over = kept.keys() - begun.keys()
        if not news and not over:
            return
        with contextlib.suppress(StoreError):  # the next pass writes what is missing
            await self._in_thread(lambda: self._store.save_begun(runtime.id, news, over))
            runtime.begun_on_disk = begun

    async def _lower(self, runtime: GroupRuntime, done: Pass) -> None:
        """Have desired size follow members that are gone, back, or refused: one write with what is noted of them."""
        named = ", ".join(f"{record.server_id} as {record.name}" for record in done.refused)
        await self._follow(runtime, done.vanished, vanished, "vanished", f"{len(done.vanished)} gone")
        await self._follow(runtime, done.returned, returned, "returned", f"{len(done.returned)} back")
        await self._follow(runtime, done.refused, lowered, "adoption_refused", f"not to be marked: {named}")

    async def _follow(
        self,
        runtime: GroupRuntime,
        records: tuple[Record, ...],
        lower: Callable[[Group, GroupState, int], GroupState],
        act: str,
        message: str,
    ) -> None:
        if not records:
            return
        at, group = self._clock().wall, runtime.definition.group
        note = Event(
            at=at, group=runtime.id, kind=EventKind.NOTE, name=act, by="convergence", message=message[:_LONGEST_MESSAGE]
        )
        await self._queue.lower(runtime, lambda state: lower(group, state, len(records)), records, note)
        runtime.wake.set()

    async def _standing(self, runtime: GroupRuntime) -> int | None:
        """Return how many machines the first size counts besides the members; ``None``: that cannot be read now."""
        if runtime.state.desired is not None or hands_off(runtime):
            return 0
        try:
            return await self._in_pass(lambda: self._converger.standing(runtime.definition))
        except DriverError:
            return None

    async def _note_doubts(self, runtime: GroupRuntime, before: tuple[Doubt, ...], after: tuple[Doubt, ...]) -> None:
        """Write down when listings begin or cease to be believed, and on which grounds; the same again is no news."""
        if {doubt.ground for doubt in before} == {doubt.ground for doubt in after}:
            return
        act, message = (
            ("listing_doubted", "; ".join(doubt.words for doubt in after)) if after else ("listing_believed", "")
        )
        await self._note(runtime, act, message)

    async def _note_repair(self, runtime: GroupRuntime, before: bool, because: str) -> None:
        """Write down when repair of members that fail health checks stops, and when it goes on."""
        if before is not bool(because):
            await self._note(runtime, "repair_stopped" if because else "repair_goes_on", because)

    async def _note_quota(self, runtime: GroupRuntime, before: str, done: Pass) -> None:
        """Write down when a quota begins to be in the way and when it is no more, and that quotas cannot be read."""
        if bool(before) is not bool(done.plan.quota):
            await self._note(runtime, "quota_reached" if done.plan.quota else "quota_leaves_room", done.plan.quota)
        if done.unread:
            await self._note(runtime, "quota_unread", done.unread)

    async def _note_balancers(
        self, runtime: GroupRuntime, before: Mapping[BalancerId, BalancerView], after: Mapping[BalancerId, BalancerView]
    ) -> None:
        """Write down when a balancer begins to count as not found, and what it is afterwards."""
        lost = {balancer for balancer, balancer_view in after.items() if balancer_view.not_found}
        known = {balancer for balancer, balancer_view in before.items() if balancer_view.not_found}
        for balancer in sorted(lost - known):
            await self._note(runtime, "balancer_not_found", after[balancer].because)
        for balancer in sorted(known - lost):
            balancer_view = after.get(balancer)
            gone = f"balancer {balancer}: no member is behind it any more"
            back = f"balancer {balancer} is back: its members are registered there again"
            message = (
                gone
                if balancer_view is None
                else back
                if balancer_view.registrations is not None
                else balancer_view.because
            )
            await self._note(runtime, "balancer_not_found_ended", message)

    async def _note_budget(self, runtime: GroupRuntime, before: str, done: Pass) -> None:
        """Write down when a budget of creates begins to hold growth back, and when none does any more."""
        if bool(before) is not bool(done.plan.budget):
            await self._note(runtime, "budget_reached" if done.plan.budget else "budget_leaves_room", done.plan.budget)

    async def _note(self, runtime: GroupRuntime, act: str, message: str) -> None:
        await self._in_thread(
            lambda: self._store.note(runtime.id, act, "convergence", message[:_LONGEST_MESSAGE], self._clock().wall)
        )

    def _turn(self, runtime: GroupRuntime) -> asyncio.Lock:
        return self._turns.setdefault(runtime.id, asyncio.Lock())

    async def _in_thread(self, call: Callable[[], _Result]) -> _Result:
        """Run a call in a worker to its end: the group's turn does not end before it does."""

        async def run() -> _Result:
            return await asyncio.get_running_loop().run_in_executor(self._workers, call)

        return await whole(run())

    async def _in_pass(self, call: Callable[[], _Result], *, urgent: bool = False) -> _Result:
        """Run a pass, or another call to a cloud, in a thread to its end (`handler.convergence.pass_threads`)."""

        async def run() -> _Result:
            threads = self._passes.urgent if urgent else self._passes
            return await asyncio.get_running_loop().run_in_executor(threads, call)

        return await whole(run())

    async def _keep(self, runtime: GroupRuntime) -> None:
        guard = Guard("pass", group=runtime.id)
        while True:
            runtime.wake.clear()
            done = await guard.run(lambda: self.converge(runtime))
            routine = until_routine(runtime.id, runtime.definition.group.interval, self._clock().steady)
            pause = min(routine, done.next_in) if done is not None and done.next_in is not None else routine
            await until_set(runtime.wake, pause)
            while not runtime.wake.is_set() and self._watch.vouches(runtime):
                interval = runtime.definition.group.interval
                await until_set(runtime.wake, until_routine(runtime.id, interval, self._clock().steady))

    async def _compare_store(self, runtime: GroupRuntime, done: Pass) -> None:
        """Write down that the store may be older than the fleet, or that a listing agrees with it."""
        now, seen, before = self._clock(), done.inventory, runtime.state.older
        if seen is None:
            return
        group = runtime.definition.group
        after = compared(group, runtime.state, seen, now.wall)
        if after is runtime.state:
            return
        act = "store_agrees" if after.older is None else "older_store"
        message = "" if after.older is None else say_older(runtime.id, after.older)
        if before is None or after.older is None:
            logs.warn(act, group=runtime.id, message=message or None)
        if after.older is None and before is not None:
            await self._in_thread(lambda: self._store.raise_sequence(runtime.id, before.sequence))
        await self._queue.change(
            runtime,
            lambda state: compared(group, state, seen, now.wall),
            act=act,
            by="convergence",
            message=message,
            at=now,
        )
        runtime.wake.set()

    async def _take_in(self, runtime: GroupRuntime, done: Pass) -> None:
        now = self._clock()
        doubted = runtime.seen.plan.doubts if runtime.seen is not None else ()
        quota = runtime.seen.plan.quota if runtime.seen is not None else ""
        budget = runtime.seen.plan.budget if runtime.seen is not None else ""
        stopped = runtime.seen is not None and bool(runtime.seen.plan.repair_stopped)
        runtime.kept_builds = done.builds
        balancer_views = runtime.seen.world.balancer_views if runtime.seen is not None else {}
        runtime.addresses = _addresses(done.world, runtime.addresses)
        states = {m.name: state_of(m, done.world, runtime.definition, now.wall) for m in done.world.members}
        states |= dict.fromkeys(done.plan.unproved, MemberState.UNKNOWN)  # so that they go on being polled
        standing = await self._standing(runtime)
        fleet = Fleet(
            listed=not done.plan.doubts and standing is not None,
            marked=sum(member.server is not None for member in done.world.members) + (standing or 0),
            in_service=sum(state is MemberState.IN_SERVICE for state in states.values()),
            creates_left=done.creates_left,
            back_off_until=done.back_off_until,
            leaving=sum(state in _LEAVING for state in states.values()),
            balancer_not_found=any(balancer_view.not_found for balancer_view in done.world.balancer_views.values()),
            profile=profile_of(done.world, states),
        )
        runtime.begun = state_begins(runtime.begun, done.world.members, states, now.wall)
        runtime.seen = LastPass(
            at=now.wall,
            world=done.world,
            plan=done.plan,
            states=states,
            fleet=fleet,
            failures=done.failures,
            retries=done.retries,
            hourly=done.hourly,
        )
        if done.converged:
            runtime.converged_at = now.wall
        await self._keep_begun(runtime)
        await self._note_doubts(runtime, doubted, done.plan.doubts)
        await self._note_repair(runtime, stopped, done.plan.repair_stopped)
        await self._note_quota(runtime, quota, done)
        await self._note_balancers(runtime, balancer_views, done.world.balancer_views)
        await self._note_budget(runtime, budget, done)
        self._saw(runtime, done)
        self._watch.watch(runtime, self._converger.idle(runtime.stored(), done))
        if runtime.state.desired is None and fleet.listed and not hands_off(runtime):
            await self._queue.ask(DecisionTask(runtime=runtime, at=now))


def _addresses(world: World, before: Mapping[MemberName, str]) -> dict[MemberName, str]:
    """Where the present members are, or were when they were last seen."""
    seen = {m.name: m.server.address for m in world.members if m.server is not None and m.server.address is not None}
    return {m.name: before[m.name] for m in world.members if m.name in before} | seen


def hands_off(runtime: GroupRuntime) -> bool:
    """Whether nothing of a group may be touched: only looked at."""
    if runtime.deleting:
        return False
    return runtime.state.orphaned or runtime.state.stopped is Pause.ALL or runtime.definition.group.mode is not Mode.ACT
