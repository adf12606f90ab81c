"""Groups that a pass left with nothing to do, and whether a shared inventory shows them as they were. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from types import MappingProxyType

from config.units import GroupId, Instant, MemberName
from handler.convergence.inventory import Inventory
from handler.convergence.passes import Pass, hands_off
from handler.planning.desired import Definition
from handler.planning.steps import Create, Plan, Wait
from handler.planning.world import Member, Phase, Server, ServerState
from handler.ports.stored import Creates, StoredGroup
from trigger.requests import GroupState

_seen_by_passes = attrgetter(*(field.name for field in fields(GroupState) if field.name != "signals"))
"""All of a state but alerts that last: they change decisions, not passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGroup:
    """What the last pass of a group went by: while all of it stays, another pass would find nothing to do either."""

    group: GroupId
    since: Instant
    """When that pass began to gather."""
    definition: Definition
    state: GroupState
    servers: Mapping[MemberName, Server]
    """The machines that it saw: one for each member, and no other."""
    hourly: int
    """Creations that the cloud's budget allows in an hour."""

    def goes_by(self, state: GroupState) -> bool:
        """Return whether a pass would go by the same state."""
        return state is self.state or _seen_by_passes(state) == _seen_by_passes(self.state)

    def has_room(self, used: Creates) -> bool:
        """Return whether the cloud's hourly budget can still not limit a decision of this group."""
        return self.hourly - used.cloud_past_hour >= self.definition.group.maximum


class IdleState(enum.Enum):
    """What an inventory says about an idle group."""

    SAME = "same"
    OTHER = "other"
    """Anything at all differs: the group has to look for itself."""
    SILENT = "silent"
    """Nothing: it is partial, or was asked for before the group's last pass."""


def idle_group(stored: StoredGroup, done: Pass) -> IdleGroup | None:
    """Return what a group rests on after a pass; ``None``: the next pass may have something to do or to report.

    Only the plainest case counts: every member is in service and runs, nothing waits, fails, or is to be retried, no
    balancer has to be read, and no budget is near its end. Everything else goes on to make a pass each interval.
    """
    world, group = done.world, stored.definition.group
    as_planned = (
        done.whole and _rests(stored, done.plan) and world.complete and not done.messages and done.next_in is None
    )
    moved = (*done.outcomes, *done.vanished, *done.refused, *done.returned, *world.untraced, *world.relisted)
    rolls = stored.roll is not None and stored.roll.runs
    waits = stored.deleting or stored.state.orphaned or stored.state.older is not None or rolls
    if not as_planned or moved or waits:
        return None
    if stored.definition.balancers or world.balancer_views or done.creates_left < group.maximum:
        return None
    if not all(_is_settled(member) for member in world.members):
        return None
    return IdleGroup(
        group=stored.id,
        since=world.at,
        definition=stored.definition,
        state=stored.state,
        servers=MappingProxyType({m.name: m.server for m in world.members if m.server is not None}),
        hourly=stored.granted.per_hour,
    )


def _rests(stored: StoredGroup, plan: Plan) -> bool:
    """Return whether a plan leaves nothing to do. Mode ``advise`` gives a group no size, and it needs none."""
    if stored.state.desired is not None:
        return plan.converged
    return hands_off(stored) and not plan.steps and all(wait is Wait.NO_DESIRED for wait, _ in plan.waits)


def grows_only(plan: Plan) -> bool:
    """Return whether a plan creates new members and does nothing else, so that a listing may be some time old."""
    creates = all(isinstance(step, Create) and step.member is None for step in plan.steps)
    return bool(plan.steps) and creates and not (plan.doubts or plan.vanished or plan.returned)


def idle_state(idle: IdleGroup, inventory: Inventory) -> IdleState:
    """Compare a group with an inventory."""
    if not inventory.complete or inventory.asked_at < idle.since:
        return IdleState.SILENT
    servers = inventory.of(idle.group)
    same = len(servers) == len(idle.servers) and all(idle.servers.get(each.name) == each for each in servers)
    return IdleState.SAME if same else IdleState.OTHER


def _is_settled(member: Member) -> bool:
    record, server = member.record, member.server
    if record is None or server is None or server.state is not ServerState.RUNNING:
        return False
    changes = record.attempts or record.detaching or record.balancers or member.lacking
    return record.phase is Phase.IN_SERVICE and record.absent_at is None and record.lost_at is None and not changes
