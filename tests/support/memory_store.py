"""The store's port in memory: what convergence needs of it exactly, decisions and history in simple lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from threading import RLock

from config.document.statement import Statement
from config.errors import StoreError
from config.model.observability import NotifyTarget
from config.units import AlertId, BalancerId, CloudId, GroupId, HookId, Instant, MemberName
from handler.planning.attachments import Attachment
from handler.planning.declared import Converged, Pinned, Revision
from handler.planning.desired import Builds, Definition
from handler.planning.garbage import Abandoned
from handler.planning.launches import Claim, LaunchId
from handler.planning.member_plans import OpenStep
from handler.planning.provisioning import BalancerProvision
from handler.planning.rolls import Roll
from handler.planning.status import StateSince
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Phase, Record
from handler.ports.alerts import AlertStatus, Delivery, StoredHook
from handler.ports.held_clock import ClockDifference
from handler.ports.notices import DecisionNotice, Filed, Notice, Tried
from handler.ports.store import FileChange, GroupEdit
from handler.ports.stored import (
    EVERY_KIND,
    Creates,
    Event,
    EventKind,
    MemberSpans,
    RepeatedTick,
    Served,
    StoredAnswer,
    StoredGroup,
    StoredTick,
    TickSpan,
)
from handler.store.history import names
from tests.support.fake_cloud import Instants
from tests.support.memory_users import MemoryUsers
from tests.support.worlds import INSTALLATION
from trigger.moving import moved
from trigger.requests import FleetPause, GroupState

_OPEN = {Phase.INTENDED, Phase.MADE}
_HOUR = 3600.0


@dataclass
class MemoryStore(MemoryUsers):
    """Every write is an instant at which a process can die, before and after; ``full`` refuses all of them."""

    installation: str = INSTALLATION
    instants: Instants = field(default_factory=Instants)
    fail_write_in: int | None = None
    """The disk fills up after that many more writes."""
    kept: dict[GroupId, StoredGroup] = field(default_factory=dict)
    records: dict[MemberName, tuple[Record, CloudId]] = field(default_factory=dict)
    forsaken: dict[MemberName, Abandoned] = field(default_factory=dict)
    sequences: dict[GroupId, int] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    answers: dict[tuple[GroupId, str], StoredAnswer] = field(default_factory=dict)
    spans: list[TickSpan] = field(default_factory=list)
    webhooks: dict[HookId, StoredHook] = field(default_factory=dict)
    first_deliveries: dict[tuple[GroupId, AlertId, str, Instant, AlertStatus], Delivery] = field(default_factory=dict)
    outbox: dict[str, tuple[Filed, Instant | None]] = field(default_factory=dict)
    ended_decisions: set[str] = field(default_factory=set)
    """What is to be told, and when to try; ``None``: no more."""
    paused: FleetPause | None = None
    claimed: Claim | None = None
    differed: ClockDifference | None = None
    declared: dict[GroupId, list[Revision]] = field(default_factory=dict)
    """The newest first."""
    bound: dict[tuple[GroupId, BalancerId], BalancerProvision] = field(default_factory=dict)
    stated: Statement | None = None
    edited: list[tuple[Instant, FileChange]] = field(default_factory=list)
    after_write: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._ids = count(1)
        self._lock = RLock()

    @contextmanager
    def _write(self, what: str):
        with self._lock, self.instants.around(what):
            if self.fail_write_in is not None:
                self.fail_write_in -= 1
                self.full = self.full or self.fail_write_in < 0
            if self.full:
                raise StoreError("the disk is full")
            yield
            self.after_write()

    def generation(self) -> Claim | None:
        return self.claimed

    def save_generation(self, claim: Claim) -> None:
        with self._write("save generation"):
            self.claimed = claim

    def clock(self) -> ClockDifference | None:
        return self.differed

    def retime(self, step: float, now: Instant, difference: ClockDifference) -> int:
        with self._write("retime"):
            self.differed = difference
            self.kept = {
                group: replace(stored, state=moved(stored.state, GroupState, step))
                for group, stored in self.kept.items()
            }
            self.records = {name: (moved(kept[0], Record, step), kept[1]) for name, kept in self.records.items()}
            return len(self.kept) + len(self.records)

    # Groups

    def groups(self) -> tuple[StoredGroup, ...]:
        found = [self.kept[group] for group in sorted(self.kept)]
        return tuple(replace(one, state=replace(one.state, fleet_pause=self.paused)) for one in found)

    def fleet_pause(self) -> FleetPause | None:
        return self.paused

    def save_fleet_pause(self, pause: FleetPause | None, act: str, by: str, message: str, at: Instant) -> None:
        with self._write("save fleet pause"):
            self.paused = pause
            for group in self.kept:
                line = Event(at=at, group=group, kind=EventKind.NOTE, name=act, by=by, message=message)
                self.events[next(self._ids)] = line

    def save_begun(self, group: GroupId, begun: Mapping[MemberName, StateSince], over: Collection[MemberName]) -> None:
        with self._write("save begun"):
            kept = {name: each for name, each in self.kept[group].begun.items() if name not in over}
            self.kept[group] = replace(self.kept[group], begun={**kept, **begun})

    def statement(self) -> Statement | None:
        return self.stated

    def edits(self, group: GroupId, limit: int) -> tuple[GroupEdit, ...]:
        edits = (
            GroupEdit(at=at, by=edited.by, edits=tuple(edit for edit in edited.edits if group in edit.groups))
            for at, edited in reversed(self.edited)
        )
        return tuple(each for each in edits if each.edits)[:limit]

    def declare(
        self, definitions: Sequence[Definition], at: Instant, edited: FileChange | None = None, *, lost: bool = False
    ) -> tuple[StoredGroup, ...]:
        with self._write("declare"):
            if edited is not None:
                self.stated = edited.statement
                self.edited.append((at, edited))
            declared = {definition.group.id: definition for definition in definitions}
            for group, stored in self.kept.items():
                if group not in declared:
                    self.kept[group] = replace(stored, state=replace(stored.state, orphaned=True))
            for group, definition in declared.items():
                old = self.kept.get(group)
                fresh = group not in self.sequences and not lost
                state = GroupState(fresh=fresh) if old is None else replace(old.state, orphaned=False)
                self.sequences.setdefault(group, 0)
                new = StoredGroup(
                    id=group, state=state, definition=definition, deleting=False, failed_builds=0, back_off_until=None
                )
                wanted = new if old is None else replace(old, state=state, definition=definition, deleting=False)
                self.kept[group] = self._revised(wanted, None if old is None else self.declared[group][0], at)
            return self.groups()

    def _revised(self, wanted: StoredGroup, before: Revision | None, at: Instant) -> StoredGroup:
        """The group with its definition numbered; a new profile overrules a pinned one."""
        definition, kept = wanted.definition, self.declared.setdefault(wanted.id, [])
        if before is None or before.definition != definition:
            kept.insert(0, Revision(number=len(kept) + 1, at=at, definition=definition))
        if before is not None and before.definition.profile != definition.profile:
            wanted = replace(wanted, pinned=None)
        return self._in_force(replace(wanted, declared=len(kept)))

    def _in_force(self, stored: StoredGroup) -> StoredGroup:
        revisions = {each.number: each.definition for each in self.declared.get(stored.id, ())}
        if not revisions:
            return stored
        profile = revisions[stored.in_force].profile
        return replace(stored, definition=replace(revisions[stored.declared], profile=profile))

    # What was declared, rollbacks and rolls

    def revisions(self, group: GroupId) -> tuple[Revision, ...]:
        return tuple(self.declared.get(group, ()))

    def steer(self, act: Event, pinned: Pinned | None, roll: Roll | None) -> None:
        with self._write("steer"):
            self.kept[act.group] = self._in_force(replace(self.kept[act.group], pinned=pinned, roll=roll))
            self.events[next(self._ids)] = act

    def save_roll(self, group: GroupId, roll: Roll, act: Event | None = None) -> None:
        with self._write("save roll"):
            self.kept[group] = replace(self.kept[group], roll=roll)
            if act is not None:
                self.events[next(self._ids)] = act

    def save_converged(self, group: GroupId, converged: Converged, *, wholly: bool) -> None:
        with self._write("save converged"):
            if group not in self.kept:
                return
            self.kept[group] = replace(self.kept[group], converged=converged)
            self.declared[group] = [
                replace(each, converged_at=converged.at) if wholly and each.number == converged.definition else each
                for each in self.declared.get(group, ())
            ]

    def save_builds(self, group: GroupId, builds: Builds) -> None:
        with self._write("save builds"):
            if group in self.kept:
                self.kept[group] = replace(
                    self.kept[group],
                    failed_builds=builds.failed,
                    back_off_until=builds.back_off_until,
                    builds_of=builds.of,
                )

    def attach(
        self, act: Event, definition: Definition, attachments: Sequence[Attachment], records: Sequence[Record]
    ) -> None:
        with self._write("attach"):
            group = definition.group.id
            self.kept[group] = replace(self.kept[group], definition=definition, attachments=tuple(attachments))
            self._keep(records, definition.cloud.id)
            self.events[next(self._ids)] = act

    def bindings(self, group: GroupId) -> tuple[BalancerProvision, ...]:
        return tuple(binding for (of, _), binding in sorted(self.bound.items()) if of == group)

    def bind(self, group: GroupId, binding: BalancerProvision) -> None:
        with self._write("bind"):
            self.bound[group, binding.balancer] = binding

    def unbind(self, group: GroupId, balancer: BalancerId) -> None:
        with self._write("unbind"):
            self.bound.pop((group, balancer), None)

    def mark_deleting(self, group: GroupId) -> None:
        with self._write("mark deleting"):
            self.kept[group] = replace(self.kept[group], deleting=True)

    def drop_group(self, group: GroupId) -> None:
        with self._write("drop group"):
            self.kept.pop(group, None)
            self.records = {name: kept for name, kept in self.records.items() if kept[0].group != group}

    # Decisions

    def record(self, ticks: Sequence[StoredTick], repeated: Sequence[RepeatedTick] = ()) -> None:
        with self._write("record"):
            for tick in ticks:
                if tick.state is not None and tick.group in self.kept:
                    self.kept[tick.group] = replace(self.kept[tick.group], state=tick.state)
                if tick.cloud is not None:
                    self._keep(tick.members, tick.cloud)
                self._remember(tick)
            for again in repeated:
                known = [span for span in self.spans if span.group == again.group]
                if known:
                    at, values = again.at, again.values
                    span = replace(known[-1], first_at=at, last_at=at, ticks=1, least=values, greatest=values)
                    self.spans.append(span)

    def _remember(self, tick: StoredTick) -> None:
        explanation = tick.explanation
        for answer in explanation.answers:
            first = StoredAnswer(
                request=answer.request,
                at=tick.at,
                reason=answer.reason,
                desired_from=explanation.desired_from,
                desired_to=explanation.desired_to,
            )
            self.answers.setdefault((tick.group, answer.request), first)
        values = tuple(condition.value for policy in explanation.policies for condition in policy.conditions)
        span = TickSpan(
            group=tick.group,
            first_at=tick.at,
            last_at=tick.at,
            ticks=1,
            first=explanation,
            least=values,
            greatest=values,
        )
        self.spans.append(span)

    def flush(self) -> None:
        pass

    def answered(self, group: GroupId, request: str) -> StoredAnswer | None:
        return self.answers.get((group, request))

    def answers_to(self, asked: Collection[tuple[GroupId, str]]) -> Mapping[tuple[GroupId, str], StoredAnswer]:
        return {key: self.answers[key] for key in asked if key in self.answers}

    # Alerts from outside

    def hooks(self) -> tuple[StoredHook, ...]:
        return tuple(sorted(self.webhooks.values(), key=lambda hook: hook.name))

    def save_hook(self, hook: StoredHook) -> None:
        with self._write("save hook"):
            if any(other.name == hook.name and other.id != hook.id for other in self.webhooks.values()):
                raise StoreError(f"another webhook is called {hook.name}")
            old = self.webhooks.get(hook.id)
            uses = [one.last_used_at for one in (old, hook) if one is not None and one.last_used_at is not None]
            self.webhooks[hook.id] = replace(hook, last_used_at=max(uses, default=None))

    def use_hooks(self, used: Mapping[HookId, Instant]) -> None:
        with self._write("use hooks"):
            for hook in [hook for hook in self.webhooks.values() if hook.id in used]:
                last = max(used[hook.id], hook.last_used_at or used[hook.id])
                self.webhooks[hook.id] = replace(hook, last_used_at=last)

    def deliver(self, deliveries: Sequence[Delivery]) -> None:
        with self._write("deliver"):
            for each in deliveries:
                key = (each.group, each.alert, each.fingerprint, each.starts_at, each.status)
                self.first_deliveries.setdefault(key, each)

    def delivered(self, group: GroupId, alert: AlertId, fingerprint: str) -> tuple[Delivery, ...]:
        found = [delivery for key, delivery in self.first_deliveries.items() if key[:3] == (group, alert, fingerprint)]
        return tuple(sorted(found, key=lambda delivery: (-delivery.starts_at, delivery.status.value)))

    # Notices

    def file_notices(self, filed: Sequence[Filed]) -> None:
        with self._write("file notices"):
            for filing in filed:
                self.outbox.setdefault(filing.notice.id, (filing, filing.notice.at))

    def last_notices(self) -> tuple[Notice, ...]:
        found = [filed.notice for filed, _ in self.outbox.values()]
        last = {notice.group: notice for notice in found if isinstance(notice, Notice)}
        return tuple(last[group] for group in sorted(last) if group in self.kept)

    def last_decision_notices(self) -> Mapping[GroupId, Instant]:
        filed = [filed.notice for filed, _ in self.outbox.values() if filed.notice.id not in self.ended_decisions]
        return {each.group: each.at for each in filed if isinstance(each, DecisionNotice) and each.group in self.kept}

    def waiting_targets(self) -> Sequence[tuple[GroupId, NotifyTarget]]:
        open_ = [filed for filed, next_at in self.outbox.values() if next_at is not None]
        return tuple({(filed.notice.group, filed.target): None for filed in open_})

    def redirect_notices(self, targets: Mapping[GroupId, NotifyTarget]) -> None:
        with self._write("redirect notices"):
            for notice, (filed, next_at) in self.outbox.items():
                if next_at is not None and filed.notice.group in targets:
                    self.outbox[notice] = (replace(filed, target=targets[filed.notice.group]), next_at)

    def end_decision_notices(self, groups: Sequence[GroupId]) -> None:
        with self._write("end decision notices"):
            of_these = (filed.notice for filed, _ in self.outbox.values() if filed.notice.group in groups)
            self.ended_decisions |= {notice.id for notice in of_these if isinstance(notice, DecisionNotice)}

    def due_notices(self, now: Instant, limit: int, *, besides: Sequence[NotifyTarget] = ()) -> tuple[Filed, ...]:
        open_ = [(filed, next_at) for filed, next_at in self.outbox.values() if next_at is not None]
        waiting = {filed.notice.group for filed, next_at in open_ if next_at > now}
        due = [filed for filed, _ in open_ if filed.notice.group not in waiting and filed.target not in besides]
        return tuple(due[:limit])

    def notice_tried(self, id: str, tried: Tried) -> None:
        with self._write("notice tried"):
            filed, _ = self.outbox[id]
            self.outbox[id] = (replace(filed, attempts=filed.attempts + 1), tried.next_at)

    # Members

    def members(self, group: GroupId) -> tuple[Record, ...]:
        found = [record for record, _ in list(self.records.values())]  # other groups' passes write beside this one
        alive = (record for record in found if record.group == group and record.phase is not Phase.GONE)
        return tuple(sorted(alive, key=lambda record: record.sequence))

    def gone(self, group: GroupId, names: Collection[MemberName]) -> Mapping[MemberName, Record]:
        found = (
            record for record, _ in list(self.records.values()) if record.group == group and record.phase is Phase.GONE
        )
        return {record.name: record for record in found if record.name in names}

    def last_sequence(self, group: GroupId) -> int:
        return self.sequences.get(group, 0)

    def raise_sequence(self, group: GroupId, to: int) -> None:
        with self._write("raise sequence"):
            self.sequences[group] = max(to, self.last_sequence(group))

    def abandon(self, act: Event, what: Abandoned, ended: Sequence[Record]) -> None:
        with self._write("abandon"):
            self._keep(ended, what.cloud)
            self.forsaken.setdefault(what.name, what)
            self.events[next(self._ids)] = act

    def abandoned(self) -> tuple[Abandoned, ...]:
        return tuple(self.forsaken[name] for name in sorted(self.forsaken))

    def abandoned_of(self, group: GroupId) -> frozenset[MemberName]:
        return frozenset(name for name, what in self.forsaken.items() if what.group == group)

    def lower(self, act: Event, state: GroupState, leaving: Sequence[Record], cloud: CloudId) -> None:
        with self._write("lower"):
            self._keep(leaving, cloud)
            self.events[next(self._ids)] = act
            if act.group in self.kept:
                self.kept[act.group] = replace(self.kept[act.group], state=state)

    def intend(
        self,
        group: GroupId,
        cloud: CloudId,
        count: int,
        balancers: tuple[tuple[BalancerId, int], ...],
        at: Instant,
        profile: str | None = None,
    ) -> tuple[Record, ...]:
        with self._write("intend"):
            first = self.sequences.get(group, 0) + 1
            minted = tuple(
                Record(
                    name=LaunchId(installation=self.installation, group=group, sequence=sequence).name,
                    group=group,
                    sequence=sequence,
                    phase=Phase.INTENDED,
                    intended_at=at,
                    balancers=balancers,
                    profile=profile,
                )
                for sequence in range(first, first + count)
            )
            self._keep(minted, cloud)
        return minted

    def save(self, records: Sequence[Record], cloud: CloudId) -> None:
        with self._write("save"):
            self._keep(records, cloud)

    def creates(self, group: GroupId, cloud: CloudId, now: Instant) -> Creates:
        def used(records: list[Record]) -> tuple[int, int]:
            return (
                sum(record.phase in _OPEN for record in records),
                sum(record.intended_at > now - _HOUR for record in records),
            )

        on_cloud = [record for record, at in list(self.records.values()) if at == cloud]
        by_group, by_cloud = used([record for record in on_cloud if record.group == group]), used(on_cloud)
        return Creates(
            group_outstanding=by_group[0],
            group_past_hour=by_group[1],
            cloud_outstanding=by_cloud[0],
            cloud_past_hour=by_cloud[1],
        )

    def _keep(self, records: Sequence[Record], cloud: CloudId) -> None:
        for record in records:
            self.records[record.name] = (record, cloud)
            self.sequences[record.group] = max(self.sequences.get(record.group, 0), record.sequence)

    # History

    def begin_step(
        self, group: GroupId, name: str, member: MemberName | None, at: Instant, save: Sequence[Record], cloud: CloudId
    ) -> int:
        with self._write(f"begin {name}"):
            self._keep(save, cloud)
            step = next(self._ids)
            self.events[step] = Event(at=at, group=group, kind=EventKind.STEP, name=name, by=member or "")
        return step

    def end_step(
        self, step: int, result: StepResult, message: str, at: Instant, save: Sequence[Record], cloud: CloudId
    ) -> None:
        with self._write(f"end {self.events[step].name}"):
            self._keep(save, cloud)
            begun = self.events[step]
            self.events[step] = replace(begun, result=result, message=message, took=at - begun.at)

    def open_steps(self, group: GroupId) -> tuple[OpenStep, ...]:
        return tuple(
            OpenStep(line=line, call=event.name, member=MemberName(event.by) if event.by else None, at=event.at)
            for line, event in tuple(self.events.items())  # other groups' passes write beside this one
            if event.group == group and event.kind is EventKind.STEP and event.result is None
        )

    def note_steps(self, lines: Sequence[Event], save: Sequence[Record], cloud: CloudId) -> None:
        with self._write("note steps"):
            self._keep(save, cloud)
            self.events.update((next(self._ids), line) for line in lines)

    def note(
        self, group: GroupId, name: str, by: str, message: str, at: Instant, state: GroupState | None = None
    ) -> None:
        with self._write("note"):
            self.events[next(self._ids)] = Event(
                at=at, group=group, kind=EventKind.NOTE, name=name, by=by, message=message
            )
            if state is not None and group in self.kept:
                self.kept[group] = replace(self.kept[group], state=state)

    def history(
        self, group: GroupId, *, before: Instant | None, limit: int, kinds: Collection[EventKind] = EVERY_KIND
    ) -> tuple[Event, ...]:
        found = [event for event in self.events.values() if event.group == group and event.kind in kinds]
        return tuple(event for event in reversed(found) if before is None or event.at < before)[:limit]

    def member_history(self, group: GroupId, member: MemberName, *, since: Instant, limit: int) -> tuple[Event, ...]:
        found = [event for event in self.history(group, before=None, limit=len(self.events)) if event.at >= since]
        steps = {id(event) for event in found if event.kind is EventKind.STEP and event.by == member}
        noted = {id(event) for event in found if event.kind is EventKind.NOTE and names(event.message, member)}
        return tuple(event for event in found if id(event) in steps | noted)[:limit]

    def span_at(self, group: GroupId, at: Instant) -> TickSpan | None:
        earlier = [span for span in self.spans if span.group == group and span.first_at <= at]
        return earlier[-1] if earlier else None

    def spans_begun(self, group: GroupId, begin: Instant, end: Instant, limit: int) -> tuple[TickSpan, ...]:
        begun = [span for span in self.spans if span.group == group and begin <= span.first_at < end]
        return tuple(reversed(begun))[:limit]

    def served(self, group: GroupId, begin: Instant, end: Instant) -> tuple[Served, ...]:
        times = [
            (
                record.in_service_at,
                min(
                    (at for at in (record.leaving_at, record.lost_at, record.gone_at) if at), default=Instant(math.inf)
                ),
            )
            for record, _ in list(self.records.values())
            if record.group == group and record.in_service_at is not None
        ]
        return tuple(Served(begin=first, end=last) for first, last in times if first < end and last > begin)

    def member_spans(self, group: GroupId, newest: int) -> tuple[MemberSpans, ...]:
        made = [
            record
            for record, _ in list(self.records.values())
            if record.group == group and not record.given and record.in_service_at and record.made_at
        ]
        served = [record for record in made if record.made_at < record.in_service_at]
        served.sort(key=lambda record: (record.in_service_at, record.sequence), reverse=True)
        return tuple(
            MemberSpans(
                profile=record.profile,
                boot=record.in_service_at - record.intended_at,
                drain=record.gone_at - record.drained_at if record.gone_at and record.drained_at else None,
            )
            for record in served[:newest]
        )

    def prune(self, *, before: Instant, bytes_at_most: int) -> int:
        old = [step for step, event in self.events.items() if event.at < before]
        for step in old:
            del self.events[step]
        return len(old)

    def bytes_on_disk(self) -> int | None:
        return None

    def close(self) -> None:
        self.full = True
