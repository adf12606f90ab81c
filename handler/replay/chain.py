"""One group on a virtual clock: exactly what the decision queue does at every tick and request, without a daemon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aggregator.frames import Frame
from config.model.catalogue import AdjustmentVerb, Catalogue, Policy
from config.units import GroupId, Instant, Moment, PolicyId
from trigger.conditions.timers import Kept, progress, restarted
from trigger.decide import decide
from trigger.policies.evaluate import NOTHING_FORESEEN, evaluate, requests_from
from trigger.policies.schedules import due
from trigger.policies.steady_state import at_rest, unasked_until
from trigger.requests import Decision, Fleet, GroupState, Request
from trigger.verdicts import Evaluation, Foreseen, Truth


class Chain:
    """The state of a group that the decision queue keeps between decisions.

    Every rule is `trigger`'s; `handler.runtime.decision_queue` keeps state and holds the same way.
    """

    __slots__ = ("_catalogue", "_group", "_holds", "_policies", "_unasked_until", "at_rest", "busy", "state")

    def __init__(self, catalogue: Catalogue, group: GroupId, state: GroupState) -> None:
        self._catalogue = catalogue
        self._group = catalogue.groups[group]
        self._holds: Mapping[PolicyId, Kept] = {}
        self._policies = [(each, each.adjustment.verb is AdjustmentVerb.ADD) for each in _followed(catalogue, group)]
        """With whether it adds members."""
        self._unasked_until: Instant | None = None
        """As `trigger.policies.steady_state.unasked_until`, by the last tick."""
        self.state = state
        self.busy = False
        """Whether all conditions of a policy that adds members held at the newest tick."""
        self.at_rest = False
        """Ticks in the steady state need no evaluation: Note [At rest] of `trigger.policies.steady_state`."""

    def tick(self, frame: Frame, fleet: Fleet, foreseen: Mapping[PolicyId, Foreseen] = NOTHING_FORESEEN) -> Decision:
        """Evaluate one tick, and decide."""
        size, group = self.state.desired, self._group.id
        evaluation = evaluate(self._catalogue, group, frame, self._holds, frame.at, size=size, foreseen=foreseen)
        self._holds = evaluation.holds
        self._note([advice.truth for advice in evaluation.advices])
        before, own = self.state, requests_from(self._catalogue, evaluation)
        timely = due(self._group, before, frame.at.wall)
        decision = self._decided((*timely, *own), fleet, frame.at, evaluation)
        self.at_rest = not self._group.schedules and at_rest(evaluation, before, decision)
        self._unasked_until = unasked_until(self._group, before, decision)
        return decision

    def pass_over(self, truths: Sequence[Truth], at: Moment) -> bool:
        """Carry the holds over one tick if no policy asks for anything then; whether that was so.

        The tick needs no evaluation: Note [Unasked] of `trigger.policies.steady_state`.

        Args:
            truths: of the policies, in the order of the group's.
            at: when the tick is.
        """
        if self._unasked_until is None or at.wall >= self._unasked_until:
            return False
        kept: dict[PolicyId, Kept] = {}
        for (policy, _), truth in zip(self._policies, truths, strict=True):
            if truth is Truth.UNKNOWN:
                return False
            before = self._holds.get(policy.id)
            if truth is Truth.FALSE and before is None and policy.in_a_row is None:
                continue
            come = progress(policy, before, truth, at.steady, self._group.interval)
            if come.ready and truth is Truth.TRUE:
                return False
            if come.kept is not None:
                kept[policy.id] = come.kept
        self._holds = kept
        self._note(truths)
        return True

    def _note(self, truths: Sequence[Truth]) -> None:
        self.busy = any(adds and truth is Truth.TRUE for (_, adds), truth in zip(self._policies, truths, strict=True))

    def ask(self, requests: Sequence[Request], fleet: Fleet, at: Moment) -> Decision:
        """Decide between two ticks, on requests, or on changes without a request."""
        self.at_rest, self._unasked_until = False, None
        return self._decided(requests, fleet, at, None)

    def change(self, state: GroupState) -> None:
        """Take over a change of the state by an operation."""
        self.state, self.at_rest, self._unasked_until = state, False, None

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


def _followed(catalogue: Catalogue, group: GroupId) -> Sequence[Policy]:
    return [catalogue.policies[name] for name in catalogue.groups[group].policies]
