"""Whether samples are recorded: as the file says, unless a person has switched it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from config.model.observability import DEFAULTS, Recording
from config.units import Instant, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A person's switch. It survives restarts, and ends when its time is over or the file says the same."""

    on: bool
    by: str
    until: Instant | None = None
    lasts: Seconds | None = None
    """For how long it was to hold; ``None``: for ever, or an earlier release wrote it."""


def limited(switch: Switch | None, now: Instant) -> Switch | None:
    """Return the switch, which ends no later than its length from now, whatever the clock was set to."""
    if switch is None or switch.until is None or switch.lasts is None:
        return switch
    return replace(switch, until=min(switch.until, Instant(now + switch.lasts)))


def in_force(declared: Recording | None, switch: Switch | None, now: Instant) -> Recording | None:
    """Return the settings in force now; ``None``: nothing is recorded."""
    if switch is None or not _holds(switch, now):
        return declared
    return (declared or DEFAULTS) if switch.on else None


def still(switch: Switch | None, declared: Recording | None, now: Instant) -> Switch | None:
    """Return the switch if it still holds: not after its time, nor when the file says the same."""
    if switch is None or not _holds(switch, now):
        return None
    return None if switch.on is (declared is not None) else switch


def _holds(switch: Switch, now: Instant) -> bool:
    return switch.until is None or now < switch.until


def to_text(switch: Switch | None) -> str:
    """Write a switch as text."""
    if switch is None:
        return "{}"
    return json.dumps({"on": switch.on, "by": switch.by, "until": switch.until, "lasts": switch.lasts})


def from_text(text: str) -> Switch | None:
    """Read the text of `to_text`; ``None`` for any other text, too.

    >>> from_text(to_text(Switch(on=True, by="ann")))
    Switch(on=True, by='ann', until=None, lasts=None)
    """
    try:
        match json.loads(text):
            case {"on": bool(on), "by": str(by), "until": None}:
                return Switch(on=on, by=by)
            case {
                "on": bool(on),
                "by": str(by),
                "until": int(until) | float(until),
                "lasts": int(lasts) | float(lasts),
            }:
                return Switch(on=on, by=by, until=Instant(until), lasts=lasts)
            case {"on": bool(on), "by": str(by), "until": int(until) | float(until)}:
                return Switch(on=on, by=by, until=Instant(until))
            case _:
                return None
    except ValueError:
        return None
