"""Ticks that bring the same answer as the one before, which is worked out only on demand.

# Note [At rest in the daemon]

A group whose last decision stands (`trigger.policies.steady_state`, Note [Standing refusals]) gets the same decision
again as long as every condition has the same truth, and nothing else that it was decided by has changed: catalogue,
definition, fleet, state. Nothing of it may depend on the time but what says until when it stands: no schedule, no
freeze, no service with turns, no stabilisation window.
Of such a tick history keeps the values and the time; what has held goes on to hold. The decision and its explanation
are needed only when a person looks: a `SteadyTick` keeps what the tick was made of, and works them out row by row
when it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aggregator.frames import Cell, Frame
from aggregator.specs import window_key
from config.model.catalogue import Catalogue, Condition, Group
from config.units import GroupId, Instant, Moment, PolicyId, Seconds
from handler.ports.stored import RepeatedTick
from trigger.conditions.timers import LONGEST_GAP, Kept, held
from trigger.decide import decide
from trigger.explain.explanation import Explanation, explain
from trigger.explain.shapes import values_of
from trigger.policies.evaluate import evaluate, request_of, requests_from
from trigger.policies.steady_state import goes_by_time, stands_until
from trigger.requests import Decision, Fleet, GroupState, RequestOutcome
from trigger.verdicts import Evaluation, Hold, Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyState:
    """What a group was decided by: while all of it stays, so does the decision."""

    catalogue: Catalogue
    group: Group
    fleet: Fleet
    decision: Decision
    """The last that was worked out; the state that it left is the one that it found."""
    until: Instant
    """The decision stands before this; infinite: until something changes."""
    met: tuple[PolicyId, ...]
    """Policies whose conditions are TRUE: they hold on."""

    def stays(self, catalogue: Catalogue, group: Group, fleet: Fleet, state: GroupState) -> bool:
        """Whether all of it is as it was."""
        same = self.catalogue is catalogue and self.group is group and self.decision.state is state
        return same and (self.fleet is fleet or self.fleet == fleet)

    def lasts(self, at: Moment, holds: Mapping[PolicyId, Kept]) -> bool:
        """Whether the decision still stands at a tick, and no hold has ended by a gap since the one before."""
        if not self.met:
            return at.wall < self.until
        return at.wall < self.until and all(self._holds_on(holds.get(policy), at) for policy in self.met)

    def _holds_on(self, kept: Kept | None, at: Moment) -> bool:
        return isinstance(kept, Hold) and 0 <= at.steady - kept.last_true <= LONGEST_GAP * self.group.interval

    def carried(self, holds: Mapping[PolicyId, Kept], at: Moment) -> Mapping[PolicyId, Kept]:
        """Carry holds over one more tick, as `trigger.conditions.timers.hold` does."""
        if not self.met:
            return holds
        after = dict(holds)
        for policy in self.met:
            before = after[policy]
            if isinstance(before, Hold):
                after[policy] = Hold(true_since=before.true_since, last_true=at.steady)
        return after

    def decided(self, at: Moment) -> Decision:
        """The same decision of another moment."""
        last = self.decision
        return Decision(
            group=last.group,
            at=at,
            reason=last.reason,
            desired_from=last.desired_from,
            desired_to=last.desired_to,
            answers=tuple(self._answered(answer, at) for answer in last.answers) if last.answers else (),
            winner=None,
            advised_to=None,
            state=last.state,
        )

    def _answered(self, answer: RequestOutcome, at: Moment) -> RequestOutcome:
        """The same answer to the request that the policy makes at another moment."""
        asked = answer.request
        policy = self.catalogue.policies[PolicyId(asked.by)]
        return RequestOutcome(
            request=request_of(policy, asked.adjustment, self.group.id, at),
            reason=answer.reason,
            wanted=answer.wanted,
            clamps=answer.clamps,
            until=answer.until,
        )


def steady_state_of(
    catalogue: Catalogue,
    group: Group,
    evaluation: Evaluation | None,
    before: GroupState,
    decision: Decision,
    fleet: Fleet,
) -> SteadyState | None:
    """Return what a decision was made by; ``None``: it does not stand. See Note [At rest in the daemon]."""
    timeless = not goes_by_time(group)
    until = stands_until(evaluation, before, decision) if evaluation is not None and timeless else None
    if evaluation is None or until is None:
        return None
    met = tuple(advice.policy for advice in evaluation.advices if advice.truth is Truth.TRUE)
    return SteadyState(catalogue=catalogue, group=group, fleet=fleet, decision=decision, until=until, met=met)


def _held(kept: Kept | None) -> Seconds:
    return held(kept) if isinstance(kept, Hold) else 0.0


class SteadyTick:
    """One tick of a group whose decision stands.

    Args:
        steady: what the decision was made by.
        frames: those of the tick.
        at: when they were taken.
        values: of every aggregate, in the order of `Explanation.measured`.
        holds: as the tick before left them.
    """

    __slots__ = ("_frames", "_made", "at", "holds", "steady", "values")

    def __init__(
        self,
        steady: SteadyState,
        frames: Mapping[GroupId, Frame],
        at: Moment,
        values: tuple[float | None, ...],
        holds: Mapping[PolicyId, Kept],
    ) -> None:
        self.steady = steady
        self.at = at
        self.values = values
        self.holds = holds
        self._frames = frames
        self._made: tuple[Evaluation, Explanation] | None = None
        """``None``: not needed so far."""

    @property
    def evaluation(self) -> Evaluation:
        """What the policies say."""
        return self._whole()[0]

    @property
    def repeated(self) -> RepeatedTick:
        """What history keeps of it."""
        return RepeatedTick(self.steady.group.id, self.at.wall, self.values)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """What was measured, in the order of `Explanation.measured`."""
        catalogue, group = self.steady.catalogue, self.steady.group
        cells = self._frames[group.id].cells
        return tuple(
            cells[window_key(condition, policy, group)]
            for policy in map(catalogue.policies.__getitem__, group.policies)
            for name in policy.when
            if isinstance(condition := catalogue.conditions[name], Condition)
        )

    @property
    def held(self) -> tuple[Seconds, ...]:
        """How long each policy's conditions have held, in the order of the group's policies."""
        kept = self.steady.carried(self.holds, self.at)
        return tuple(_held(kept.get(policy)) for policy in self.steady.group.policies)

    @property
    def explanation(self) -> Explanation:
        """Why the group did nothing."""
        return self._whole()[1]

    def _whole(self) -> tuple[Evaluation, Explanation]:
        if self._made is None:
            steady, state = self.steady, self.steady.decision.state
            frame = self._frames[steady.group.id]
            evaluation = evaluate(steady.catalogue, steady.group.id, frame, self.holds, self.at, size=state.desired)
            asked = requests_from(steady.catalogue, evaluation)
            decision = decide(steady.group, asked, steady.fleet, state, self.at, evaluation=evaluation)
            explanation = explain(steady.catalogue, steady.group, evaluation, decision, steady.fleet, state)
            self._made = evaluation, explanation
        return self._made


class UnchangedTick:
    """One decided tick with the same answer as the one before: its explanation is made when it is asked for.

    Args:
        catalogue: as given to `trigger.explain.explanation.explain`.
        group: likewise.
        evaluation: likewise.
        decision: likewise.
        fleet: likewise.
        state: likewise.
    """

    __slots__ = ("_catalogue", "_decision", "_fleet", "_group", "_made", "_state", "at", "evaluation", "values")

    def __init__(
        self,
        catalogue: Catalogue,
        group: Group,
        evaluation: Evaluation,
        decision: Decision,
        fleet: Fleet,
        state: GroupState,
    ) -> None:
        self.at = evaluation.at
        self.evaluation = evaluation
        self.values = values_of(evaluation)
        self._catalogue, self._group, self._decision = catalogue, group, decision
        self._fleet, self._state = fleet, state
        self._made: Explanation | None = None
        """``None``: not asked for yet."""

    @property
    def repeated(self) -> RepeatedTick:
        """What history keeps of it."""
        return RepeatedTick(self._group.id, self.at.wall, self.values)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """What was measured, in the order of `Explanation.measured`."""
        return tuple(
            cell for advice in self.evaluation.advices for verdict in advice.verdicts for cell in verdict.cells
        )

    @property
    def held(self) -> tuple[Seconds, ...]:
        """How long each policy's conditions have held, in the order of the group's policies."""
        return tuple(advice.held for advice in self.evaluation.advices)

    @property
    def explanation(self) -> Explanation:
        """Why the group did what it did."""
        if self._made is None:
            self._made = explain(
                self._catalogue, self._group, self.evaluation, self._decision, self._fleet, self._state
            )
        return self._made
