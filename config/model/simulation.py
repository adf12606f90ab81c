"""How a simulated cloud behaves, as the core sees it. Shares are of calls or servers, from 0 to 1."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BootTime:
    """How long servers build: log-normal, as boot times are. The same for all where ``p95`` is the median."""

    median: Seconds = 30.0
    p95: Seconds = 30.0
    """19 of 20 servers have built by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingFaults:
    """Faults of listings."""

    takes: Seconds = 0.0
    """On top of what every call takes."""
    lag: Seconds = 0.0
    """How old what a listing shows is: the new are not on it yet, and the deleted are on it still."""
    partial: float = 0.0
    """Listings that show half of the servers, and say so."""
    truncated: float = 0.0
    """Listings that show half of the servers, and pass for complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFaults:
    """Faults of answers to calls that change something. Of one call at most one of these is true."""

    error: float = 0.0
    """An error is answered, and nothing was done."""
    false_error: float = 0.0
    """An error is answered, and all was done."""
    timeout: float = 0.0
    """All was done, and nothing is answered."""


class ScriptedEvent(enum.Enum):
    """What can be scripted."""

    ERROR = "error"
    """Servers go to error."""
    VANISH = "vanish"
    """Servers are gone, without a trace."""
    OUTAGE = "outage"
    """No call is answered, and nothing is done."""
    HIDE = "hide"
    """Listings that pass for complete lack servers that are there, and asked for by name they are not answered for."""
    DENY = "deny"
    """Listings lack existing servers, and a look-up by name answers that they do not exist."""
    DELETING = "deleting"
    """Listings show servers as being deleted that are not."""


LIES = frozenset({ScriptedEvent.HIDE, ScriptedEvent.DENY, ScriptedEvent.DELETING})
"""What the cloud says wrongly for a while; the servers themselves are as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Something that happens once, ``at`` so long after the cloud began."""

    at: Seconds
    what: ScriptedEvent
    count: int = 0
    """Servers that it befalls: so many…"""
    share: float = 0.0
    """…or this share of those that there are, rounded up."""
    lasts: Seconds = 0.0
    """An outage, or wrong answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRate:
    """Calls that are answered in any span of ``per`` seconds; more of them are refused, with the time to wait."""

    calls: int
    per: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """All that a simulated cloud does; nothing goes wrong by default."""

    seed: int = 1
    """Server by server and call by call, the same seed decides the same."""
    boot: BootTime = BootTime()
    stop: Seconds = 5.0
    """From the call until a destroyed server is gone; never longer than its grace."""
    call: Seconds = 0.0
    """What every call takes."""
    timeout: Seconds = 10.0
    """What a call takes that is not answered."""
    quota: int | None = None
    """Servers at most, foreign ones included."""
    foreign: int = 0
    """Servers that are not ours, from the beginning."""
    rate_limit: CallRate | None = None
    listing: ListingFaults = ListingFaults()
    create: CallFaults = CallFaults()
    destroy: CallFaults = CallFaults()
    stillborn: float = 0.0
    """Servers that go to error while they build."""
    error_after: Seconds | None = None
    """Mean time from built to error; exponential."""
    vanish_after: Seconds | None = None
    """Mean time from built to gone without a trace; exponential."""
    script: tuple[Incident, ...] = ()
