"""What the sources of counters heard of a group's members, as the collector's side tells it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from config.units import Instant, MemberName, Seconds
from handler.planning.testimony import Saying, Testimony

_FRESH = 2
"""Intervals: a poll that is older than that is not *now*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
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
    missed: Mapping[MemberName, Missed]
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
