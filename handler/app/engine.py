"""The engine: rooms and loops of one daemon, from start to stop, through every reload."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from collector.board import Board
from collector.poll import Poller
from config.errors import DeclarationError, DriverError, Refused
from config.load import load
from config.model import Balancer, Catalogue, Mode, SecretRef
from config.units import BalancerId, GroupId, Instant, Moment, Seconds
from handler.app import logs
from handler.app.alerting import Alerting
from handler.app.converging import Keeper
from handler.app.courier import Courier
from handler.app.deciding import Decider
from handler.app.door import Door, Question
from handler.app.guard import guarded
from handler.app.hooks import Hooks
from handler.app.metrics import Metrics
from handler.app.notifying import Notifier
from handler.app.passing import Passage
from handler.app.reporting import Reporter
from handler.app.rooms import Room
from handler.balancers.interface import Balancer as BalancerPort
from handler.converge import Converger, Pass
from handler.desired import Definition
from handler.store.interface import Store, StoredGroup
from handler.web.daemon import Health, Reloaded

_HEARTBEAT: Seconds = 0.1
_WATCH: Seconds = 2.0
_FLUSH: Seconds = 30.0
_PRUNE: Seconds = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much history is kept."""

    span: Seconds = 30 * 86400.0
    bytes_at_most: int = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an engine is built from; `handler.app.wiring` makes the real ones."""

    file: Path
    store: Store
    converger: Converger
    poller: Poller
    balancer_for: Callable[[Balancer], BalancerPort]
    clock: Callable[[], Moment]
    courier: Courier
    board: Board
    """Where alerts' values are put, and a source reads them."""
    read_secret: Callable[[SecretRef], str]
    retention: Retention = Retention()


def definition_of(catalogue: Catalogue, group: GroupId, before: Definition | None = None) -> Definition:
    """One group's declaration with all that it refers to.

    Balancers of the definition before stay, as declared now if they still are: members remain on those that they were
    made with, whatever is declared since.
    """
    declared = catalogue.groups[group]
    profile = catalogue.profiles[declared.profile]
    kept = before.balancers if before is not None else {}
    used = {use.balancer for use in declared.balancers}
    return Definition(
        group=declared,
        profile=profile,
        cloud=catalogue.clouds[profile.cloud],
        balancers={
            balancer: catalogue.balancers.get(balancer) or kept[balancer] for balancer in sorted(used | kept.keys())
        },
    )


