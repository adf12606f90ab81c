"""One group on a virtual clock: exactly what the decision queue does at every tick and request, without a daemon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aggregator.frames import Frame
from config.model.catalogue import Catalogue
from config.units import GroupId, Moment, PolicyId
from trigger.conditions.timers import Kept, restarted
from trigger.decide import decide
from trigger.policies.evaluate import evaluate, requests_from
from trigger.policies.schedules import due
from trigger.policies.steady_state import at_rest
from trigger.requests import Decision, Fleet, GroupState, Request
from trigger.verdicts import Evaluation


class Chain:
    """The state of a group that the decision queue keeps between decisions.

    Every rule is `trigger`'s; `handler.runtime.decision_queue` keeps state and holds the same way.
    """

    __slots__ = ("_catalogue", "_group", "_holds", "at_rest", "evaluation", "state")

    def __init__(self, catalogue: Catalogue, group: GroupId, state: GroupState) -> None:
        self._catalogue = catalogue
        self._group = catalogue.groups[group]
        self._holds: Mapping[PolicyId, Kept] = {}
        self.state = state
        self.evaluation: Evaluation | None = None
        """The newest evaluation."""
        self.at_rest = False
        """Ticks in the steady state need no evaluation: Note [At rest] of `trigger.policies.steady_state`."""

    def tick(self, frame: Frame, fleet: Fleet) -> Decision:
        """Evaluate one tick, and decide."""
        self.evaluation = evaluate(
            self._catalogue, self._group.id, frame, self._holds, frame.at, size=self.state.desired
        )
        self._holds = self.evaluation.holds
        before, own = self.state, requests_from(self._catalogue, self.evaluation)
        timely = due(self._group, before, frame.at.wall)
        decision = self._decided((*timely, *own), fleet, frame.at, self.evaluation)
        self.at_rest = not self._group.schedules and at_rest(self.evaluation, before, decision)
        return decision

    def ask(self, requests: Sequence[Request], fleet: Fleet, at: Moment) -> Decision:
        """Decide between two ticks, on requests, or on changes without a request."""
        self.at_rest = False
        return self._decided(requests, fleet, at, None)

    def change(self, state: GroupState) -> None:
        """Take over a change of the state by an operation."""
        self.state, self.at_rest = state, False

    def forget_holds(self) -> None:
        """Forget all holds, after the steady clock began anew."""
        self._holds = {}

    def _decided(
        self, requests: Sequence[Request], fleet: Fleet, at: Moment, evaluation: Evaluation | None
    ) -> Decision:
        decision = decide(self._group, requests, fleet, self.state, at, evaluation=evaluation)
        self.state = decision.state
        if decision.restarts_holds:
            self._holds = restarted(self._holds)
        return decision
