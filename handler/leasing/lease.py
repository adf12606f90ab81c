"""What a lease means to one worker at an instant of its own steady clock. Pure.

# Note [Two clocks and one lease]

The holder counts its time from before it asks for a renewal, and stops a tenth of the span early. Another worker counts
from after it has seen the row, and waits for all of the span. Every renewal changes the row, and a worker takes the
lease only from the very row that it has watched. So when the lease is taken, the holder has stopped, whatever the time
of day is on any machine, as long as no clock runs a tenth faster than another one.

Source: C. Gray, D. Cheriton: Leases (1989), with what was seen in place of a common clock; ADR 0059.
"""

from __future__ import annotations

from dataclasses import dataclass

from config.units import Monotonic, Seconds

_SPARE = 0.1
"""The share of a span by which the holder stops early: clocks may run at different rates."""
SHORTEST: Seconds = 2.0
"""A shorter span would end whenever a machine is busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    """The lease as the store shows it."""

    epoch: int
    """Grows by one with each holder; 0: there has been none."""
    process: str
    """Id of the process that holds it; empty: it is free."""
    renewals: int
    """How often it was renewed in this epoch."""
    span: Seconds
    """How long it lasts from each renewal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedLease:
    """A lease that another process holds, or none."""

    row: LeaseRow
    since: Monotonic
    """When this row was seen first, with these renewals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLease:
    """The lease is this process's own."""

    epoch: int
    until: Monotonic
    """From then on nothing is begun any more, unless it is renewed meanwhile."""


def observed(before: ObservedLease | None, row: LeaseRow, now: Monotonic) -> ObservedLease:
    """Take in a row that has just been read; only one that has not changed keeps its time."""
    return ObservedLease(row=row, since=before.since if before is not None and before.row == row else now)


def may_take(seen: ObservedLease, now: Monotonic, after: Seconds = 0.0) -> bool:
    """Whether the holder of this row has stopped: it gave the lease back, or did not renew it for its whole span.

    ``after`` is how much longer to wait, so that another worker can take it first.

    >>> row = LeaseRow(epoch=4, process="k3f9", renewals=7, span=10.0)
    >>> seen = ObservedLease(row=row, since=Monotonic(100.0))
    >>> may_take(seen, Monotonic(109.9)), may_take(seen, Monotonic(110.0)), may_take(seen, Monotonic(110.0), after=2.0)
    (False, True, False)
    """
    return now - seen.since >= (seen.row.span if seen.row.process else 0.0) + after


def held(epoch: int, asked_at: Monotonic, span: Seconds) -> OwnLease:
    """Return the lease after it was taken or renewed; ``asked_at`` is when that was asked for, not when it was done."""
    return OwnLease(epoch=epoch, until=Monotonic(asked_at + span * (1 - _SPARE)))


def may_act(lease: OwnLease | ObservedLease | None, now: Monotonic) -> bool:
    """Whether this process may begin something now; ``None``: it knows of no lease.

    >>> mine = held(4, asked_at=Monotonic(100.0), span=10.0)
    >>> may_act(mine, Monotonic(108.9)), may_act(mine, Monotonic(109.0)), may_act(None, Monotonic(0.0))
    (True, False, False)
    """
    return isinstance(lease, OwnLease) and now < lease.until
