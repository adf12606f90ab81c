"""What a plan is made from: the role of each member, and what follows from all of them for the group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from config.model.catalogue import OnVanish
from config.model.repair import Repair
from config.units import Instant, MemberName
from handler.planning.desired import Definition, DesiredState, Limits
from handler.planning.evidence import Doubt
from handler.planning.health import Checkup, HealthTerms, checkup
from handler.planning.judgement import LossKind, LossTerms, LossVerdict, judge
from handler.planning.listing_sanity import doubts_of
from handler.planning.roles import Cast, Role, is_witnessed, role, sequence_of
from handler.planning.settled import sifted
from handler.planning.world import Member, Phase, World

VANISHING = (Role.GONE, Role.DELETING)


_NEVER_BUILT = (Role.GONE, Role.DELETING, Role.BROKEN, Role.LATE, Role.UNREADY)


_LOST = {Role.GONE: LossKind.VANISHED, Role.BROKEN: LossKind.BROKEN, Role.DELETING: LossKind.DELETING}
"""What takes members out of the size. It is believed of one or two; of many at once it needs evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """Hold everything that a plan is made from, and what follows from it for the group as a whole."""

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
    return (seen in VANISHING and not repair.vanished) or (seen is Role.BROKEN and not repair.broken)


def is_shrinking(scene: PlanContext) -> bool:
    """Whether the size follows members that vanish; while there is none, nobody is gone from it."""
    sized = scene.desired.size is not None and not scene.desired.deleting
    return sized and scene.definition.group.on_vanish is OnVanish.SHRINK


def is_held(cast: Cast, scene: PlanContext) -> bool:
    """Return whether a lost member counts until there is evidence, or until a person orders convergence."""
    return is_doubted(cast, scene) or is_left(cast, scene)


def lowers(cast: Cast, scene: PlanContext) -> bool:
    """Whether a member is proved gone, and desired size is to be lowered by it."""
    member, seen = cast
    return seen is Role.GONE and has_served(member) and is_shrinking(scene) and not is_held(cast, scene)


def has_served(member: Member) -> bool:
    """Whether a member is known to have come into service (and not chosen to leave since)."""
    return member.record is not None and member.record.phase is Phase.IN_SERVICE


def is_given(member: Member) -> bool:
    """Whether a person gave it to the group: it is marked, never made."""
    return member.record is not None and member.record.given
