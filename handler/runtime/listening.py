"""Listen to the answers of a poll: which members and sources answered, and which outages begin and end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import assert_never

from collector.outages.heard import PolledChannels
from collector.outages.misses import misses_of
from collector.outages.outages import OutageBegan, OutageEnded, OutageLayout, observe, unheard
from collector.outages.remedies import remedy
from collector.samples import Scrape
from config.model.catalogue import Catalogue
from config.model.counters import AlertedValue, Per, asks_members, source_word
from config.units import CounterId, MemberName, Seconds
from handler import logs
from handler.planning.evidence import Hearing as MemberHearing
from handler.planning.evidence import MissedMember
from handler.runtime.group_runtime import GroupRuntime

_UNHEARD_INTERVALS = 10


def source_words(catalogue: Catalogue) -> Mapping[CounterId, str]:
    """Return the source of each counter whose silence is an outage; an alert's silence means that all is well."""
    counters = catalogue.counters.values()
    return {each.id: source_word(each) for each in counters if not isinstance(each.source, AlertedValue)}


def listen(runtime: GroupRuntime, scrape: Scrape, hearing: OutageLayout, interval: Seconds) -> None:
    """Take note of a poll at which some of a group's questions were not answered, or were not at the one before.

    Args:
        runtime: of the group.
        scrape: the poll, of any groups.
        hearing: of the scrape's layout.
        interval: the group's.
    """
    runtime.silence, changes = observe(runtime.silence, scrape, hearing, runtime.id)
    runtime.misses = misses_of(scrape, hearing, runtime.id)
    for change in changes:
        _log_change(change)
    runtime.unheard = unheard(runtime.silence, scrape.at.wall, _UNHEARD_INTERVALS * interval)


def _log_change(change: OutageBegan | OutageEnded) -> None:
    """Log the begin or end of an outage of a channel or a counter; the channel of a group has no member.

    For a silent channel, the counter is the one of its counters whose failure is reported.
    """
    channel = change.channel
    member = None if channel is None else channel.member
    match change:
        case OutageBegan():
            logs.warn(
                "counter_lost" if channel is None else "unheard_began",
                group=change.group,
                member=member,
                counter=change.counter,
                source=change.source,
                reply=change.reply.word,
                said=change.detail or None,
                remedy=remedy(change.source, change.reply),
            )
        case OutageEnded():
            event = "counter_found" if channel is None else "unheard_ended"
            source = None if channel is None else channel.source
            logs.say(event, group=change.group, member=member, counter=change.counter, source=source)
        case _:
            assert_never(change)


def direct_sources(catalogue: Catalogue) -> Set[str]:
    """Return the words for the sources that members themselves answer.

    A balancer or another system may report about a member after it is gone, and a cloud's measurements come from the
    same place as its listing. A word that also names such a source is left out.
    """
    of_members = [counter for counter in catalogue.counters.values() if counter.per is Per.MEMBER]
    others = {source_word(counter) for counter in of_members if not asks_members(counter)}
    return {source_word(counter) for counter in of_members} - others


def hearings_of(heard: PolledChannels) -> Sequence[MemberHearing]:
    """Return the answers of a group's last poll in the form that convergence uses as evidence."""
    if heard.at is None or not heard.asked:
        return ()
    missed: dict[str, dict[MemberName, MissedMember]] = {}
    for channel, each in heard.unanswered.items():
        if channel.member is not None:
            seen = MissedMember(heard_at=each.heard_at, silent_since=each.silent_since)
            missed.setdefault(channel.source, {})[channel.member] = seen
    return tuple(
        MemberHearing(source=source, at=heard.at, asked=members, missed=missed.get(source, {}))
        for source, members in heard.asked.items()
    )
