"""How many members count, who is to leave, and how many are to be made. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from config.model.catalogue import OnVanish, Victims
from config.model.repair import Repair
from config.units import Instant, MemberName
from handler.planning.desired import Definition, DesiredState, Limits
from handler.planning.evidence import Doubt
from handler.planning.health import Checkup, HealthTerms, checkup
from handler.planning.judgement import LossKind, LossTerms, LossVerdict, judge
from handler.planning.listing_sanity import doubts_of
from handler.planning.member_resources import assemble, is_late
from handler.planning.membership import Moves
from handler.planning.roles import COUNTED, Cast, Role, is_witnessed, role, sequence_of
from handler.planning.rolling import WORDS, RollBatch, batch, going
from handler.planning.settled import nominees, sifted
from handler.planning.steps import Create, MakePart, Step, Wait
from handler.planning.victims import REPLACED_ONE_IS_BACK, Preference, successors
from handler.planning.victims import choose as choose_victims
from handler.planning.world import Leaving, Member, Phase, World

_UNFIT = {Role.BROKEN: Leaving.BROKEN, Role.LATE: Leaving.BUILD_TIMEOUT, Role.UNREADY: Leaving.NOT_READY}

_PARTED = (Role.LEAVING, Role.STUCK, Role.GONE)

_VANISHING = (Role.GONE, Role.DELETING)

_SERVES = (Role.SERVING, Role.FAILING, Role.REPLACING)

_NEVER_BUILT = (Role.GONE, Role.DELETING, Role.BROKEN, Role.LATE, Role.UNREADY)

_LOST = {Role.GONE: LossKind.VANISHED, Role.BROKEN: LossKind.BROKEN, Role.DELETING: LossKind.DELETING}
"""What takes members out of the size. It is believed of one or two; of many at once it needs evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """Everything that a plan is made from, and what follows from it for the group as a whole."""

    desired: DesiredState
    world: World
    definition: Definition
    limits: Limits
    now: Instant
    settled: Sequence[Member]
    """Those that serve where they should (`planning.settled`): they count, and otherwise only the surplus is theirs."""
    casts: tuple[Cast, ...]
    """Everybody else, by sequence."""
    strangers: bool
    """Some bear our mark and are not known: they are taken up before anything is chosen or made."""
    unproved: Mapping[MemberName, LossVerdict]
    """Members that are lost by the cloud's word alone, and why that is not believed: they count as present."""
    believed: frozenset[MemberName]
    """Members of which the loss is believed."""
    doubts: tuple[Doubt, ...]
    """Why the listing is not believed."""
    checkup: Checkup
    """Who fails the health checks of its balancers."""

    @property
    def target(self) -> int:
        """How many must count."""
        return 0 if self.desired.deleting else self.desired.size or 0

    @property
    def may_choose(self) -> bool:
        """Whether enough is known to choose who is surplus."""
        return not (self.doubts or self.strangers or self.unproved or self.world.losses.returning)

    @property
    def may_make(self) -> bool:
        """Whether nobody is there of whom we do not know yet: what seems missing would be made twice."""
        unknown = self.world.untraced and not self.limits.accept_vanished
        return not self.strangers and not unknown


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


def scene_of(desired: DesiredState, world: World, definition: Definition, limits: Limits, now: Instant) -> PlanContext:
    """Give every member its role, and the group what follows from all of them."""
    settled, others = ([], list(world.members)) if desired.deleting else sifted(world)
    members = sorted(others, key=by_sequence)
    casts = tuple((member, _role(member, world, definition, limits, now)) for member in members)
    health = checkup(world, casts, len(settled), _terms(desired, definition, limits, now))
    casts = tuple((member, Role.FAILING if member.name in health.failing else seen) for member, seen in casts)
    verdicts = {} if desired.deleting else _judged(casts, world, definition, limits, now)
    unproved = {name: verdict for name, verdict in verdicts.items() if verdict is not LossVerdict.BELIEVED}
    return PlanContext(
        desired=desired,
        world=world,
        definition=definition,
        limits=limits,
        now=now,
        settled=settled,
        casts=casts,
        strangers=any(member.record is None for member in members),
        unproved=unproved,
        believed=frozenset(verdicts.keys() - unproved.keys()),
        doubts=doubts_of(world, casts, len(settled), definition.group, limits, unproved),
        checkup=health,
    )


