"""Operations on groups and their declaration: passes, observation, deletion, balancers, rollbacks and rolls."""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Interval, Len

from config.errors import Refused
from config.model.rolling import Allowance
from config.units import BalancerId, GroupId, Instant, PolicyId
from handler.identity.actors import Way
from handler.identity.rights import Verb
from handler.operations.address import ABOUT, FILE, HEADER, installation, one_group, over, shared_resource

if TYPE_CHECKING:
    from handler.engine.assembly import Reloaded
    from handler.identity.actors import Actor
    from handler.operations.facade import Operations
    from handler.operations.outcomes import Shown, Steered
    from handler.planning.plan import Snapshot
    from handler.planning.steps import Plan
    from handler.planning.world import World


@over("POST", "/groups/{group}/converge", "converge", body="ConvergeBody", verb=Verb.CONVERGE, on=one_group)
class ConvergeGroup:
    """Gather and plan, and execute unless ``dry_run``. A person's order also confirms many losses at once."""

    group: GroupId
    dry_run: bool = False

    async def perform(self, operations: Operations, by: Actor) -> Plan:
        return await operations.converge(self.group, dry_run=self.dry_run, by=by.name)


@over("POST", "/groups/{group}/observe", "observe", verb=Verb.EXAMINE, on=one_group)
class ObserveGroup:
    """Gather now and show what the cloud and the balancers list. Changes nothing."""

    group: GroupId

    async def perform(self, operations: Operations, by: Actor) -> World:
        return await operations.observe(self.group)


@over("POST", "/groups/{group}/snapshot", "snapshot", verb=Verb.EXAMINE, on=one_group)
class SnapshotGroup:
    """Gather now and return everything that a pass would plan from. Changes nothing."""

    group: GroupId

    async def perform(self, operations: Operations, by: Actor) -> Snapshot:
        return await operations.snapshot(self.group)


@over("DELETE", "/groups/{group}", "delete", status=202, verb=Verb.DELETE, on=one_group)
class DeleteGroup:
    """Forget an ORPHANED group; with ``members``, empty it first."""

    group: GroupId
    members: bool = False
    if_match: Annotated[str, Len(1, 1000)] | None = field(
        default=None, metadata={HEADER: "If-Match", ABOUT: "Only if the group still has one of these entity tags."}
    )

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.delete(self.group, members=self.members, by=by.name, if_match=self.if_match)
        return {"group": self.group, "deleted": True, "members": self.members}


@over("POST", "/reload", "reload", verb=Verb.TUNE, on=installation)
class ReloadFile:
    """Read the file again: all or nothing."""

    async def perform(self, operations: Operations, by: Actor) -> Reloaded:
        return await operations.reload(by=by.name)


def _without_text(operation: Any) -> str:  # noqa: ANN401  # `ApplyFile`
    """Return the fields of a request as the audit trail keeps them: the text may hold secrets."""
    return json.dumps({"source": operation.source, "bytes": len(operation.text.encode())}, sort_keys=True)


@over("PUT", FILE, "apply", body="FileBody", verb=Verb.TUNE, on=installation, audited=_without_text)
class ApplyFile:
    """Have every daemon over the store go by this file: all or nothing. Only over the unix socket."""

    text: str = field(metadata={ABOUT: "The whole file."})
    source: Annotated[str, Len(1, 1000)] = field(metadata={ABOUT: "What it is called, for messages."})
    dry_run: bool = field(default=False, metadata={ABOUT: "Only say what would change."})

    async def perform(self, operations: Operations, by: Actor) -> Reloaded:
        if by.origin.way is not Way.SOCKET:
            raise Refused("a file names commands that daemons run: apply it over the unix socket (trimtab apply FILE)")
        return await operations.apply(self.text, self.source, by=by.name, dry_run=self.dry_run)


@over(
    "PUT",
    "/groups/{group}/balancers/{balancer}",
    "attach",
    body="AttachBody",
    status=202,
    verb=Verb.TUNE,
    on=shared_resource,
)
class AttachBalancer:
    """Attach all members of a group, present and future, to a balancer, or none of them."""

    group: GroupId
    balancer: BalancerId
    port: Annotated[int, Interval(ge=1, le=65535)]

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        members = await operations.balancers.attach(self.group, self.balancer, self.port, by=by.name)
        return {"group": self.group, "balancer": self.balancer, "port": self.port, "members": members}


