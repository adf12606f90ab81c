"""Requests of people and of outside triggers, in the form that the decision queue takes."""

from __future__ import annotations

import asyncio

from config.errors import Refused
from config.model.adjustments import outright
from config.model.catalogue import Adjustment, Catalogue, Group
from config.model.schedules import ScheduledLimit
from config.units import Moment, PolicyId
from handler.engine.engine import Engine
from handler.operations.lookup import NoSuch
from handler.operations.size_tags import expected_revision
from handler.runtime.group_runtime import GroupRuntime
from trigger.policies.schedules import schedule_named
from trigger.requests import Decision, Pause, Request, RequestCause
from trigger.verdicts import Direction


def stopping(decisions_only: bool, direction: Direction | None) -> Pause:
    """Return what a pause stops: everything, decisions only, or one direction."""
    if direction is not None:
        return Pause(direction.value)
    return Pause.DECISIONS if decisions_only else Pause.ALL


def request_of(
    runtime: GroupRuntime, adjustment: Adjustment, now: Moment, *, by: str, force: bool, if_match: str | None = None
) -> Request:
    """Return a person's request for a size; ``if_match`` names the size that the person has read."""
    return Request(
        id=f"person-{by}-{now.wall:.6f}",
        group=runtime.id,
        cause=RequestCause.PERSON,
        by=by,
        adjustment=adjustment,
        quiet_time=runtime.definition.group.quiet_time,
        force=force,
        expects=expected_revision(if_match, runtime.state.revision, runtime.state.desired),
    )


def refuse_late(decision: Decision, request: Request, act: str) -> None:
    """Refuse what would have had to wait for the group's turn in its service: a turn keeps no member.

    Raises:
        Refused: the decision was made without the request (`handler.runtime.decision_task.at_once`).
    """
    if all(answer.request.id != request.id for answer in decision.answers):
        raise Refused(f"another group of the service scales first: {act} after it, or use --force")


async def refuse_forced(engine: Engine, runtime: GroupRuntime, size: int, act: str, by: str) -> None:
    """Refuse a size that the account's quota has no room for, which the group's history tells.

    Raises:
        Refused: with the greatest size that can be forced.
    """
    try:
        engine.quotas.refuse_forced(runtime, size)
    except Refused as error:
        now, note = engine.parts.clock().wall, engine.parts.store.note
        await asyncio.to_thread(note, runtime.id, act, by, f"refused: {error}", now)
        raise


def executable(group: Group) -> tuple[PolicyId, ...]:
    """Return the names of a group's policies and schedules, all of which can be executed."""
    return (*group.policies, *(schedule.id for schedule in group.schedules))


def requested(catalogue: Catalogue, group: Group, policy: PolicyId, *, id: str, by: str) -> Request:
    """Return the request of one of the group's policies, whatever its conditions and the time say.

    Raises:
        Refused: the policy makes no single change that could be executed.
        NoSuch: it is no longer declared.
    """
    declared = schedule_named(group, policy) or catalogue.policies.get(policy)
    if isinstance(declared, ScheduledLimit):
        kind = declared.limit.value
        raise Refused(f"policy {policy} is a {kind} by schedule: it holds for its whole span and cannot be executed")
    if declared is None:
        raise NoSuch(f"policy {policy} is no longer declared: group {group.id} is orphaned")
    adjustment = outright(declared.adjustment)
    if adjustment is None:
        raise Refused(f"policy {policy} tracks a target, so its size comes from measurements alone; use scale")
    return Request(
        id=id,
        group=group.id,
        cause=RequestCause.ALARM,
        by=by,
        adjustment=adjustment,
        policy=policy,
        quiet_time=declared.quiet_time,
        quiet_scope=declared.quiet_scope,
    )
