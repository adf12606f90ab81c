"""Assign each member one role out of a closed list, by one table."""

from __future__ import annotations

import enum

from config.model.catalogue import Group
from config.units import Instant, Seconds
from handler.planning.desired import Definition, Limits
from handler.planning.launches import LaunchId
from handler.planning.removals import is_stuck
from handler.planning.status import MemberState
from handler.planning.world import Leaving, Member, Phase, Record, RegistrationState, Server, ServerState, World


class Role(enum.Enum):
    """The role of one member, judged from its record, its machine and its probe."""

    __hash__ = object.__hash__  # looked up for every member of a plan; an enum's own hashes its name

    INTENDED = "intended"
    """An open intent: perhaps created, neither found nor disproved."""
    DISPROVED = "disproved"
    """An intent whose machine definitely does not exist: to be created under the same name."""
    BUILDING = "building"
    ARRIVING = "arriving"
    """Runs, and is not in service yet."""
    SERVING = "serving"
    PASSING = "passing"
    """Has served, and is between two states: back soon."""
    PARKED = "parked"
    """Suspended, paused or shelved: left alone until a person resumes or replaces it."""
    UNSURE = "unsure"
    """Listed in an unknown state: left alone."""
    ABSENT = "absent"
    """Not listed, without evidence that it is gone."""
    FAILING = "failing"
    """In service, and fails the health checks of its balancers: `planning.health` decides whether that is believed."""
    REPLACING = "replacing"
    """A person ordered its replacement; it serves until the new member does."""
    GONE = "gone"
    """Not listed, and the cloud reports definitely that it does not exist."""
    BROKEN = "broken"
    LATE = "late"
    """Has been building for longer than the group's build timeout."""
    UNREADY = "unready"
    """Runs, and did not become ready in time."""
    DELETING = "deleting"
    """Being deleted, not by Trimtab."""
    LEAVING = "leaving"
    STUCK = "stuck"
    """Leaves, and cannot be removed: garbage."""


MemberRole = tuple[Member, Role]
"""One member and its role."""

CHOSEN_TO_LEAVE = (Role.LEAVING, Role.STUCK)
"""Roles that count for nothing, whatever is doubted."""

COUNTED = (
    Role.SERVING,
    Role.ARRIVING,
    Role.BUILDING,
    Role.INTENDED,
    Role.DISPROVED,
    Role.ABSENT,
    Role.UNSURE,
    Role.PASSING,
    Role.PARKED,
    Role.FAILING,
)
"""Roles of members that serve or will: they are compared with the desired size. The most frequent come first."""

_BY_STATE = {
    ServerState.ERROR: Role.BROKEN,
    ServerState.STOPPED: Role.BROKEN,
    ServerState.DELETING: Role.DELETING,
    ServerState.UNKNOWN: Role.UNSURE,
}

_SHOWN = {
    Role.INTENDED: MemberState.BUILDING,
    Role.DISPROVED: MemberState.BUILDING,
    Role.BUILDING: MemberState.BUILDING,
    Role.ARRIVING: MemberState.JOINING,
    Role.SERVING: MemberState.IN_SERVICE,
    Role.FAILING: MemberState.IN_SERVICE,
    Role.PASSING: MemberState.UNKNOWN,
    Role.PARKED: MemberState.UNKNOWN,
    Role.UNSURE: MemberState.UNKNOWN,
    Role.ABSENT: MemberState.UNKNOWN,
    Role.REPLACING: MemberState.IN_SERVICE,
    Role.GONE: MemberState.UNKNOWN,
    Role.BROKEN: MemberState.BROKEN,
    Role.LATE: MemberState.BROKEN,
    Role.UNREADY: MemberState.BROKEN,
    Role.DELETING: MemberState.LEAVING,
    Role.LEAVING: MemberState.LEAVING,
    Role.STUCK: MemberState.STUCK,
}


def role(member: Member, world: World, definition: Definition, now: Instant) -> Role:
    """Return the role of a member. A machine without a record is judged as if it had just been created."""
    record, server = member.record, member.server
    if record is not None and record.phase is Phase.LEAVING:
        return Role.STUCK if is_stuck(record, definition.group.grace, now) else Role.LEAVING
    if server is None:
        return _unlisted(record, disproved=member.disproved and world.complete)
    known = _BY_STATE.get(server.state)
    if known is not None:
        return known
    if record is not None and record.leaving is Leaving.REPLACED:
        return Role.REPLACING
    if server.state is ServerState.RUNNING:
        return _running(member, record, definition, now)
    return _coming(member, server.state, definition.group, now)