class Engine:
    """Rooms, the door, and the loops around them."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.rooms: dict[GroupId, Room] = {}
        self.metrics = Metrics(self.rooms, lambda: parts.clock().wall)
        self._reporter = Reporter(self.metrics)
        self._catalogue: Catalogue | None = None
        self.door = Door(parts.store, self.catalogue, self._reporter.decided)
        self.keeper = Keeper(
            converger=parts.converger, store=parts.store, door=self.door, clock=parts.clock, saw=self._saw
        )
        self._decider = Decider(
            rooms=self.rooms,
            poller=parts.poller,
            door=self.door,
            clock=parts.clock,
            report=self._reporter.ticked,
        )
        self.hooks = Hooks(parts.store, parts.read_secret, lambda: parts.clock().wall)
        self.passage = Passage(
            rooms=self.rooms,
            catalogue=self.catalogue,
            door=self.door,
            store=parts.store,
            board=parts.board,
            clock=parts.clock,
        )
        self.alerting = Alerting(
            hooks=self.hooks,
            passage=self.passage,
            catalogue=self.catalogue,
            now=lambda: parts.clock().wall,
            count=self.metrics.knocked,
        )
        self.notifier = Notifier(
            store=parts.store,
            rooms=self.rooms,
            courier=parts.courier,
            clock=lambda: parts.clock().wall,
            count=self.metrics.noticed,
        )
        self._chores: list[asyncio.Task[None]] = []
        self._reloading = asyncio.Lock()
        self._incarnations: dict[BalancerId, str] = {}

    def catalogue(self) -> Catalogue:
        """The catalogue in force."""
        if self._catalogue is None:
            raise Refused("the daemon has not started yet")
        return self._catalogue

    async def start(self) -> None:
        """Read the file and the store, and start the loops.

        Raises:
            DeclarationError: the file is refused.
            StoreError: the store cannot be written.
        """
        await self.notifier.recall()
        await self._take(await asyncio.to_thread(load, self.parts.file))
        self.notifier.start()
        await self.hooks.load()
        self.alerting.start()
        self._chores = [
            asyncio.create_task(self._every(_FLUSH, "flush", self._flush)),
            asyncio.create_task(self._every(_PRUNE, "prune", self._prune)),
            asyncio.create_task(self._every(_WATCH, "watch", self._watch_balancers)),
            asyncio.create_task(self._heartbeat()),
        ]

    async def stop(self) -> None:
        """Stop the loops. Members and balancers go on; calls under way finish."""
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        await self.alerting.stop()
        await self._decider.stop()
        await self.keeper.stop()
        await self.notifier.stop()
        self.parts.courier.close()
        await self.parts.poller.close()
        await asyncio.to_thread(self.parts.store.close)

    async def reload(self) -> Reloaded:
        """Take the file again: all or nothing. A refused file leaves the old catalogue in force."""
        async with self._reloading:
            before = self.catalogue()
            try:
                after = await asyncio.to_thread(load, self.parts.file)
            except DeclarationError as error:
                logs.warn("reload_refused", problems=len(error.problems), first=str(error.problems[0]))
                return Reloaded(problems=error.problems, added=(), changed=(), orphaned=())
            await self._take(after)
            await self.hooks.load()
        kept = before.groups.keys() & after.groups.keys()
        return Reloaded(
            problems=(),
            added=tuple(sorted(after.groups.keys() - before.groups.keys())),
            changed=tuple(sorted(g for g in kept if definition_of(before, g) != definition_of(after, g))),
            orphaned=tuple(sorted(before.groups.keys() - after.groups.keys())),
        )

    async def forget(self, room: Room) -> None:
        """Drop a group from memory and store."""
        await asyncio.to_thread(self.parts.store.drop_group, room.id)
        self.rooms.pop(room.id, None)
        self._reporter.forget(room)
        self.notifier.forget(room.id)
        logs.say("group_deleted", group=room.id)
        await self.keeper.drop(room)

    def health(self) -> Health:
        """Ready when every loop runs and every group is decided on time."""
        now = self.parts.clock().wall
        dead = [task.get_name() for task in self._loops() if task.done()]
        late = sorted(room.id for room in self.rooms.values() if _late(room, now))
        checks = {
            "catalogue": "ok" if self._catalogue is not None else "not read yet",
            "loops": f"ended: {', '.join(dead)}" if dead else "ok",
            "decisions": f"late: {', '.join(late[:5])}" if late else "ok",
        }
        return Health(ready=all(check == "ok" for check in checks.values()), checks=checks)

    async def _take(self, catalogue: Catalogue) -> None:
        now = self.parts.clock()
        stored = {group.id: group.definition for group in await asyncio.to_thread(self.parts.store.groups)}
        definitions = [definition_of(catalogue, group, stored.get(group)) for group in sorted(catalogue.groups)]
        await self._decider.stop()
        async with self.door.shut():
            await asyncio.to_thread(self.parts.store.declare, definitions, now.wall)
            for kept in await asyncio.to_thread(self.parts.store.groups):
                self._furnish(kept, catalogue)
            self._catalogue = catalogue
        self.metrics.took(catalogue.digest, now.wall)
        logs.say("catalogue", digest=catalogue.digest[:12], groups=len(catalogue.groups))
        for room in self.rooms.values():
            self.keeper.start(room)
            room.wake.set()
        self._decider.start(catalogue)
        declared = [room for room in self.rooms.values() if room.state.desired is not None and not room.state.orphaned]
        await self.door.ask_all([Question(room=room, at=now) for room in declared])  # bounds may have changed

    def _furnish(self, stored: StoredGroup, catalogue: Catalogue) -> None:
        room = self.rooms.get(stored.id)
        if room is None:
            self.rooms[stored.id] = Room(
                id=stored.id,
                definition=stored.definition,
                state=stored.state,
                deleting=stored.deleting,
                failed_builds=stored.failed_builds,
                back_off_until=stored.back_off_until,
            )
            return
        if room.state.orphaned is not stored.state.orphaned:
            logs.say("orphaned" if stored.state.orphaned else "declared_again", group=room.id)
        room.definition = stored.definition
        room.state = replace(room.state, orphaned=stored.state.orphaned)
        before = self._catalogue.policies if self._catalogue is not None else {}
        same = {policy for policy, declared in catalogue.policies.items() if before.get(policy) == declared}
        room.holds = {policy: hold for policy, hold in room.holds.items() if policy in same}

    def _saw(self, room: Room, done: Pass) -> None:
        self._reporter.passed(room, done)
        self.notifier.saw(room)
        if room.deleting and done.world.complete and not done.world.members:
            self._chores.append(asyncio.create_task(guarded(partial(self.forget, room), what="forget", group=room.id)))

    async def _every(self, span: Seconds, what: str, chore: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(span)
            await guarded(chore, what=what)

    def _loops(self) -> tuple[asyncio.Task[None], ...]:
        return (*self._decider.tasks(), *self.keeper.tasks(), *self.notifier.tasks(), *self.alerting.tasks())

    async def _flush(self) -> None:
        await self.hooks.flush()
        await asyncio.to_thread(self.parts.store.flush)

    async def _prune(self) -> None:
        retention = self.parts.retention
        before = Instant(self.parts.clock().wall - retention.span)
        rows = await asyncio.to_thread(self.parts.store.prune, before=before, bytes_at_most=retention.bytes_at_most)
        if rows:
            logs.say("history_pruned", rows=rows)

    async def _watch_balancers(self) -> None:
        """Wake the groups of a balancer that has restarted: it may have forgotten members."""
        for declared in _balancers(self.rooms.values()):
            try:
                incarnation = await asyncio.to_thread(self.parts.balancer_for(declared).incarnation)
            except DriverError:
                continue  # a pass will say what is wrong; nothing is known of its members
            before = self._incarnations.get(declared.id)
            self._incarnations[declared.id] = incarnation
            if before is not None and before != incarnation:
                logs.warn("balancer_restarted", balancer=declared.id)
                for room in self.rooms.values():
                    if declared.id in room.definition.balancers:
                        room.wake.set()

    async def _heartbeat(self) -> None:
        while True:
            due = self.parts.clock().steady + _HEARTBEAT
            await asyncio.sleep(_HEARTBEAT)
            self.metrics.held(max(self.parts.clock().steady - due, 0.0))


def _balancers(rooms: Iterable[Room]) -> list[Balancer]:
    declared = {balancer.id: balancer for room in list(rooms) for balancer in room.definition.balancers.values()}
    return [declared[name] for name in sorted(declared)]


def _late(room: Room, now: float) -> bool:
    group = room.definition.group
    if room.state.orphaned or group.mode is Mode.OFF or room.decided_at is None:
        return False
    return now - room.decided_at > 3 * group.interval + 10
