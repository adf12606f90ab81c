"""Who leaves next in a roll, and how many there may be meanwhile. Pure.

Nothing is chosen ahead: each pass looks at what everybody is made of. So a roll goes on after a crash as it stood,
stops as soon as it is not wanted any more, and follows a profile that changes under way.

Source: Kubernetes' ``maxSurge`` and ``maxUnavailable`` and CloudFormation's ``MinInstancesInService``; here those that
still leave count as above the desired size too, since they take up the cloud's room.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from config.model import Victims
from config.units import MemberName
from handler.desired import Rolling
from handler.roles import COUNTED, Cast, Role
from handler.settled import nominees
from handler.world import Leaving, Member, World

_REPLACEABLE = (Role.SERVING, Role.PASSING, Role.ARRIVING, Role.BUILDING)
"""Those that serve, or will: a place above the desired size is kept for whoever is to follow them."""

_STUCK = 10
"""Removals of one member that failed: it is no longer waited for, or it would hold up repairs as well."""

WORDS = "rolled: it is not made of the profile of now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a roll does in one plan."""

    leaving: tuple[Cast, ...] = ()
    """Who leaves now, the oldest first: all of them serve."""
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
    """Members that are not, those that leave included."""
    protected: int
    """Of those, whom nothing but a person makes leave."""

    @property
    def remaining(self) -> int:
        """Members that are yet to be replaced."""
        return self.old - self.protected


def is_old(member: Member, profile: str | None) -> bool:
    """Whether a member is known not to be made of this profile, or nobody knows what it is made of.

    While nobody knows what new members are made of, nobody is old.
    """
    return profile is not None and member.record is not None and member.record.profile != profile


def batch(
    roll: Rolling, size: int, world: World, settled: Sequence[Member], casts: Sequence[Cast], *, can_make: bool
) -> Batch:
    """Choose who leaves now.

    Never so many leave that fewer than ``size - unavailable`` serve; and where nothing can be made now, none but those
    for whom others serve already.

    Args:
        roll: the budgets.
        size: how many are desired.
        world: whose profile is that of now.
        settled: members that serve where they should.
        casts: everybody else who stays for all that is known.
        can_make: whether this pass may create anything.
    """
    old = [member for member in settled if is_old(member, world.profile)]
    others = [(member, seen) for member, seen in casts if seen in COUNTED and is_old(member, world.profile)]
    serving = len(settled) + sum(seen is Role.SERVING for _, seen in casts)
    most = max(serving - size + (roll.unavailable if can_make else 0), 0)
    unsettled = [member for member, seen in others if seen is Role.SERVING]
    chosen = sorted(nominees([*old, *unsettled], most, Victims.OLDEST), key=_age)[:most]
    kept = sum(map(_is_protected, old)) + sum(_is_protected(member) for member, _ in others)
    idle = sum(seen not in _REPLACEABLE and not _is_protected(member) for member, seen in others)
    remaining = len(old) + len(others) - kept - len(chosen)
    return Batch(
        leaving=tuple((member, Role.SERVING) for member in chosen),
        above=min(roll.surge, remaining - idle),
        going=len(chosen) + sum(_is_going(cast) for cast in casts),
        remaining=remaining,
        kept=kept,
    )


def rolled(world: World, in_service: Container[MemberName]) -> Rolled:
    """Say how far a roll of this world has come; ``in_service`` are the members that serve."""
    old = [member for member in world.members if is_old(member, world.profile)]
    current = (member for member in world.members if member.record is not None and not is_old(member, world.profile))
    return Rolled(
        current=sum(member.name in in_service for member in current),
        old=len(old),
        protected=sum(_is_protected(member) and not _is_leaving(member) for member in old),
    )


def _age(member: Member) -> tuple[int, MemberName]:
    return 0 if member.record is None else member.record.sequence, member.name


def _is_protected(member: Member) -> bool:
    return member.record is not None and member.record.protected


def _is_leaving(member: Member) -> bool:
    return member.record is not None and member.record.leaving is not None


def _is_going(cast: Cast) -> bool:
    member, seen = cast
    record = member.record
    if seen is not Role.LEAVING or record is None or record.leaving is not Leaving.REPLACED:
        return False
    return record.destroy_attempts < _STUCK