def _terms(desired: DesiredState, definition: Definition, limits: Limits, now: Instant) -> HealthTerms | None:
    rule = definition.group.repair.unhealthy
    if rule is None or desired.size is None or desired.deleting:
        return None
    return HealthTerms(rule=rule, at_most=rule.budget(desired.size), accepted=limits.accept_vanished, now=now)


def _role(member: Member, world: World, definition: Definition, limits: Limits, now: Instant) -> Role:
    seen = role(member, world, definition, now)
    return Role.GONE if seen is Role.ABSENT and is_witnessed(member, world, limits, now) else seen


def by_sequence(member: Member) -> tuple[int, MemberName]:
    """The order of members in a plan."""
    return sequence_of(member), member.name


def _judged(
    casts: Iterable[Cast], world: World, definition: Definition, limits: Limits, now: Instant
) -> Mapping[MemberName, LossVerdict]:
    """Judge the members that are lost, but for those that the group's ``repair`` leaves to a person.

    Members that are gone or broken before they ever served are failed builds, which have a brake of their own.
    """
    named = frozenset(limits.accept_members)
    repair = definition.group.repair
    lost: dict[MemberName, LossKind] = {}
    for member, seen in casts:
        record, how = member.record, _LOST.get(seen)
        if record is None or how is None or not (has_served(member) or how is LossKind.DELETING):
            continue
        ordered = limits.accept_vanished or member.name in named
        if ordered or not _leaves_to_a_person(member, seen, repair):
            lost[member.name] = how
    terms = LossTerms(
        now=now,
        interval=definition.group.interval,
        accept_all=limits.accept_vanished,
        accepted=named,
    )
    return judge(lost, world.losses, terms, world.at)


def is_doubted(cast: Cast, scene: PlanContext) -> bool:
    """Whether a member is lost by the cloud's word alone, so that nothing is done about it."""
    return cast[0].name in scene.unproved


def _is_accepted(member: Member, scene: PlanContext) -> bool:
    """Whether a person ordered convergence, of everybody or of this member."""
    return scene.limits.accept_vanished or member.name in scene.limits.accept_members


def is_left(cast: Cast, scene: PlanContext) -> bool:
    """Whether a member is lost in a way that the group's ``repair`` leaves to a person: it counts until then."""
    member, seen = cast
    if scene.desired.deleting or _is_accepted(member, scene):
        return False
    return _leaves_to_a_person(member, seen, scene.definition.group.repair)


def _leaves_to_a_person(member: Member, seen: Role, repair: Repair) -> bool:
    if not has_served(member):
        return seen in _NEVER_BUILT and not repair.unbuilt
    return (seen in _VANISHING and not repair.vanished) or (seen is Role.BROKEN and not repair.broken)


def _counts(cast: Cast, scene: PlanContext) -> bool:
    member, seen = cast
    if seen in COUNTED:
        return not _is_given_up(cast, scene)
    if _is_held(cast, scene):
        return True
    return _shrinks(scene) and seen in _VANISHING and has_served(member)


def _shrinks(scene: PlanContext) -> bool:
    """Whether the size follows members that vanish; while there is none, nobody is gone from it."""
    sized = scene.desired.size is not None and not scene.desired.deleting
    return sized and scene.definition.group.on_vanish is OnVanish.SHRINK


def _is_held(cast: Cast, scene: PlanContext) -> bool:
    return is_doubted(cast, scene) or is_left(cast, scene)


def lowers(cast: Cast, scene: PlanContext) -> bool:
    """Whether a member is proved gone, and desired size is to be lowered by it."""
    member, seen = cast
    return seen is Role.GONE and has_served(member) and _shrinks(scene) and not _is_held(cast, scene)


def has_served(member: Member) -> bool:
    """Whether a member is known to have come into service (and not chosen to leave since)."""
    return member.record is not None and member.record.phase is Phase.IN_SERVICE


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


def is_given(member: Member) -> bool:
    """Whether a person gave it to the group: it is marked, never made."""
    return member.record is not None and member.record.given


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
        if seen in _UNFIT and member.record is not None and not _is_held((member, seen), scene)
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
