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
from collections.abc import Mapping, Sequence

from aggregator.frames import Aggregate, Cell
from config.adjustments import Action, Steps
from config.model import AnyCondition, Compare, Condition
from config.units import ConditionId
from trigger.verdicts import Taken, Truth, Verdict

_UPWARD = frozenset({Compare.ABOVE, Compare.AT_LEAST})
_SAME_WITHIN = 1e-9
"""Relative: 80.3 is 0.3 over 80, though binary fractions make it a trifle less."""


def taken(action: Action, verdicts: Sequence[Verdict], conditions: Mapping[ConditionId, AnyCondition]) -> Taken | None:
    """Say which step is taken; ``None``: there are no steps, or no distance.

    Args:
        action: what the policy does.
        verdicts: of the policy's conditions, at this tick.
        conditions: by id; those of the verdicts are among them.
    """
    if not isinstance(action, Steps):
        return None
    verdict = next((verdict for verdict in verdicts if verdict.condition == action.by), None)
    condition = conditions[action.by]
    if verdict is None or verdict.truth is not Truth.TRUE or not isinstance(condition, Condition):
        return None
    distance = _distance(condition, verdict.cells[0], shrinking=action.may_shrink)
    reached = [step.adjustment for step in action.steps if _reaches(distance, step.over)]
    return Taken(condition=action.by, over=distance, adjustment=reached[-1])


def _distance(condition: Condition, cell: Cell, *, shrinking: bool) -> float:
    """How far beyond the threshold, in the direction of the comparison; never below 0."""
    upward = condition.compare in _UPWARD
    value = cell.low if upward else cell.high
    if isinstance(cell, Aggregate) and (not shrinking or _quorate(condition, cell)):
        value = cell.value
    return max(0.0, value - condition.threshold if upward else condition.threshold - value)


def _quorate(condition: Condition, aggregate: Aggregate) -> bool:
    return condition.quorum is not None and aggregate.coverage >= condition.quorum


def _reaches(distance: float, over: float) -> bool:
    return distance >= over or math.isclose(distance, over, rel_tol=_SAME_WITHIN)
