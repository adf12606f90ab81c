"""The operations that people and alarms may ask of a running engine."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from collector.clients.circuits import EndpointStatus
from collector.outages.remedies import say_all
from collector.targets import measured_counters
from config.errors import Refused
from config.model.catalogue import Adjustment, AdjustmentVerb
from config.model.counters import Counter, source_word
from config.units import CounterId, GroupId, Instant, MemberName, PolicyId, Seconds
from handler.engine.applying import AppliedFiles
from handler.engine.assembly import Reloaded
from handler.engine.declaring import Declaring
from handler.engine.engine import Engine
from handler.engine.health import DaemonHealth
from handler.operations.account_admin import AccountAdmin
from handler.operations.adoption import MemberAdoption
from handler.operations.authorising import Authorising
from handler.operations.balancer_admin import BalancerAdmin
from handler.operations.canary_admin import CanaryAdmin
from handler.operations.capability_admin import CapabilityAdmin
from handler.operations.declaration_admin import DeclarationAdmin
from handler.operations.endpoints import endpoints
from handler.operations.forecast_admin import ForecastAdmin
from handler.operations.freeze_admin import FreezeAdmin
from handler.operations.garbage_admin import GarbageAdmin
from handler.operations.key_admin import KeyAdmin
from handler.operations.lookup import NoSuch, nearest, runtime_of
from handler.operations.manual_requests import executable, refuse_forced, request_of, requested
from handler.operations.member_admin import MemberAdmin
from handler.operations.member_course_admin import MemberCourseAdmin
from handler.operations.outcomes import RequestReply
from handler.operations.pause_admin import PauseAdmin
from handler.operations.probing import Probed, probe
from handler.operations.roll_admin import RollAdmin
from handler.operations.setting_admin import SettingAdmin
from handler.operations.size_tags import ChangedSince, expected_revision
from handler.operations.store_admin import ClusterAdmin, StoreAdmin
from handler.operations.tuning_admin import TuningAdmin
from handler.operations.user_admin import UserAdmin
from handler.operations.webhook_admin import WebhookAdmin
from handler.planning.desired import Definition
from handler.planning.plan import Snapshot
from handler.planning.status import GroupOutline, GroupStatus
from handler.planning.steps import Plan
from handler.planning.world import World
from handler.ports.identity import CallStore
from handler.ports.stored import EVERY_KIND, Event, EventKind, TickSpan
from handler.recording.status import RecordingStatus
from handler.runtime.decision_task import DecisionTask
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.past_series import SPANS_AT_MOST, past_picture
from handler.runtime.pulse import Pulse
from handler.runtime.series import Picture, SeriesRecorder
from handler.runtime.status_basis import StatusBasis, basis_of
from handler.runtime.statuses import outline_of, status_of
from handler.store.decision_lookup import AT_MOST, Recalled, recalled
from handler.users.attempts import RefusedAttempts
from handler.users.trail import AuditTrail
from trigger.explain.explanation import Explanation
from trigger.requests import Decision

_ACTS = frozenset({EventKind.DECISION, EventKind.NOTE})
_PROBES = 2
"""At once: this is for people; programs should scrape."""


class Operations:
    """Every public method is one operation; the group's history records changes with the person who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._declaring = declaring = Declaring(engine)
        self._applying = AppliedFiles(engine)
        self._asked: dict[tuple[GroupId, str], asyncio.Task[RequestReply]] = {}
        self._probes = asyncio.Semaphore(_PROBES)
        self.members = MemberAdmin(engine)
        self.adoption = MemberAdoption(engine)
        self.courses = MemberCourseAdmin(engine)
        self.pauses = PauseAdmin(engine)
        self.freezes = FreezeAdmin(engine)
        self.rolling = RollAdmin(engine)
        self.balancers = BalancerAdmin(engine)
        self.forecasts = ForecastAdmin(engine)
        self.garbage = GarbageAdmin(engine)
        self.stores = StoreAdmin(engine)
        self.cluster = ClusterAdmin(engine)
        self.declarations = DeclarationAdmin(engine, declaring)
        self.webhooks = WebhookAdmin(engine)
        self.tuning = TuningAdmin(engine)
        self.settings = SettingAdmin(engine, declaring)
        self.canaries = CanaryAdmin(engine, self.tuning, self.settings)
        self.accounts = AccountAdmin(engine)
        self.users = UserAdmin(engine)
        self.keys = KeyAdmin(engine, self._applying)
        self.authorising = Authorising(engine)
        self.attempts = RefusedAttempts(engine.trail, self.now)
        self.capabilities = CapabilityAdmin(engine, self.alarm, self.fresh_id)

    # Looking

    def status(self) -> tuple[GroupStatus, ...]:
        """Return the status of all groups, sorted by id."""
        now = self._engine.parts.clock().wall
        return tuple(status_of(self._engine.runtimes[group], now) for group in sorted(self._engine.runtimes))

    def groups(self) -> tuple[GroupId, ...]:
        """Return the groups' names, sorted."""
        return tuple(sorted(self._engine.runtimes))

    def group(self, group: GroupId) -> GroupStatus:
        """Return one group's status."""
        return status_of(self._runtime(group), self._engine.parts.clock().wall)

    def basis(self, group: GroupId) -> StatusBasis:
        """Return what one group's status is made of now. Raises `NoSuch`."""
        return basis_of(self._runtime(group), self._engine.parts.clock().wall)

    def stands(self, group: GroupId, basis: StatusBasis) -> bool:
        """Tell whether one group's status is the same as when it was made of these parts. Raises `NoSuch`."""
        return basis.stands(self._runtime(group), self._engine.parts.clock().wall)

    def outline(self, group: GroupId) -> GroupOutline:
        """Return one group's status, its members only counted. Raises `NoSuch`."""
        return outline_of(self._runtime(group), self._engine.parts.clock().wall)

    async def why(self, group: GroupId, at: Instant | None) -> Explanation | TickSpan | None:
        """Return the last tick's explanation, or the span that covers ``at``."""
        runtime = self._runtime(group)
        if at is None and runtime.explanation is not None:
            return runtime.explanation
        await asyncio.to_thread(self._engine.parts.store.flush)
        wanted = at if at is not None else self._engine.parts.clock().wall
        return await asyncio.to_thread(self._engine.parts.store.span_at, group, wanted)

    async def recall(self, group: GroupId, begin: Instant, end: Instant) -> Recalled:
        """Return the decision nearest to a time that a person names, from ``begin`` until just before ``end``."""
        runtime, store = self._runtime(group), self._engine.parts.store

        def read() -> Recalled:
            store.flush()
            begun = store.spans_begun(runtime.id, begin, end, AT_MOST)
            events = store.history(runtime.id, before=end, limit=AT_MOST, kinds=_ACTS)
            return recalled(begun, store.span_at(runtime.id, begin), [event for event in events if event.at >= begin])

        return await asyncio.to_thread(read)

    def misses(self, group: GroupId) -> tuple[str, ...]:
        """Return what the last poll did not bring, as text."""
        declared = self._engine.catalogue().counters
        misses = self._runtime(group).misses
        words = {miss.counter: source_word(declared[miss.counter]) for miss in misses if miss.counter in declared}
        return say_all(misses, words)

    def member_values(self, group: GroupId) -> Mapping[tuple[CounterId, MemberName], float]:
        """Return what members showed by themselves at the last tick; empty: the group does not export it."""
        return self._runtime(group).member_values

    def last_world(self, group: GroupId) -> World | None:
        """Return what the last pass saw; ``None``: none has been made yet."""
        seen = self._runtime(group).seen
        return None if seen is None else seen.world

    def counters(self) -> Mapping[CounterId, Counter]:
        """Return every counter that is declared."""
        return self._engine.catalogue().counters

    def doubts(self, group: GroupId) -> tuple[str, ...]:
        """Return why the cloud's listing is in doubt, and what would confirm it, as text."""
        seen = self._runtime(group).seen
        return tuple(doubt.words for doubt in seen.plan.doubts) if seen is not None else ()

    async def probe(self, group: GroupId, counters: Collection[CounterId]) -> tuple[Probed, ...]:
        """Read counters of every member now."""
        runtime, catalogue = self._runtime(group), self._engine.catalogue()
        if group not in catalogue.groups:
            raise Refused(f"group {group} is no longer declared: its members go on serving, but nothing is measured")
        for counter in counters:
            if counter not in catalogue.counters:
                raise NoSuch(f"there is no counter {counter}{nearest(counter, catalogue.counters)}")
        wanted = tuple(counters) or measured_counters(catalogue, group)
        parts = self._engine.parts
        async with self._probes:
            return await probe(parts.poller, parts.clock, catalogue, runtime.roster(parts.clock().wall), wanted)

    async def history(
        self, group: GroupId, *, before: Instant | None, limit: int, kinds: Collection[EventKind] = EVERY_KIND
    ) -> tuple[Event, ...]:
        """Newest first; also of a group that has been deleted."""
        read = self._engine.parts.store.history
        events = await asyncio.to_thread(read, group, before=before, limit=limit, kinds=kinds)
        if not events and before is None:
            self._runtime(group)
        return events

    def definition(self, group: GroupId) -> Definition:
        """Return the definition that one group's new members are made from."""
        return self._runtime(group).definition

    def recent(self, group: GroupId) -> SeriesRecorder:
        """Return the numbers of one group's last half hour."""
        return self._engine.reports.recent.series(self._runtime(group))

    async def past(self, group: GroupId, begin: Instant, end: Instant) -> Picture:
        """Return the numbers of one group from ``begin`` to ``end``, as far as its history is kept."""
        runtime, store = self._runtime(group), self._engine.parts.store
        recent = self.recent(group).picture(self.now())

        def read() -> Picture:
            store.flush()
            begun = store.spans_begun(runtime.id, begin, end, SPANS_AT_MOST)
            before = store.span_at(runtime.id, begin) if len(begun) < SPANS_AT_MOST else None
            spans = (*(() if before is None else (before,)), *reversed(begun))
            return past_picture(spans, store.served(runtime.id, begin, end), recent, begin, end)

        return await asyncio.to_thread(read)

    @property
    def calls(self) -> CallStore:
        """Return the store of requests with an idempotency key."""
        return self._engine.parts.store

    @property
    def trail(self) -> AuditTrail:
        """Return the audit trail."""
        return self._engine.trail

    @property
    def pulse(self) -> Pulse:
        """Return the place to listen for changes of groups."""
        return self._engine.reports.recent.pulse

    def now(self) -> Instant:
        """Return the wall clock's time."""
        return self._engine.parts.clock().wall

    def metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return self._engine.reports.metrics.text()

    def health(self) -> DaemonHealth:
        """Return whether decisions and convergence are on time."""
        return self._engine.health()

    # Sizes

    async def scale(self, group: GroupId, size: int, *, force: bool, by: str, if_match: str | None = None) -> Decision:
        """Set the desired size for a person; with ``if_match``, only if it is the one that the person has read."""
        runtime = self._runtime(group)
        if force:
            await refuse_forced(self._engine, runtime, size, "scale", by)
        now = self._engine.parts.clock()
        wanted = Adjustment(verb=AdjustmentVerb.SET, amount=size)
        request = request_of(runtime, wanted, now, by=by, force=force, if_match=if_match)
        return await self._engine.queue.ask(DecisionTask(runtime=runtime, at=now, requests=(request,)))

    def fresh_id(self) -> str:
        """Return a new request id, for a caller that brings none."""
        return f"execute-{secrets.token_hex(8)}"

    async def alarm(self, group: GroupId, policy: PolicyId, *, id: str, by: str) -> RequestReply:
        """Execute a policy for an outside trigger; requests with the same id, even concurrent ones, execute it once."""
        runtime = self._runtime(group)
        known = executable(runtime.definition.group)
        if policy not in known:
            raise NoSuch(f"group {group} has no policy {policy}{nearest(policy, known)}")
        key = (group, id)
        running = self._asked.get(key)
        if running is not None:
            return replace(await asyncio.shield(running), repeated=True)
        task = asyncio.create_task(self._alarm(runtime, policy, id, by))
        self._asked[key] = task
        task.add_done_callback(lambda _: self._asked.pop(key, None))
        return await asyncio.shield(task)

    async def _alarm(self, runtime: GroupRuntime, policy: PolicyId, request_id: str, by: str) -> RequestReply:
        before = await asyncio.to_thread(self._engine.parts.store.answered, runtime.id, request_id)
        if before is not None:
            return RequestReply(
                request=request_id,
                repeated=True,
                reason=before.reason,
                desired_from=before.desired_from,
                desired_to=before.desired_to,
                answer=None,
            )
        request = requested(self._engine.catalogue(), runtime.definition.group, policy, id=request_id, by=by)
        now = self._engine.parts.clock()
        decision = await self._engine.queue.ask(DecisionTask(runtime=runtime, at=now, requests=(request,)))
        answer = next(answer for answer in decision.answers if answer.request.id == request_id)
        return RequestReply(
            request=request_id,
            repeated=False,
            reason=answer.reason,
            desired_from=decision.desired_from,
            desired_to=decision.desired_to,
            answer=answer,
        )

    # Members

    async def converge(self, group: GroupId, *, dry_run: bool, by: str) -> Plan:
        """Gather and plan, and execute unless ``dry_run``. A person's order also confirms many losses at once."""
        runtime = self._runtime(group)
        if dry_run:
            planned = self._engine.parts.converger.dry_run
            return await self._engine.keeper.look(runtime, lambda: planned(runtime.stored()))
        await self._note(runtime, "converge", by, "")
        runtime.accept_vanished = True
        done = await self._engine.keeper.converge(runtime)
        runtime.wake.set()
        return done.plan

    async def observe(self, group: GroupId) -> World:
        """Gather now and return what the cloud and the balancers list."""
        return await self._engine.keeper.observe(self._runtime(group))

    async def snapshot(self, group: GroupId) -> Snapshot:
        """Gather now and return everything that a pass would plan from. Changes nothing."""
        runtime = self._runtime(group)
        taken = self._engine.parts.converger.snapshot
        return await self._engine.keeper.look(runtime, lambda: taken(runtime.stored()))

    async def delete(self, group: GroupId, *, members: bool, by: str, if_match: str | None = None) -> None:
        """Forget an ORPHANED group; with ``members``, empty it first.

        Raises:
            ChangedSince: its size is not the one that ``if_match`` names.
        """
        runtime = self._runtime(group)
        state = runtime.state
        if expected_revision(if_match, state.revision, state.desired) not in {None, state.revision}:
            raise ChangedSince(f"the size of {group} has changed since the caller read it: nothing is deleted")
        self._engine.refuse_declared(runtime)
        await self._note(runtime, "delete", by, "with members" if members else "members are left as they are")
        if members:
            await self._engine.empty(runtime)
        else:
            await self._engine.forget(runtime)

    def endpoints(self) -> Sequence[EndpointStatus]:
        """Return the servers that Trimtab calls, and whether they answer."""
        return endpoints(self._engine)

    # Recording

    async def recording(self) -> RecordingStatus:
        """Return whether samples are recorded, and the recording that exists."""
        return await self._engine.recordings.status()

    async def record(self, *, on: bool, span: Seconds | None, by: str) -> RecordingStatus:
        """Start or stop recording, overriding the file."""
        await self._engine.recordings.switch(on=on, span=span, by=by)
        return await self._engine.recordings.status()

    async def reload(self, *, by: str = "api") -> Reloaded:
        """Read the file again: all or nothing."""
        return await self._declaring.reload(by=by)

    async def apply(self, text: str, source: str, *, by: str, dry_run: bool = False) -> Reloaded:
        """Have every daemon over the store go by a file: all or nothing."""
        return await self._applying.apply(text, source, by=by, dry_run=dry_run)

    async def _note(self, runtime: GroupRuntime, act: str, by: str, message: str) -> None:
        now = self._engine.parts.clock().wall
        await asyncio.to_thread(self._engine.parts.store.note, runtime.id, act, by, message, now)

    def _runtime(self, group: GroupId) -> GroupRuntime:
        return runtime_of(self._engine, group)
