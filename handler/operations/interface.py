"""What the doors (HTTP and command line) may ask of the running daemon, as a port. All of it runs on the event loop."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from collector.clients.circuits import EndpointStatus
from config.units import BalancerId, CounterId, GroupId, Instant, MemberName, PolicyId, Seconds
from handler.engine.said import Health, Reloaded
from handler.ingest.alerts.replies import Reply
from handler.ingest.alerts.tokens import Wanted
from handler.operations.readings import Probed
from handler.operations.revisions import Rolling
from handler.planning.attachments import Behind, Detached
from handler.planning.closeups import CloseUp
from handler.planning.desired import Definition
from handler.planning.garbage import Found
from handler.planning.snapshot import Snapshot
from handler.planning.status import Adoption, GroupStatus, StoreStatus
from handler.planning.steps import Outcome, Plan
from handler.planning.world import World
from handler.ports.outside import StoredHook
from handler.ports.stored import EVERY_KIND, Event, EventKind, Span
from handler.recording.status import RecordingStatus
from handler.runtime.pulse import Pulse
from handler.runtime.series import Series
from handler.store.recall import Recalled
from trigger.explain.explanation import Explanation
from trigger.reasons import Reason
from trigger.requests import Answer, Decision, FleetPause
from trigger.verdicts import Direction


class NoSuch(LookupError):
    """There is no such group, policy or member; the message names the nearest one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The answer to an alarm or a policy execution from outside."""

    request: str
    repeated: bool
    """This id was answered before; nothing was done now."""
    reason: Reason
    desired_from: int | None
    desired_to: int | None
    answer: Answer | None
    """``None`` when repeated."""


class Members(Protocol):
    """Acts on one member by name. Every method raises `NoSuch` and `config.errors.Refused` as the daemon's do."""

    async def replace(self, group: GroupId, member: MemberName, *, by: str) -> None:
        """Have another member in this one's place: the new one comes first."""
        ...

    async def dismiss(self, group: GroupId, member: MemberName, *, force: bool, by: str) -> Decision:
        """Lower the size by one, and have this very member leave for it; or neither."""
        ...

    async def adopt(self, group: GroupId, named: str, *, force: bool, by: str) -> Decision:
        """Raise the size by one, and have a machine that is there, by its name or id, join for it; or neither."""
        ...

    async def evict(self, group: GroupId, member: MemberName, *, force: bool, by: str) -> Decision:
        """Lower the size by one, and have this very member leave for it, kept and without its mark; or neither."""
        ...

    async def exchange(self, group: GroupId, member: MemberName, *, force: bool, by: str) -> None:
        """Evict a member, keep the size, and have another one made."""
        ...

    async def protect(self, group: GroupId, member: MemberName, *, protected: bool, by: str) -> None:
        """Never choose this member as surplus (or do so again)."""
        ...

    async def observe(self, group: GroupId, member: MemberName) -> CloseUp:
        """Look now, and say all that is known of one member."""
        ...

    async def converge(self, group: GroupId, member: MemberName, *, by: str) -> tuple[Outcome, ...]:
        """Make a pass for one member alone; answers what was done."""
        ...


class Garbage(Protocol):
    """What bears our mark and is not wanted. Every method raises as the daemon's do."""

    async def look(self, group: GroupId | None) -> Found:
        """All of it; of one group, known or not, if it is named."""
        ...

    async def abandon(self, name: MemberName, *, by: str) -> None:
        """Forget one piece: its record ends, and its machine is never touched again."""
        ...


class Stores(Protocol):
    """The store itself. Every method raises as the daemon's do."""

    def status(self) -> StoreStatus:
        """Whether this daemon is the one that keeps the fleet, and which groups' stores wait for a person."""
        ...

    async def adopt(self, group: GroupId | None, *, by: str) -> Adoption:
        """Believe the store: of one group, or of every group that is in doubt, and have this daemon act."""
        ...

    async def flush(self) -> None:
        """Write down what is only in memory."""
        ...


class Balancers(Protocol):
    """Behind what groups are. Every method raises as the daemon's do."""

    async def behind(self, group: GroupId) -> tuple[Behind, ...]:
        """Behind what a group's members are or will be, and by whose word."""
        ...

    async def attach(self, group: GroupId, balancer: BalancerId, port: int, *, by: str) -> int:
        """Put all members behind a balancer, now and from now on, or none; returns how many are to join it."""
        ...

    async def detach(self, group: GroupId, balancer: BalancerId, *, force: bool = False, by: str) -> Detached:
        """Take all members from behind a balancer, and make no more there; ``force`` drops one that cannot be read."""
        ...


class Webhooks(Protocol):
    """Ways in for alerts and values, and their tokens. Every method raises as the daemon's do."""

    def all(self) -> tuple[StoredHook, ...]:
        """Every webhook ever made, by name."""
        ...

    async def make(self, wanted: Wanted) -> str:
        """Make a webhook; returns its token, which is told this once."""
        ...

    async def rotate(self, name: str) -> str:
        """Give a webhook a new token, told this once; the one before goes on until `finish`."""
        ...

    async def finish(self, name: str) -> None:
        """End the old token of a rotation."""
        ...

    async def revoke(self, name: str) -> None:
        """Have a webhook take nothing any more."""
        ...

    async def rotate_member_tokens(self) -> None:
        """Give members that are made from now on tokens by a new key; the others' go on until the finish."""
        ...

    async def finish_member_tokens(self) -> None:
        """End the tokens of the key before."""
        ...

    async def check_alerts(self, body: bytes, hook: str | None) -> Reply:
        """What a payload would be answered now, through this webhook; nothing is changed."""
        ...


