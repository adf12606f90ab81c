"""Since when each member is in its state. Pure.

A state begins when a pass first sees it, or earlier where the member's record has the instant. What is worked out here
is written down, so that a restart begins no state anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.units import Instant, MemberName
from handler.planning.status import MemberState, StateSince
from handler.planning.world import Member, Record


def state_begins(
    before: Mapping[MemberName, StateSince],
    members: Iterable[Member],
    states: Mapping[MemberName, MemberState],
    now: Instant,
) -> Mapping[MemberName, StateSince]:
    """Return since when each of these members is in its state.

    Args:
        before: the same as it was known last; empty: nothing was known.
        members: as a pass saw them.
        states: of each of them.
        now: of that pass.
    """
    return {member.name: _begun(before.get(member.name), member.record, states[member.name], now) for member in members}


def _begun(before: StateSince | None, record: Record | None, state: MemberState, now: Instant) -> StateSince:
    if before is not None and before.state is state:
        return before
    recorded = None if record is None else _recorded(record, state)
    if recorded is None or recorded > now or (before is not None and recorded < before.at):
        return StateSince(state=state, at=now)  # it has been in this state before, and comes back to it
    return StateSince(state=state, at=recorded)


def _recorded(record: Record, state: MemberState) -> Instant | None:
    """Return when the state began according to the member's record; ``None``: the record does not have it."""
    match state:
        case MemberState.BUILDING:
            return record.intended_at
        case MemberState.IN_SERVICE:
            return record.in_service_at
        case MemberState.DRAINING:
            return record.drained_at or record.leaving_at
        case MemberState.LEAVING:
            return record.leaving_at
        case MemberState.JOINING | MemberState.BROKEN | MemberState.UNKNOWN | MemberState.STUCK:
            return None
