"""Requests of people, in the form that the decision queue takes."""

from __future__ import annotations

from config.model.catalogue import Adjustment
from config.units import Moment
from handler.runtime.group_runtime import GroupRuntime
from trigger.requests import Pause, Request, RequestCause
from trigger.verdicts import Direction


def stopping(decisions_only: bool, direction: Direction | None) -> Pause:
    """Return what a pause stops: everything, decisions only, or one direction."""
    if direction is not None:
        return Pause(direction.value)
    return Pause.DECISIONS if decisions_only else Pause.ALL


def request_of(runtime: GroupRuntime, adjustment: Adjustment, now: Moment, *, by: str, force: bool) -> Request:
    """Return a person's request for a size."""
    return Request(
        id=f"person-{by}-{now.wall:.6f}",
        group=runtime.id,
        cause=RequestCause.PERSON,
        by=by,
        adjustment=adjustment,
        quiet_time=runtime.definition.group.quiet_time,
        force=force,
    )
