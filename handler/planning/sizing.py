"""Choose which members leave, and how many are created. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from config.model.catalogue import Victims
from config.units import Instant, MemberName
from handler.planning.context import (
    PlanContext,
    has_served,
    is_held,
    is_shrinking_by,
)
from handler.planning.desired import Limits
from handler.planning.member_resources import assemble, is_late
from handler.planning.membership import Moves
from handler.planning.roles import CHOSEN_TO_LEAVE, COUNTED, MemberRole, Role
from handler.planning.rolling import WORDS, RollBatch, batch, going
from handler.planning.settled import nominees
from handler.planning.steps import Create, MakePart, Step, Wait
from handler.planning.victims import REPLACED_ONE_IS_BACK, VictimPreference, successors
from handler.planning.victims import choose as choose_victims
from handler.planning.world import Leaving, Member

_UNFIT = {Role.BROKEN: Leaving.BROKEN, Role.LATE: Leaving.BUILD_TIMEOUT, Role.UNREADY: Leaving.NOT_READY}

_PARTED = (Role.LEAVING, Role.STUCK, Role.GONE)


_SERVES = (Role.SERVING, Role.FAILING, Role.REPLACING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which members leave, and why; which are only forgotten; how many should leave but are protected."""

    leaving: Mapping[MemberName, Leaving]
    forgotten: frozenset[MemberName]
    missing: int = 0
    """How many more members there should be."""
    rolling: int = 0
    """How many more the roll will replace."""
    returning: int = 0
    """How many replacements leave as soon as the returned members serve again."""
    evened: bool = False
    """There are no more members than desired: no replacement of a returned member is left."""
    kept: int = 0
    unsettled: tuple[MemberRole, ...] = ()
    """Settled members among those that leave."""
    because: Mapping[MemberName, str] = field(default_factory=dict)
    """For surplus and rolled members: why these were chosen, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creations:
    """What is created now; how many more are missing and have to wait, and for what."""

    steps: tuple[Step, ...]
    """`Create`, and the steps before it (`handler.planning.member_resources`)."""
    held: int
    because: Wait
    waits: tuple[Wait, ...] = ()
    """The waits of intended members, one by one."""


def _counts(member_role: MemberRole, context: PlanContext) -> bool:
    seen = member_role[1]
    if seen in CHOSEN_TO_LEAVE:
        return False
    if seen in COUNTED:
        return not _is_given_up(member_role, context)
    if is_held(member_role, context):
        return True
    return is_shrinking_by(member_role, context)


def _is_given_up(member_role: MemberRole, context: PlanContext) -> bool:
    """Return whether the creation of a missing member is given up: too many attempts, or too long a wait."""
    member, seen = member_role
    if seen is not Role.DISPROVED or member.record is None or member.record.given:
        return False
    tried = member.record.create_attempts >= context.limits.create_attempts
    return tried or is_late(member, member.record, context.definition, context.now)


def _is_nothing(member_role: MemberRole) -> bool:
    """Return whether neither a machine nor a part was created for a member, so that it is only forgotten."""
    member, seen = member_role
    return seen is Role.DISPROVED and (member.record is None or not member.record.parts)


def choose(context: PlanContext) -> Choice:
    """Choose the members that leave: unfit ones at once; rolled, surplus and replaced ones when enough is known."""
    if context.desired.deleting:
        return _everyone(context)
    leaving, kept = _unfit(context)
    given_up = [member_role for member_role in context.roles if _is_given_up(member_role, context)]
    forgotten = {member_role[0].name for member_role in given_up if _is_nothing(member_role)}
    leaving.update((member_role[0].name, Leaving.BROKEN) for member_role in given_up if not _is_nothing(member_role))
    counted = [member_role for member_role in context.roles if _counts(member_role, context)]
    if not context.may_choose:
        rolled_ones = 0 if context.desired.roll is None else going(context.roles)
        missing = max(context.target - len(context.settled) - len(counted) - rolled_ones, 0)
        return Choice(leaving=leaving, forgotten=frozenset(forgotten), missing=missing, kept=kept)
    ill = _unhealthy(context, len(context.settled) + len(counted))
    leaving.update(dict.fromkeys(ill, Leaving.UNHEALTHY))
    counted = [member_role for member_role in counted if member_role[0].name not in ill]
    step = _step(context, counted)
    rolled = {member.name for member in step.leaving}
    settled = [member for member in context.settled if member.name not in rolled] if rolled else context.settled
    counted = [member_role for member_role in counted if member_role[0].name not in rolled]
    size, number = context.target + step.above, len(settled) + len(counted)
    turns, returning = _surplus(context, settled, counted, max(number - size, 0))
    nothing = {member_role[0].name for member_role in counted if _is_nothing(member_role)}
    forgotten.update(name for name in turns if name in nothing)
    leaving.update((name, Leaving.REPLACED) for name in rolled)
    leaving.update((name, Leaving.SURPLUS) for name in turns if name not in nothing)
    unsettled = [member for member in context.settled if member.name in leaving] if rolled or turns else []
    leaving.update(_replaced(context, leaving, len(context.settled) - len(unsettled)))
    return Choice(
        leaving=leaving,
        forgotten=frozenset(forgotten),
        missing=max(size - number - step.going, 0),
        rolling=step.remaining,
        returning=returning,
        evened=number <= size,
        kept=kept + step.kept + max(number - size, 0) - len(turns) - returning,
        unsettled=tuple((member, Role.SERVING) for member in unsettled),
        because=turns | dict.fromkeys(rolled, WORDS),
    )


def _unfit(context: PlanContext) -> tuple[dict[MemberName, Leaving], int]:
    """Return the members that leave as unfit, and how many more would if they were not protected."""
    unfit = [
        (member.record, seen)
        for member, seen in context.roles
        if seen in _UNFIT and member.record is not None and not is_held((member, seen), context)
    ]
    leaving = {record.name: _UNFIT[seen] for record, seen in unfit if not record.protected}
    return leaving, len(unfit) - len(leaving)


def _step(context: PlanContext, counted: Sequence[MemberRole]) -> RollBatch:
    """Return the roll's part of this plan; without a roll, nothing."""
    roll, limits = context.desired.roll, context.limits
    if roll is None:
        return RollBatch()
    going = [member_role for member_role in context.roles if member_role[1] is Role.LEAVING]
    can_make = context.may_make and limits.creates > 0 and not _backs_off(limits, context.now)
    return batch(roll, context.target, context.world, context.settled, [*counted, *going], can_make=can_make)


