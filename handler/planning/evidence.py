"""What sources report about members that seem lost, and why a listing is doubted: values for planning."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.units import Instant, MemberName, Seconds


class Saying(enum.Enum):
    """The result of a source's last query about a member."""

    HEARD = "heard"
    """The member answered."""
    SILENT = "silent"
    """The source queried the member, and nothing answered."""
    UNCLEAR = "unclear"
    """The source did not query the member, or its answer shows neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Testimony:
    """What one source reports about one member."""

    __test__ = False  # pytest would take the name for a test

    source: str
    """``snmp``, ``balancer edge``, ``probe``."""
    heard_at: Instant | None
    """When the member last answered the source; ``None``: never since the daemon started."""
    says: Saying
    answers: bool
    """The source's own endpoint answers now, or another member answers through it."""
    silent_since: Instant | None = None
    """Since when its queries go unanswered, if SILENT; ``None``: since the member last answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One member that the cloud reports as gone, broken or being deleted."""

    since: Instant
    """When this daemon first saw that."""
    testimonies: tuple[Testimony, ...] = ()
    believed: bool = False
    """It was believed before, and acted upon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossEvidence:
    """What is known, besides the listing, about the members of a group that seem lost."""

    members: Mapping[MemberName, Loss] = field(default_factory=lambda: MappingProxyType({}))
    elsewhere: tuple[Instant, ...] = ()
    """When each other loss happened that counts with these: losses of the cloud's other groups, and recent believed
    losses of this group. Sorted."""
    back: Mapping[MemberName, Instant] = field(default_factory=lambda: MappingProxyType({}))
    """Members that work again after their loss was acted upon, and when each was first missed."""
    returning: tuple[MemberName, ...] = ()
    """Members that are back, but not on enough listings in a row yet; sorted."""
    others_seen: Instant | None = None
    """Every other group of the cloud has been gathered since then; ``None``: the cloud has no other group."""
    proof: bool = False
    """The listing comes from the machine itself: a definite not-found needs no other evidence."""


NO_LOSSES = LossEvidence()


_FRESH = 2
"""Intervals: a poll that is older than that is not *now*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedMember:
    """A member from which a source got no value at its last poll."""

    heard_at: Instant | None
    """When the source last got one; ``None``: never since the daemon started."""
    silent_since: Instant | None
    """When the first unanswered poll of an unbroken series began; ``None``: the member answers, without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """The answers of one group's members to one source at its last poll."""

    source: str
    at: Instant
    """When the poll began."""
    asked: Collection[MemberName]
    missed: Mapping[MemberName, MissedMember]
    """Of the queried members, those that gave no value."""

    def of(self, name: MemberName, now: Instant, interval: Seconds) -> Testimony | None:
        """Return what the source reports about a member; ``None``: it did not query that member."""
        if name not in self.asked:
            return None
        missed = self.missed.get(name)
        fresh = now - self.at <= _FRESH * interval
        if missed is None:
            says = Saying.HEARD if fresh else Saying.UNCLEAR
            return Testimony(source=self.source, heard_at=self.at, says=says, answers=fresh)
        silent = fresh and missed.silent_since is not None
        return Testimony(
            source=self.source,
            heard_at=missed.heard_at,
            says=Saying.SILENT if silent else Saying.UNCLEAR,
            answers=fresh and len(self.missed) < len(self.asked),
            silent_since=missed.silent_since if silent else None,
        )

    def hears(self, now: Instant, interval: Seconds) -> bool:
        """Return whether any member answers the source now."""
        return now - self.at <= _FRESH * interval and len(self.missed) < len(self.asked)


class Ground(enum.Enum):
    """Why a listing is doubted."""

    PARTIAL = "partial"
    """The listing itself is marked as incomplete."""
    SHRUNK = "shrunk"
    """It lacks a greater share of the members than the group's ``distrust``."""
    CONTRADICTED = "contradicted"
    """It lacks members that a balancer gives work."""
    STALE = "stale"
    """It shows members that were proved gone."""
    MANY_LOST = "many_lost"
    """Many members are gone, broken or being deleted at once, and there is too little evidence of it."""
    HEARD = "heard"
    """It reports members as gone that still answer an independent source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One reason why a listing is not believed."""

    ground: Ground
    members: tuple[MemberName, ...]
    """The members in doubt, sorted."""
    words: str
    """Why, and what would confirm it; for people."""
