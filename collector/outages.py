"""Who has fallen silent, since when, and what changed: an outage is told once when it begins and once when it ends."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from collector.samples import Reply, Scrape
from config.units import GroupId, Instant, MemberName, Seconds

Heard = tuple[GroupId, MemberName]


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """The members that answer nothing of what they are asked."""

    since: Mapping[Heard, Instant] = field(default_factory=lambda: MappingProxyType({}))
    """When the first poll began that each of them did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A member answers nothing any more."""

    group: GroupId
    member: MemberName
    reply: Reply
    """What most of its questions came back with; of equals, the one that says most (silence says least)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A member that was silent has answered something."""

    group: GroupId
    member: MemberName


def observe(
    silence: Silence, scrape: Scrape, group: GroupId | None = None
) -> tuple[Silence, tuple[Began | Ended, ...]]:
    """Take note of one scrape.

    A member is silent when none of its series is OK, and heard as soon as one is. Whoever is not asked any more is
    forgotten, and nothing is told: leaving is no outage.

    Args:
        silence: as after the last scrape.
        scrape: of any groups.
        group: look at this one only and leave the others' silence alone; ``None`` looks at the whole scrape.

    Returns:
        The silence now, and what changed, by group and member.
    """
    rows = _rows(scrape, group)
    before = {key: since for key, since in silence.since.items() if group is None or key[0] == group}
    if not before and (scrape.reply[rows] == Reply.OK).all():
        return silence, ()
    replies, heard = _replies(scrape, rows)
    now = {key: before.get(key, scrape.at.wall) for key in replies}
    others = {key: since for key, since in silence.since.items() if key not in before}
    changes: dict[Heard, Began | Ended] = {key: Ended(group=key[0], member=key[1]) for key in heard & before.keys()}
    for key in now.keys() - before.keys():
        changes[key] = Began(group=key[0], member=key[1], reply=_dominant(replies[key]))
    return Silence(since=MappingProxyType(others | now)), tuple(changes[key] for key in sorted(changes))


def unheard(silence: Silence, group: GroupId, now: Instant, longer_than: Seconds) -> tuple[MemberName, ...]:
    """The members of a group that have been silent for longer than a span, sorted.

    >>> silence = Silence(since={(GroupId("web"), MemberName("a")): Instant(100.0)})
    >>> unheard(silence, GroupId("web"), Instant(400.0), 300.0), unheard(silence, GroupId("web"), Instant(401.0), 300.0)
    ((), ('a',))
    """
    return tuple(
        sorted(member for (of, member), since in silence.since.items() if of == group and now - since > longer_than)
    )


def _rows(scrape: Scrape, group: GroupId | None) -> slice:
    """The rows of a group: one run, since a layout is sorted by group."""
    series = scrape.layout.series
    if group is None:
        return slice(0, len(series))
    return slice(
        bisect_left(series, group, key=lambda one: one.group), bisect_right(series, group, key=lambda one: one.group)
    )


def _replies(scrape: Scrape, rows: slice) -> tuple[Mapping[Heard, list[int]], set[Heard]]:
    """Codes of the members without any OK, and who has one. Rows of a group as a whole are nobody's silence."""
    heard: set[Heard] = set()
    failed: dict[Heard, list[int]] = {}
    for (group, _, member), code in zip(scrape.layout.series[rows], scrape.reply[rows].tolist(), strict=True):
        if member is None:
            continue
        if code == Reply.OK:
            heard.add((group, member))
        else:
            failed.setdefault((group, member), []).append(code)
    return {key: codes for key, codes in failed.items() if key not in heard}, heard


def _dominant(codes: list[int]) -> Reply:
    return Reply(max(codes, key=lambda code: (codes.count(code), code)))  # a member has a handful of counters