def _surplus(
    context: PlanContext, settled: Sequence[Member], counted: Sequence[MemberRole], surplus: int
) -> tuple[dict[MemberName, str], int]:
    """Return the surplus members in the order in which they leave, with the reason, and how many more leave later.

    Replacements of returned members leave first. During a roll, members of old profiles leave before others.
    """
    first, due = _successors(context, settled, counted, surplus)
    if due:
        settled = [member for member in settled if member.name not in first]
        counted = [member_role for member_role in counted if member_role[0].name not in first]
    rest = surplus - due
    order = context.definition.group.victims if context.desired.roll is None else Victims.OLDEST_PROFILE
    nominated = [(member, Role.SERVING) for member in nominees(settled, rest, order)]
    preference = VictimPreference(order=order, world=context.world, revision=context.desired.revision)
    others = {member.name: why for member, why in choose_victims([*counted, *nominated], rest, preference)}
    return {**first, **others}, due - len(first)


def _successors(
    context: PlanContext, settled: Sequence[Member], counted: Sequence[MemberRole], surplus: int
) -> tuple[dict[MemberName, str], int]:
    """Return the replacements of returned members that leave now, and how many are to leave in all.

    A replacement that serves leaves only when enough others serve.
    """
    back = context.world.losses.back
    lost = [m.record.lost_at for m, _ in counted if m.record is not None and m.record.lost_at is not None]
    lost += back.values()
    if not lost or surplus <= 0:
        return {}, 0
    roles = [*counted, *((member, Role.SERVING) for member in settled)]
    heirs = successors(roles, min(lost), back)[: min(surplus, len(lost))]
    spare = sum(seen in _SERVES and has_served(member) for member, seen in roles) - context.target
    now: dict[MemberName, str] = {}
    for member, seen in heirs:
        if seen not in _SERVES:
            now[member.name] = REPLACED_ONE_IS_BACK
        elif spare > 0:
            spare -= 1
            now[member.name] = REPLACED_ONE_IS_BACK
    return now, len(heirs)


