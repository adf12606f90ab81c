"""Judge which reported losses of members are believed. Pure.

A cloud that errs about one member is rare and costs one replacement; a cloud that errs about many at once costs a
fleet. So one or two losses are believed unless the member still answers a source; of many at once, each needs a source
that knew the member, works now, and has had no answer from it for three intervals. Where no source can tell, a person
decides.

Source: DESIGN.md, "Gone" needs evidence.
"""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from config.units import Instant, MemberName, Seconds
from handler.planning.evidence import Loss, LossEvidence, Saying, Testimony

KNOWN_WITHIN = 10
"""Intervals: a source knows a member that answered it within them."""
SILENT_FOR = 3
"""Intervals of silence that prove a member gone, where many are lost at once."""
MANY = 3
"""Members that are lost at once are many from this number on."""
_AT_ONCE = 3
"""Losses no more intervals apart than that are *at once*, as are all losses of a group that are still undecided…"""
_AT_ONCE_LEAST: Seconds = 60.0
"""…and those that are no farther apart than this, however short the interval is."""


class LossKind(enum.Enum):
    """How the cloud reports a member as lost."""

    VANISHED = "vanished"
    BROKEN = "broken"
    DELETING = "deleting"


class LossVerdict(enum.Enum):
    """The judgement of one lost member."""

    BELIEVED = "believed"
    HEARD = "heard"
    """The member still answers a source: it is not gone, whatever the cloud reports."""
    TOO_SOON = "too_soon"
    """Many are lost at once, and the sources have not been silent for long enough."""
    NO_SOURCE = "no_source"
    """Many are lost at once, and no source can tell about this one: a person must decide."""
    OTHERS_UNSEEN = "others_unseen"
    """Other groups of the cloud have not been gathered since: there may be more losses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTerms:
    """The limits that losses are judged by."""

    now: Instant
    interval: Seconds
    """Of the group."""
    accept_all: bool = False
    """A person ordered convergence of the group."""
    accepted: Collection[MemberName] = ()
    """Of these members a person ordered it by name."""


def judge(
    lost: Mapping[MemberName, LossKind], losses: LossEvidence, terms: LossTerms, seen_at: Instant
) -> Mapping[MemberName, LossVerdict]:
    """Return for each lost member whether its loss is believed.

    Args:
        lost: the members that would be left out of the size, and how they are lost.
        losses: what is known besides the listing. A member that it lacks was first seen lost at ``seen_at``.
        terms: the limits to judge by.
        seen_at: when the world was gathered.
    """
    if not lost:
        return {}
    first = Loss(since=seen_at)
    known = {name: losses.members.get(name, first) for name in lost}
    undecided = sum(not loss.believed for loss in known.values())
    others = [loss.since for name, loss in losses.members.items() if name not in lost]
    others += [loss.since for loss in known.values() if loss.believed]
    beside = sorted([*others, *losses.elsewhere])
    many = {name: undecided + _at_once(loss.since, beside, terms) >= MANY for name, loss in known.items()}
    return {name: _verdict(how, known[name], losses, terms, (name, many[name])) for name, how in lost.items()}


def silent_since(loss: Loss, terms: LossTerms) -> Instant | None:
    """Return since when every source that testifies about a member has been silent; ``None``: no source testifies.

    >>> testimony = Testimony(source="snmp", heard_at=Instant(70.0), says=Saying.SILENT, answers=True)
    >>> silent_since(Loss(since=Instant(80.0), testimonies=(testimony,)), LossTerms(now=Instant(100.0), interval=10.0))
    70.0
    """
    witnesses = [each for each in loss.testimonies if _testifies(each, loss, terms)]
    since = (each.heard_at if each.silent_since is None else each.silent_since for each in witnesses)
    return max((instant for instant in since if instant is not None), default=None)


def _verdict(
    how: LossKind, loss: Loss, losses: LossEvidence, terms: LossTerms, of: tuple[MemberName, bool]
) -> LossVerdict:
    """Judge one member; ``of`` is its name, and whether many are lost with it."""
    name, many = of
    if name in terms.accepted or (losses.proof and how is LossKind.VANISHED):
        return LossVerdict.BELIEVED
    heard = any(testimony.says is Saying.HEARD for testimony in loss.testimonies)
    if heard and how is LossKind.VANISHED:
        return LossVerdict.HEARD
    if terms.accept_all or loss.believed:
        return LossVerdict.BELIEVED
    if many:
        return LossVerdict.HEARD if heard else _by_silence(loss, terms)
    return LossVerdict.BELIEVED if _are_others_seen(loss, losses, terms) else LossVerdict.OTHERS_UNSEEN


def _by_silence(loss: Loss, terms: LossTerms) -> LossVerdict:
    since = silent_since(loss, terms)
    if since is None:
        return LossVerdict.NO_SOURCE
    return LossVerdict.BELIEVED if terms.now - since >= SILENT_FOR * terms.interval else LossVerdict.TOO_SOON


def _testifies(testimony: Testimony, loss: Loss, terms: LossTerms) -> bool:
    """Return whether a source knew the member when it was lost, works now, and has a result for it."""
    if testimony.heard_at is None or not testimony.answers or testimony.says is Saying.UNCLEAR:
        return False
    return min(loss.since, terms.now) - testimony.heard_at <= KNOWN_WITHIN * terms.interval


def _at_once(since: Instant, instants: list[Instant], terms: LossTerms) -> int:
    """Count those of these losses that lie close to one."""
    apart = max(_AT_ONCE * terms.interval, _AT_ONCE_LEAST)
    return bisect_right(instants, since + apart) - bisect_left(instants, since - apart)


def _are_others_seen(loss: Loss, losses: LossEvidence, terms: LossTerms) -> bool:
    """Whether it is known that the loss is one of few. An interval is enough time to see the others."""
    others = losses.others_seen
    return others is None or others >= loss.since or terms.now - loss.since >= terms.interval


def named_by(verdicts: Mapping[MemberName, LossVerdict], *kinds: LossVerdict) -> tuple[MemberName, ...]:
    """Return the members with one of these verdicts, sorted."""
    return tuple(sorted(name for name, verdict in verdicts.items() if verdict in kinds))


def sources_of(losses: Iterable[Loss], *, saying: Saying) -> tuple[str, ...]:
    """Return the sorted names of the sources with this result for any of these losses."""
    return tuple(
        sorted({testimony.source for loss in losses for testimony in loss.testimonies if testimony.says is saying})
    )
