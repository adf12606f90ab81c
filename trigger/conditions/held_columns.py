"""Carrying the progress of policies over many ticks at once: what `trigger.conditions.timers` does tick by tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aggregator.rates import Ints
from collector.samples import Bools, Floats
from config.model.catalogue import Policy
from config.units import Monotonic, PolicyId, Seconds
from trigger.conditions.columns import TRUTHS, Codes
from trigger.conditions.timers import LONGEST_GAP, Kept, least_held, progress
from trigger.verdicts import Hold, Truth

_FALSE, _TRUE = TRUTHS.index(Truth.FALSE), TRUTHS.index(Truth.TRUE)


class HeldTicks:
    """The progress of a group's policies at consecutive ticks, as long as none of them fires.

    Row 0 of every array is the last evaluation before these ticks; row ``n + 1`` is tick ``n``.

    Args:
        policies: of the group.
        interval: of the group.
        before: their progress before the first of these ticks.
        truths: (tick, policy)
        steady: (tick,) when they were judged.
    """

    __slots__ = ("_before", "_counted", "_last", "_policies", "_since", "_times", "_true", "ready")

    def __init__(
        self,
        policies: Sequence[Policy],
        interval: Seconds,
        before: Mapping[PolicyId, Kept],
        truths: Codes,
        steady: Floats,
    ) -> None:
        self._policies = policies
        self._before = before
        holds = [hold if isinstance(hold := before.get(policy.id), Hold) else None for policy in policies]
        held = np.array([hold is not None for hold in holds], dtype=np.bool_)
        self._true = np.vstack([held, truths == _TRUE])
        self._times = np.empty(self._true.shape)
        self._times[0] = [0.0 if hold is None else hold.last_true for hold in holds]
        self._times[1:] = steady[:, np.newaxis]
        self._last = _last_true(self._true, np.vstack([~held, truths == _FALSE]))
        self._since = self._beginnings([0.0 if hold is None else hold.true_since for hold in holds], interval)
        needed = np.array([least_held(policy, interval) for policy in policies])
        self.ready: Bools = (self._true & (self._times - self._since >= needed))[1:]
        """(tick, policy) where its conditions are TRUE, and were for long enough, or often enough."""
        self._counted = self._count(truths, steady, interval)

    def kept(self, ticks: int) -> Mapping[PolicyId, Kept]:
        """Return the progress after the first so many of these ticks."""
        if not ticks:
            return self._before
        found: dict[PolicyId, Kept] = {}
        for place, policy in enumerate(self._policies):
            last = int(self._last[ticks, place])
            kept: Kept | None = None
            if place in self._counted:
                kept = self._counted[place][ticks - 1]
            elif last >= 0:
                since, last_true = self._since[last, place], self._times[last, place]
                kept = Hold(true_since=Monotonic(float(since)), last_true=Monotonic(float(last_true)))
            if kept is not None:
                found[policy.id] = kept
        return found

    def _beginnings(self, before: Sequence[float], interval: Seconds) -> Floats:
        """Return since when the conditions have held, where they are TRUE: Note [Held time] of the timers."""
        columns = np.arange(len(self._policies))
        earlier = self._last[:-1]
        gap = self._times[1:] - self._times[earlier, columns]
        goes_on = (earlier >= 0) & (gap >= 0) & (gap <= LONGEST_GAP * interval)
        begins = self._true.copy()
        begins[1:] &= ~goes_on
        rows = np.arange(len(begins))[:, np.newaxis]
        began = np.maximum.accumulate(np.where(begins, rows, 0), axis=0)
        since: Floats = np.where(began == 0, before, self._times[began, columns])
        return since

    def _count(self, truths: Codes, steady: Floats, interval: Seconds) -> Mapping[int, Sequence[Kept | None]]:
        """Count the evaluations of policies that need some in a row, tick by tick; by place of the policy."""
        counted: dict[int, list[Kept | None]] = {}
        for place, policy in enumerate(self._policies):
            if policy.in_a_row is None:
                continue
            kept, after = self._before.get(policy.id), counted.setdefault(place, [])
            for tick, (code, now) in enumerate(zip(truths[:, place].tolist(), steady.tolist(), strict=True)):
                come = progress(policy, kept, TRUTHS[code], Monotonic(now), interval)
                kept = come.kept
                after.append(kept)
                self.ready[tick, place] = come.ready and TRUTHS[code] is Truth.TRUE
        return counted


def _last_true(true: Bools, false: Bools) -> Ints:
    """Return (row, policy) the last row up to this one where it was TRUE; -1: none since it was FALSE."""
    rows = np.arange(len(true))[:, np.newaxis]
    last = np.maximum.accumulate(np.where(true, rows, -1), axis=0)
    ended = np.maximum.accumulate(np.where(false, rows, -1), axis=0)
    found: Ints = np.where(last > ended, last, -1)
    return found
