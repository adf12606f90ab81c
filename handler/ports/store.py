"""What must survive a crash, as a port. Every write is durable when the call returns, or raises `StoreError`.

Calls block and may come from any thread; writes that wait at the same time share one commit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from config.document.statement import Statement
from config.model.edits import Edit
from config.units import BalancerId, CloudId, GroupId, Instant, MemberName, Seconds
from handler.planning.attachments import Attachment
from handler.planning.declared import Converged, Pinned, Revision
from handler.planning.desired import Builds, Definition
from handler.planning.garbage import Abandoned
from handler.planning.launches import Claim
from handler.planning.member_plans import OpenStep
from handler.planning.provisioning import BalancerProvision
from handler.planning.rolls import Roll
from handler.planning.status import StateSince
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Record
from handler.ports.alerts import OutsideStore
from handler.ports.canaries import CanaryStore
from handler.ports.cloudstack_api import CloudstackApiStore
from handler.ports.credentials import KeyPairStore, PasswordStore
from handler.ports.declarations import NOTHING_OVER_API, AppliedFile, AppliedStore, DeclarationStore, DeclaredOverApi
from handler.ports.held_clock import ClockDifference
from handler.ports.identity import AuditStore, CallStore, IdentityStore
from handler.ports.settings import SettingStore
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
from trigger.requests import FleetPause, GroupState


class BehindStore(Protocol):
    """Attachments, and the balancers created for groups."""

    def attach(
        self, act: Event, definition: Definition, attachments: Sequence[Attachment], records: Sequence[Record]
    ) -> None:
        """Write behind what a group's members are and will be, and why, in one transaction.

        ``attachments`` are all that the group has then; ``records`` are those of the members that change.
        """
        ...

    def bindings(self, group: GroupId) -> tuple[BalancerProvision, ...]:
        """What was made for a group, sorted by balancer."""
        ...

    def bind(self, group: GroupId, binding: BalancerProvision) -> None:
        """Write down what was made for a group, or is about to be; insert or replace."""
        ...

    def unbind(self, group: GroupId, balancer: BalancerId) -> None:
        """Forget what was made for a group, once it is gone."""
        ...


class RollingStore(Protocol):
    """Revisions of definitions, which one is in force, and the roll of each group."""

    def revisions(self, group: GroupId) -> tuple[Revision, ...]:
        """What a group declared, the newest first."""
        ...

    def steer(self, act: Event, pinned: Pinned | None, roll: Roll | None) -> None:
        """Write down which revision is pinned and how the roll stands, and why, in one transaction.

        Raises:
            StoreError: there is no such group, or it cannot be written.
        """
        ...

    def save_roll(self, group: GroupId, roll: Roll, act: Event | None = None) -> None:
        """Write down how a roll stands and why, in one transaction; without ``act``, no line of history."""
        ...

    def save_converged(self, group: GroupId, converged: Converged, *, wholly: bool) -> None:
        """Write down that nothing was left to do; with ``wholly`` also that every member is made of that revision."""
        ...


EDITED = "edited"
"""What history calls an edit of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file that comes into force, and what was edited in it since the one before."""

    by: str
    """What caused the reload: a person, a signal, or a start."""
    statement: Statement
    edits: tuple[Edit, ...]
    applied: AppliedFile | None = None
    """The file itself, where all daemons over the store are to go by it from now on; ``None``: that stays as it is."""
    digest: str = ""
    """Of the file, for workers that go on with the store later; empty: none may, or a worker's lease has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEdit:
    """What one edit of the file changed for one group."""

    at: Instant
    by: str
    edits: tuple[Edit, ...]
    """In the order of keys; without the groups that each touches."""


class EditStore(Protocol):
    """The file as it was taken last, and what was edited for each group."""

    def statement(self) -> Statement | None:
        """The content of the file that was loaded last; ``None``: none was, or by a release that did not keep it."""
        ...

    def edits(self, group: GroupId, limit: int) -> tuple[GroupEdit, ...]:
        """The newest edits of the file that touched a group, newest first."""
        ...


