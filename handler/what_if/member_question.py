"""A question about what members showed by themselves over time, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from config.model.counters import Counter
from config.units import CounterId, GroupId, Instant, MemberName, Seconds

SHOWN = 8
"""Members of one answer: more curves than these are hard to tell apart."""
PARTS = 400
"""Of the time: nine charts of them are read on a phone, too."""
Column = tuple[float | None, ...]
"""By part of the time; ``None``: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersQuestion:
    """What one counter of a group's members was over time."""

    recording: Path
    """The folder of recordings."""
    group: GroupId
    counter: Counter
    """As it is declared now."""
    interval: Seconds
    """Of the group."""
    since: Instant
    until: Instant
    members: tuple[MemberName, ...] = ()
    """Only these; none: those farthest from the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Farthest:
    """The tick at which a member was farthest from the others."""

    at: Instant
    value: float
    median: float
    """Of the members that counted at that tick."""
    among: int
    """How many members counted at that tick: of two, none can be told from the other."""
    beside: int
    """How many other members were nearer to it than to the median; 0: it was alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberCourse:
    """What one member showed."""

    member: MemberName
    low: Column
    high: Column
    """The least and the greatest value of each part of the time."""
    least: float
    greatest: float
    greatest_at: Instant
    farthest: Farthest | None
    """``None``: it only warmed up, and values of such a member do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberCourses:
    """What one counter was over time: of all members together, and of those farthest from the others."""

    group: GroupId
    counter: CounterId
    unit: str
    begin: Instant
    end: Instant
    apart: Seconds
    """How far apart rows usually are: do not join those much further apart."""
    exact: bool
    """No part has more than one tick, so that ``low`` and ``high`` are the value."""
    at: tuple[Instant, ...]
    """The first tick of each part of the time; the columns below have one value for each."""
    average: Column
    median: Column
    """Of the members that counted, averaged over the ticks of a part."""
    low: Column
    high: Column
    """Of all members."""
    of: int
    """How many members there were."""
    members: tuple[MemberCourse, ...]
    """At most `SHOWN`, the farthest from the others first."""
    caveats: tuple[str, ...]
    """What the recording lacks."""
