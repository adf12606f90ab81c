"""The input of convergence: how many members, of which definition, within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from config.build.digest import digest_of
from config.model.balancers import Balancer
from config.model.catalogue import Cloud, Group, Profile
from config.units import BalancerId, Instant, MemberName, Seconds
from handler.planning.headroom import Headroom

_KNOWN_AT_MOST = 4096
_digests: dict[int, tuple[Profile, str]] = {}
"""By the profile's identity: profiles are immutable, and each pass asks."""


def _digest(profile: Profile) -> str:
    known = _digests.get(id(profile))
    if known is not None and known[0] is profile:
        return known[1]
    if len(_digests) >= _KNOWN_AT_MOST:
        _digests.clear()
    digest = digest_of({profile.id: profile})
    _digests[id(profile)] = profile, digest
    return digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolling:
    """Hold the budgets of a roll, which replaces all members of older profiles a few at a time."""

    surge: int
    """How many members above the desired size there may be, including rolled ones that are still leaving."""
    unavailable: int
    """How many members in service may be missing because of the roll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredState:
    """How many members there must be; the newest revision wins."""

    size: int | None
    """``None``: no complete listing yet, so nothing is created or removed."""
    revision: int
    deleting: bool = False
    """The group is being deleted with its members: all of them leave, protected or not."""
    paused: bool = False
    """A person stopped convergence: the group is looked at, and nothing is done unless it is being deleted."""
    roll: Rolling | None = None
    """A roll that is under way."""
    unconfirmed: bool = False
    """The store may be older than the fleet (`trigger.guards.outdated_requests`): members stay as they are."""
    earlier: int | None = None
    """What the size was before members vanished and lowered it; ``None``: none did, or it was decided anew since."""


@dataclass(frozen=True, kw_only=True)  # without slots: what is computed once has its place in the instance
class Definition:
    """One group's declaration with all that it refers to. Persisted, so that an ORPHANED group can be looked after."""

    group: Group
    profile: Profile
    cloud: Cloud
    balancers: Mapping[BalancerId, Balancer]

    @cached_property
    def profile_digest(self) -> str:
        """Digest of all that new members are made of, as declared now."""
        return _digest(self.profile)

    @cached_property
    def build_digest(self) -> str:
        """One name for all that decides whether a build succeeds: profile, cloud and the time that a build may take.

        It is no part of `profile_digest`: a change of it makes no member old.
        """
        return digest_of(
            {self.profile.id: self.profile}, {self.cloud.id: self.cloud}, {"build_timeout": self.group.build_timeout}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Builds:
    """How builds go: failed in a row, and until when nothing is made because of it."""

    failed: int = 0
    back_off_until: Instant | None = None
    of: str | None = None
    """`Definition.build_digest` of what they were made with; ``None``: an earlier release wrote the row."""

    def that_count(self, definition: Definition) -> Builds:
        """Return the row if it is about this definition, else a new one: a corrected definition lifts the back-off."""
        if not self.failed and self.back_off_until is None:
            return self
        now = definition.build_digest
        return self if self.of in {None, now} else Builds(of=now)


ABSENT_LISTINGS = 3
"""Complete listings in a row that settle what the cloud cannot be asked about by name."""
ABSENT_FOR: Seconds = 30.0
"""…and at least this long."""


DESTROYS = 200
JOINS = 1000
"""Limits of one pass: the gathered world ages while a plan is carried out, so the rest is planned from a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How fast a pass may go."""

    creates: int
    """Creates that this pass may begin: what budgets (outstanding and hourly, group and cloud) leave…"""
    budget: str = ""
    """…and which of them leaves so few, in words."""
    back_off_until: Instant | None
    """Builds failed in a row: no create before this."""
    accept_vanished: bool = False
    """A person ordered convergence: believe a complete listing, and that many members are gone."""
    accept_members: tuple[MemberName, ...] = ()
    """A person ordered convergence of these: believe it of them."""
    absent_listings: int = ABSENT_LISTINGS
    """Complete listings in a row that prove a member gone where the cloud cannot be asked for it by name."""
    absent_for: Seconds = ABSENT_FOR
    """…and at least this long."""
    create_attempts: int = 10
    """Attempts, not one of them answered with success, after which an intent that is disproved is given up."""
    destroys: int = DESTROYS
    """Members that this pass may destroy."""
    joins: int = JOINS
    """Registrations that this pass may change."""
    calls: int | None = None
    """Calls that the cloud may be asked for in this pass; ``None``: any number."""
    full: bool = False
    """The cloud answered not long ago that it is full: no member is created."""
    headroom: Headroom | None = None
    """What the cloud's quotas leave to this pass, once others have had their share; ``None``: no limit, or none that
    is known yet."""
