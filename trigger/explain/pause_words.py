"""What people have stopped, in words."""

from __future__ import annotations

from typing import assert_never

from config.units import Instant
from trigger.explain.time_words import say_clock, say_span
from trigger.requests import FleetPause, Pause


def say_pause(pause: Pause) -> str:
    """What a person has stopped; nothing if nothing."""
    match pause:
        case Pause.NO:
            return ""
        case Pause.ALL:
            return "paused"
        case Pause.DECISIONS:
            return "decisions paused"
        case Pause.OUT:
            return "scale-out paused"
        case Pause.IN:
            return "scale-in paused"
        case _:
            assert_never(pause)


def say_fleet_pause(fleet: FleetPause, now: Instant) -> str:
    """What is stopped in all groups, who did that, when and why.

    >>> say_fleet_pause(FleetPause(pause=Pause.OUT, by="ada", since=Instant(60.0), because="quota"), Instant(120.0))
    'the whole fleet: scale-out paused by ada since 00:01:00 (60 s ago): quota'
    """
    because = f": {fleet.because}" if fleet.because else ""
    ago = say_span(now - fleet.since)
    return (
        f"the whole fleet: {say_pause(fleet.pause)} by {fleet.by} since {say_clock(fleet.since)} ({ago} ago){because}"
    )
