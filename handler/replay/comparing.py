"""Compare the sizes of a replay and of its recording, to find where they stop being the same fleet.

# Note [The same fleet]

Recorded values belong to the recorded size. So they are valid only while the replayed size is the recorded one:

* with events, the recorded desired size is known. It may differ for one tick, since another daemon may have decided a
  little later; from then on the two are different fleets;
** without, there are only the members that were polled. They follow a desired size late: up to the build timeout while
  they are too few, up to drain and grace after a scale-in while they are too many. Too many without a scale-in:
  another decision let the fleet grow, and the fleets differ at once.

Either way the fleets differ from the *first* instant of a difference, not from when it was certain: decisions in
between are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

from config.model.catalogue import Group
from config.units import Instant, Seconds

_ONE_TICK = 1.5
"""In intervals: the next tick, if it is not missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDifference:
    """The point where a replay and its recording differ."""

    at: Instant
    replayed: int
    recorded: int


class SizeComparison:
    """Follows one group's two sizes. See Note [The same fleet].

    Args:
        group: its time limits apply.
        exact: the recorded size is a desired size, not a number of members that follow one.
    """

    def __init__(self, group: Group, *, exact: bool) -> None:
        self._group = group
        self._exact = exact
        self._agreed: int | None = None
        self.doubt: ReplayDifference | None = None
        """They differ, but may still agree later."""

    def look(self, at: Instant, replayed: int, recorded: int) -> ReplayDifference | None:
        """Compare the sizes of one tick; return where they began to differ once that is certain."""
        if replayed == recorded:
            self._agreed, self.doubt = recorded, None
            return None
        if self.doubt is None:
            self.doubt = ReplayDifference(at=at, replayed=replayed, recorded=recorded)
        return self.doubt if at - self.doubt.at >= self._patience(replayed, recorded) else None

    def _patience(self, replayed: int, recorded: int) -> Seconds:
        if self._exact:
            return _ONE_TICK * self._group.interval
        if recorded < replayed:
            return self._group.build_timeout
        leaving = self._agreed is not None and replayed < recorded <= self._agreed
        return self._group.drain + self._group.grace if leaving else 0.0