def _unlisted(record: Record | None, *, disproved: bool) -> Role:
    if record is None or record.phase is Phase.INTENDED:
        return Role.DISPROVED if disproved else Role.INTENDED
    return Role.GONE if disproved else Role.ABSENT


def _coming(member: Member, state: ServerState, group: Group, now: Instant) -> Role:
    """Return the role of a machine that does not run and is not lost; before it has served, it is BUILDING."""
    record = member.record
    if state is ServerState.PARKED:
        return Role.PARKED
    if record is None or record.phase is not Phase.IN_SERVICE:
        return Role.LATE if _has_built_for(member, now) >= group.build_timeout else Role.BUILDING
    if state is not ServerState.PASSING:
        return Role.UNSURE  # a person started the rebuild, and has to finish it
    return Role.BROKEN if passes_for(member, group.repair.passing, now) else Role.PASSING


def _has_built_for(member: Member, now: Instant) -> Seconds:
    """Return since when a machine has been building; an intent may have waited for long before its machine was made."""
    record, server = member.record, member.server
    if record is None:
        return 0.0
    if record.phase is not Phase.INTENDED or server is None:
        return now - _made_at(record)
    return now - max(record.intended_at, min(server.created_at, now))


def passes_for(member: Member, span: Seconds | None, now: Instant) -> bool:
    """Return whether a member has been between two states for this long; ``None``: never."""
    since = member.passing_since
    return span is not None and since is not None and now - since >= span


def _running(member: Member, record: Record | None, definition: Definition, now: Instant) -> Role:
    if record is not None and record.phase is Phase.IN_SERVICE:
        return Role.SERVING
    if record is None or record.phase is Phase.INTENDED or is_ready(member, definition):
        return Role.ARRIVING  # found only now: its time to become ready begins now
    probe = definition.profile.ready
    within = definition.group.build_timeout if probe is None else probe.within
    return Role.UNREADY if now - _made_at(record) >= within else Role.ARRIVING


def _made_at(record: Record) -> Instant:
    return record.intended_at if record.made_at is None else record.made_at


def is_ready(member: Member, definition: Definition) -> bool:
    """Return whether a member may get work: its probe succeeds or, where none is declared, its address is known."""
    if definition.profile.ready is None:
        return _address(member.server) is not None
    return member.ready is True


def _address(server: Server | None) -> str | None:
    return None if server is None else server.address


def is_witnessed(member: Member, world: World, limits: Limits, now: Instant) -> bool:
    """Return whether a member is proved gone: a definite not-found, or enough complete listings in a row without it."""
    record = member.record
    if member.server is not None or not world.complete or record is None:
        return False
    if member.disproved:
        return True
    if record.phase is Phase.INTENDED or record.absent_at is None:
        return False
    listings = record.absent_listings + 1  # this one too
    return listings >= limits.absent_listings and now - record.absent_at >= limits.absent_for


def sequence_of(member: Member) -> int:
    """Return the member's place in the order of creation; 0 if neither its record nor its name contains it."""
    if member.record is not None:
        return member.record.sequence
    launch = LaunchId.parse(member.name)
    return 0 if launch is None else launch.sequence


def state_of(member: Member, world: World, definition: Definition, now: Instant) -> MemberState:
    """Return the member's state in status and metrics (``trimtab_group_members{state}``)."""
    is_now = role(member, world, definition, now)
    if is_now is Role.LEAVING and _is_draining(member, world):
        return MemberState.DRAINING
    if is_now is Role.REPLACING and member.record is not None and member.record.phase is not Phase.IN_SERVICE:
        return MemberState.JOINING
    return _SHOWN[is_now]


def _is_draining(member: Member, world: World) -> bool:
    for balancer_view in world.balancer_views.values():
        registration = None if balancer_view.registrations is None else balancer_view.registrations.get(member.name)
        if registration is not None and registration.state is RegistrationState.DRAINING:
            return True
    return False
