"""A policy that somebody outside has carried out: the request that it becomes."""

from __future__ import annotations

from config.errors import Refused
from config.model.adjustments import outright
from config.model.catalogue import Catalogue, Group
from config.model.schedules import ScheduledLimit
from config.units import PolicyId
from handler.operations.outcomes import NoSuch
from trigger.policies.schedules import schedule_named
from trigger.requests import Request, RequestCause


def executable(group: Group) -> tuple[PolicyId, ...]:
    """The names under which a group's policies can be carried out."""
    return (*group.policies, *(schedule.id for schedule in group.schedules))


def requested(catalogue: Catalogue, group: Group, policy: PolicyId, *, id: str, by: str) -> Request:
    """Ask for what one of the group's policies would do, whether or not its conditions hold or its time has come.

    Raises:
        Refused: there is nothing that could be carried out once.
        NoSuch: it is no longer declared.
    """
    declared = schedule_named(group, policy) or catalogue.policies.get(policy)
    if isinstance(declared, ScheduledLimit):
        kind = declared.limit.value
        raise Refused(f"policy {policy} is a {kind} by schedule: it stands or does not, and nothing is carried out")
    if declared is None:
        raise NoSuch(f"policy {policy} is no longer declared: group {group.id} is orphaned")
    adjustment = outright(declared.adjustment)
    if adjustment is None:
        raise Refused(f"policy {policy} follows a target: only what is measured says how many; use scale")
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
