"""Choose the next members to leave in a roll, and how many members there may be meanwhile. Pure.

Nothing is chosen ahead: each pass compares the profiles of all members. So a roll continues after a crash, stops as
soon as it is no longer wanted, and follows a profile that changes under way.

Source: Kubernetes' ``maxSurge`` and ``maxUnavailable`` and CloudFormation's ``MinInstancesInService``; here those that
are still leaving count as above the desired size too, since they still use the cloud's quota.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from config.model.catalogue import Victims
from config.units import MemberName
from handler.planning.desired import Rolling
from handler.planning.removals import ATTEMPTS
from handler.planning.roles import COUNTED, MemberRole, Role
from handler.planning.settled import nominees
from handler.planning.world import Health, Leaving, Member, Phase, World

_REPLACEABLE = (Role.SERVING, Role.PASSING, Role.ARRIVING, Role.BUILDING)
"""Roles that serve, or will: a place above the desired size is kept for their replacements."""

WORDS = "rolled: it does not use the current profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBatch:
    """The part of a roll that one plan does."""

    leaving: tuple[Member, ...] = ()
    """Members that leave now: idle ones above the desired size, and working ones; the oldest first."""
    above: int = 0
    """How many members above the desired size may count."""
    going: int = 0
    """Rolled members that still exist, including those that leave now: they use quota."""
    remaining: int = 0
    """Members still to be replaced after these."""
    kept: int = 0
    """Protected members, which no roll replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """How many members of a group use the newest profile."""

    current: int
    """Members in service that use it."""
    old: int
    """Members that do not, without those that are leaving already."""
    protected: tuple[MemberName, ...]
    """Those of them that only a person can make leave."""
    leaving: int = 0
    """Old members that are leaving, and still exist."""
    stuck: tuple[MemberName, ...] = ()
    """Old members that cannot be removed, or are gone but for a part that cannot: no step waits for them."""

    @property
    def remaining(self) -> int:
        """Members that are yet to be replaced."""
        return self.old - len(self.protected)


def is_old(member: Member, profile: str | None) -> bool:
    """Return whether a member was made of another profile than this one, or of an unknown one.

    While the profile of new members is not known, no member is old.
    """
    return profile is not None and member.record is not None and member.record.profile != profile


def batch(
    roll: Rolling, size: int, world: World, settled: Sequence[Member], roles: Sequence[MemberRole], *, can_make: bool
) -> RollBatch:
    """Choose the members that leave now.

    At least ``size - unavailable`` members always go on serving; and where none can be created now, only members whose
    replacements already serve may leave. A member that is between two states, or fails its health checks, does no
    work: it leaves as soon as there are more members than desired, or fewer are enough, unless too few serve anyway.

    Args:
        roll: the budgets.
        size: the desired size.
        world: it holds the profile of new members.
        settled: members that serve where they should.
        roles: all other members that are known to stay.
        can_make: whether this pass may create members.
    """
    roles = [(member, Role.PASSING if _fails(member, seen, world) else seen) for member, seen in roles]
    old = [member for member in settled if is_old(member, world.profile)]
    others = [(member, seen) for member, seen in roles if seen in COUNTED and is_old(member, world.profile)]
    serving = len(settled) + sum(seen is Role.SERVING for _, seen in roles)
    counted = len(settled) + sum(seen in COUNTED for _, seen in roles)
    idle = [member for member, seen in others if seen is Role.PASSING]
    at_work = [*old, *(member for member, seen in others if seen is Role.SERVING)]
    most = serving - size + (roll.unavailable if can_make else 0)
    spare = counted - size + (roll.unavailable if can_make else 0) if most >= 0 else 0
    chosen = (*_oldest(idle, spare), *_oldest(at_work, most))
    free = [seen for member, seen in others if not _is_protected(member)]
    working = sum(not _is_protected(member) for member in old)
    replaceable = working + sum(seen in _REPLACEABLE for seen in free) - len(chosen)
    return RollBatch(
        leaving=chosen,
        above=min(roll.surge, replaceable),
        going=len(chosen) + going(roles),
        remaining=working + len(free) - len(chosen),
        kept=len(old) + len(others) - working - len(free),
    )


def _fails(member: Member, seen: Role, world: World) -> bool:
    """Return whether a balancer's health check fails for the member; no repair follows from it here."""
    if seen is not Role.SERVING:
        return seen is Role.FAILING
    own = ((balancer_view.registrations or {}).get(member.name) for balancer_view in world.balancer_views.values())
    return any(registration is not None and registration.health is Health.FAILING for registration in own)


def _oldest(members: Sequence[Member], most: int) -> Sequence[Member]:
    """Return the oldest members that may leave, at most so many."""
    return sorted(nominees(members, most, Victims.OLDEST), key=_age)[: max(most, 0)]


def going(roles: Sequence[MemberRole]) -> int:
    """Count the rolled members that still exist."""
    return sum(map(_is_going, roles))


def rolled(world: World, in_service: Container[MemberName], stuck: Container[MemberName] = ()) -> Rolled:
    """Return how far a roll of this world has come.

    Args:
        world: whose profile is that of now.
        in_service: the members that serve.
        stuck: the members with a STUCK removal.
    """
    every = [member for member in world.members if is_old(member, world.profile)]
    ended = {m.name: m for m in every if (m.name in stuck if _is_leaving(m) else _has_left_parts(m))}
    old = [member for member in every if not _is_leaving(member) and member.name not in ended]
    current = (member for member in world.members if member.record is not None and not is_old(member, world.profile))
    return Rolled(
        current=sum(member.name in in_service for member in current),
        old=len(old),
        protected=tuple(member.name for member in old if _is_protected(member)),
        leaving=sum(_is_leaving(member) and member.name not in ended for member in every),
        stuck=tuple(ended),
    )


def _age(member: Member) -> tuple[int, MemberName]:
    return 0 if member.record is None else member.record.sequence, member.name


def _is_protected(member: Member) -> bool:
    return member.record is not None and member.record.protected


def _is_leaving(member: Member) -> bool:
    return member.record is not None and member.record.phase is Phase.LEAVING


def _has_left_parts(member: Member) -> bool:
    """Return whether a member's machine is gone, and a part of it cannot be removed, as a STUCK removal cannot.

    Parts are removed after a machine that was there only once that is proved gone: nothing is left to be replaced.
    """
    record = member.record
    if record is None or record.phase is Phase.INTENDED or member.server is not None:
        return False
    return record.destroy_attempts >= ATTEMPTS


def _is_going(member_role: MemberRole) -> bool:
    """Return whether a member was rolled and still uses quota; a STUCK removal does not count."""
    member, seen = member_role
    return seen is Role.LEAVING and member.record is not None and member.record.leaving is Leaving.REPLACED
