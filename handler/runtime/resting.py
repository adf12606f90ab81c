"""Groups at rest: ticks that bring the same answer as the one before, which is worked out only on demand.

# Note [At rest in the daemon]

A group whose last tick left it at rest (`trigger.policies.steady_state`, Note [At rest]) gets the same decision again
as long as every condition has the same truth, and nothing else that it was decided by has changed: catalogue,
definition, fleet, state. Nothing of it may depend on the time: no schedule, no freeze, no service with turns.
Of such a tick history keeps the values and the time. The decision and its explanation are needed only when a person
looks: a `RestingTick` keeps what the tick was made of, and works them out row by row when it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from aggregator.aggregate import Aggregator
from aggregator.cells import WindowColumns
from aggregator.frames import Frame
from config.model.catalogue import Catalogue, Group
from config.units import GroupId, Moment
from trigger.conditions.columns import Codes, rows_of
from trigger.decide import decide
from trigger.explain.explanation import Explanation, explain
from trigger.policies.evaluate import evaluate
from trigger.policies.steady_state import at_rest
from trigger.requests import Decision, Fleet, GroupState
from trigger.verdicts import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What a group at rest was decided by: while all of it stays, so does the decision."""

    catalogue: Catalogue
    group: Group
    fleet: Fleet
    decision: Decision
    """The last that was worked out; the state that it left is the one that it found."""

    def stays(self, catalogue: Catalogue, group: Group, fleet: Fleet, state: GroupState) -> bool:
        """Whether all of it is as it was."""
        same = self.catalogue is catalogue and self.group is group and self.decision.state is state
        return same and (self.fleet is fleet or self.fleet == fleet)

    def decided(self, at: Moment) -> Decision:
        """The same decision of another moment."""
        last = self.decision
        return Decision(
            group=last.group,
            at=at,
            reason=last.reason,
            desired_from=last.desired_from,
            desired_to=last.desired_to,
            answers=(),
            winner=None,
            advised_to=None,
            state=last.state,
        )


def rest_of(
    catalogue: Catalogue,
    group: Group,
    evaluation: Evaluation | None,
    before: GroupState,
    decision: Decision,
    fleet: Fleet,
) -> Rest | None:
    """Say what a group rests on after a decision; ``None``: it is not at rest. See Note [At rest in the daemon]."""
    timeless = not group.schedules and not group.freezes and group.service is None
    if evaluation is None or not timeless or decision.answers or not at_rest(evaluation, before, decision):
        return None
    return Rest(catalogue=catalogue, group=group, fleet=fleet, decision=decision)


class RestingTick:
    """One tick of a group at rest.

    Args:
        rest: what it rests on.
        frames: those of the tick.
        at: when they were taken.
        values: of every aggregate, in the order of `Explanation.measured`.
    """

    __slots__ = ("_frames", "_made", "at", "rest", "values")

    def __init__(
        self, rest: Rest, frames: Mapping[GroupId, Frame], at: Moment, values: tuple[float | None, ...]
    ) -> None:
        self.rest = rest
        self.at = at
        self.values = values
        self._frames = frames
        self._made: tuple[Evaluation, Explanation] | None = None
        """``None``: not needed so far."""

    @property
    def evaluation(self) -> Evaluation:
        """What the policies say."""
        return self._whole()[0]

    @property
    def explanation(self) -> Explanation:
        """Why the group did nothing."""
        return self._whole()[1]

    def _whole(self) -> tuple[Evaluation, Explanation]:
        if self._made is None:
            rest, state = self.rest, self.rest.decision.state
            frame = self._frames[rest.group.id]
            evaluation = evaluate(rest.catalogue, rest.group.id, frame, {}, self.at, size=state.desired)
            decision = decide(rest.group, (), rest.fleet, state, self.at, evaluation=evaluation)
            told = explain(rest.catalogue, rest.group, evaluation, decision, rest.fleet, state)
            self._made = evaluation, told
        return self._made


class LastTruths:
    """The truths of a slot's groups, in columns, and which of them are as at the tick before.

    Args:
        catalogue: declares the groups.
        groups: the slot's.
        aggregator: makes their frames.
    """

    def __init__(self, catalogue: Catalogue, groups: Sequence[GroupId], aggregator: Aggregator) -> None:
        self.catalogue = catalogue
        self._rows = rows_of(catalogue, groups, aggregator.window)
        self._rest = frozenset(groups) - self._rows.groups.keys()
        """Groups that cannot be judged in columns."""
        self._before: Codes | None = None
        self._now: Codes | None = None
        self._values: Sequence[float] = ()

    def unlike(self, windows: WindowColumns) -> Set[GroupId]:
        """Judge a tick, and find the groups whose tick is not like the one before, or cannot be compared."""
        self._now = self._rows.judged(windows)
        self._values = windows.value[self._rows.window].tolist()
        return self._rest | self._rows.unlike(self._before, self._now)

    def values(self, group: GroupId) -> tuple[float | None, ...]:
        """What the group's conditions measured at this tick, in the order of `Explanation.measured`."""
        return tuple(self._values[self._rows.groups[group]])

    def keep(self) -> None:
        """Compare the next tick with this one: it was decided about. One that failed is never compared with."""
        self._before = self._now
