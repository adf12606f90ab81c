"""Pausing and going on: a group by itself, or the whole fleet at once. Nothing else of a state changes.

The next decision after it looks at bounds and quiet times. A pause of the fleet lies over those of groups: what is
stopped is what either of them stops, and groups are as they were when it is lifted. Source: DESIGN.md "Sizing".
"""

from __future__ import annotations

from dataclasses import replace

from config.units import Instant
from trigger.requests import FleetPause, GroupState, Pause
from trigger.verdicts import Direction


def paused(state: GroupState, pause: Pause) -> GroupState:
    """Stop decisions of one group, or go on with them.

    A pause of one direction adds to one of the other, and leaves a wider one as it is.
    """
    return replace(state, pause=_beside(state.pause, pause))


def resumed(state: GroupState, direction: Direction) -> GroupState:
    """Go on in one direction; the other one stays as it is. A pause of all is none of directions, and stays."""
    return replace(state, pause=_without(state.pause, direction))


def fleet_paused(before: FleetPause | None, pause: Pause, *, by: str, because: str, now: Instant) -> FleetPause:
    """Stop all groups, as `paused` does one. Whoever changes a pause that is there already stands for all of it."""
    was = Pause.NO if before is None else before.pause
    after = _beside(was, pause)
    if before is not None and after is was and not because:
        return before
    return FleetPause(pause=after, by=by, since=now if before is None else before.since, because=because)


def fleet_resumed(before: FleetPause | None, direction: Direction | None) -> FleetPause | None:
    """Let all groups go on, or those of one direction, as `resumed` does one."""
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
