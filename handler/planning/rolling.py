"""Who leaves next in a roll, and how many there may be meanwhile. Pure.

Nothing is chosen ahead: each pass looks at what everybody is made of. So a roll goes on after a crash as it stood,
stops as soon as it is not wanted any more, and follows a profile that changes under way.

Source: Kubernetes' ``maxSurge`` and ``maxUnavailable`` and CloudFormation's ``MinInstancesInService``; here those that
still leave count as above the desired size too, since they take up the cloud's room.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from config.model.catalogue import Victims
from config.units import MemberName
from handler.planning.desired import Rolling
from handler.planning.roles import COUNTED, Cast, Role
from handler.planning.settled import nominees
from handler.planning.world import Health, Leaving, Member, Phase, World

_REPLACEABLE = (Role.SERVING, Role.PASSING, Role.ARRIVING, Role.BUILDING)
"""Those that serve, or will: a place above the desired size is kept for whoever is to follow them."""

WORDS = "rolled: it is not made of the profile of now"


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBatch:
    """What a roll does in one plan."""

    leaving: tuple[Member, ...] = ()
    """Who leaves now: those that do no work while there are more than desired, and others; the oldest first."""
    above: int = 0
    """How many may count above the desired size."""
    going: int = 0
    """Rolled ones that have not gone yet, those who leave now included: they take up room."""
    remaining: int = 0
    """Members that are still to be replaced after these."""
    kept: int = 0
    """Protected ones, which no roll replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """How far a group is made of the newest profile."""

    current: int
    """Members in service that are."""
    old: int
    """Members that are not, without those that leave already."""
    protected: tuple[MemberName, ...]
    """Of those, whom nothing but a person makes leave."""
    leaving: int = 0
    """Old members that are on their way out, and still there."""
    stuck: tuple[MemberName, ...] = ()
    """Old members that cannot be removed: nothing waits for them."""

    @property
    def remaining(self) -> int:
        """Members that are yet to be replaced."""
        return self.old - len(self.protected)


def is_old(member: Member, profile: str | None) -> bool:
    """Whether a member is known not to be made of this profile, or nobody knows what it is made of.

    While nobody knows what new members are made of, nobody is old.
    """
    return profile is not None and member.record is not None and member.record.profile != profile


def batch(
    roll: Rolling, size: int, world: World, settled: Sequence[Member], casts: Sequence[Cast], *, can_make: bool
) -> RollBatch:
    """Choose who leaves now.

    Never so many leave that fewer than ``size - unavailable`` serve; and where nothing can be made now, none but those
    for whom others serve already. One that is between two states, or fails its health checks, serves nobody: it leaves
    as soon as it is one more than desired, unless too few serve anyway.

    Args:
        roll: the budgets.
        size: how many are desired.
        world: whose profile is that of now.
        settled: members that serve where they should.
        casts: everybody else who stays for all that is known.
        can_make: whether this pass may create anything.
    """
    casts = [(member, Role.PASSING if _fails(member, seen, world) else seen) for member, seen in casts]
    old = [member for member in settled if is_old(member, world.profile)]
    others = [(member, seen) for member, seen in casts if seen in COUNTED and is_old(member, world.profile)]
    serving = len(settled) + sum(seen is Role.SERVING for _, seen in casts)
    counted = len(settled) + sum(seen in COUNTED for _, seen in casts)
    idle = [member for member, seen in others if seen is Role.PASSING]
    at_work = [*old, *(member for member, seen in others if seen is Role.SERVING)]
    most = serving - size + (roll.unavailable if can_make else 0)
    spare = counted - size if most >= 0 else 0
    chosen = (*_oldest(idle, spare), *_oldest(at_work, most))
    free = [seen for member, seen in others if not _is_protected(member)]
    working = sum(not _is_protected(member) for member in old)
    replaceable = working + sum(seen in _REPLACEABLE for seen in free) - len(chosen)
    return RollBatch(
        leaving=chosen,
        above=min(roll.surge, replaceable),
        going=len(chosen) + going(casts),
        remaining=working + len(free) - len(chosen),
        kept=len(old) + len(others) - working - len(free),
    )


def _fails(member: Member, seen: Role, world: World) -> bool:
    """Whether a balancer's health check fails it. Nobody is repaired for that here, so it needs not be believed."""
    if seen is not Role.SERVING:
        return seen is Role.FAILING
    own = ((seating.seats or {}).get(member.name) for seating in world.seatings.values())
    return any(seat is not None and seat.health is Health.FAILING for seat in own)


def _oldest(members: Sequence[Member], most: int) -> Sequence[Member]:
    """The oldest that may leave, at most so many."""
    return sorted(nominees(members, most, Victims.OLDEST), key=_age)[: max(most, 0)]


def going(casts: Sequence[Cast]) -> int:
    """How many of those who were rolled have not gone yet."""
    return sum(map(_is_going, casts))


def rolled(world: World, in_service: Container[MemberName], stuck: Container[MemberName] = ()) -> Rolled:
    """Say how far a roll of this world has come.

    Args:
        world: whose profile is that of now.
        in_service: the members that serve.
        stuck: those whose removal is STUCK.
    """
    every = [member for member in world.members if is_old(member, world.profile)]
    old = [member for member in every if not _is_leaving(member)]
    going = [member.name for member in every if _is_leaving(member)]
    current = (member for member in world.members if member.record is not None and not is_old(member, world.profile))
    return Rolled(
        current=sum(member.name in in_service for member in current),
        old=len(old),
        protected=tuple(member.name for member in old if _is_protected(member)),
        leaving=sum(name not in stuck for name in going),
        stuck=tuple(name for name in going if name in stuck),
    )


def _age(member: Member) -> tuple[int, MemberName]:
    return 0 if member.record is None else member.record.sequence, member.name


def _is_protected(member: Member) -> bool:
    return member.record is not None and member.record.protected


def _is_leaving(member: Member) -> bool:
    return member.record is not None and member.record.phase is Phase.LEAVING


def _is_going(cast: Cast) -> bool:
    """Whether a member was rolled and takes up room; a removal that is STUCK holds up nothing."""
    member, seen = cast
    return seen is Role.LEAVING and member.record is not None and member.record.leaving is Leaving.REPLACED
