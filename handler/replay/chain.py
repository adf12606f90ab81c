"""One group on a virtual clock: exactly what the decision queue does at every tick and request, without a daemon.

# Note [Ticks ahead]

Where the policies of a group are judged in columns, a batch of ticks is known before the first of them is decided:
which policies' conditions are TRUE, and, as long as none fires, which policies are ready. Few of these ticks need the
decision path:

* At most ticks no policy asks for anything, and the state stays: `trigger.policies.steady_state`, Note [Unasked]. They
  are passed over, many at a time.
** At some, policies ask for what was refused before, of the same fleet in the same state: Note [Standing refusals]. The
  decision repeats.
** All others are evaluated and decided as in the daemon. If a policy fires, what is ahead is worked out anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from aggregator.aggregate import Aggregator
from aggregator.batch_frames import Reel
from aggregator.frames import Frame
from collector.samples import Bools, Floats
from config.model.catalogue import AdjustmentVerb, Catalogue
from config.units import GroupId, Instant, Moment, PolicyId
from trigger.conditions.columns import TRUTHS, Codes, of_policies, rows_of
from trigger.conditions.held_columns import HeldTicks
from trigger.conditions.timers import Kept, restarted
from trigger.decide import decide
from trigger.policies.evaluate import NOTHING_FORESEEN, evaluate, requests_from
from trigger.policies.schedules import due
from trigger.policies.steady_state import at_rest, goes_by_time, repeats_until, unasked_until
from trigger.requests import Decision, Fleet, GroupState, Request
from trigger.verdicts import Evaluation, Foreseen, Truth

_TRUE, _UNKNOWN = TRUTHS.index(Truth.TRUE), TRUTHS.index(Truth.UNKNOWN)
_READY = len(TRUTHS)
"""In a policy's column: its conditions are TRUE, and were for long enough."""


class _Repeating(NamedTuple):
    """A decision that repeats at every tick that finds the same."""

    decision: Decision
    fleet: Fleet
    until: Instant


class _Ahead(NamedTuple):
    """Ticks that come: Note [Ticks ahead]."""

    first: int
    """Which tick of the batch is the first of them."""
    held: HeldTicks
    found: Codes
    """(tick, policy) the code of its truth, or ``_READY``."""
    asked: Bools
    """(tick,) whether a policy is ready, or cannot be judged."""


