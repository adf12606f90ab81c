"""Operations on sizes: scaling, policies that outside triggers execute, freezes, and pauses of a group or the fleet."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval, Len

from config.model.effects import FrozenDirection
from config.units import GroupId, PolicyId
from handler.identity.rights import Verb
from handler.operations.address import ABOUT, HEADER, installation, one_group, over
from trigger.verdicts import Direction

if TYPE_CHECKING:
    from handler.identity.actors import Actor
    from handler.operations.facade import Operations
    from handler.operations.outcomes import RequestReply, Shown
    from handler.planning.status import GroupStatus
    from trigger.requests import Decision


@over("PUT", "/groups/{group}/size", "scale", body="Size", tag="sizes", verb=Verb.SCALE, on=one_group)
class ScaleGroup:
    """Set the desired size of a group."""

    group: GroupId
    size: Annotated[int, Interval(ge=0, le=1_000_000)]
    force: bool = False
    if_match: Annotated[str, Len(1, 1000)] | None = field(
        default=None, metadata={HEADER: "If-Match", ABOUT: "Only if the size still has one of these entity tags."}
    )

    async def perform(self, operations: Operations, by: Actor) -> Decision:
        return await operations.scale(self.group, self.size, force=self.force, by=by.name, if_match=self.if_match)


@over(
    "POST",
    "/groups/{group}/alarms",
    "alarm",
    body="AlarmBody",
    tag="sizes",
    recognises=True,
    verb=Verb.SCALE,
    on=one_group,
)
class RaiseAlarm:
    """Execute a policy for an outside trigger. The same ``id`` again changes nothing and gets the same answer."""

    group: GroupId
    id: Annotated[str, Len(1, 200)]
    policy: Annotated[PolicyId, Len(1, 200)]
    by: Annotated[str, Len(0, 64)] = "alarm"

    async def perform(self, operations: Operations, by: Actor) -> RequestReply:
        return await operations.alarm(self.group, self.policy, id=self.id, by=by.called(self.by).name)


@over(
    "POST",
    "/groups/{group}/policies/{policy}/execute",
    "execute",
    tag="sizes",
    recognises=True,
    verb=Verb.SCALE,
    on=one_group,
)
class ExecutePolicy:
    """Execute a policy of a group, whether or not its conditions hold."""

    group: GroupId
    policy: PolicyId
    id: Annotated[str, Len(0, 200)] = field(
        default="", metadata={HEADER: "Idempotency-Key", ABOUT: "The same key again changes nothing."}
    )

    async def perform(self, operations: Operations, by: Actor) -> RequestReply:
        return await operations.alarm(self.group, self.policy, id=self.id or operations.fresh_id(), by=by.name)


@over("POST", "/groups/{group}/pause", "pause", body="PauseBody", verb=Verb.PAUSE, on=one_group)
class PauseGroup:
    """Stop decisions and, unless ``decisions_only``, convergence; or only changes in one direction."""

    group: GroupId
    decisions_only: bool = False
    direction: Direction | None = None

    async def perform(self, operations: Operations, by: Actor) -> GroupStatus:
        await operations.pauses.pause(
            self.group, decisions_only=self.decisions_only, direction=self.direction, by=by.name
        )
        return operations.group(self.group)


@over("POST", "/groups/{group}/resume", "resume", body="ResumeBody", may_be_bare=True, verb=Verb.PAUSE, on=one_group)
class ResumeGroup:
    """End a pause of a group, or only that of one direction."""

    group: GroupId
    direction: Direction | None = None

    async def perform(self, operations: Operations, by: Actor) -> GroupStatus:
        await operations.pauses.resume(self.group, direction=self.direction, by=by.name)
        return operations.group(self.group)


@over("POST", "/pause", "pause", body="FleetPauseBody", verb=Verb.PAUSE, on=installation)
class PauseFleet:
    """Pause all groups, as one group is paused; ``because``, or else the request's reason, is shown with the pause."""

    decisions_only: bool = False
    direction: Direction | None = None
    because: Annotated[str, Len(0, 200)] = ""

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        paused = await operations.pauses.pause_all(
            decisions_only=self.decisions_only,
            direction=self.direction,
            because=" ".join((self.because or by.because).split()),
            by=by.name,
        )
        return {"fleet_pause": paused}


@over("POST", "/resume", "resume", body="FleetResumeBody", may_be_bare=True, verb=Verb.PAUSE, on=installation)
class ResumeFleet:
    """End the pause of all groups, or only that of one direction."""

    direction: Direction | None = None

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        return {"fleet_pause": await operations.pauses.resume_all(direction=self.direction, by=by.name)}


@over("POST", "/groups/{group}/freeze", "freeze", body="FreezeBody", verb=Verb.PAUSE, on=one_group)
class FreezeGroup:
    """Keep policies and alarms from changing the size; ``because``, or else the request's reason, is shown with it."""

    group: GroupId
    lasts: Annotated[float, Interval(gt=0, le=366 * 86400)] = field(
        metadata={ABOUT: "Seconds after which it ends by itself."}
    )
    direction: FrozenDirection = field(
        default=FrozenDirection.BOTH, metadata={ABOUT: "in: the group does not shrink; out: it does not grow."}
    )
    because: Annotated[str, Len(0, 200)] = ""

    async def perform(self, operations: Operations, by: Actor) -> GroupStatus:
        because = " ".join((self.because or by.because).split())
        await operations.freezes.freeze(self.group, self.direction, self.lasts, because=because, by=by.name)
        return operations.group(self.group)


@over("DELETE", "/groups/{group}/freeze", "unfreeze", verb=Verb.PAUSE, on=one_group)
class UnfreezeGroup:
    """End a person's freeze, or only that of one direction. Alerts and declared windows go on."""

    group: GroupId
    direction: FrozenDirection = FrozenDirection.BOTH

    async def perform(self, operations: Operations, by: Actor) -> GroupStatus:
        await operations.freezes.unfreeze(self.group, self.direction, by=by.name)
        return operations.group(self.group)


SizeOperation = (
    ScaleGroup
    | RaiseAlarm
    | ExecutePolicy
    | PauseGroup
    | ResumeGroup
    | PauseFleet
    | ResumeFleet
    | FreezeGroup
    | UnfreezeGroup
)
