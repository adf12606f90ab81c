"""What counters heard, told to convergence: it judges whether members are gone, and knows no scrapes."""

from __future__ import annotations

from collections.abc import Sequence, Set

from collector.outages.heard import Heard
from config.model.catalogue import Catalogue
from config.model.counters import Per, asks_members, source_word
from config.units import MemberName
from handler.planning.hearings import Hearing, Missed


def direct_sources(catalogue: Catalogue) -> Set[str]:
    """Return the words for the sources that members themselves answer.

    What a balancer or another system says of a member goes on when the member is gone; what the cloud measures comes
    from where its listing comes from. A word that also stands for such a place is left out.
    """
    of_members = [counter for counter in catalogue.counters.values() if counter.per is Per.MEMBER]
    others = {source_word(counter) for counter in of_members if not asks_members(counter)}
    return {source_word(counter) for counter in of_members} - others


def hearings_of(heard: Heard) -> Sequence[Hearing]:
    """Say in convergence's words what was heard at the last poll of a group."""
    if heard.at is None:
        return ()
    missed: dict[str, dict[MemberName, Missed]] = {}
    for channel, each in heard.unanswered.items():
        if channel.member is not None:
            told = Missed(heard_at=each.heard_at, silent_since=each.silent_since)
            missed.setdefault(channel.source, {})[channel.member] = told
    return tuple(
        Hearing(source=source, at=heard.at, asked=members, missed=missed.get(source, {}))
        for source, members in heard.asked.items()
    )
