"""Pause and resume one group, or all groups at once. No other part of a state changes.

The next decision checks bounds and quiet times. A pause of the fleet adds to the pauses of groups: both apply, and
each group keeps its own when the fleet's pause ends. Source: DESIGN.md "Sizing".
"""

from __future__ import annotations

from dataclasses import replace

from config.units import Instant
from trigger.requests import FleetPause, GroupState, Pause
from trigger.verdicts import Direction


def paused(state: GroupState, pause: Pause) -> GroupState:
    """Pause decisions of one group, or resume them.

    A pause of one direction adds to one of the other, and leaves a wider one as it is.
    """
    return replace(state, pause=_beside(state.pause, pause))


def resumed(state: GroupState, direction: Direction) -> GroupState:
    """Resume one direction; the other one stays as it is. A pause of everything has no directions, and stays."""
    return replace(state, pause=_without(state.pause, direction))


def fleet_paused(before: FleetPause | None, pause: Pause, *, by: str, because: str, now: Instant) -> FleetPause:
    """Pause all groups, as `paused` does one. A person that changes the pause becomes the author of all of it."""
    was = Pause.NO if before is None else before.pause
    after = _beside(was, pause)
    if before is not None and after is was and not because:
        return before
    return FleetPause(pause=after, by=by, since=now if before is None else before.since, because=because)


def fleet_resumed(before: FleetPause | None, direction: Direction | None) -> FleetPause | None:
    """Resume all groups, in one direction or both, as `resumed` does one."""
    if before is None or direction is None:
        return None
    left = _without(before.pause, direction)
    return None if left is Pause.NO else replace(before, pause=left)


def _beside(before: Pause, new: Pause) -> Pause:
    return before.also(new) if new in {Pause.OUT, Pause.IN} else new


def _without(pause: Pause, direction: Direction) -> Pause:
    match pause:
        case Pause.DECISIONS:
            return Pause.IN if direction is Direction.OUT else Pause.OUT
        case Pause.OUT | Pause.IN if pause.stops(direction):
            return Pause.NO
        case _:
            return pause
