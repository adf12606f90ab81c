"""Decide whether a listing is believed, why not, and what would confirm it. Pure.

A listing without some members does not prove that they are gone, and a listing with members that were proved gone does
not prove that they are back: caches lag, pages are lost, a server answers before it has read its database. Each member
needs evidence of its own (`handler.planning.roles.is_witnessed`, and `handler.convergence.evidence` where many are lost
at once). Beyond that, a listing is not believed at all while it lacks too many members, or lacks members that a
balancer sends work to, or shows members that were proved gone: until then no member is chosen as surplus, and no first
size is read from it.

Source: DESIGN.md, "Gone" needs evidence; the incidents in ``tests/handler/convergence/test_field_incidents.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from config.model.catalogue import Group
from config.units import Instant, MemberName, format_span
from handler.planning.desired import ABSENT_FOR, ABSENT_LISTINGS, Limits
from handler.planning.evidence import Doubt, Ground, Saying
from handler.planning.judgement import SILENT_FOR, LossVerdict, named_by, sources_of
from handler.planning.roles import MemberRole, Role
from handler.planning.world import Member, Phase, World

_NAMED = 5
"""Members that a sentence names."""

_ALIVE = (Phase.MADE, Phase.IN_SERVICE)
"""Phases of members that should be listed: created, and not chosen to leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingStreak:
    """Complete listings in a row with the same result for one name."""

    listings: int
    since: Instant

    def is_settled(self, at: Instant) -> bool:
        """Return whether they are enough to be believed, by the same measure as for an absent member."""
        return self.listings >= ABSENT_LISTINGS and at - self.since >= ABSENT_FOR


def lengthened(
    streaks: Mapping[MemberName, ListingStreak], names: Iterable[MemberName], at: Instant
) -> Mapping[MemberName, ListingStreak]:
    """Count one more complete listing for these names; others begin anew when they come up again."""
    first = ListingStreak(listings=0, since=at)
    longer = ((name, streaks.get(name, first)) for name in names)
    return MappingProxyType({name: replace(streak, listings=streak.listings + 1) for name, streak in longer})


def doubts_of(
    world: World,
    roles: Sequence[MemberRole],
    settled: int,
    group: Group,
    limits: Limits,
    unproved: Mapping[MemberName, LossVerdict],
) -> tuple[Doubt, ...]:
    """Return why the listing is not believed; empty: it is.

    Args:
        world: as it was gathered.
        roles: its members and their roles, without the settled ones.
        settled: the number of settled members.
        group: its ``distrust`` is the greatest share of the expected members that may be missing.
        limits: with ``accept_vanished`` a person accepts every listing but a partial one.
        unproved: members that only the cloud reports as lost.
    """
    if not world.complete:
        return (Doubt(ground=Ground.PARTIAL, members=(), words=f"the listing is partial: {world.because}"),)
    lost = tuple(_unproved(unproved, world, group))
    if limits.accept_vanished:
        return lost
    absent = tuple(member for member, seen in roles if seen is Role.ABSENT)
    shrunk = _shrunk(roles, settled, absent, group.distrust)
    served = (*(member.name for member in absent if _is_served(member, world)), *world.untraced)
    grounds = (
        (Ground.SHRUNK, tuple(member.name for member in absent) if shrunk else (), f"it lacks {shrunk}"),
        (Ground.CONTRADICTED, served, f"it lacks {_named(served)}, which a balancer sends work to"),
        (Ground.STALE, world.relisted, f"it shows {_named(world.relisted)}, proved gone before"),
    )
    found = [_disbelieved(ground, names, words, _so_far(absent)) for ground, names, words in grounds if names]
    return (*found, *lost)


_APART = (Ground.MANY_LOST, Ground.HEARD)
"""Grounds that are decided member by member."""


def named_in(doubts: Iterable[Doubt]) -> frozenset[MemberName]:
    """Return the members about which a complete listing is not believed, without those that lack evidence."""
    return frozenset(name for doubt in doubts if doubt.ground not in _APART for name in doubt.members)


def _disbelieved(ground: Ground, names: Iterable[MemberName], words: str, so_far: str) -> Doubt:
    confirmed = (
        f"to confirm it: a definite answer about each of them, {ABSENT_LISTINGS} complete listings in a row with the "
        f"same result over {ABSENT_FOR:g} s{so_far}, or trimtab converge"
    )
    return Doubt(
        ground=ground, members=tuple(sorted(names)), words=f"the listing is not believed: {words}; {confirmed}"
    )


def _so_far(absent: Iterable[Member]) -> str:
    """Return in words how many listings in a row lacked every absent member, including this one."""
    seen = [member.record.absent_listings + 1 for member in absent if member.record is not None]
    return f" (so far {min(seen)})" if seen else ""


def _unproved(unproved: Mapping[MemberName, LossVerdict], world: World, group: Group) -> Iterator[Doubt]:
    """Yield for members that only the cloud reports as lost why that is doubted, and what would confirm it."""
    heard = named_by(unproved, LossVerdict.HEARD)
    no_source, too_soon = named_by(unproved, LossVerdict.NO_SOURCE), named_by(unproved, LossVerdict.TOO_SOON)
    if heard:
        sources = sources_of((world.losses.members[name] for name in heard), saying=Saying.HEARD)
        words = (
            f"the cloud reports {_named(heard)} as gone, broken or being deleted, but {_answers(heard)} "
            f"{_listed(sources)}: {_count(heard)} as present; to accept a loss: trimtab member converge "
            f"{group.id} NAME"
        )
        yield Doubt(ground=Ground.HEARD, members=heard, words=words)
    waits_for = []
    if no_source:
        waits_for.append(
            "no independent source can confirm it: they count as present until one can, or until trimtab "
            f"converge {group.id} ({_named(no_source)})"
        )
    if too_soon:
        known = [world.losses.members[name] for name in too_soon]
        sources = sources_of(known, saying=Saying.SILENT)
        waits_for.append(
            f"they count as present until {_listed(sources)} {_have(sources)} been silent for "
            f"{format_span(SILENT_FOR * group.interval)}, or until trimtab converge {group.id} ({_named(too_soon)})"
        )
    if waits_for:
        names = tuple(sorted((*no_source, *too_soon)))
        words = (
            f"the cloud reports {len(names)} members at once as gone, broken or being deleted: {'; '.join(waits_for)}"
        )
        yield Doubt(ground=Ground.MANY_LOST, members=names, words=words)


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]


def _count(names: Sequence[MemberName]) -> str:
    return "it counts" if len(names) == 1 else "they count"


def _answers(names: Sequence[MemberName]) -> str:
    return "it still answers" if len(names) == 1 else "they still answer"


def _have(sources: Sequence[str]) -> str:
    return "has" if len(sources) == 1 else "have"


def _shrunk(roles: Sequence[MemberRole], settled: int, absent: Sequence[Member], share: float) -> str:
    """Return how much of the fleet is missing, in words, if it is too much to believe; otherwise nothing."""
    if not absent:
        return ""
    alive = [member for member, _ in roles if member.record is not None and member.record.phase in _ALIVE]
    missing, expected = sum(member.server is None for member in alive), len(alive) + settled
    if missing <= share * expected:
        return ""
    names = _named([member.name for member in absent])
    return f"{missing} of {expected} members, more than {share:.0%} ({names})"


def _is_served(member: Member, world: World) -> bool:
    registrations = (
        balancer_view.registrations.get(member.name)
        for balancer_view in world.balancer_views.values()
        if balancer_view.registrations is not None
    )
    return any(registration is not None and registration.works for registration in registrations)


def _named(names: Sequence[MemberName]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more
