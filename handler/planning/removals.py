"""Decide when the removal of a leaving member is STUCK, and when a STUCK removal is retried. Pure.

A removal that fails again and again, or that a cloud takes up and never ends, is not waited for: the member counts as
garbage (`handler.planning.garbage`) and holds up nothing of its group. It is tried again all the same, ever less often,
and at once when a person orders convergence of the group or the member. The instants that decide are written down with
the attempt, before the call.

Source: OpenStack Heat and Otter both wait for such a removal for ever, and the group with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from config.units import Instant, MemberName, Seconds
from handler.planning.world import Member, Phase, Record, World

ATTEMPTS = 10
"""Failed removals of one member in a row."""
WITHIN: Seconds = 900.0
"""How long a removal may last beyond the member's grace, whatever the answers."""

_FIRST: Seconds = 60.0
_LAST: Seconds = 3600.0


def is_stuck(record: Record, grace: Seconds, now: Instant) -> bool:
    """Return whether the removal of a leaving member has failed so often, or lasts so long, that no plan waits for it.

    >>> from config.units import GroupId
    >>> began = Instant(1000.0)
    >>> going = Record(
    ...     name=MemberName("web-k3f9ab-1"), group=GroupId("web"), sequence=1, phase=Phase.LEAVING,
    ...     intended_at=Instant(0.0), removal_at=began, removal_tried_at=began,
    ... )
    >>> [is_stuck(going, 120.0, Instant(began + passed)) for passed in (1019.0, 1020.0)]
    [False, True]
    """
    if record.phase is not Phase.LEAVING:
        return False
    late = record.removal_at is not None and now - record.removal_at >= grace + WITHIN
    return late or record.destroy_attempts >= ATTEMPTS


def is_due(record: Record, now: Instant) -> bool:
    """Return whether a STUCK removal is due again: after as long as it has been tried, at most an hour."""
    began, last = record.removal_at, record.removal_tried_at
    if began is None or last is None:
        return True
    return not 0 <= now - last < min(max(last - began, _FIRST), _LAST)  # negative: the clock was set back


def retried(world: World, grace: Seconds, only: MemberName | None, now: Instant) -> World:
    """Return the world in which no removal is STUCK: a person ordered to retry all (or one) at once.

    Earlier failures are cleared: the removal gets as many attempts, and as much time, as a new one.
    """
    return replace(
        world,
        members=tuple(
            replace(member, record=_fresh(member.record))
            if member.record is not None and only in {None, member.name} and is_stuck(member.record, grace, now)
            else member
            for member in world.members
        ),
    )


def _fresh(record: Record) -> Record:
    return replace(record, attempts=(), destroy_attempts=0, removal_at=None, removal_tried_at=None)


def words_of(members: Collection[Member], stuck: Collection[MemberName]) -> Iterator[str]:
    """Yield for each member with a STUCK removal what that means, and what can be done."""
    for member in members:
        if member.name in stuck and member.record is not None:
            tried = member.record.destroy_attempts
            often = f" after {tried} attempts" if tried else ""
            answers = "".join(f"; last answer: {one.because}" for one in member.record.attempts if one.because)
            state = f" (state in the cloud: {member.server.raw_state})" if member.server is not None else ""
            yield (
                f"{member.name} cannot be removed{often}{state}: it counts as garbage, not as a member, and the "
                f"removal is retried; see trimtab garbage {member.record.group}{answers}"
            )
