"""Whether samples are recorded: what the file says, unless a person says otherwise."""

from __future__ import annotations

import json
from dataclasses import dataclass

from config.model.observability import DEFAULTS, Recording
from config.units import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A person's word. It survives restarts, and ends when its time is over or the file says the same."""

    on: bool
    by: str
    until: Instant | None = None


def in_force(declared: Recording | None, switch: Switch | None, now: Instant) -> Recording | None:
    """By which settings is recorded now; ``None``: not at all."""
    if switch is None or not _holds(switch, now):
        return declared
    return (declared or DEFAULTS) if switch.on else None


def still(switch: Switch | None, declared: Recording | None, now: Instant) -> Switch | None:
    """What is left of a person's word: nothing if its time is over, or if the file says so for ever."""
    if switch is None or not _holds(switch, now):
        return None
    return None if switch.on is (declared is not None) else switch


def _holds(switch: Switch, now: Instant) -> bool:
    return switch.until is None or now < switch.until


def to_text(switch: Switch | None) -> str:
    """Write it down."""
    if switch is None:
        return "{}"
    return json.dumps({"on": switch.on, "by": switch.by, "until": switch.until})


def from_text(text: str) -> Switch | None:
    """Read what `to_text` wrote; ``None`` also for what it did not write.

    >>> from_text(to_text(Switch(on=True, by="ann")))
    Switch(on=True, by='ann', until=None)
    """
    try:
        match json.loads(text):
            case {"on": bool(on), "by": str(by), "until": None}:
                return Switch(on=on, by=by)
            case {"on": bool(on), "by": str(by), "until": int(until) | float(until)}:
                return Switch(on=on, by=by, until=Instant(until))
            case _:
                return None
    except ValueError:
        return None
