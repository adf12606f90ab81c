"""Who leaves when there are too many: always by identity, never "n minus 1"."""

from __future__ import annotations

from collections.abc import Iterable

from config.model import Victims
from handler.roles import Cast, Role, sequence_of
from handler.world import Member, Phase

_RANK = {
    Role.GONE: 0,
    Role.DELETING: 0,
    Role.BROKEN: 0,
    Role.LATE: 0,
    Role.UNREADY: 0,
    Role.DISPROVED: 1,
    Role.ABSENT: 2,
    Role.INTENDED: 3,
    Role.BUILDING: 4,
    Role.ARRIVING: 5,
    Role.PASSING: 6,
    Role.PARKED: 7,
    Role.SERVING: 8,
}
_UNSURE_AND_NEW = 4
_IN_SERVICE = 8


def choose(candidates: Iterable[Cast], count: int, order: Victims) -> tuple[Member, ...]:
    """Choose ``count`` members to leave, or as many as may be chosen.

    Gone and broken ones first, then those that perhaps do not exist, then those that build, then those that are between
    two states or set aside, then those in service; alike ones by sequence, in the group's ``order``. Never a protected
    one, never one that the store does not know.

    Source: DESIGN.md "Who leaves"; Otter's planner: building, passing, parked, available, oldest first.
    """
    if count <= 0:
        return ()
    direction = 1 if order is Victims.OLDEST else -1

    def rank(cast: Cast) -> tuple[int, int, str]:
        return _rank(cast), direction * sequence_of(cast[0]), cast[0].name

    free = (cast for cast in candidates if cast[0].record is not None and not cast[0].record.protected)
    return tuple(member for member, _ in sorted(free, key=rank)[:count])


def _rank(cast: Cast) -> int:
    member, role = cast
    if role in _RANK:
        return _RANK[role]
    has_served = member.record is not None and member.record.phase is Phase.IN_SERVICE
    return _IN_SERVICE if has_served else _UNSURE_AND_NEW
