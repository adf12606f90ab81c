"""One member from all its sides: remembered, listed and seated, what follows, and what a pass would do. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from config.units import BalancerId, Instant, MemberName
from handler.planning.context import PlanContext, is_doubted, is_left, lowers, scene_of
from handler.planning.desired import Definition
from handler.planning.judgement import LossVerdict
from handler.planning.plan import Snapshot, plan
from handler.planning.roles import Cast, Role
from handler.planning.steps import Step
from handler.planning.world import Member, Record, Seat, Server, World

_WHY: Mapping[Role, str] = MappingProxyType(
    {
        Role.INTENDED: "its creation was begun; its cloud neither shows it nor says that it is not there",
        Role.DISPROVED: "its creation was begun, and its cloud says that nothing was made: it is made again",
        Role.BUILDING: "its cloud is making it",
        Role.ARRIVING: "it runs, and is on its way into service",
        Role.SERVING: "it serves",
        Role.PASSING: "its cloud is about to bring it back by itself",
        Role.PARKED: "somebody set it aside: it is left alone until a person moves it, or has it replaced",
        Role.UNSURE: "its cloud's word for it says nothing: it is left alone",
        Role.ABSENT: "the listing lacks it, which does not prove yet that it is gone",
        Role.REPLACING: "a person asked for another one in its place: it serves until that one does",
        Role.GONE: "its cloud says that it does not exist",
        Role.BROKEN: "its cloud says that it does not run",
        Role.LATE: "it has been building for longer than build_timeout",
        Role.UNREADY: "it runs, and has not become ready in time",
        Role.DELETING: "somebody else is deleting it",
        Role.STUCK: "its removal keeps failing: it counts as garbage (trimtab garbage), and is still tried",
    }
)

_PARTIAL = "its cloud's listing is partial"


_UNPROVED = {
    LossVerdict.HEARD: "an independent source still hears it, so it counts as present",
    LossVerdict.TOO_SOON: "many are lost at once, and it has not been silent for long enough, so it counts as present",
    LossVerdict.NO_SOURCE: "many are lost at once, and no independent source can tell, so it counts as present until "
    "trimtab converge",
    LossVerdict.OTHERS_UNSEEN: "it counts as present until the other groups of its cloud have been looked at",
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
    """What is remembered of it."""
    server: Server | None
    """What its cloud lists."""
    disproved: bool
    """Its cloud, asked for it by name, said that it is not there."""
    ready: bool | None
    """What its probe said; ``None``: not asked."""
    unready: str
    """What the probe got, where that does not say ready."""
    seats: Mapping[BalancerId, Seat | None]
    """Of the balancers that it was made with, and of others that know it; ``None``: no seat."""
    unread: Mapping[BalancerId, str]
    """Those of them that could not be read, and why."""
    steps: tuple[Step, ...]
    """What a pass would do about it now, creations in its place aside."""


def close_up(name: MemberName, snapshot: Snapshot) -> CloseUp | None:
    """Look at one member of a group; ``None``: neither remembered nor listed."""
    world = snapshot.world
    member = next((each for each in world.members if each.name == name), None)
    if member is None:
        return None
    scene = scene_of(snapshot.desired, world, snapshot.definition, snapshot.limits, snapshot.at)
    seen = next((seen for each, seen in scene.casts if each.name == name), Role.SERVING)  # else it is settled
    places = _places(member, world)
    seatings = {balancer: world.seatings[balancer] for balancer in places if balancer in world.seatings}
    planned = plan(snapshot.desired, world, snapshot.definition, snapshot.limits, snapshot.at)
    return CloseUp(
        member=name,
        role=seen,
        why=_why((member, seen), scene),
        record=member.record,
        server=member.server,
        disproved=member.disproved,
        ready=member.ready,
        unready=member.unready,
        seats={
            balancer: seating.seats.get(name) for balancer, seating in seatings.items() if seating.seats is not None
        },
        unread={balancer: seating.because for balancer, seating in seatings.items() if seating.seats is None},
        steps=planned.of(name).steps,
    )


def _places(member: Member, world: World) -> tuple[BalancerId, ...]:
    own = () if member.record is None else tuple(balancer for balancer, _ in member.record.balancers)
    others = (balancer for balancer, seating in world.seatings.items() if member.name in (seating.seats or {}))
    return tuple(dict.fromkeys((*own, *others)))


def _why(cast: Cast, scene: PlanContext) -> str:
    member, seen = cast
    said = _WHY.get(seen, "")
    if seen is Role.LEAVING and member.record is not None and member.record.leaving is not None:
        said = f"it was chosen to leave: {member.record.leaving.value.replace('_', ' ')}"
    elif seen is Role.FAILING or member.name in scene.checkup.doubted:
        said = _failing(member, scene.definition)
    held = _held(cast, scene)
    return f"{said}; {held}" if held else said


def _failing(member: Member, definition: Definition) -> str:
    since = None if member.record is None else member.record.failing_since
    rule = definition.group.repair.unhealthy
    begun = "" if since is None else f" since {_clock(since)}"
    after = "" if rule is None else f"; it is replaced after {rule.after:g} s of that"
    return f"it serves, and fails the health check of its balancer{begun}{after}"


def _held(cast: Cast, scene: PlanContext) -> str:
    """Say why nothing is done about a member though something might be."""
    if is_doubted(cast, scene):
        return _UNPROVED[scene.unproved[cast[0].name]]
    if is_left(cast, scene):
        return "the group's repair leaves that to a person"
    if cast[0].name in scene.checkup.doubted:
        return f"nothing is done about it: {scene.checkup.stopped}"
    if lowers(cast, scene):
        return "the desired size is lowered by it"
    return "" if scene.world.complete or cast[0].server is not None else _PARTIAL


def _clock(at: Instant) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
