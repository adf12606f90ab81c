"""Choose which members leave, and how many are created. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from config.model.catalogue import Victims
from config.units import Instant, MemberName
from handler.planning.context import (
    VANISHING,
    PlanContext,
    has_served,
    is_held,
    is_shrinking,
)
from handler.planning.desired import Limits
from handler.planning.member_resources import assemble, is_late
from handler.planning.membership import Moves
from handler.planning.roles import COUNTED, Cast, Role
from handler.planning.rolling import WORDS, RollBatch, batch, going
from handler.planning.settled import nominees
from handler.planning.steps import Create, MakePart, Step, Wait
from handler.planning.victims import REPLACED_ONE_IS_BACK, Preference, successors
from handler.planning.victims import choose as choose_victims
from handler.planning.world import Leaving, Member

_UNFIT = {Role.BROKEN: Leaving.BROKEN, Role.LATE: Leaving.BUILD_TIMEOUT, Role.UNREADY: Leaving.NOT_READY}

_PARTED = (Role.LEAVING, Role.STUCK, Role.GONE)


_SERVES = (Role.SERVING, Role.FAILING, Role.REPLACING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Who is to leave, and why; who need only be forgotten; how many ought to leave and are protected."""

    leaving: Mapping[MemberName, Leaving]
    forgotten: frozenset[MemberName]
    missing: int = 0
    """How many more there are to be."""
    rolling: int = 0
    """How many more a roll is to replace."""
    returning: int = 0
    """How many more leave as soon as members that are back serve again."""
    evened: bool = False
    """There are as many as there are to be, or fewer: nothing is left of members that were back."""
    kept: int = 0
    unsettled: tuple[Cast, ...] = ()
    """Settled members among those that are to leave."""
    because: Mapping[MemberName, str] = field(default_factory=dict)
    """Of those who are surplus or rolled: why these, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creations:
    """What is to be made now; how many more are missing and held back, and by what."""

    steps: tuple[Step, ...]
    """`Create`, and what members need before it (`handler.planning.member_resources`)."""
    held: int
    because: Wait
    waits: tuple[Wait, ...] = ()
    """What intended members wait for, one by one."""


def _counts(cast: Cast, scene: PlanContext) -> bool:
    member, seen = cast
    if seen in COUNTED:
        return not _is_given_up(cast, scene)
    if is_held(cast, scene):
        return True
    return is_shrinking(scene) and seen in VANISHING and has_served(member)


def _is_given_up(cast: Cast, scene: PlanContext) -> bool:
    """Whether too much has been tried, or waited for, to make a member that is not there."""
    member, seen = cast
    if seen is not Role.DISPROVED or member.record is None or member.record.given:
        return False
    tried = member.record.create_attempts >= scene.limits.create_attempts
    return tried or is_late(member, member.record, scene.definition, scene.now)


def _is_nothing(cast: Cast) -> bool:
    """Whether neither a machine nor a part was made for a member, so that it need only be forgotten."""
    member, seen = cast
    return seen is Role.DISPROVED and (member.record is None or not member.record.parts)


def choose(scene: PlanContext) -> Choice:
    """Say who is to leave: the unfit at once; rolled, surplus and replaced ones when enough is known to choose."""
    if scene.desired.deleting:
        return _everyone(scene)
    leaving, kept = _unfit(scene)
    given_up = [cast for cast in scene.casts if _is_given_up(cast, scene)]
    forgotten = {cast[0].name for cast in given_up if _is_nothing(cast)}
    leaving.update((cast[0].name, Leaving.BROKEN) for cast in given_up if not _is_nothing(cast))
    counted = [cast for cast in scene.casts if _counts(cast, scene)]
    if not scene.may_choose:
        rolled_ones = 0 if scene.desired.roll is None else going(scene.casts)
        missing = max(scene.target - len(scene.settled) - len(counted) - rolled_ones, 0)
        return Choice(leaving=leaving, forgotten=frozenset(forgotten), missing=missing, kept=kept)
    ill = _unhealthy(scene, len(scene.settled) + len(counted))
    leaving.update(dict.fromkeys(ill, Leaving.UNHEALTHY))
    counted = [cast for cast in counted if cast[0].name not in ill]
    step = _step(scene, counted)
    rolled = {member.name for member in step.leaving}
    settled = [member for member in scene.settled if member.name not in rolled] if rolled else scene.settled
    counted = [cast for cast in counted if cast[0].name not in rolled]
    size, number = scene.target + step.above, len(settled) + len(counted)
    turns, returning = _surplus(scene, settled, counted, max(number - size, 0))
    nothing = {cast[0].name for cast in counted if _is_nothing(cast)}
    forgotten.update(name for name in turns if name in nothing)
    leaving.update((name, Leaving.REPLACED) for name in rolled)
    leaving.update((name, Leaving.SURPLUS) for name in turns if name not in nothing)
    unsettled = [member for member in scene.settled if member.name in leaving] if rolled or turns else []
    leaving.update(_replaced(scene, leaving, len(scene.settled) - len(unsettled)))
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


def _unfit(scene: PlanContext) -> tuple[dict[MemberName, Leaving], int]:
    """Who leaves because it is of no use, and how many more would if they were not protected."""
    unfit = [
        (member.record, seen)
        for member, seen in scene.casts
        if seen in _UNFIT and member.record is not None and not is_held((member, seen), scene)
    ]
    leaving = {record.name: _UNFIT[seen] for record, seen in unfit if not record.protected}
    return leaving, len(unfit) - len(leaving)


def _step(scene: PlanContext, counted: Sequence[Cast]) -> RollBatch:
    """What a roll does now; without one, nothing."""
    roll, limits = scene.desired.roll, scene.limits
    if roll is None:
        return RollBatch()
    going = [cast for cast in scene.casts if cast[1] is Role.LEAVING]
    can_make = scene.may_make and limits.creates > 0 and not _backs_off(limits, scene.now)
    return batch(roll, scene.target, scene.world, scene.settled, [*counted, *going], can_make=can_make)


def _surplus(
    scene: PlanContext, settled: Sequence[Member], counted: Sequence[Cast], surplus: int
) -> tuple[dict[MemberName, str], int]:
    """Say which members are too many and why, in the order in which they leave, and how many more leave a little later.

    What was made in the place of members that are back goes first. During a roll the old ones go first among others.
    """
    first, due = _successors(scene, settled, counted, surplus)
    if due:
        settled = [member for member in settled if member.name not in first]
        counted = [cast for cast in counted if cast[0].name not in first]
    rest = surplus - due
    order = scene.definition.group.victims if scene.desired.roll is None else Victims.OLDEST_PROFILE
    nominated = [(member, Role.SERVING) for member in nominees(settled, rest, order)]
    preference = Preference(order=order, world=scene.world, revision=scene.desired.revision)
    others = {member.name: why for member, why in choose_victims([*counted, *nominated], rest, preference)}
    return {**first, **others}, due - len(first)


def _successors(
    scene: PlanContext, settled: Sequence[Member], counted: Sequence[Cast], surplus: int
) -> tuple[dict[MemberName, str], int]:
    """Say which of those leave now that were made in the place of members that are back, and how many are to leave.

    One that serves leaves only when enough others serve.
    """
    back = scene.world.losses.back
    lost = [m.record.lost_at for m, _ in counted if m.record is not None and m.record.lost_at is not None]
    lost += back.values()
    if not lost or surplus <= 0:
        return {}, 0
    casts = [*counted, *((member, Role.SERVING) for member in settled)]
    heirs = successors(casts, min(lost), back)[: min(surplus, len(lost))]
    spare = sum(seen in _SERVES and has_served(member) for member, seen in casts) - scene.target
    now: dict[MemberName, str] = {}
    for member, seen in heirs:
        if seen not in _SERVES:
            now[member.name] = REPLACED_ONE_IS_BACK
        elif spare > 0:
            spare -= 1
            now[member.name] = REPLACED_ONE_IS_BACK
    return now, len(heirs)


def _unhealthy(scene: PlanContext, counted: int) -> frozenset[MemberName]:
    """Say who is replaced for its health now. The settled are none of them; ``counted`` is how many count now.

    They go in turns, oldest first: so many that, with those who are missing already, no more than the budget are out of
    work; and only while others can be made. What a person ordered waits for no turn.
    """
    rule = scene.definition.group.repair.unhealthy
    if rule is None or scene.unproved or not scene.may_make:
        return frozenset()
    free = [member for member, _ in scene.casts if member.record is not None and not member.record.protected]
    fail = scene.checkup.failing | scene.checkup.doubted
    ordered = fail & frozenset(scene.limits.accept_members)
    due = [member.name for member in free if member.name in scene.checkup.due]
    serving = sum(seen in _SERVES and has_served(member) for member, seen in scene.casts) + len(scene.settled)
    missing = max(scene.target - serving, 0)
    makeable = 0 if _backs_off(scene.limits, scene.now) else scene.limits.creates - max(scene.target - counted, 0)
    turns = len(due) if scene.limits.accept_vanished else min(rule.budget(scene.target) - missing, makeable)
    return frozenset(due[: max(turns, 0)]) | {member.name for member in free if member.name in ordered}


def _everyone(scene: PlanContext) -> Choice:
    if not scene.world.complete:
        return Choice(leaving={}, forgotten=frozenset())
    known = [cast for cast in scene.casts if cast[0].record is not None and cast[1] not in _PARTED]
    return Choice(
        leaving={cast[0].name: Leaving.DELETED for cast in known if not _is_nothing(cast)},
        forgotten=frozenset(cast[0].name for cast in known if _is_nothing(cast)),
    )


def _replaced(
    scene: PlanContext, leaving: Mapping[MemberName, Leaving], settled: int
) -> Iterator[tuple[MemberName, Leaving]]:
    """Yield the members whose replacement has come: enough others are in service without them.

    ``settled`` is how many of the settled members stay.
    """
    serving = settled + sum(seen is Role.SERVING and member.name not in leaving for member, seen in scene.casts)
    for member, seen in scene.casts:
        if seen is Role.REPLACING and (serving >= scene.target or not has_served(member)):
            yield member.name, Leaving.REPLACED


def creations(scene: PlanContext, choice: Choice) -> Creations:
    """Make what is missing: open intents that were disproved under their own names, the rest as budgets allow.

    Both only as far as the cloud has headroom. Intents come first in it, also those whose parts are not ready yet.
    """
    again = [
        assemble(member, member.record, scene.definition)
        for member, seen in scene.casts
        if seen is Role.DISPROVED
        and member.record is not None
        and not member.record.given
        and member.name not in choice.forgotten
        and member.name not in choice.leaving
    ]
    if scene.desired.deleting:
        again = []
    missing = max(choice.missing - len(scene.world.relisted), 0) if scene.may_make else 0
    if _backs_off(scene.limits, scene.now):
        return Creations(steps=(), held=missing + len(again), because=Wait.BUILD_BACK_OFF)
    if scene.limits.full:
        return Creations(steps=(), held=missing + len(again), because=Wait.FULL)
    room, budget = scene.limits.headroom, max(scene.limits.creates, 0)
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
    """What is still done for an intended member for whom the cloud has no headroom: nothing that takes of it."""
    steps = tuple(step for step in moves.steps if not isinstance(step, Create | MakePart))
    return Moves(steps, moves.waits | {Wait.QUOTA})


def _backs_off(limits: Limits, now: Instant) -> bool:
    """Whether nothing is made because builds failed."""
    return limits.back_off_until is not None and now < limits.back_off_until
