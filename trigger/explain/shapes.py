"""Decide whether two explanations are equal enough for history to keep them as one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from aggregator.frames import Aggregate, Cell, Insufficient, Lack
from config.model.catalogue import Catalogue, Condition, Group
from trigger.explain.explanation import Explanation
from trigger.requests import Decision
from trigger.verdicts import Evaluation


def shape(explanation: Explanation) -> Hashable:
    """Return the parts that two ticks must share: equal shapes extend one span of history.

    A shape has reasons, truths, steps, clamps, sizes, mode, pause, configuration, and effects of alerts, windows and
    schedules. It has no values, distances, ages, held times, request ids, or remaining times of alerts.
    """
    return (
        explanation.reason,
        explanation.desired_from,
        explanation.desired_to,
        explanation.advised_to,
        explanation.mode,
        explanation.pause,
        explanation.fleet_pause,
        explanation.digest,
        tuple(
            (
                policy.policy,
                policy.reason,
                tuple((judged.truth, judged.lack) for judged in policy.conditions),
                None if policy.taken is None else policy.taken.adjustment,
                tuple((judged.truth, *(term.lack for term in judged.terms)) for judged in policy.expressions),
            )
            for policy in explanation.policies
        ),
        tuple((answer.cause, answer.reason, answer.clamps) for answer in explanation.answers),
        frozenset((signal.alert, signal.kind) for signal in explanation.signals),
        tuple(freeze.active for freeze in explanation.freezes),
        tuple(limit.active for limit in explanation.limits),
    )


class Story(NamedTuple):
    """What one tick shows, and what it was decided by: the explanations of two equal ones have one shape."""

    catalogue: Catalogue
    group: Group
    shown: Hashable

    def is_again(self, before: Story | None) -> bool:
        """Whether the tick before showed the same."""
        same = before is not None and self.catalogue is before.catalogue and self.group is before.group
        return same and before is not None and self.shown == before.shown


def story_of(catalogue: Catalogue, group: Group, evaluation: Evaluation, decision: Decision) -> Story | None:
    """Say what a tick tells, without explaining it; ``None``: that takes its explanation.

    Equal stories have explanations of one shape, measure the same aggregates against the same thresholds, and answer
    the same policies. Whatever tells of the time (schedules, freezes, alerts) is left to the explanation.

    Args:
        catalogue: as given to `trigger.explain.explanation.explain`.
        group: likewise.
        evaluation: likewise.
        decision: likewise.
    """
    state = decision.state
    compared = all(
        advice.policy in catalogue.policies
        and all(isinstance(catalogue.conditions.get(each.condition), Condition) for each in advice.verdicts)
        for advice in evaluation.advices
    )
    if not compared or group.schedules or group.freezes or state.signals:
        return None
    sizes = (decision.desired_from, decision.desired_to, decision.advised_to, evaluation.size)
    judged = tuple(
        (
            advice.policy,
            advice.reason,
            None if advice.taken is None else advice.taken.adjustment,
            tuple((verdict.truth, *map(_lack, verdict.cells)) for verdict in advice.verdicts),
        )
        for advice in evaluation.advices
    )
    answers = tuple(
        (answer.request.cause, answer.request.by, answer.request.policy, answer.reason, answer.clamps)
        for answer in decision.answers
    )
    return Story(catalogue, group, (decision.reason, sizes, state.pause, state.fleet_pause, judged, answers))


def values_of(evaluation: Evaluation) -> tuple[float | None, ...]:
    """List the value of every aggregate of a tick that has a story, in the order of `Explanation.measured`."""
    return tuple(
        cell.value if isinstance(cell, Aggregate) else None
        for advice in evaluation.advices
        for verdict in advice.verdicts
        for cell in verdict.cells
    )


def _lack(cell: Cell) -> Lack | None:
    return cell.because if isinstance(cell, Insufficient) else None