def _unhealthy(context: PlanContext, counted: int) -> frozenset[MemberName]:
    """Return the members that are replaced for their health now; ``counted`` is how many members count now.

    They are replaced in turns, oldest first: never more at once than the budget, members already missing included, and
    only while new ones can be made. A member that a person wants replaced waits for no turn.
    """
    rule = context.definition.group.repair.unhealthy
    if rule is None or context.unproved or not context.may_make:
        return frozenset()
    free = [member for member, _ in context.roles if member.record is not None and not member.record.protected]
    fail = context.checkup.failing | context.checkup.doubted
    ordered = fail & frozenset(context.limits.accept_members)
    due = [member.name for member in free if member.name in context.checkup.due]
    serving = sum(seen in _SERVES and has_served(member) for member, seen in context.roles) + len(context.settled)
    missing = max(context.target - serving, 0)
    makeable = (
        0 if _backs_off(context.limits, context.now) else context.limits.creates - max(context.target - counted, 0)
    )
    turns = len(due) if context.limits.accept_vanished else min(rule.budget(context.target) - missing, makeable)
    return frozenset(due[: max(turns, 0)]) | {member.name for member in free if member.name in ordered}


def _everyone(context: PlanContext) -> Choice:
    if not context.world.complete:
        return Choice(leaving={}, forgotten=frozenset())
    known = [
        member_role
        for member_role in context.roles
        if member_role[0].record is not None and member_role[1] not in _PARTED
    ]
    return Choice(
        leaving={member_role[0].name: Leaving.DELETED for member_role in known if not _is_nothing(member_role)},
        forgotten=frozenset(member_role[0].name for member_role in known if _is_nothing(member_role)),
    )


def _replaced(
    context: PlanContext, leaving: Mapping[MemberName, Leaving], settled: int
) -> Iterator[tuple[MemberName, Leaving]]:
    """Yield the members whose replacement serves: enough others are in service without them.

    ``settled`` is how many of the settled members stay.
    """
    serving = settled + sum(seen is Role.SERVING and member.name not in leaving for member, seen in context.roles)
    for member, seen in context.roles:
        if seen is Role.REPLACING and (serving >= context.target or not has_served(member)):
            yield member.name, Leaving.REPLACED


def creations(context: PlanContext, choice: Choice) -> Creations:
    """Return the creations: disproved intents under their own names, then new members as budgets allow.

    Both only as far as the cloud has headroom. Intents come first, even if their parts are not ready yet.
    """
    again = [
        assemble(member, member.record, context.definition)
        for member, seen in context.roles
        if seen is Role.DISPROVED
        and member.record is not None
        and not member.record.given
        and member.name not in choice.forgotten
        and member.name not in choice.leaving
    ]
    if context.desired.deleting:
        again = []
    missing = max(choice.missing - len(context.world.relisted), 0) if context.may_make else 0
    if _backs_off(context.limits, context.now):
        return Creations(steps=(), held=missing + len(again), because=Wait.BUILD_BACK_OFF)
    if context.limits.full:
        return Creations(steps=(), held=missing + len(again), because=Wait.FULL)
    room, budget = context.limits.headroom, max(context.limits.creates, 0)
    fitting = len(again) if room is None else min(room.members, len(again))
    again = [*again[:fitting], *map(_without_room, again[fitting:])]
    most = budget if room is None else min(budget, room.members - fitting)
    new = min(missing, most)
    steps = (*(step for moves in again for step in moves.steps), *(Create(member=None) for _ in range(new)))
    waits = tuple(wait for moves in again for wait in moves.waits)
    return Creations(
        steps=steps, held=missing - new, because=Wait.BUDGET if most == budget else Wait.QUOTA, waits=waits
    )


def _without_room(moves: Moves) -> Moves:
    """Return the moves of an intended member without those that need headroom, which the cloud does not have."""
    steps = tuple(step for step in moves.steps if not isinstance(step, Create | MakePart))
    return Moves(steps, moves.waits | {Wait.QUOTA})


def _backs_off(limits: Limits, now: Instant) -> bool:
    """Return whether no member is created because builds failed."""
    return limits.back_off_until is not None and now < limits.back_off_until
