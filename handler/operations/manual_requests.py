"""What a person asks for, as the door takes it."""

from __future__ import annotations

from config.model.catalogue import Adjustment
from config.units import Moment
from handler.runtime.group_runtime import GroupRuntime
from trigger.requests import Pause, Request, RequestCause
from trigger.verdicts import Direction


def stopping(decisions_only: bool, direction: Direction | None) -> Pause:
    """What a pause stops: everything, decisions only, or one direction."""
    if direction is not None:
        return Pause(direction.value)
    return Pause.DECISIONS if decisions_only else Pause.ALL


def wish_of(room: GroupRuntime, adjustment: Adjustment, now: Moment, *, by: str, force: bool) -> Request:
    """What a person wants the size to be."""
    return Request(
        id=f"person-{by}-{now.wall:.6f}",
        group=room.id,
        cause=RequestCause.PERSON,
        by=by,
        adjustment=adjustment,
        quiet_time=room.definition.group.quiet_time,
        force=force,
    )
