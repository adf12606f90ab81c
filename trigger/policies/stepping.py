"""Choose the step of a policy: the last step whose distance beyond the threshold is surely reached.

# Note [The sure distance]

====================================  ====================================
A step that                           measures the distance by
====================================  ====================================
adds                                  the value
removes                               the bound nearer to the threshold
adds or removes, quorum reached       the value
adds or removes, there is no value    the bound nearer to the threshold
====================================  ====================================

So missing answers count against removing more members, never for it. A step begins at its distance, inclusive (AWS step
scaling: the bound nearer to the threshold belongs to the step). If the condition of the steps is not TRUE, there is no
distance, and the policy takes no step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from aggregator.frames import Aggregate, Cell
from config.model.adjustments import Steps
from config.model.catalogue import Compare, Condition
from trigger.verdicts import ConditionVerdict, TakenStep, Truth

_UPWARD = frozenset({Compare.ABOVE, Compare.AT_LEAST})
_SAME_WITHIN = 1e-9
"""Relative: 80.3 is 0.3 over 80, though binary fractions make it slightly less."""


def taken(
    steps: Steps, condition: Condition, verdicts: Sequence[ConditionVerdict], *, sharers: int = 1
) -> TakenStep | None:
    """Return the step that the policy takes; ``None``: there is no distance.

    Args:
        steps: the action of the policy.
        condition: of the steps, with its effective threshold.
        verdicts: of the policy's conditions, at this tick.
        sharers: number of members by which the distance is divided.
    """
    verdict = next((verdict for verdict in verdicts if verdict.condition == steps.by), None)
    if verdict is None or verdict.truth is not Truth.TRUE:
        return None
    distance = _distance(condition, verdict.cells[0], shrinking=steps.may_shrink) / sharers
    reached = [step.adjustment for step in steps.steps if _reaches(distance, step.over)]
    return TakenStep(condition=steps.by, over=distance, adjustment=reached[-1])


def _distance(condition: Condition, cell: Cell, *, shrinking: bool) -> float:
    """Return how far the value is beyond the threshold, in the direction of the comparison; never below 0."""
    value = sure_value(condition, cell, shrinking=shrinking)
    upward = condition.compare in _UPWARD
    return max(0.0, value - condition.threshold if upward else condition.threshold - value)


def sure_value(condition: Condition, cell: Cell, *, shrinking: bool) -> float:
    """Return the value from which a size may be calculated: Note [The sure distance]."""
    if isinstance(cell, Aggregate) and (not shrinking or _quorate(condition, cell)):
        return cell.value
    return cell.low if condition.compare in _UPWARD else cell.high


def _quorate(condition: Condition, aggregate: Aggregate) -> bool:
    return condition.quorum is not None and aggregate.coverage >= condition.quorum


def _reaches(distance: float, over: float) -> bool:
    return distance >= over or math.isclose(distance, over, rel_tol=_SAME_WITHIN)
