"""The convergence loop: one task per group, woken by a new revision, a forgetful balancer, or its interval."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from config.errors import DriverError, StoreError
from config.model.catalogue import Group, Mode
from config.units import BalancerId, MemberName, Moment, Seconds
from handler import logs
from handler.convergence.converge import Converger
from handler.convergence.passes import Pass
from handler.planning.evidence import Doubt
from handler.planning.roles import state_of
from handler.planning.status import MemberState
from handler.planning.world import Record, Seating, World
from handler.ports.store import Store
from handler.ports.stored import Event, EventKind, StoredGroup
from handler.runtime.decision_queue import DecisionQueue, DecisionTask
from handler.runtime.group_runtime import GroupRuntime, LastPass
from handler.runtime.loops import Guard, until_set, whole
from handler.runtime.roll_progress import news_of, write
from handler.runtime.state_begins import state_begins
from trigger.decide import lowered, returned, vanished
from trigger.guards.outdated_requests import compared, say_older
from trigger.requests import Fleet, GroupState, Pause

_Result = TypeVar("_Result")

_LEAVING = frozenset({MemberState.DRAINING, MemberState.LEAVING})
_WORKERS = 8
_SAID_AT_MOST = 500


class Keeper:
    """Keeps every group converged. Passes run in worker threads, one at a time per group."""

    def __init__(
        self,
        *,
        converger: Converger,
        store: Store,
        door: DecisionQueue,
        clock: Callable[[], Moment],
        saw: Callable[[GroupRuntime, Pass], None],
    ) -> None:
        self._converger = converger
        self._store = store
        self._door = door
        self._clock = clock
        self._saw = saw
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="converge")
        self._turns: dict[str, asyncio.Lock] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, room: GroupRuntime) -> None:
        """Start the passes of a group."""
        if room.id not in self._tasks:
            self._tasks[room.id] = asyncio.create_task(self._keep(room), name=f"converge-{room.id}")

    async def drop(self, room: GroupRuntime) -> None:
        """Stop the passes of a group, after the running one."""
        task = self._tasks.pop(room.id, None)
        async with self._turn(room):
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
        await asyncio.to_thread(self._workers.shutdown, wait=True)

    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """Return the running loops: the daemon watches that none of them has died."""
        return tuple(self._tasks.values())

    async def alter(self, room: GroupRuntime, change: Callable[[], None]) -> None:
        """Run ``change`` on the store between two passes of a group, then wake the group."""
        async with self._turn(room):
            await self._in_thread(change)
        room.wake.set()

    @contextlib.asynccontextmanager
    async def between(self, room: GroupRuntime) -> AsyncIterator[None]:
        """Hold off the passes of a group, so that only this block writes its members; wake the group afterwards."""
        async with self._turn(room):
            yield
        room.wake.set()

    async def observe(self, room: GroupRuntime) -> World:
        """Gather now and keep the world. Failures of the last pass stay, since no step was tried."""
        async with self._turn(room):
            done = await self._in_thread(lambda: self._converger.observe(room.stored()))
            await self._compare_store(room, done)
        if room.seen is not None:
            over = {*(doubt.words for doubt in room.seen.plan.doubts), room.seen.plan.repair_stopped}
            retries = dict.fromkeys((*done.retries, *(retry for retry in room.seen.retries if retry not in over)))
            done = replace(done, failures=room.seen.failures, retries=tuple(retries))
        await self._take_in(room, done)
        return done.world

    async def converge(self, room: GroupRuntime, only: MemberName | None = None) -> Pass:
        """One pass, now: for all members, or by a person's order for one alone."""
        async with self._turn(room):
            accept = room.accept_vanished and only is None
            room.accept_vanished = room.accept_vanished and only is not None
            stored = room.stored()
            if hands_off(room):
                done = await self._in_thread(lambda: self._converger.observe(stored))
            else:
                done = await self._in_thread(
                    lambda: self._converger.run(stored, accept_vanished=accept, only=only, latest=lambda: room.state)
                )
                await self._lower(room, done)
                await self._remember(room, stored, done)
            await self._compare_store(room, done)  # before a person may confirm: a pass from before knows nothing of it
        await self._take_in(room, done)
        return done

    async def _remember(self, room: GroupRuntime, stored: StoredGroup, done: Pass) -> None:
        """Have written down how a roll stands now, and that nothing was left to do."""
        now, serving = self._clock().wall, MemberState.IN_SERVICE
        states = ((m.name, state_of(m, done.world, stored.definition, now)) for m in done.world.members)
        rolls = stored.roll is not None and stored.roll.runs
        in_service = {name for name, state in states if state is serving} if rolls else set()
        news = news_of(stored, done, in_service, now)
        if news.wholly and room.whole == stored.in_force:
            news = replace(news, wholly=False)
        if not news.wholly and (news.roll, news.converged) == (stored.roll, stored.converged):
            return
        try:
            await self._in_thread(lambda: write(self._store, stored, news, now))
        except StoreError:
            return  # the next pass finds the same, and the group's status reports that the store cannot be written
        room.roll, room.converged = news.roll, news.converged
        if news.wholly:
            room.whole = stored.in_force
        if news.roll != stored.roll:
            room.wake.set()

    async def _keep_begun(self, room: GroupRuntime) -> None:
        """Have written down since when members are in their states, where that is news."""
        begun, kept = room.begun, room.begun_on_disk
        news = {name: began for name, began in begun.items() if kept.get(name) != began}
        over = kept.keys() - begun.keys()
        if not news and not over:
            return
        with contextlib.suppress(StoreError):  # the next pass writes what is missing
            await self._in_thread(lambda: self._store.save_begun(room.id, news, over))
            room.begun_on_disk = begun

    async def _lower(self, room: GroupRuntime, done: Pass) -> None:
        """Have desired size follow members that are gone, back, or refused: one write with what is noted of them."""
        named = ", ".join(f"{record.server_id} as {record.name}" for record in done.refused)
        await self._follow(room, done.vanished, vanished, "vanished", f"{len(done.vanished)} gone")
        await self._follow(room, done.returned, returned, "returned", f"{len(done.returned)} back")
        await self._follow(room, done.refused, lowered, "adoption_refused", f"not to be marked: {named}")

    async def _follow(
        self,
        room: GroupRuntime,
        records: tuple[Record, ...],
        lower: Callable[[Group, GroupState, int], GroupState],
        act: str,
        said: str,
    ) -> None:
        if not records:
            return
        at, group = self._clock().wall, room.definition.group
        note = Event(
            at=at, group=room.id, kind=EventKind.NOTE, name=act, by="convergence", message=said[:_SAID_AT_MOST]
        )
        await self._door.lower(room, lambda state: lower(group, state, len(records)), records, note)
        room.wake.set()

    async def _standing(self, room: GroupRuntime) -> int | None:
        """Return how many machines the first size counts besides the members; ``None``: that cannot be read now."""
        if room.state.desired is not None or hands_off(room):
            return 0
        try:
            return await self._in_thread(lambda: self._converger.standing(room.definition))
        except DriverError:
            return None

    async def _tell(self, room: GroupRuntime, before: tuple[Doubt, ...], after: tuple[Doubt, ...]) -> None:
        """Write down when listings begin or cease to be believed, and on which grounds; the same again is no news."""
        if {doubt.ground for doubt in before} == {doubt.ground for doubt in after}:
            return
        act, said = (
            ("listing_doubted", "; ".join(doubt.words for doubt in after)) if after else ("listing_believed", "")
        )
        await self._note(room, act, said)

    async def _tell_of_repair(self, room: GroupRuntime, before: bool, because: str) -> None:
        """Write down when repair of members that fail health checks stops, and when it goes on."""
        if before is not bool(because):
            await self._note(room, "repair_stopped" if because else "repair_goes_on", because)

    async def _tell_of_quota(self, room: GroupRuntime, before: str, done: Pass) -> None:
        """Write down when a quota begins to be in the way and when it is no more, and that quotas cannot be read."""
        if bool(before) is not bool(done.plan.quota):
            await self._note(room, "quota_reached" if done.plan.quota else "quota_leaves_room", done.plan.quota)
        if done.unread:
            await self._note(room, "quota_unread", done.unread)

    async def _tell_of_balancers(
        self, room: GroupRuntime, before: Mapping[BalancerId, Seating], after: Mapping[BalancerId, Seating]
    ) -> None:
        """Write down when a balancer begins to count as not found, and what it is afterwards."""
        lost = {balancer for balancer, seating in after.items() if seating.not_found}
        known = {balancer for balancer, seating in before.items() if seating.not_found}
        for balancer in sorted(lost - known):
            await self._note(room, "balancer_not_found", after[balancer].because)
        for balancer in sorted(known - lost):
            seating = after.get(balancer)
            gone = f"balancer {balancer}: no member is behind it any more"
            back = f"balancer {balancer} is back: its members are registered there again"
            told = gone if seating is None else back if seating.seats is not None else seating.because
            await self._note(room, "balancer_not_found_ended", told)

    async def _tell_of_budget(self, room: GroupRuntime, before: str, done: Pass) -> None:
        """Write down when a budget of creates begins to hold growth back, and when none does any more."""
        if bool(before) is not bool(done.plan.budget):
            await self._note(room, "budget_reached" if done.plan.budget else "budget_leaves_room", done.plan.budget)

    async def _note(self, room: GroupRuntime, act: str, said: str) -> None:
        await self._in_thread(
            lambda: self._store.note(room.id, act, "convergence", said[:_SAID_AT_MOST], self._clock().wall)
        )

    def _turn(self, room: GroupRuntime) -> asyncio.Lock:
        return self._turns.setdefault(room.id, asyncio.Lock())

    async def _in_thread(self, call: Callable[[], _Result]) -> _Result:
        """Run a call in a worker to its end: the group's turn does not end before it does."""

        async def run() -> _Result:
            return await asyncio.get_running_loop().run_in_executor(self._workers, call)

        return await whole(run())

    async def _keep(self, room: GroupRuntime) -> None:
        guard = Guard("pass", group=room.id)
        while True:
            room.wake.clear()
            done = await guard.run(lambda: self.converge(room))
            routine = _until_routine(room, self._clock().steady)
            pause = min(routine, done.next_in) if done is not None and done.next_in is not None else routine
            await until_set(room.wake, pause)

    async def _compare_store(self, room: GroupRuntime, done: Pass) -> None:
        """Write down that the store may be older than the fleet, or that a listing agrees with it."""
        now, seen, before = self._clock(), done.inventory, room.state.older
        if seen is None:
            return
        group = room.definition.group
        after = compared(group, room.state, seen, now.wall)
        if after is room.state:
            return
        act = "store_agrees" if after.older is None else "older_store"
        said = "" if after.older is None else say_older(room.id, after.older)
        if before is None or after.older is None:
            logs.warn(act, group=room.id, message=said or None)
        if after.older is None and before is not None:
            await self._in_thread(lambda: self._store.raise_sequence(room.id, before.sequence))
        await self._door.change(
            room, lambda state: compared(group, state, seen, now.wall), act=act, by="convergence", message=said, at=now
        )
        room.wake.set()

    async def _take_in(self, room: GroupRuntime, done: Pass) -> None:
        now = self._clock()
        doubted = room.seen.plan.doubts if room.seen is not None else ()
        quota = room.seen.plan.quota if room.seen is not None else ""
        budget = room.seen.plan.budget if room.seen is not None else ""
        stopped = room.seen is not None and bool(room.seen.plan.repair_stopped)
        room.kept_builds = done.builds
        seatings = room.seen.world.seatings if room.seen is not None else {}
        room.addresses = _addresses(done.world, room.addresses)
        states = {m.name: state_of(m, done.world, room.definition, now.wall) for m in done.world.members}
        states |= dict.fromkeys(done.plan.unproved, MemberState.UNKNOWN)  # so that they go on being polled
        standing = await self._standing(room)
        fleet = Fleet(
            listed=not done.plan.doubts and standing is not None,
            marked=sum(member.server is not None for member in done.world.members) + (standing or 0),
            in_service=sum(state is MemberState.IN_SERVICE for state in states.values()),
            creates_left=done.creates_left,
            back_off_until=done.back_off_until,
            leaving=sum(state in _LEAVING for state in states.values()),
            balancer_not_found=any(seating.not_found for seating in done.world.seatings.values()),
        )
        room.begun = state_begins(room.begun, done.world.members, states, now.wall)
        room.seen = LastPass(
            at=now.wall,
            world=done.world,
            plan=done.plan,
            states=states,
            fleet=fleet,
            failures=done.failures,
            retries=done.retries,
            hourly=done.hourly,
        )
        if done.plan.converged:
            room.converged_at = now.wall
        await self._keep_begun(room)
        await self._tell(room, doubted, done.plan.doubts)
        await self._tell_of_repair(room, stopped, done.plan.repair_stopped)
        await self._tell_of_quota(room, quota, done)
        await self._tell_of_balancers(room, seatings, done.world.seatings)
        await self._tell_of_budget(room, budget, done)
        self._saw(room, done)
        if room.state.desired is None and fleet.listed and not hands_off(room):
            await self._door.ask(DecisionTask(room=room, at=now))


def _addresses(world: World, before: Mapping[MemberName, str]) -> dict[MemberName, str]:
    """Where the present members are, or were when they were last seen."""
    seen = {m.name: m.server.address for m in world.members if m.server is not None and m.server.address is not None}
    return {m.name: before[m.name] for m in world.members if m.name in before} | seen


def _until_routine(room: GroupRuntime, steady: float) -> Seconds:
    """How long until the group is looked at though nothing calls for it: once per interval, at an instant of its own.

    Groups that were woken together, by a start or a reload, would else be looked at together for ever.
    """
    interval = room.definition.group.interval
    phase = zlib.crc32(room.id.encode()) / 2**32 * interval
    return interval - (steady - phase) % interval


def hands_off(room: GroupRuntime) -> bool:
    """Whether nothing of a group may be touched: only looked at."""
    if room.deleting:
        return False
    return room.state.orphaned or room.state.stopped is Pause.ALL or room.definition.group.mode is not Mode.ACT
