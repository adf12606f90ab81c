"""Judge an expression against the cells of a frame.

Each term follows Note [Missing answers] of `trigger.conditions.judging`, so a comparison inside the tree is judged like
a condition of its own:

====================================  =======================  ======================
The cell of a term                    may shrink               only grows
====================================  =======================  ======================
there is none (`Insufficient`)        missing                  missing
too few for a rank, there is a range  the interval             the interval
quorum declared and reached           the value                the value
all members answered                  the value                the value
missing answers, with a range         the interval             the interval
missing answers, without a range      infinite bounds          the value
====================================  =======================  ======================

In OneFlow's dialect a term without an aggregate is missing, and a policy that only grows uses the mean of the members
that answered, with or without a range, as OneFlow does. Source: DESIGN.md "Judging".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from aggregator.frames import Aggregate, Cell, Insufficient
from config.model.catalogue import ExpressionCondition
from config.model.expressions import Dialect
from trigger.conditions.expressions import judge
from trigger.conditions.spans import Known, ValueSpan, exactly
from trigger.verdicts import ConditionVerdict


def judge_expression(condition: ExpressionCondition, cells: Sequence[Cell], *, shrinking: bool) -> ConditionVerdict:
    """Judge ``condition`` by the aggregates of its terms.

    Args:
        condition: the condition.
        cells: one for each term, in their order.
        shrinking: the policy may remove members, so missing values and answers count against it.
    """
    known = {
        term.name: _known(condition, cell, shrinking=shrinking)
        for term, cell in zip(condition.terms, cells, strict=True)
    }
    truth = judge(condition.expression, known, shrinking=shrinking)
    return ConditionVerdict(condition=condition.id, truth=truth, cells=tuple(cells))


def _known(condition: ExpressionCondition, cell: Cell, *, shrinking: bool) -> Known:
    match cell:
        case Insufficient():
            return _if_bounded(condition, cell)
        case Aggregate():
            return _measured(condition, cell, shrinking=shrinking)
        case _:
            assert_never(cell)


def _if_bounded(condition: ExpressionCondition, cell: Insufficient) -> Known:
    oneflow = condition.expression.dialect is Dialect.ONEFLOW
    if oneflow or (math.isinf(cell.low) and math.isinf(cell.high)):
        return None
    return ValueSpan(cell.low, cell.high)


def _measured(condition: ExpressionCondition, cell: Aggregate, *, shrinking: bool) -> Known:
    if condition.quorum is not None and cell.coverage >= condition.quorum:
        return exactly(cell.value)
    unbounded = math.isinf(cell.low) or math.isinf(cell.high)
    if _as_oneflow_grows(condition, shrinking=shrinking) or (unbounded and not shrinking):
        return exactly(cell.value)
    return ValueSpan(cell.low, cell.high)


def _as_oneflow_grows(condition: ExpressionCondition, *, shrinking: bool) -> bool:
    return condition.expression.dialect is Dialect.ONEFLOW and not shrinking