@over("DELETE", "/groups/{group}/balancers/{balancer}", "detach", status=202, verb=Verb.TUNE, on=one_group)
class DetachBalancer:
    """Detach a group from a balancer; ``force`` detaches without draining from one that cannot be read."""

    group: GroupId
    balancer: BalancerId
    force: bool = False

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        done = await operations.balancers.detach(self.group, self.balancer, force=self.force, by=by.name)
        warning = {"warning": done.warning} if done.warning else {}
        return {"group": self.group, "balancer": self.balancer, "members": done.members, **warning}


@over(
    "POST", "/groups/{group}/rollback", "rollback", body="RollbackBody", may_be_bare=True, verb=Verb.ROLL, on=one_group
)
class RollBack:
    """Make new members from an earlier revision's profile; without ``to``, from the last that converged."""

    group: GroupId
    to: Annotated[int, Ge(1)] | None = None

    async def perform(self, operations: Operations, by: Actor) -> Steered:
        return await operations.rolling.rollback(self.group, self.to, by=by.name)


@over("DELETE", "/groups/{group}/rollback", "end_rollback", verb=Verb.ROLL, on=one_group)
class EndRollback:
    """Make new members from the file's profile again."""

    group: GroupId

    async def perform(self, operations: Operations, by: Actor) -> Steered:
        return await operations.rolling.end_rollback(self.group, by=by.name)


@over(
    "POST", "/groups/{group}/roll", "roll", body="RollBody", may_be_bare=True, status=202, verb=Verb.ROLL, on=one_group
)
class StartRoll:
    """Replace every member that was not made from the current profile; a budget left out is as declared."""

    group: GroupId
    surge: Allowance | None = None
    unavailable: Allowance | None = None

    async def perform(self, operations: Operations, by: Actor) -> Steered:
        return await operations.rolling.roll(self.group, self.surge, self.unavailable, by=by.name)


@over("DELETE", "/groups/{group}/roll", "stop_roll", verb=Verb.ROLL, on=one_group)
class StopRoll:
    """Stop replacing members."""

    group: GroupId

    async def perform(self, operations: Operations, by: Actor) -> Steered:
        return await operations.rolling.stop_roll(self.group, by=by.name)


_STEPS_AT_MOST = 2880
"""Loads in one request: those of a day."""


def _counted(operation: FillForecast) -> str:
    """Return what the audit trail keeps: not every load."""
    return json.dumps({"since": operation.since, "loads": len(operation.loads)})


@over(
    "POST",
    "/groups/{group}/forecasts/{policy}/loads",
    "fill_forecast",
    body="ForecastLoads",
    audited=_counted,
    verb=Verb.TUNE,
    on=one_group,
)
class FillForecast:
    """Put loads of before under a forecast, which is learned from them when it is learned again.

    A step that was measured keeps its own load.
    """

    group: GroupId
    policy: PolicyId
    since: Annotated[float, Interval(ge=0, le=1e11)] = field(
        metadata={ABOUT: "Seconds since the epoch, in the step of the first load."}
    )
    loads: Annotated[tuple[Annotated[float, Interval(ge=0, le=1e30)] | None, ...], Len(1, _STEPS_AT_MOST)] = field(
        metadata={ABOUT: "One for each 30 seconds, in the unit of the counter; null: not known."}
    )

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        filled = await operations.forecasts.fill(self.group, self.policy, Instant(self.since), self.loads)
        return {"group": self.group, "policy": self.policy, "steps": len(self.loads), "filled": filled}


@over("POST", "/groups/{group}/forecasts/{policy}/learn", "learn_forecast", status=202, verb=Verb.TUNE, on=one_group)
class LearnForecast:
    """Learn a forecast again from all its loads, in the background; the group goes on by what it knows until then."""

    group: GroupId
    policy: PolicyId

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        steps = await operations.forecasts.learn(self.group, self.policy)
        return {"group": self.group, "policy": self.policy, "steps": steps}


GroupOperation = (
    ConvergeGroup
    | ObserveGroup
    | SnapshotGroup
    | DeleteGroup
    | ReloadFile
    | ApplyFile
    | AttachBalancer
    | DetachBalancer
    | RollBack | EndRollback | StartRoll | StopRoll | FillForecast | LearnForecast
)  # fmt: skip
