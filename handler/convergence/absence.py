"""For how long a balancer has been missing, and whether it counts as *not found*. Pure.

A balancer is registered, unreadable or not found:

===========  ===========================================================  =============================================
Answer       What the driver does                                         What convergence does
===========  ===========================================================  =============================================
registered   returns the seats of its members                             registers, drains and removes as always
unreadable   raises `Transient` or `Permanent`                            no member leaves: it may still get work there
not found    raises `NotFound`, at every look for three intervals         members leave without draining there
===========  ===========================================================  =============================================

The count is kept in memory: a restart begins it anew, and so does any other answer, a gap between two looks, and a
clock that was set back. It is never shortened.

Source: DESIGN.md "Moving".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from config.units import Instant, Seconds

INTERVALS = 3
"""For so many intervals of the group the balancer has to be missing…"""
LOOKS = 3
"""…and at so many looks at least."""
_GAP: Seconds = 60.0
"""Two looks that are farther apart than this, and than three intervals, say nothing of the time between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A balancer that was missing at every look since an instant."""

    since: Instant
    last: Instant
    """The last look."""
    looks: int = 1

    def proved_from(self, interval: Seconds) -> Instant:
        """When the balancer counts as not found at the earliest; ``interval`` is the group's."""
        return Instant(self.since + INTERVALS * interval)

    def is_proved(self, interval: Seconds) -> bool:
        """Whether the balancer counts as not found."""
        return self.looks >= LOOKS and self.last >= self.proved_from(interval)


def missed(before: Absence | None, now: Instant, interval: Seconds) -> Absence:
    """Count one more look at which the balancer was missing.

    >>> first = missed(None, Instant(1000.0), 30.0)
    >>> third = missed(missed(first, Instant(1045.0), 30.0), Instant(1090.0), 30.0)
    >>> first.is_proved(30.0), third.is_proved(30.0)
    (False, True)
    >>> missed(third, Instant(1200.0), 30.0).since  # no look for longer than three intervals
    1200.0
    """
    if before is None or not 0 <= now - before.last <= max(INTERVALS * interval, _GAP):
        return Absence(since=now, last=now)
    return replace(before, last=now, looks=before.looks + 1)
