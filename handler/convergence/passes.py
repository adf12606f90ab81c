"""The report of one pass of convergence: what it saw, planned, did, and leaves to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from config.causes import REMEDIES, FailureCause
from config.model.catalogue import Mode
from config.units import BalancerId, Instant, Seconds, format_span
from handler.convergence.provisions import Tended
from handler.planning.claims import inventory_of
from handler.planning.desired import Builds, Rolling
from handler.planning.exclusive import occupied
from handler.planning.removals import words_of
from handler.planning.step_outcomes import StepOutcome
from handler.planning.steps import MarkLeaving, Plan, Wait
from handler.planning.world import Member, Phase, Record, World
from handler.ports.stored import Creates, StoredGroup
from trigger.guards.outdated_requests import ListingCheck
from trigger.requests import Pause

_STORE_RETRY: Seconds = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one pass saw, meant to do, did, and leaves behind."""

    world: World
    plan: Plan
    outcomes: tuple[StepOutcome, ...]
    """Of the steps that were begun; those after a failed one of the same member were not."""
    next_in: Seconds | None
    """When to look again; ``None``: nothing is waited for."""
    vanished: tuple[Record, ...]
    """Of members that are gone without having been asked to leave, where desired size is to follow: marked as leaving,
    to be written down in the transaction that lowers it."""
    refused: tuple[Record, ...]
    """Of machines that were given, and that the cloud will not mark: gone, to be written down in the transaction that
    lowers desired size by them."""
    builds: Builds
    """How builds go, this pass included."""
    creates_left: int
    """Creates that the hourly budgets of group and cloud still allow, whichever is less…"""
    hourly: str
    """…and which of them that is, in words."""
    failures: tuple[str, ...]
    """What cannot succeed until a person changes something, or could not be written down."""
    retries: tuple[str, ...]
    """What is tried again, and what could not be seen."""

    inventory: ListingCheck | None = None
    """What was seen, compared with what the store remembers; ``None``: the group is being deleted."""
    bound: bool = True
    """Balancers that were made for the group may still be there: it must not be forgotten yet."""
    returned: tuple[Record, ...] = ()
    """Of members that are back after they had lowered desired size: to be written down in the transaction that raises
    it again."""
    unread: str = ""
    """Why the cloud's quotas, readable before, could not be read; empty: they could, or were not needed."""
    whole: bool = True
    """It was for all members, and not for one alone."""

    @property
    def converged(self) -> bool:
        """Whether there is nothing to do and nothing to wait for, for any member."""
        return self.whole and self.plan.converged

    @property
    def failed_builds(self) -> int:
        """Builds that failed in a row."""
        return self.builds.failed

    @property
    def back_off_until(self) -> Instant | None:
        """Until when nothing is made because builds failed."""
        return self.builds.back_off_until

    @property
    def messages(self) -> tuple[str, ...]:
        """All that went wrong, failures first."""
        return self.failures + self.retries


def with_tended(tended: Tended, done: Pass) -> Pass:
    """Add the state of a group's created balancers to its pass."""
    paces = [pace for pace in (done.next_in, tended.next_in) if pace is not None]
    return replace(
        done,
        failures=(*tended.failures, *done.failures),
        retries=(*tended.retries, *done.retries),
        next_in=min(paces, default=None),
        bound=tended.bound,
    )


def with_obstacles(obstacles: tuple[str, ...], done: Pass) -> Pass:
    """Add the obstacles that the cloud reports to a pass, except those that a failed step reports already."""
    new = [obstacle for obstacle in obstacles if not any(obstacle in message for message in done.messages)]
    return replace(done, retries=(*done.retries, *new))


@dataclass(frozen=True, slots=True, order=True)
class BudgetLeft:
    """What one budget leaves: fewer creates come first."""

    creates: int
    """Never less than 0."""
    words: str
    """Which budget it is, and what it allows."""


def budgets_left(stored: StoredGroup, used: Creates) -> tuple[BudgetLeft, BudgetLeft]:
    """Return what the budgets of a group and its cloud leave: the least of all, and the least of the hourly ones."""
    group, cloud, most = stored.definition.group, stored.definition.cloud.id, stored.granted
    under_way = (
        (most.outstanding, used.cloud_outstanding, f"clouds.{cloud}"),
        (group.budget.outstanding, used.group_outstanding, f"groups.{group.id}"),
    )
    in_an_hour = (
        (most.per_hour, used.cloud_past_hour, f"clouds.{cloud}"),
        (group.budget.per_hour, used.group_past_hour, f"groups.{group.id}"),
    )
    hourly = min(_left(*each, "per_hour", "in an hour") for each in in_an_hour if each[0] is not None)
    at_once = min(_left(*each, "outstanding", "at once") for each in under_way if each[0] is not None)
    return min(hourly, at_once, key=lambda left: left.creates), hourly


