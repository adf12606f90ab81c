"""What a plan is made from: the role of each member, and what follows from all of them for the group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap
from operator import lt

from config.model.catalogue import OnVanish
from config.model.repair import Repair
from config.units import Instant, MemberName
from handler.planning.desired import Definition, DesiredState, Limits
from handler.planning.evidence import Doubt
from handler.planning.health import Checkup, HealthTerms, checkup
from handler.planning.judgement import LossKind, LossTerms, LossVerdict, judge
from handler.planning.listing_sanity import doubts_of
from handler.planning.roles import MemberRole, Role, is_witnessed, role, sequence_of
from handler.planning.settled import sifted
from handler.planning.world import Leaving, Member, Phase, World

VANISHING = (Role.GONE, Role.DELETING)


_NEVER_BUILT = (Role.GONE, Role.DELETING, Role.BROKEN, Role.LATE, Role.UNREADY)


_LOST = {Role.GONE: LossKind.VANISHED, Role.BROKEN: LossKind.BROKEN, Role.DELETING: LossKind.DELETING}
"""Losses that take members out of the size: believed for one or two at once, only with evidence for many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """Hold everything that a plan is made from, and what follows from it for the group as a whole."""

    desired: DesiredState
    world: World
    definition: Definition
    limits: Limits
    now: Instant
    settled: Sequence[Member]
    """Members that serve where they should (`planning.settled`): they count, and need no step unless surplus."""
    roles: tuple[MemberRole, ...]
    """All other members, by sequence."""
    unrecorded: bool
    """Some machines bear our mark and have no record: they become members again before any is chosen or created."""
    unproved: Mapping[MemberName, LossVerdict]
    """Members that only the cloud reports as lost, and why that is not believed: they count as present."""
    believed: frozenset[MemberName]
    """Members whose loss is believed."""
    doubts: tuple[Doubt, ...]
    """Why the listing is not believed."""
    checkup: Checkup
    """Which members fail the health checks of their balancers."""

    @property
    def target(self) -> int:
        """How many members the group must have."""
        return 0 if self.desired.deleting else self.desired.size or 0

    @property
    def may_choose(self) -> bool:
        """Whether enough is known to choose surplus members."""
        return not (self.doubts or self.unrecorded or self.unproved or self.world.losses.returning)

    @property
    def may_make(self) -> bool:
        """Whether every existing member is known: otherwise a member that only seems missing would be created twice."""
        unknown = self.world.untraced and not self.limits.accept_vanished
        return not self.unrecorded and not unknown


def context_of(
    desired: DesiredState, world: World, definition: Definition, limits: Limits, now: Instant
) -> PlanContext:
    """Return the role of every member, and what follows from all of them for the group."""
    settled, others = ([], list(world.members)) if desired.deleting else sifted(world)
    members = in_order(others)
    roles = tuple([(member, _role(member, world, definition, limits, now)) for member in members])
    health = checkup(world, roles, len(settled), _terms(desired, definition, limits, now))
    if health.failing:
        roles = tuple((member, Role.FAILING if member.name in health.failing else seen) for member, seen in roles)
    verdicts = {} if desired.deleting else _judged(roles, world, definition, limits, now)
    unproved = {name: verdict for name, verdict in verdicts.items() if verdict is not LossVerdict.BELIEVED}
    return PlanContext(
        desired=desired,
        world=world,
        definition=definition,
        limits=limits,
        now=now,
        settled=settled,
        roles=roles,
        unrecorded=any(member.record is None for member in members),
        unproved=unproved,
        believed=frozenset(verdicts.keys() - unproved.keys()),
        doubts=doubts_of(world, roles, len(settled), definition.group, limits, unproved),
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


def in_order(members: list[Member]) -> list[Member]:
    """Return members by sequence and name. A world is gathered in this order, and then nothing is left to sort."""
    sequences = [sequence_of(member) for member in members]
    return members if all(starmap(lt, pairwise(sequences))) else sorted(members, key=by_sequence)


def by_sequence(member: Member) -> tuple[int, MemberName]:
    """Return the sort key of members in a plan."""
    return sequence_of(member), member.name


def _judged(
    roles: Iterable[MemberRole], world: World, definition: Definition, limits: Limits, now: Instant
) -> Mapping[MemberName, LossVerdict]:
    """Judge the lost members, except those that the group's ``repair`` leaves to a person.

    Members that were lost before they ever served are failed builds, which have a back-off of their own.
    """
    named = frozenset(limits.accept_members)
    repair = definition.group.repair
    lost: dict[MemberName, LossKind] = {}
    for member, seen in roles:
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


def is_doubted(member_role: MemberRole, context: PlanContext) -> bool:
    """Return whether only the cloud reports the member as lost, so that no step follows from it."""
    return member_role[0].name in context.unproved


def _is_accepted(member: Member, context: PlanContext) -> bool:
    """Return whether a person ordered convergence, of the group or of this member."""
    return context.limits.accept_vanished or member.name in context.limits.accept_members


def is_left(member_role: MemberRole, context: PlanContext) -> bool:
    """Return whether the group's ``repair`` leaves this kind of loss to a person: the member counts until then."""
    member, seen = member_role
    if context.desired.deleting or _is_accepted(member, context):
        return False
    return _leaves_to_a_person(member, seen, context.definition.group.repair)


def _leaves_to_a_person(member: Member, seen: Role, repair: Repair) -> bool:
    if not has_served(member):
        return seen in _NEVER_BUILT and not repair.unbuilt
    return (seen in VANISHING and not repair.vanished) or (seen is Role.BROKEN and not repair.broken)


def is_shrinking(context: PlanContext) -> bool:
    """Return whether members that vanish lower the desired size (``on_vanish: shrink``, and a size is set)."""
    sized = context.desired.size is not None and not context.desired.deleting
    return sized and context.definition.group.on_vanish is OnVanish.SHRINK


def is_held(member_role: MemberRole, context: PlanContext) -> bool:
    """Return whether a lost member counts until there is evidence, or until a person orders convergence."""
    return is_doubted(member_role, context) or is_left(member_role, context)


def lowers(member_role: MemberRole, context: PlanContext) -> bool:
    """Return whether a member is proved gone and lowers the desired size."""
    return member_role[1] is Role.GONE and is_shrinking_by(member_role, context) and not is_held(member_role, context)


def is_shrinking_by(member_role: MemberRole, context: PlanContext) -> bool:
    """Return whether a member that vanishes lowers the desired size: not one whose replacement a person ordered."""
    member, seen = member_role
    is_replaced = member.record is not None and member.record.leaving is Leaving.REPLACED
    return is_shrinking(context) and seen in VANISHING and has_served(member) and not is_replaced


def has_served(member: Member) -> bool:
    """Return whether a member came into service, and was not chosen to leave since."""
    return member.record is not None and member.record.phase is Phase.IN_SERVICE


def is_given(member: Member) -> bool:
    """Return whether a person gave the member to the group: it is marked, never created."""
    return member.record is not None and member.record.given
