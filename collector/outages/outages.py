"""Track outages: each is reported once when it begins and once when it ends.

Two things can fail. A *channel* is one source of one member (its SNMP agent, say), or one source of the whole group: it
is silent when none of its counters is answered. A *counter* is lost when it has no answer although channels that carry
it answer: a name that no agent has, a query that finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from collector.samples import Bools, Layout, Reply, Scrape
from config.units import CounterId, GroupId, Instant, MemberName, Seconds

_Ints = npt.NDArray[np.intp]


class Channel(NamedTuple):
    """One source of one member, or (``member`` is ``None``) of the whole group."""

    group: GroupId
    source: str
    member: MemberName | None


GroupCounter = tuple[GroupId, CounterId]
"""One counter of one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A group's present outages."""

    since: Mapping[Channel, Instant] = field(default_factory=lambda: MappingProxyType({}))
    """Silent channels, each with the begin of the first poll that it did not answer."""
    lost: Mapping[GroupCounter, Instant] = field(default_factory=lambda: MappingProxyType({}))
    """Counters without an answer, likewise."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is out."""
        return not self.since and not self.lost


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageBegan:
    """An outage begins: of a channel, or (``channel`` is ``None``) of a counter."""

    group: GroupId
    channel: Channel | None
    source: str
    """The name of the source."""
    counter: CounterId
    """The lost counter; for a channel, one of its counters."""
    reply: Reply
    """The most frequent failure; among equals the most specific one (silence is the least specific)."""
    detail: str
    """The source's own words, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageEnded:
    """An outage is over."""

    group: GroupId
    channel: Channel | None
    counter: CounterId | None
    """The lost counter; ``None``: a channel was silent."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutageLayout:
    """The channels and counters of one layout; built once per layout."""

    layout: Layout
    channels: Sequence[Channel]
    channel: _Ints
    """(series,) index of its channel; -1: its absence is no outage."""
    counters: Sequence[GroupCounter]
    counter: _Ints
    """(series,) index of its counter."""
    rows: Mapping[GroupId, slice]
    """Each group's run of series."""
    members: Mapping[GroupId, Mapping[str, Set[MemberName]]]
    """Each group's members that are asked, by the name of the source."""


def hearing_of(layout: Layout, words: Mapping[CounterId, str]) -> OutageLayout:
    """Work out the channels and counters of a layout.

    Args:
        layout: sorted by group.
        words: the name of each counter's source; a counter without one may be absent without an outage.
    """
    channels: dict[Channel, int] = {}
    counters: dict[GroupCounter, int] = {}
    bounds: dict[GroupId, list[int]] = {}
    channel, counter = np.empty(len(layout.series), dtype=np.intp), np.empty(len(layout.series), dtype=np.intp)
    for row, series in enumerate(layout.series):
        word = words.get(series.counter)
        carrier = Channel(series.group, word or "", series.member)
        channel[row] = -1 if word is None else channels.setdefault(carrier, len(channels))
        counter[row] = counters.setdefault((series.group, series.counter), len(counters))
        bounds.setdefault(series.group, [row, row])[1] = row
    return OutageLayout(
        layout=layout,
        channels=tuple(channels),
        channel=channel,
        counters=tuple(counters),
        counter=counter,
        rows={group: slice(first, last + 1) for group, (first, last) in bounds.items()},
        members=_members_by_source(channels),
    )


def _members_by_source(channels: Iterable[Channel]) -> Mapping[GroupId, Mapping[str, Set[MemberName]]]:
    found: dict[GroupId, dict[str, set[MemberName]]] = {}
    for channel in channels:
        if channel.member is not None:
            found.setdefault(channel.group, {}).setdefault(channel.source, set()).add(channel.member)
    return found


def troubled(scrape: Scrape) -> Set[GroupId]:
    """Find the groups of a scrape with a question that was not answered: all others have nothing to report."""
    return {scrape.layout.series[row].group for row in np.flatnonzero(scrape.reply != Reply.OK).tolist()}


def observe(
    silence: Silence, scrape: Scrape, hearing: OutageLayout, group: GroupId
) -> tuple[Silence, tuple[OutageBegan | OutageEnded, ...]]:
    """Update a group's outages with its part of a scrape.

    A channel or counter that is no longer asked is forgotten without a report: leaving is no outage.

    Args:
        silence: of this group, after its last scrape.
        scrape: of any groups.
        hearing: of the scrape's layout.
        group: the group.

    Returns:
        The group's present outages, and the changes: channels before counters, each in order.
    """
    rows = hearing.rows.get(group, slice(0, 0))
    ok = (scrape.reply[rows] == Reply.OK) | (hearing.channel[rows] < 0)
    if ok.all() and silence.is_over:
        return silence, ()
    mute, lost = _out(hearing, rows, ok)
    at = scrape.at.wall
    now = Silence(
        since={hearing.channels[place]: silence.since.get(hearing.channels[place], at) for place in mute},
        lost={hearing.counters[place]: silence.lost.get(hearing.counters[place], at) for place in lost},
    )
    return now, (*_ended(silence, now, hearing, rows), *_began(silence, scrape, hearing, rows, (mute, lost)))