def _left(most: int | None, used: int, of: str, key: str, how: str) -> BudgetLeft:
    creates = "creation" if most == 1 else "creations"
    return BudgetLeft(max((most or 0) - used, 0), f"{of}.budget.{key} allows {most} {creates} {how}")


def seen_only(stored: StoredGroup, world: World, planned: Plan, used: Creates) -> Pass:
    """Return a pass that only observed."""
    _, hourly = budgets_left(stored, used)
    unread = [
        balancer_view.because
        for balancer_view in world.balancer_views.values()
        if balancer_view.registrations is None and not balancer_view.not_found
    ]
    return Pass(
        world=world,
        plan=planned,
        outcomes=(),
        next_in=None,
        vanished=(),
        refused=(),
        builds=stored.builds,
        inventory=None if stored.deleting else inventory_of(world, stored.state.desired),
        creates_left=hourly.creates,
        hourly=hourly.words,
        failures=not_found(world),
        retries=(
            *(doubt.words for doubt in planned.doubts),
            *filter(None, [planned.repair_stopped]),
            *unread,
            *_foreign(world),
            *_short_of(world, planned),
            *_braked(planned),
            *words_of(world.members, planned.stuck),
            *_overdue(stored, world, planned),
        ),
    )


def _foreign(world: World) -> Iterator[str]:
    """Yield for each balancer of an exclusive group which foreign machines are registered there."""
    for balancer, view in world.balancer_views.items():
        if view.foreign:
            yield occupied(world.group, balancer, view.foreign)


def not_found(world: World) -> tuple[str, ...]:
    """Return for each balancer that does not exist what that means for members, and what to do."""
    return tuple(
        f"{view.because}; until it is back its members leave without draining there, and {_awaited(balancer, world)}"
        for balancer, view in world.balancer_views.items()
        if view.not_found
    )


def _awaited(balancer: BalancerId, world: World) -> str:
    """Return how many members wait for their first registration at a balancer, in words."""
    records = (member.record for member in world.members if member.record is not None)
    waiting = sum(
        record.phase in {Phase.INTENDED, Phase.MADE} and balancer in dict(record.balancers) for record in records
    )
    if not waiting:
        return "policies do not scale in"
    new = "1 new member waits" if waiting == 1 else f"{waiting} new members wait"
    return f"policies do not scale in; {new} to join it"


def _short_of(world: World, planned: Plan) -> Iterator[str]:
    """Yield which quota stops new members, unless a leaving member frees capacity."""
    chosen = any(isinstance(step, MarkLeaving) for step in planned.steps)
    if planned.quota and not chosen and not any(_makes_room(member, planned) for member in world.members):
        more = dict(planned.waits)[Wait.QUOTA]
        yield f"no room for {more} more: {planned.quota}: {REMEDIES[FailureCause.QUOTA]}"


def _braked(planned: Plan) -> Iterator[str]:
    """Yield which budget limits growth, and how many members wait for it."""
    if planned.budget:
        more = dict(planned.waits)[Wait.BUDGET]
        yield f"{more} more members wait: {planned.budget}; if that is too few, raise it in the file"


def _makes_room(member: Member, planned: Plan) -> bool:
    is_leaving = member.record is not None and member.record.phase is Phase.LEAVING
    return is_leaving and member.name not in planned.stuck


def _overdue(stored: StoredGroup, world: World, planned: Plan) -> Iterator[str]:
    within = format_span(stored.definition.group.build_timeout)
    for member in world.members:
        if member.name in planned.overdue and member.server is not None:
            yield f"{member.name} has been {member.server.raw_state} for longer than {within}"


def halted(done: Pass, message: str) -> Pass:
    """Return a pass that ended early, since the store could not be written."""
    return replace(done, next_in=_STORE_RETRY, failures=(*done.failures, message))


def hands_off(stored: StoredGroup) -> bool:
    """Return whether a group may only be observed, not changed."""
    held = stored.state.orphaned or all_stopped(stored) or stored.definition.group.mode is not Mode.ACT
    return held and not stored.deleting


def all_stopped(stored: StoredGroup) -> bool:
    """Return whether convergence is paused, and not only decisions."""
    return stored.state.stopped is Pause.ALL


def rolling_of(stored: StoredGroup) -> Rolling | None:
    """Return the budgets of the running roll now; ``None``: none runs."""
    if stored.roll is None or not stored.roll.runs or not stored.state.desired or stored.state.older is not None:
        return None
    surge, unavailable = stored.roll.budgets.of(stored.state.desired)
    return Rolling(surge=surge, unavailable=unavailable)
