"""The engine: the group runtimes and loops of one daemon, from start to stop, through every reload."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from config.document.overlay import place_of
from config.errors import Refused, StoreError
from config.model.catalogue import Catalogue
from config.model.edits import Edit
from config.units import CloudId, GroupId, Instant, Moment, Seconds
from handler import logs
from handler.convergence.passes import Pass
from handler.engine.assembly import furnish, share_clouds, words_of
from handler.engine.declared import Declaration, at_start, log_declared
from handler.engine.health import DaemonHealth, StoreWatch, health_of
from handler.engine.parts import EngineParts
from handler.engine.quotas import AccountQuotas, Ownership
from handler.ingest.intake import Ingest
from handler.observability.metrics import Scraped
from handler.observability.reporting_loop import Reports
from handler.planning.desired import Definition
from handler.ports.declarations import NOTHING_OVER_API, DeclaredOverApi
from handler.ports.held_clock import HeldClock
from handler.recording.recorder import Recordings
from handler.runtime.balancer_watch import BalancerWatch
from handler.runtime.converging import Keeper
from handler.runtime.deciding import Decider
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.decision_task import DecisionTask
from handler.runtime.definitions import definitions
from handler.runtime.fleet_pause import FleetPauseControl
from handler.runtime.group_runtime import GroupRuntime, ServiceGroups
from handler.runtime.housekeeping import Housekeeping, Job
from handler.runtime.loops import BEAT, Guard, on_beat, until_beat
from handler.runtime.member_times import MemberTimesWatch
from handler.runtime.timekeeper import Timekeeper
from handler.sealing.seal import Seal
from handler.users.credentials import Credentials
from handler.users.known import KnownUsers
from handler.users.oidc import OidcLogin
from handler.users.trail import AuditTrail
from handler.what_if.workers import WhatIf

_WATCH: Seconds = 2.0
_FLUSH: Seconds = 30.0
_PRUNED_AT = 17
"""Minutes past the full hour, at which a machine has other things to do."""


class Engine:
    """The group runtimes, the decision queue, and the loops around them."""

    def __init__(self, parts: EngineParts) -> None:
        self.parts = parts
        self.runtimes: dict[GroupId, GroupRuntime] = {}
        self.changing = asyncio.Lock()
        self._declared: Declaration | None = None
        self._chores: list[asyncio.Task[None]] = []
        self._services = ServiceGroups(self.runtimes)
        self.recordings = Recordings(parts.recordings, parts.clock)
        self.reports = Reports(self.runtimes, parts.store, parts.notification_sender, parts.clock, self._scraped())
        self.queue = self._opened()
        self.fleet_pause_control = FleetPauseControl(parts.store, self.queue, self.runtimes)
        self.keeper = Keeper(
            converger=parts.converger,
            store=parts.store,
            queue=self.queue,
            clock=parts.clock,
            saw=self._saw,
            rested=lambda runtime: self.reports.rested(runtime, parts.converger.rival),
        )
        self._store_watch = StoreWatch(parts.store, parts.clock)
        self._member_times = MemberTimesWatch(parts.store, self.runtimes)
        self._decider = Decider(
            runtimes=self.runtimes,
            poller=parts.poller,
            queue=self.queue,
            clock=parts.clock,
            report=self.reports.ticked,
            heard=self.recordings.heard,
            witness=parts.converger.witnesses.hear,
            checkpoints=parts.checkpoints,
            forecasts=parts.forecasts,
            learn_times=self._member_times.learn,
        )
        self.ingest = Ingest(
            runtimes=self.runtimes,
            catalogue=self.catalogue,
            queue=self.queue,
            store=parts.store,
            clock=parts.clock,
            inbox=parts.inbox,
            counts=self.reports.metrics,
            look=self.keeper.observe,
        )
        self.ownership = Ownership()
        self.users = KnownUsers(parts.store, lambda: parts.clock().wall, self.ownership.groups_of)
        self.quotas = AccountQuotas(self.runtimes, lambda account: self.users.accounts.account(account).quota)
        self.credentials = Credentials(parts.store, self.users, Seal(parts.seal_key(None)), parts.clock)
        self.oidc = OidcLogin(
            lambda: self.catalogue().oidc,
            parts.http,
            parts.secrets,
            self.users,
            self.credentials.sessions,
            parts.clock,
        )
        self.trail = AuditTrail(parts.store, parts.audit)
        self.what_if = WhatIf()
        self.housekeeping = Housekeeping([Job(name="prune", minute=_PRUNED_AT, work=self._prune)])
        self._timekeeper = self._keeps_time(parts.held)
        self._balancer_watch = BalancerWatch(self.runtimes, parts.balancer_for)

    def _scraped(self) -> Scraped:
        return Scraped(
            pushes=lambda: self.parts.inbox.pushes.count,
            windows=lambda: self._decider.window_bytes,
            store=self.parts.store.bytes_on_disk,
            recording=self.recordings.figures,
            fleet_pause=lambda: self.fleet_pause_control.pause,
            endpoints=self.parts.endpoints,
            buses=self._buses,
            vault=self.parts.secrets.status,
            generation=lambda: self.parts.converger.generation,
            cluster=self.parts.cluster,
        )

    def _buses(self) -> Mapping[CloudId, bool]:
        return self.ingest.buses.connected()

    def _opened(self) -> DecisionQueue:
        return DecisionQueue(
            self.parts.store,
            self.catalogue,
            self.reports.decided,
            storing=self.reports.metrics.storing,
            clock=self.parts.clock,
            superseded=lambda: self.parts.converger.rival is not None,
            ahead=self._services.ahead,
            life=self.parts.clock().wall,
        )

    def _keeps_time(self, held: HeldClock | None) -> Timekeeper | None:
        if held is None:
            return None
        return Timekeeper(
            clock=held,
            boot=self.parts.boot,
            store=self.parts.store,
            runtimes=self.runtimes,
            keeper=self.keeper,
            queue=self.queue,
            follow=(
                self.parts.converger.follow,
                self.reports.follow,
                self.ingest.follow,
                self.recordings.follow,
                self.housekeeping.follow,
                self.keeper.follow,
            ),
        )

    def declared(self) -> Declaration:
        """The declaration in force: the file as it was taken, and the entities of the API."""
        if self._declared is None:
            raise Refused("the daemon has not started yet")
        return self._declared

    def catalogue(self) -> Catalogue:
        """The catalogue in force."""
        return self.declared().catalogue

    async def start(self) -> None:
        """Read the file and the store, and start the loops.

        Raises:
            DeclarationError: the file is refused, also for what it would do to members that are there.
            StoreError: the store cannot be written.
        """
        if self._timekeeper is not None:
            await self._timekeeper.recall()
        await self.reports.recall()
        await self.fleet_pause_control.recall()
        await self.trail.start()
        async with self.changing:
            declared = await asyncio.to_thread(at_start, self.parts.start_file, self.parts.store, self.parts.applied)
            edits = await self.take(declared, by="start")
        await self.trail.began(self.parts.clock().wall, words_of(edits))
        await self.users.load()
        await self.credentials.load()
        self.reports.start()
        await self.ingest.start()
        self._chores = [
            asyncio.create_task(self._every(_FLUSH, "flush", self._flush)),
            asyncio.create_task(self._every(_WATCH, "watch", self._balancer_watch.look)),
            asyncio.create_task(self._every(_WATCH, "store", self._store_watch.look)),
            asyncio.create_task(self._every(_WATCH, "clock", self._look_at_clock)),
            asyncio.create_task(self._every(_WATCH, "member_times", self._member_times.look)),
            asyncio.create_task(self._every(_WATCH, "recording", self.recordings.keep)),
            asyncio.create_task(self._every(_WATCH, "secrets", self._refresh_secrets)),
            asyncio.create_task(self._heartbeat()),
        ]
        self.housekeeping.start()

    async def stop(self) -> None:
        """Stop the loops. Members and balancers go on; calls under way finish."""
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        await self.housekeeping.stop()
        await self.what_if.close()
        await self.ingest.stop()
        await self._decider.stop()
        await self.recordings.stop()
        await self.keeper.stop()
        await self.reports.stop()
        await self.trail.stop()
        if self.parts.converger.generation is not None:
            self.parts.converger.generation.close()
        await self.parts.notification_sender.close()
        await self.parts.poller.close()
        await self.parts.http.close()
        try:
            await asyncio.to_thread(self.parts.store.close)
        except StoreError as error:
            logs.warn("store_not_flushed", error=str(error))  # the last moments of spans, no decision

    def refuse_declared(self, runtime: GroupRuntime) -> None:
        """Only what is no longer declared can be deleted so.

        Raises:
            Refused: the group is declared; the message has the place.
        """
        entity = self.declared().entities.get(("groups", runtime.id))
        if entity is not None:
            raise Refused(
                f"group {runtime.id} is declared over the API, at {place_of(entity.site)}: delete it there "
                f"(trimtab declare delete groups {runtime.id})"
            )
        if runtime.state.orphaned:
            return
        site = self.catalogue().sites.get(("groups", runtime.id))
        where = place_of(site) if site else str(self.declared().path)
        raise Refused(f"group {runtime.id} is declared at {where}: remove it there, reload, then delete it")

    async def empty(self, runtime: GroupRuntime) -> None:
        """Have every member of an ORPHANED group leave, and then forget it.

        Raises:
            Refused: it has been declared again.
            StoreError: the store could not be written, so no member leaves.
        """
        async with self.changing:
            self.refuse_declared(runtime)
            await self.keeper.alter(runtime, lambda: self.parts.store.mark_deleting(runtime.id))
            runtime.deleting = True

    async def forget(self, runtime: GroupRuntime) -> None:
        """Drop an ORPHANED group from memory and store. Raises as `empty`."""
        async with self.changing:
            if self.runtimes.get(runtime.id) is not runtime:
                return  # forgotten already
            self.refuse_declared(runtime)
            await self.keeper.drop(runtime)
            try:
                await asyncio.to_thread(self.parts.store.drop_group, runtime.id)
            except StoreError:
                self.keeper.start(runtime)
                raise
            self.runtimes.pop(runtime.id, None)
            self._arrange()
            self.reports.forget(runtime)
            self.ingest.forget(runtime.id)
            if self.parts.converger.generation is not None:
                self.parts.converger.generation.forget(runtime.id)
            logs.say("group_deleted", group=runtime.id)

    def health(self) -> DaemonHealth:
        """Return whether the daemon is ready, and what is wrong."""
        taken, store = self._declared is not None, self._store_watch.problem
        return health_of(self.runtimes.values(), self._loops(), self.parts.clock(), taken=taken, store=store)

    async def take(
        self, declared: Declaration, *, by: str, over: DeclaredOverApi = NOTHING_OVER_API
    ) -> tuple[Edit, ...]:
        """Bring a declaration into force, once the store has it, with what ``over`` the API it comes by.

        The caller holds ``changing``. Returns what differs from the one before.

        Raises:
            DeclarationError: it is refused for what it would do to members that are there.
            StoreError: the store cannot be written, and the old one stays in force.
        """
        now, store, catalogue = self.parts.clock(), self.parts.store, declared.catalogue
        (self.parts.refuse if declared.applied is None else self.parts.refuse_applied)(catalogue)
        over = replace(over, quarantined=declared.quarantined, accounts=declared.accounts)
        await self._decider.stop()
        try:
            async with self.parts.announced(declared.file if declared.applied is None else None), self.queue.shut():
                defined = await asyncio.to_thread(definitions, catalogue, store, declared.path)
                edited = await asyncio.to_thread(declared.change, by, self._declared, self.parts)
                lost = self.parts.lost and self._declared is None
                groups = await asyncio.to_thread(partial(store.declare, defined, now.wall, edited, over, lost=lost))
                before = None if self._declared is None else self._declared.catalogue
                known = {runtime.id: _declared_as(runtime) for runtime in self.runtimes.values()}
                for stored in groups:
                    furnish(self.runtimes, stored, before, catalogue)
                    self.runtimes[stored.id].quarantined = over.quarantined.get(stored.id, "")
                self._arrange()
                self.parts.converger.witnesses.expect(
                    {each.id: each.definition.cloud.id for each in self.runtimes.values()}
                )
                await asyncio.to_thread(self.parts.secrets.use, catalogue)
                self._declared = declared
        finally:
            if self._declared is not None:  # the old one goes on if the new one could not be written down
                self._decider.start(self._declared.catalogue)
        await self._hand_on(catalogue)
        self.reports.metrics.took(catalogue, now.wall)
        await asyncio.to_thread(log_declared, declared, edited)
        moved = [each for each in self.runtimes.values() if known.get(each.id) != _declared_as(each)]
        await self._set_going(self.runtimes.values() if over.revision is None else moved, now)
        return edited.edits

    async def _hand_on(self, catalogue: Catalogue) -> None:
        """Have those go by a catalogue that is in force which no decision depends on."""
        await self.credentials.take_key(self.parts.seal_key(catalogue.seal))
        await self.recordings.declare(catalogue.record)
        await self.ingest.buses.use(catalogue.event_buses)

    async def _set_going(self, runtimes: Iterable[GroupRuntime], now: Moment) -> None:
        """Have groups make a pass, and decide: their bounds may have changed. Those that wait come first."""
        for runtime in sorted(runtimes, key=lambda runtime: not runtime.is_pending):
            self.keeper.start(runtime)
            runtime.wake.set()
        sized = [each for each in runtimes if each.state.desired is not None and not each.state.orphaned]
        with contextlib.suppress(StoreError):  # the groups' status shows it, and the next tick tries again
            await self.queue.ask_all([DecisionTask(runtime=runtime, at=now) for runtime in sized])

    def _arrange(self) -> None:
        """Set which groups share a service or a cloud's budget, and which an account has."""
        self._services.arrange()
        self.ownership.arrange(self.runtimes.values())
        share_clouds(self.runtimes.values())

    def _saw(self, runtime: GroupRuntime, done: Pass) -> None:
        self.reports.saw(runtime, done, self.parts.converger.rival)
        self.ingest.saw(runtime, frozenset(member.name for member in done.world.members))
        if runtime.deleting and not done.plan.doubts and not done.world.members and not done.bound:
            guard = Guard("forget", group=runtime.id)
            self._chores.append(asyncio.create_task(guard.run(partial(self.forget, runtime))))

    async def _every(self, span: Seconds, what: str, chore: Callable[[], Awaitable[None]]) -> None:
        guard = Guard(what)
        while True:
            await on_beat(span)
            await guard.run(chore)

    def _loops(self) -> tuple[asyncio.Task[None], ...]:
        return (*self._decider.tasks(), *self.keeper.tasks(), *self.reports.tasks(), *self.ingest.tasks())

    async def _look_at_clock(self) -> None:
        if self._timekeeper is not None:
            async with self.changing:
                await self._timekeeper.look()

    async def _refresh_secrets(self) -> None:
        seal, secrets = self.catalogue().seal, self.parts.secrets
        if secrets.has_paths and await asyncio.to_thread(secrets.refresh) and seal and seal.vault:
            await self.credentials.take_key(self.parts.seal_key(seal))

    async def _flush(self) -> None:
        await self.ingest.hooks.flush()
        await self.users.flush()
        await self.credentials.flush()
        await asyncio.to_thread(self.parts.store.flush)

    async def _prune(self) -> None:
        retention = self.parts.retention
        before = Instant(self.parts.clock().wall - retention.span)
        rows = await asyncio.to_thread(self.parts.store.prune, before=before, bytes_at_most=retention.bytes_at_most)
        if rows:
            logs.say("history_pruned", rows=rows)

    async def _heartbeat(self) -> None:
        while True:
            pause = until_beat(BEAT / 2, asyncio.get_running_loop().time())
            due = self.parts.clock().steady + pause
            await asyncio.sleep(pause)
            self.reports.metrics.held(max(self.parts.clock().steady - due, 0.0))


def _declared_as(runtime: GroupRuntime) -> tuple[Definition, bool, bool]:
    """Return what a declaration can change of a group."""
    return runtime.definition, runtime.state.orphaned, runtime.deleting
