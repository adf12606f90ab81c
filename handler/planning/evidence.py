"""What sources heard and say of members that seem lost, and what a listing is doubted for: values for planning."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.units import Instant, MemberName, Seconds


class Saying(enum.Enum):
    """What a source's last question about a member came to."""

    HEARD = "heard"
    """The member answered."""
    SILENT = "silent"
    """The source asked, and nothing answered."""
    UNCLEAR = "unclear"
    """The source did not ask, or the answer says neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Testimony:
    """What one source says of one member."""

    __test__ = False  # it is no test, whatever pytest takes it for

    source: str
    """``snmp``, ``balancer edge``, ``probe``."""
    heard_at: Instant | None
    """When the source last heard the member; ``None``: never since the daemon started."""
    says: Saying
    answers: bool
    """The source's own endpoint answers now, or another member through it."""
    silent_since: Instant | None = None
    """When the first of its questions went unanswered, where it says SILENT; ``None``: since it heard the member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One member that the cloud says is gone, broken or being deleted."""

    since: Instant
    """When this daemon first saw it so."""
    testimonies: tuple[Testimony, ...] = ()
    believed: bool = False
    """It was believed before, and acted upon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossEvidence:
    """What is known, beside the listing, of the members of a group that seem lost."""

    members: Mapping[MemberName, Loss] = field(default_factory=lambda: MappingProxyType({}))
    elsewhere: tuple[Instant, ...] = ()
    """When each other member was lost that counts with these: those of the cloud's other groups, and those of this
    group that have been taken for gone not long ago. Sorted."""
    back: Mapping[MemberName, Instant] = field(default_factory=lambda: MappingProxyType({}))
    """Members that are well again after their loss was acted upon, and when they were first missed."""
    returning: tuple[MemberName, ...] = ()
    """Members of which not enough listings in a row have said so yet; sorted."""
    others_seen: Instant | None = None
    """Every other group of the cloud has been looked at since then; ``None``: the cloud has no other group."""
    proof: bool = False
    """The listing is the machine itself: a definite not-found needs no other evidence."""


NO_LOSSES = LossEvidence()


_FRESH = 2
"""Intervals: a poll that is older than that is not *now*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedMember:
    """A member from which a source got no value at its last poll."""

    heard_at: Instant | None
    """When the source last got one; ``None``: never since the daemon started."""
    silent_since: Instant | None
    """When the first poll began that nothing answered, and nothing has since; ``None``: something does, and it is no
    value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What one source heard of the members of one group at its last poll."""

    source: str
    at: Instant
    """When the poll began."""
    asked: Collection[MemberName]
    missed: Mapping[MemberName, MissedMember]
    """Of those that were asked, those that gave no value."""

    def of(self, name: MemberName, now: Instant, interval: Seconds) -> Testimony | None:
        """Return what the source says of a member; ``None``: it did not ask that one."""
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
        """Whether it hears any member now."""
        return now - self.at <= _FRESH * interval and len(self.missed) < len(self.asked)


class Ground(enum.Enum):
    """What a listing is doubted for."""

    PARTIAL = "partial"
    """It says itself that it is not all."""
    SHRUNK = "shrunk"
    """It lacks a greater share of the members than the group's ``distrust``."""
    CONTRADICTED = "contradicted"
    """It lacks members that a balancer gives work."""
    STALE = "stale"
    """It shows members that were proved gone."""
    MANY_LOST = "many_lost"
    """Many members are gone, broken or being deleted at once, and there is too little evidence of it."""
    HEARD = "heard"
    """It says of members that they are gone, and an independent source hears them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One reason why a listing is not believed."""

    ground: Ground
    members: tuple[MemberName, ...]
    """Whom it is about, sorted."""
    words: str
    """Why, and what would confirm it; for people."""