class Daemon(Protocol):
    """Every method raises `NoSuch` for unknown names and `config.errors.Refused` for what it will not do."""

    @property
    def rolling(self) -> Rolling:
        """Definitions, rollbacks and rolls."""
        ...

    @property
    def members(self) -> Members:
        """Acts on members."""
        ...

    @property
    def garbage(self) -> Garbage:
        """What bears our mark and is not wanted."""
        ...

    @property
    def stores(self) -> Stores:
        """The store itself."""
        ...

    @property
    def balancers(self) -> Balancers:
        """Behind what groups are."""
        ...

    @property
    def webhooks(self) -> Webhooks:
        """Ways in."""
        ...

    def status(self) -> tuple[GroupStatus, ...]:
        """All groups, sorted by id."""
        ...

    def groups(self) -> tuple[GroupId, ...]:
        """Their names, sorted; cheaper than `status` where there are many."""
        ...

    def group(self, group: GroupId) -> GroupStatus:
        """One group."""
        ...

    async def why(self, group: GroupId, at: Instant | None) -> Explanation | Span | None:
        """The last tick's explanation, or the span that covers ``at``; ``None`` before the first tick."""
        ...

    async def recall(self, group: GroupId, begin: Instant, end: Instant) -> Recalled:
        """The decision that a person means who names a time: from ``begin`` until just before ``end``."""
        ...

    def misses(self, group: GroupId) -> tuple[str, ...]:
        """What the last poll did not bring, and what to do about it, in words."""
        ...

    def doubts(self, group: GroupId) -> tuple[str, ...]:
        """Why what the cloud lists is not believed, and what would confirm it, in words."""
        ...

    async def probe(self, group: GroupId, counters: Collection[CounterId]) -> tuple[Probed, ...]:
        """Read counters of every member now; no counters: those that the group's policies need."""
        ...

    async def history(
        self, group: GroupId, *, before: Instant | None, limit: int, kinds: Collection[EventKind] = EVERY_KIND
    ) -> tuple[Event, ...]:
        """Newest first."""
        ...

    def definition(self, group: GroupId) -> Definition:
        """What one group's new members are made of; of an ORPHANED one, what they were."""
        ...

    def recent(self, group: GroupId) -> Series:
        """The last half hour of one group in numbers."""
        ...

    @property
    def pulse(self) -> Pulse:
        """Where to listen for news of groups."""
        ...

    def now(self) -> Instant:
        """The wall clock that all instants here are of."""
        ...

    async def scale(self, group: GroupId, size: int, *, force: bool, by: str) -> Decision:
        """A person sets the size."""
        ...

    async def alarm(self, group: GroupId, policy: PolicyId, *, id: str, by: str) -> Asked:
        """An outside trigger carries out a policy of the group. Idempotent by ``id``."""
        ...

    def fresh_id(self) -> str:
        """A request id for someone who brings none."""
        ...

    async def pause(self, group: GroupId, *, decisions_only: bool, direction: Direction | None = None, by: str) -> None:
        """Stop decisions, and (unless ``decisions_only``) convergence; or only changes in one direction."""
        ...

    async def resume(self, group: GroupId, *, direction: Direction | None = None, by: str) -> None:
        """Undo a pause, or only that of one direction.

        Raises:
            Refused: of one direction, where all is paused.
        """
        ...

    def fleet_pause(self) -> FleetPause | None:
        """What is stopped in all groups; ``None``: nothing."""
        ...

    async def pause_all(
        self, *, decisions_only: bool, direction: Direction | None = None, because: str = "", by: str
    ) -> FleetPause | None:
        """Pause the whole fleet, as `pause` does one group; each keeps its own pause beside it."""
        ...

    async def resume_all(self, *, direction: Direction | None = None, by: str) -> FleetPause | None:
        """Undo a pause of the whole fleet, or only that of one direction.

        Raises:
            Refused: of one direction, where all is paused.
        """
        ...

    async def converge(self, group: GroupId, *, dry_run: bool, by: str) -> Plan:
        """Gather and plan; carry it out unless ``dry_run``. A person's order also accepts that many vanished."""
        ...

    async def observe(self, group: GroupId) -> World:
        """Gather now and say what was seen."""
        ...

    async def snapshot(self, group: GroupId) -> Snapshot:
        """Gather now and say all that a pass would plan from. Nothing is changed."""
        ...

    async def delete(self, group: GroupId, *, members: bool, by: str) -> None:
        """Forget an ORPHANED group; with ``members``, empty it first."""
        ...

    async def reload(self, *, by: str = "api") -> Reloaded:
        """Read the file again: all or nothing."""
        ...

    async def recording(self) -> RecordingStatus:
        """Whether samples are recorded, and what is there."""
        ...

    async def record(self, *, on: bool, span: Seconds | None, by: str) -> RecordingStatus:
        """Record or not, whatever the file says; ``span``: only for so long."""
        ...

    def endpoints(self) -> Sequence[EndpointStatus]:
        """Who is called for clouds and balancers, and whether they answer."""
        ...

    def metrics(self) -> bytes:
        """Prometheus text. May be called from any thread."""
        ...

    def health(self) -> Health:
        """Whether decisions and convergence are on time."""
        ...