def unheard(silence: Silence, now: Instant, longer_than: Seconds) -> tuple[Channel, ...]:
    """Return channels that have been silent for longer than a span: the whole group's first, then by member.

    >>> silence = Silence(since={Channel(GroupId("web"), "snmp", MemberName("a")): Instant(100.0)})
    >>> unheard(silence, Instant(400.0), 300.0), [channel.member for channel in unheard(silence, Instant(401.0), 300.0)]
    ((), ['a'])
    """
    late = (channel for channel, since in silence.since.items() if now - since > longer_than)
    return tuple(sorted(late, key=lambda channel: (channel.member or "", channel.source)))


def members_of(channels: Iterable[Channel]) -> tuple[MemberName, ...]:
    """Return the members of some channels, each once, sorted."""
    return tuple(sorted({channel.member for channel in channels if channel.member is not None}))


def silent_since(silence: Silence) -> Mapping[MemberName, Instant]:
    """Return since when each member has had a silent channel."""
    since: dict[MemberName, Instant] = {}
    for channel, began in silence.since.items():
        if channel.member is not None:
            since[channel.member] = min(began, since.get(channel.member, began))
    return since


def _out(hearing: OutageLayout, rows: slice, ok: Bools) -> tuple[Sequence[int], Sequence[int]]:
    """Return channels without any answer, and counters without one although a channel of theirs answers."""
    channel, counter = hearing.channel[rows], hearing.counter[rows]
    heard = np.zeros(len(hearing.channels) + 1, dtype=np.bool_)  # one more, for index -1
    heard[channel[ok]] = True
    answered = np.zeros(len(hearing.counters), dtype=np.bool_)
    answered[counter[ok]] = True
    carried = heard[channel]
    return (
        np.unique(channel[~carried]).tolist(),
        np.unique(counter[carried & ~answered[counter]]).tolist(),
    )


def _began(
    before: Silence, scrape: Scrape, hearing: OutageLayout, rows: slice, out: tuple[Sequence[int], Sequence[int]]
) -> Iterable[OutageBegan]:
    mute, lost = out
    fresh = [place for place in mute if hearing.channels[place] not in before.since]
    for place, whose in zip(fresh, _rows_of(hearing.channel[rows], fresh), strict=True):
        yield _outage(scrape, hearing, rows.start + whose, hearing.channels[place])
    fresh = [place for place in lost if hearing.counters[place] not in before.lost]
    for whose in _rows_of(hearing.counter[rows], fresh):
        yield _outage(scrape, hearing, rows.start + whose, None)


def _rows_of(index: _Ints, places: Sequence[int]) -> Iterable[_Ints]:
    """Yield the rows of each of these places; one sort serves thousands of silent agents."""
    if not places:
        return ()
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    first, last = np.searchsorted(ordered, places, "left"), np.searchsorted(ordered, places, "right")
    return (order[start:end] for start, end in zip(first, last, strict=True))


def _outage(scrape: Scrape, hearing: OutageLayout, rows: _Ints, channel: Channel | None) -> OutageBegan:
    codes = scrape.reply[rows]
    counts = np.bincount(codes)
    dominant = max(range(len(counts)), key=lambda code: (int(counts[code]), code))
    row = int(rows[np.flatnonzero(codes == dominant)[0]])
    series = hearing.layout.series[row]
    return OutageBegan(
        group=series.group,
        channel=channel,
        source=hearing.channels[int(hearing.channel[row])].source,
        counter=series.counter,
        reply=Reply(dominant),
        detail=scrape.details.get(row, ""),
    )


def _ended(before: Silence, now: Silence, hearing: OutageLayout, rows: slice) -> Iterable[OutageEnded]:
    """Yield outages that have ended and whose channel or counter is still asked."""
    channels = {hearing.channels[place] for place in np.unique(hearing.channel[rows]).tolist() if place >= 0}
    counters = {hearing.counters[place] for place in np.unique(hearing.counter[rows]).tolist()}
    for channel in before.since:
        if channel not in now.since and channel in channels:
            yield OutageEnded(group=channel.group, channel=channel, counter=None)
    for group, counter in before.lost:
        if (group, counter) not in now.lost and (group, counter) in counters:
            yield OutageEnded(group=group, channel=None, counter=counter)
