"""Which step of a policy is taken: the last that begins no further out than the threshold is surely passed.

# Note [The sure distance]

====================================  ====================================
Of a step that                        the distance is that of
====================================  ====================================
adds                                  the value
removes                               the bound nearer to the threshold
adds or removes, quorum reached       the value
adds or removes, there is no value    the bound nearer to the threshold
====================================  ====================================

So the unheard count against taking more members away, and never for it. A step begins where it says, inclusive (AWS
step scaling: the bound nearer to the threshold belongs to the step). Where the condition that steps go by is not TRUE,
there is no distance, and no step is taken.
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
"""Relative: 80.3 is 0.3 over 80, though binary fractions make it a trifle less."""


def taken(
    steps: Steps, condition: Condition, verdicts: Sequence[ConditionVerdict], *, sharers: int = 1
) -> TakenStep | None:
    """Say which step is taken; ``None``: there is no distance.

    Args:
        steps: what the policy does.
        condition: the one that they go by, with the threshold that it was held against.
        verdicts: of the policy's conditions, at this tick.
        sharers: how many members the distance is shared out over.
    """
    verdict = next((verdict for verdict in verdicts if verdict.condition == steps.by), None)
    if verdict is None or verdict.truth is not Truth.TRUE:
        return None
    distance = _distance(condition, verdict.cells[0], shrinking=steps.may_shrink) / sharers
    reached = [step.adjustment for step in steps.steps if _reaches(distance, step.over)]
    return TakenStep(condition=steps.by, over=distance, adjustment=reached[-1])


def _distance(condition: Condition, cell: Cell, *, shrinking: bool) -> float:
    """How far beyond the threshold, in the direction of the comparison; never below 0."""
    value = sure_value(condition, cell, shrinking=shrinking)
    upward = condition.compare in _UPWARD
    return max(0.0, value - condition.threshold if upward else condition.threshold - value)


def sure_value(condition: Condition, cell: Cell, *, shrinking: bool) -> float:
    """The value that a size may be made by: Note [The sure distance]."""
    if isinstance(cell, Aggregate) and (not shrinking or _quorate(condition, cell)):
        return cell.value
    return cell.low if condition.compare in _UPWARD else cell.high


def _quorate(condition: Condition, aggregate: Aggregate) -> bool:
    return condition.quorum is not None and aggregate.coverage >= condition.quorum


def _reaches(distance: float, over: float) -> bool:
    return distance >= over or math.isclose(distance, over, rel_tol=_SAME_WITHIN)