class Store(
    AppliedStore,
    AuditStore,
    BehindStore,
    CallStore,
    CanaryStore,
    CloudstackApiStore,
    DeclarationStore,
    EditStore,
    IdentityStore,
    KeyPairStore,
    OutsideStore,
    PasswordStore,
    RollingStore,
    SettingStore,
    Protocol,
):
    """The one place that remembers."""

    def generation(self) -> Claim | None:
        """The last claim of a daemon over this store; ``None``: there was none."""
        ...

    def save_generation(self, claim: Claim) -> None:
        """Write down what this daemon claims, before any member bears it."""
        ...

    def clock(self) -> ClockDifference | None:
        """By how much the clocks differed when instants were last measured; ``None``: not known."""
        ...

    def retime(self, step: Seconds, now: Instant, difference: ClockDifference) -> int:
        """Move what every span is measured by, none of them beyond its length, and write down how the clocks differ.

        One transaction. Returns how many groups and members have changed.
        """
        ...

    # Groups
    def groups(self) -> tuple[StoredGroup, ...]:
        """Every group ever declared and not deleted, sorted by id."""
        ...

    def declare(
        self,
        definitions: Sequence[Definition],
        at: Instant,
        edited: FileChange | None = None,
        over: DeclaredOverApi = NOTHING_OVER_API,
        *,
        lost: bool = False,
    ) -> tuple[StoredGroup, ...]:
        """Write the declared groups in one transaction: new ones have no desired size, all others become ORPHANED.

        ``edited``: what is declared now, and what was edited; recorded with the groups that were there before.
        ``over``: what comes over the API: a revision with its entities, groups to be emptied and those in quarantine.
        ``lost``: a store before this one was lost, so no name is known to be new.

        Returns what `groups` would, as this transaction leaves it: nothing is left to be read that could fail.
        """
        ...

    def fleet_pause(self) -> FleetPause | None:
        """What is stopped in all groups; the states of groups have it, too, also of those declared later."""
        ...

    def save_fleet_pause(self, pause: FleetPause | None, act: str, by: str, message: str, at: Instant) -> None:
        """Write it down, and a line in the history of every group, in one transaction."""
        ...

    def save_builds(self, group: GroupId, builds: Builds) -> None:
        """Write down how builds go."""
        ...

    def save_begun(self, group: GroupId, begun: Mapping[MemberName, StateSince], over: Collection[MemberName]) -> None:
        """Write down since when these members are in their states, and forget those that are gone."""
        ...

    def mark_deleting(self, group: GroupId) -> None:
        """The group is to be emptied and forgotten."""
        ...

    def drop_group(self, group: GroupId) -> None:
        """Forget a group and its members; its history stays until retention."""
        ...

    # Decisions
    def record(self, ticks: Sequence[StoredTick], repeated: Sequence[RepeatedTick] = ()) -> None:
        """Write ticks: new states, decisions and answers at once, spans run-length. One transaction.

        A tick whose explanation has the shape of the group's last span only extends that span, in memory; spans
        are flushed with the next real write, on `flush`, and on `close`. So does a repeated tick, once the others are
        written; a group without a span in memory is left alone: it was forgotten meanwhile. No group has ticks of both.
        """
        ...

    def flush(self) -> None:
        """Write spans that were only extended in memory; of a large fleet some, those that wait for longest."""
        ...

    def answered(self, group: GroupId, request: str) -> StoredAnswer | None:
        """What was answered to this request id, if it was ever asked."""
        ...

    def answers_to(self, asked: Collection[tuple[GroupId, str]]) -> Mapping[tuple[GroupId, str], StoredAnswer]:
        """What was answered to each of these (group, request id), where it was ever asked."""
        ...

    # Members
    def members(self, group: GroupId) -> tuple[Record, ...]:
        """Members that are not GONE, sorted by sequence."""
        ...

    def gone(self, group: GroupId, names: Collection[MemberName]) -> Mapping[MemberName, Record]:
        """The last records of those of these names that are remembered as GONE; retention forgets them in time."""
        ...

    def lower(self, act: Event, state: GroupState, leaving: Sequence[Record], cloud: CloudId) -> None:
        """Store members that leave and the size that follows, with the cause, in one transaction."""
        ...

    def last_sequence(self, group: GroupId) -> int:
        """The newest sequence that was ever given out under this name; 0: none was."""
        ...

    def raise_sequence(self, group: GroupId, to: int) -> None:
        """Give out no sequence up to this one any more; one that is lower than the last changes nothing."""
        ...

    def abandon(self, act: Event, what: Abandoned, ended: Sequence[Record]) -> None:
        """Write down what is not to be touched any more, its record's end if it has one, and why, in one transaction.

        The same name again changes nothing but the history.
        """
        ...

    def abandoned(self) -> tuple[Abandoned, ...]:
        """Everything that was ever abandoned, of all groups, those that are gone included; sorted by name."""
        ...

    def abandoned_of(self, group: GroupId) -> frozenset[MemberName]:
        """Return the abandoned names of one group."""
        ...

    def intend(
        self,
        group: GroupId,
        cloud: CloudId,
        count: int,
        balancers: tuple[tuple[BalancerId, int], ...],
        at: Instant,
        profile: str | None = None,
    ) -> tuple[Record, ...]:
        """Mint ``count`` sequences and write INTENDED records under them, in one transaction, before any call.

        ``profile`` is the digest of what they are to be made of.
        """
        ...

    def save(self, records: Sequence[Record], cloud: CloudId) -> None:
        """Insert or replace records in one transaction; raises the group's sequence to theirs."""
        ...

    def creates(self, group: GroupId, cloud: CloudId, now: Instant) -> Creates:
        """How much of the budgets is used.

        Outstanding are INTENDED and MADE members; the past hour counts by ``intended_at``, GONE members included.
        """
        ...

    # History
    def begin_step(
        self, group: GroupId, name: str, member: MemberName | None, at: Instant, save: Sequence[Record], cloud: CloudId
    ) -> int:
        """Write a step's journal line, and the records that must be durable before it, in one transaction."""
        ...

    def end_step(
        self, step: int, result: StepResult, message: str, at: Instant, save: Sequence[Record], cloud: CloudId
    ) -> None:
        """Complete a step's journal line, and write the records that follow from it, in one transaction."""
        ...

    def open_steps(self, group: GroupId) -> tuple[OpenStep, ...]:
        """The group's calls that were begun and not ended, oldest first."""
        ...

    def note_steps(self, lines: Sequence[Event], save: Sequence[Record], cloud: CloudId) -> None:
        """Store complete lines of steps without a call, and the records that follow, in one transaction."""
        ...

    def note(
        self, group: GroupId, name: str, by: str, message: str, at: Instant, state: GroupState | None = None
    ) -> None:
        """Write down an act of a person or of the daemon, with the state that it leads to."""
        ...

    def history(
        self, group: GroupId, *, before: Instant | None, limit: int, kinds: Collection[EventKind] = EVERY_KIND
    ) -> tuple[Event, ...]:
        """The newest events of these kinds, newest first.

        Those of one instant are never parted, so there may be a few more.
        """
        ...

    def member_history(self, group: GroupId, member: MemberName, *, since: Instant, limit: int) -> tuple[Event, ...]:
        """The newest steps of one member, and notes whose text names it, from an instant on, newest first."""
        ...

    def span_at(self, group: GroupId, at: Instant) -> TickSpan | None:
        """The span that covers ``at``, or the last one before it."""
        ...

    def spans_begun(self, group: GroupId, begin: Instant, end: Instant, limit: int) -> tuple[TickSpan, ...]:
        """The newest spans that began at ``begin`` or later and before ``end``, newest first."""
        ...

    def served(self, group: GroupId, begin: Instant, end: Instant) -> tuple[Served, ...]:
        """When the members were in service that were so between ``begin`` and ``end``; as long as history is kept."""
        ...

    def member_spans(self, group: GroupId, newest: int) -> tuple[MemberSpans, ...]:
        """How long the newest members took that were made here and came into service, the newest first.

        Members that were given, or taken up as they served after the store was lost, are left out.
        """
        ...

    def prune(self, *, before: Instant, bytes_at_most: int) -> int:
        """Delete history older than ``before``, and the oldest beyond the disk budget; returns rows deleted."""
        ...

    def bytes_on_disk(self) -> int | None:
        """What the store's files take now; `None`: it has none here. Every scrape asks, so it waits for nothing."""
        ...

    def close(self) -> None:
        """Flush and close. Later calls raise `StoreError`."""
        ...