class Chain:
    """The state of a group that the decision queue keeps between decisions.

    Every rule is `trigger`'s; `handler.runtime.decision_queue` keeps state and holds the same way.
    """

    def __init__(self, catalogue: Catalogue, group: GroupId, state: GroupState) -> None:
        self._catalogue = catalogue
        self._group = catalogue.groups[group]
        self._policies = [catalogue.policies[name] for name in self._group.policies]
        self._adds = np.array([each.adjustment.verb is AdjustmentVerb.ADD for each in self._policies], dtype=np.bool_)
        self._holds: Mapping[PolicyId, Kept] = {}
        """Before the ticks ahead."""
        self._truths: Codes = np.zeros((0, len(self._policies)), dtype=np.int8)
        """(tick, policy) of the batch; empty: it cannot be judged in columns."""
        self._wall: Floats = np.zeros(0)
        self._steady: Floats = np.zeros(0)
        self._tick = 0
        """The number of ticks of the batch that are done."""
        self._ahead: _Ahead | None = None
        """``None``: not worked out."""
        self._repeating: dict[bytes, _Repeating] = {}
        """By what was found of the policies; all of the present state."""
        self._unasked_until: Instant | None = None
        """As `trigger.policies.steady_state.unasked_until`, by the last tick."""
        self.state = state
        self.busy = False
        """Whether all conditions of a policy that adds members held at the newest tick."""
        self.at_rest = False
        """Ticks in the steady state need no evaluation: Note [At rest] of `trigger.policies.steady_state`."""

    def expect(self, truths: Codes, at: Sequence[Moment]) -> None:
        """Begin a batch of ticks, whose first ones may be all that come of it.

        Args:
            truths: (tick, policy), in the order of the group's policies.
            at: (tick,)
        """
        self._holds, self._ahead = self._carried(), None
        self._truths, self._tick = truths, 0
        self._wall = np.array([each.wall for each in at])
        self._steady = np.array([each.steady for each in at])

    def idle(self) -> int:
        """Return how many of the next ticks of the batch can be passed over."""
        if self._unasked_until is None or self._tick >= len(self._truths):
            return 0
        ahead = self._looked_ahead()
        stops = ahead.asked[self._tick - ahead.first :]
        if not math.isinf(self._unasked_until):
            stops = stops | (self._wall[self._tick :] >= self._unasked_until)
        first = int(stops.argmax())
        return first if stops[first] else len(stops)  # `argmax` of none is 0

    def pass_over(self, ticks: int) -> Bools:
        """Carry the holds over ticks at which no policy asks for anything.

        Returns:
            (tick,) whether all conditions of a policy that adds members held.
        """
        truths = self._truths[self._tick : self._tick + ticks]
        self._tick += ticks
        busy: Bools = (truths[:, self._adds] == _TRUE).any(axis=1)
        self.busy = bool(busy[-1])
        return busy

    def rest(self) -> None:
        """Pass over one tick of a group at rest."""
        self._tick += 1

    def repeat(self, fleet: Fleet) -> Decision | None:
        """Return the earlier decision that the next tick of the batch repeats, and pass over it; ``None``: none."""
        if not self._repeating or self._tick >= len(self._truths):
            return None
        ahead = self._looked_ahead()
        last = self._repeating.get(ahead.found[self._tick - ahead.first].tobytes())
        if last is None or self._wall[self._tick] >= last.until or fleet != last.fleet:
            return None
        self.pass_over(1)
        return last.decision

    def tick(self, frame: Frame, fleet: Fleet, foreseen: Mapping[PolicyId, Foreseen] = NOTHING_FORESEEN) -> Decision:
        """Evaluate one tick, and decide."""
        size, group, holds = self.state.desired, self._group.id, self._carried()
        evaluation = evaluate(self._catalogue, group, frame, holds, frame.at, size=size, foreseen=foreseen)
        self.busy = any(
            adds and advice.truth is Truth.TRUE for adds, advice in zip(self._adds, evaluation.advices, strict=True)
        )
        before, own = self.state, requests_from(self._catalogue, evaluation)
        timely = due(self._group, before, frame.at.wall)
        decision = self._decided((*timely, *own), fleet, frame.at, evaluation)
        self.at_rest = not self._group.schedules and at_rest(evaluation, before, decision)
        self._unasked_until = unasked_until(self._group, before, decision)
        self._remember(before, decision, fleet)
        self._tick += 1
        return decision

    def ask(self, requests: Sequence[Request], fleet: Fleet, at: Moment) -> Decision:
        """Decide between two ticks, on requests, or on changes without a request."""
        self._forget_ticks()
        return self._decided(requests, fleet, at, None)

    def change(self, state: GroupState) -> None:
        """Take over a change of the state by an operation."""
        self.state = state
        self._forget_ticks()

    def forget_holds(self) -> None:
        """Forget all holds, after the steady clock began anew."""
        self._holds, self._ahead = {}, None

    def _decided(
        self, requests: Sequence[Request], fleet: Fleet, at: Moment, evaluation: Evaluation | None
    ) -> Decision:
        decision = decide(self._group, requests, fleet, self.state, at, evaluation=evaluation)
        self.state = decision.state
        if decision.restarts_holds:
            self._holds = restarted(self._carried() if evaluation is None else evaluation.holds)
            self._ahead = None
        elif evaluation is not None and self._ahead is None:
            self._holds = evaluation.holds
        return decision

    def _carried(self) -> Mapping[PolicyId, Kept]:
        """Return the holds before the next tick."""
        return self._holds if self._ahead is None else self._ahead.held.kept(self._tick - self._ahead.first)

    def _looked_ahead(self) -> _Ahead:
        if self._ahead is None:
            first, interval = self._tick, self._group.interval
            truths = self._truths[first:]
            held = HeldTicks(self._policies, interval, self._holds, truths, self._steady[first:])
            found = np.where(held.ready, np.int8(_READY), truths)
            asked = held.ready.any(axis=1) | (truths == _UNKNOWN).any(axis=1)
            self._ahead = _Ahead(first, held, found, asked)
        return self._ahead

    def _remember(self, before: GroupState, decision: Decision, fleet: Fleet) -> None:
        """Note a decision that repeats, by what was found of the policies; another state has others."""
        if decision.state is not before:
            self._repeating.clear()
        elif self._ahead is not None and not goes_by_time(self._group):
            until = repeats_until(before, decision)
            if until is not None:
                found = self._ahead.found[self._tick - self._ahead.first]
                self._repeating[found.tobytes()] = _Repeating(decision, fleet, until)

    def _forget_ticks(self) -> None:
        """Forget what the last ticks tell of the next ones."""
        self.at_rest, self._unasked_until = False, None
        self._repeating.clear()


class PolicyColumns:
    """Judges the policies of a cohort's groups at all ticks of a batch at once, where they can be judged in columns.

    Args:
        catalogue: declares the groups.
        groups: of the cohort.
        aggregator: of the cohort, or one like it.
    """

    def __init__(self, catalogue: Catalogue, groups: Sequence[GroupId], aggregator: Aggregator) -> None:
        self._rows = rows_of(catalogue, groups, aggregator.window)
        self._policies = {
            group: [catalogue.policies[name] for name in catalogue.groups[group].policies]
            for group, rows in self._rows.groups.items()
            if rows.stop > rows.start
        }

    def judge(self, reel: Reel, chains: Mapping[GroupId, Chain]) -> None:
        """Tell each group's chain the truths of its policies at each tick."""
        if not self._policies:
            return
        codes = self._rows.truths(reel.columns())
        for group, policies in self._policies.items():
            chains[group].expect(of_policies(policies, codes[:, self._rows.groups[group]]), reel.at)
