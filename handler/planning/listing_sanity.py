"""Why a listing is not believed, and what would confirm it. Pure.

A listing that lacks members is no proof that they are gone, and one that shows members who were proved gone is no
proof that they are back: caches lag, pages are lost, a server answers before it has read its database. Each member
needs evidence of its own (`handler.planning.roles.is_witnessed`, and `handler.convergence.evidence` where many are lost
at once). Beyond that, a listing as a whole is not believed while it lacks too many, or lacks members that a balancer
gives work, or shows members that were proved gone: until that is cleared up nobody is chosen as surplus, and no first
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
from handler.planning.roles import Cast, Role
from handler.planning.world import Member, Phase, World

_NAMED = 5
"""Members that a sentence names."""

_ALIVE = (Phase.MADE, Phase.IN_SERVICE)
"""Who ought to be on a listing: made, and not asked to leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingStreak:
    """Complete listings in a row that said the same of one name."""

    listings: int
    since: Instant

    def is_settled(self, at: Instant) -> bool:
        """Whether they settle the matter, as they do for a member that is absent."""
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
    casts: Sequence[Cast],
    settled: int,
    group: Group,
    limits: Limits,
    unproved: Mapping[MemberName, LossVerdict],
) -> tuple[Doubt, ...]:
    """Say why the listing is not believed; empty: it is.

    Args:
        world: as it was gathered.
        casts: its members and what they are, the settled ones aside.
        settled: how many those are.
        group: whose ``distrust`` is, of the members that ought to be listed, the greatest share that may be missing.
        limits: whose ``accept_vanished`` says that a person believes all but a partial listing.
        unproved: members that are lost by the cloud's word alone.
    """
    if not world.complete:
        return (Doubt(ground=Ground.PARTIAL, members=(), words=f"the listing is partial: {world.because}"),)
    lost = tuple(_unproved(unproved, world, group))
    if limits.accept_vanished:
        return lost
    absent = tuple(member for member, seen in casts if seen is Role.ABSENT)
    shrunk = _shrunk(casts, settled, absent, group.distrust)
    served = (*(member.name for member in absent if _is_served(member, world)), *world.untraced)
    said = (
        (Ground.SHRUNK, tuple(member.name for member in absent) if shrunk else (), f"it lacks {shrunk}"),
        (Ground.CONTRADICTED, served, f"it lacks {_named(served)}, which a balancer gives work"),
        (Ground.STALE, world.relisted, f"it shows {_named(world.relisted)}, proved gone before"),
    )
    found = [_disbelieved(ground, names, words, _so_far(absent)) for ground, names, words in said if names]
    return (*found, *lost)


_APART = (Ground.MANY_LOST, Ground.HEARD)
"""Grounds whose members are waited for one by one."""


def whom(doubts: Iterable[Doubt]) -> frozenset[MemberName]:
    """Return the members about which a complete listing is not believed, without those that lack evidence."""
    return frozenset(name for doubt in doubts if doubt.ground not in _APART for name in doubt.members)


def _disbelieved(ground: Ground, names: Iterable[MemberName], words: str, so_far: str) -> Doubt:
    confirmed = (
        f"a definite answer about each of them would settle it, or {ABSENT_LISTINGS} complete listings in a row that "
        f"say the same over {ABSENT_FOR:g} s{so_far}, or trimtab converge"
    )
    return Doubt(
        ground=ground, members=tuple(sorted(names)), words=f"the listing is not believed: {words}; {confirmed}"
    )


def _so_far(absent: Iterable[Member]) -> str:
    """How many listings have said so of everybody who is absent, this one too."""
    seen = [member.record.absent_listings + 1 for member in absent if member.record is not None]
    return f" (so far {min(seen)})" if seen else ""


def _unproved(unproved: Mapping[MemberName, LossVerdict], world: World, group: Group) -> Iterator[Doubt]:
    """Say of members that are lost by the cloud's word alone what speaks against it, and what is waited for."""
    heard = named_by(unproved, LossVerdict.HEARD)
    no_source, too_soon = named_by(unproved, LossVerdict.NO_SOURCE), named_by(unproved, LossVerdict.TOO_SOON)
    if heard:
        sources = sources_of((world.losses.members[name] for name in heard), saying=Saying.HEARD)
        words = (
            f"the cloud says that {_named(heard)} {_is(heard)} gone, broken or being deleted, and {_listed(sources)} "
            f"{_still(sources)}: {_it(heard)} as present; to give one up all the same: trimtab member converge "
            f"{group.id} NAME"
        )
        yield Doubt(ground=Ground.HEARD, members=heard, words=words)
    said = []
    if no_source:
        said.append(
            "no independent source can say whether that is so: they count as present until one can, or until trimtab "
            f"converge {group.id} ({_named(no_source)})"
        )
    if too_soon:
        known = [world.losses.members[name] for name in too_soon]
        sources = sources_of(known, saying=Saying.SILENT)
        said.append(
            f"they count as present until {_listed(sources)} {_have(sources)} been silent for "
            f"{format_span(SILENT_FOR * group.interval)}, or until trimtab converge {group.id} ({_named(too_soon)})"
        )
    if said:
        names = tuple(sorted((*no_source, *too_soon)))
        words = f"{len(names)} members are gone, broken or being deleted at once by the cloud's word: {'; '.join(said)}"
        yield Doubt(ground=Ground.MANY_LOST, members=names, words=words)


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]


def _is(names: Sequence[MemberName]) -> str:
    return "is" if len(names) == 1 else "are"


def _it(names: Sequence[MemberName]) -> str:
    return "it counts" if len(names) == 1 else "they count"


def _still(sources: Sequence[str]) -> str:
    return "still hears it" if len(sources) == 1 else "still hear it"


def _have(sources: Sequence[str]) -> str:
    return "has" if len(sources) == 1 else "have"


def _shrunk(casts: Sequence[Cast], settled: int, absent: Sequence[Member], share: float) -> str:
    """How much of the fleet is missing, in words, if it is too much to believe."""
    if not absent:
        return ""
    alive = [member for member, _ in casts if member.record is not None and member.record.phase in _ALIVE]
    missing, expected = sum(member.server is None for member in alive), len(alive) + settled
    if missing <= share * expected:
        return ""
    names = _named([member.name for member in absent])
    return f"{missing} of {expected} members, more than {share:.0%} ({names})"


def _is_served(member: Member, world: World) -> bool:
    seats = (seating.seats.get(member.name) for seating in world.seatings.values() if seating.seats is not None)
    return any(seat is not None and seat.works for seat in seats)


def _named(names: Sequence[MemberName]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more
