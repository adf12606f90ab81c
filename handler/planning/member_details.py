"""Show all about one member: its record, its machine, its registrations, its role, and its next steps. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

from config.units import BalancerId, Instant, MemberName
from handler.planning.context import PlanContext, context_of, is_doubted, is_left, lowers
from handler.planning.desired import Definition
from handler.planning.judgement import LossVerdict
from handler.planning.plan import Snapshot, plan
from handler.planning.roles import MemberRole, Role
from handler.planning.steps import Step
from handler.planning.world import Member, Record, Registration, Server, World

_WHY: Mapping[Role, str] = MappingProxyType(
    {
        Role.INTENDED: "its creation was started; its cloud neither lists it nor denies that it exists",
        Role.DISPROVED: "its creation was started, and its cloud reports that it does not exist: it is created again",
        Role.BUILDING: "its cloud is building it",
        Role.ARRIVING: "it runs, and is not in service yet",
        Role.SERVING: "it serves",
        Role.PASSING: "it is between two states in its cloud, and is expected back",
        Role.PARKED: "it was suspended, paused or shelved: it stays as it is until a person resumes or replaces it",
        Role.UNSURE: "its cloud lists it in an unknown state: it stays as it is",
        Role.ABSENT: "the listing lacks it, which does not yet prove that it is gone",
        Role.REPLACING: "a person ordered its replacement: it serves until the new member does",
        Role.GONE: "its cloud reports that it does not exist",
        Role.BROKEN: "its cloud reports that it does not run",
        Role.LATE: "it has been building for longer than build_timeout",
        Role.UNREADY: "it runs, and did not become ready in time",
        Role.DELETING: "it is being deleted, not by Trimtab",
        Role.STUCK: "its removal keeps failing: it counts as garbage (trimtab garbage), and is retried",
    }
)

_PARTIAL = "its cloud's listing is partial"


_UNPROVED = {
    LossVerdict.HEARD: "it still answers an independent source, so it counts as present",
    LossVerdict.TOO_SOON: "many are lost at once, and it has not been silent for long enough, so it counts as present",
    LossVerdict.NO_SOURCE: "many are lost at once, and no independent source can tell, so it counts as present until "
    "trimtab converge",
    LossVerdict.OTHERS_UNSEEN: "it counts as present until the other groups of its cloud have been gathered",
}
"""Why a loss is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseUp:
    """Everything about one member at one moment."""

    member: MemberName
    role: Role
    why: str
    """In words."""
    record: Record | None
    """Its record in the store."""
    server: Server | None
    """Its machine as its cloud lists it."""
    disproved: bool
    """Its cloud, queried by name, answered that it does not exist."""
    ready: bool | None
    """Its probe's result; ``None``: not probed."""
    unready: str
    """The probe's answer, where it is not *ready*."""
    registrations: Mapping[BalancerId, Registration | None] = field(metadata={"wire": "seats"})
    """On the balancers that it was made with, and on others that know it; ``None``: not registered."""
    unread: Mapping[BalancerId, str]
    """Those of them that could not be read, and why."""
    steps: tuple[Step, ...]
    """Its steps in a pass now, without the creation of a replacement."""


def close_up(name: MemberName, snapshot: Snapshot) -> CloseUp | None:
    """Return all about one member of a group; ``None``: it has no record and is not listed."""
    world = snapshot.world
    member = next((each for each in world.members if each.name == name), None)
    if member is None:
        return None
    context = context_of(snapshot.desired, world, snapshot.definition, snapshot.limits, snapshot.at)
    seen = next((seen for each, seen in context.roles if each.name == name), Role.SERVING)  # else it is settled
    places = balancers_of(member, world)
    balancer_views = {
        balancer: world.balancer_views[balancer] for balancer in places if balancer in world.balancer_views
    }
    planned = plan(snapshot.desired, world, snapshot.definition, snapshot.limits, snapshot.at)
    return CloseUp(
        member=name,
        role=seen,
        why=_why((member, seen), context),
        record=member.record,
        server=member.server,
        disproved=member.disproved,
        ready=member.ready,
        unready=member.unready,
        registrations={
            balancer: balancer_view.registrations.get(name)
            for balancer, balancer_view in balancer_views.items()
            if balancer_view.registrations is not None
        },
        unread={
            balancer: balancer_view.because
            for balancer, balancer_view in balancer_views.items()
            if balancer_view.registrations is None
        },
        steps=planned.of(name).steps,
    )


def balancers_of(member: Member, world: World) -> tuple[BalancerId, ...]:
    """Return the balancers that a member was made with, then others that know it."""
    own = () if member.record is None else tuple(balancer for balancer, _ in member.record.balancers)
    others = (
        balancer
        for balancer, balancer_view in world.balancer_views.items()
        if member.name in (balancer_view.registrations or {})
    )
    return tuple(dict.fromkeys((*own, *others)))


def _why(member_role: MemberRole, context: PlanContext) -> str:
    member, seen = member_role
    why = _WHY.get(seen, "")
    if seen is Role.LEAVING and member.record is not None and member.record.leaving is not None:
        why = f"it was chosen to leave: {member.record.leaving.value.replace('_', ' ')}"
    elif seen is Role.FAILING or member.name in context.checkup.doubted:
        why = _failing(member, context.definition)
    held = _held(member_role, context)
    return f"{why}; {held}" if held else why


def _failing(member: Member, definition: Definition) -> str:
    since = None if member.record is None else member.record.failing_since
    rule = definition.group.repair.unhealthy
    begun = "" if since is None else f" since {_clock(since)}"
    after = "" if rule is None else f"; it is replaced after failing for {rule.after:g} s"
    return f"it serves, and fails the health check of its balancer{begun}{after}"


def _held(member_role: MemberRole, context: PlanContext) -> str:
    """Return why a member gets no step although its role would call for one."""
    if is_doubted(member_role, context):
        return _UNPROVED[context.unproved[member_role[0].name]]
    if is_left(member_role, context):
        return "the group's repair leaves it to a person"
    if member_role[0].name in context.checkup.doubted:
        return f"it is not replaced: {context.checkup.stopped}"
    if lowers(member_role, context):
        return "it lowers the desired size"
    return "" if context.world.complete or member_role[0].server is not None else _PARTIAL


def _clock(at: Instant) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
