"""Keep when each member last answered its sources: evidence that a member exists, or does not.

`collector.outages.outages` reports silence. This module records the time before the silence, and whether a missing
value was silence at all. Only unanswered channels take memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from collector.outages.outages import Channel, OutageLayout
from collector.samples import Reply, Scrape
from config.units import GroupId, Instant, MemberName

_ANSWERS = (Reply.OK, Reply.OUTSIDE_RANGE)
"""The member sent a number. One outside its counter's range proves that the member lives, too."""
_SILENCE = (Reply.TIMEOUT, Reply.REFUSED, Reply.UNREACHABLE, Reply.STALE)
"""No answer, or none for long. Every other failure is an answer without a value."""


AskedMembers = Mapping[str, Set[MemberName]]
"""Members of one group that were asked, by the name of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A channel that brought no number at the last poll."""

    heard_at: Instant | None
    """When the last poll with a number began; ``None``: there was none."""
    silent_since: Instant | None
    """When the first unanswered poll of the present silence began; ``None``: the channel answers, but without a
    value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolledChannels:
    """One group's channels at its last poll."""

    at: Instant | None = None
    """When that poll began; ``None``: there was none."""
    asked: AskedMembers = field(default_factory=lambda: MappingProxyType({}))
    unanswered: Mapping[Channel, Unanswered] = field(default_factory=lambda: MappingProxyType({}))


def asked_directly(hearing: OutageLayout, words: Set[str]) -> Mapping[GroupId, AskedMembers]:
    """Return the members of each group that were asked by some sources.

    Args:
        hearing: of the scrapes' layout.
        words: the names of the sources that members themselves answer.
    """
    return {group: {word: asked[word] for word in words & asked.keys()} for group, asked in hearing.members.items()}


def heard(
    before: PolledChannels, scrape: Scrape, hearing: OutageLayout, group: GroupId, own: AskedMembers
) -> PolledChannels:
    """Return a group's channels of some sources after one more poll.

    Args:
        before: the result of the group's last poll.
        scrape: of any groups.
        hearing: of the scrape's layout.
        group: the group.
        own: its members, by the sources that they answer themselves.
    """
    rows = hearing.rows.get(group, slice(0, 0))
    at, channel, reply = scrape.at.wall, hearing.channel[rows], scrape.reply[rows]
    ok = np.isin(reply, _ANSWERS)
    if not own or ok.all():
        return PolledChannels(at=at, asked=own)
    answered = np.zeros(len(hearing.channels) + 1, dtype=np.bool_)  # one more, for index -1
    answered[channel[ok]] = True
    spoke = np.zeros(len(hearing.channels) + 1, dtype=np.bool_)
    spoke[channel[~np.isin(reply, _SILENCE)]] = True
    unanswered: dict[Channel, Unanswered] = {}
    for place in np.unique(channel[~answered[channel] & (channel >= 0)]).tolist():
        each = hearing.channels[place]
        if each.member is not None and each.source in own:
            since = None if spoke[place] else _silent_since(before, each, at)
            unanswered[each] = Unanswered(heard_at=_last(before, each), silent_since=since)
    return PolledChannels(at=at, asked=own, unanswered=unanswered)


def all_heard(at: Instant, own: AskedMembers) -> PolledChannels:
    """Return what `heard` does where every question about the group was answered at the poll that began ``at``."""
    return PolledChannels(at=at, asked=own)


def _silent_since(before: PolledChannels, channel: Channel, at: Instant) -> Instant:
    missed = before.unanswered.get(channel)
    return at if missed is None or missed.silent_since is None else missed.silent_since


def _last(before: PolledChannels, channel: Channel) -> Instant | None:
    missed = before.unanswered.get(channel)
    if missed is not None:
        return missed.heard_at
    was_asked = channel.member is not None and channel.member in before.asked.get(channel.source, ())
    return before.at if was_asked else None
