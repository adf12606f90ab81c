"""Builders for conditions by expression."""

from __future__ import annotations

from config.build.conditions import condition
from config.document.conditions import ConditionDocument
from config.model.catalogue import ExpressionCondition
from config.units import ConditionId


def an_expression(text: str, dialect: str = "native", *, id: str = "slow", quorum: str = "") -> ExpressionCondition:
    """As a file would declare it; counters need not be declared."""
    written: dict[str, object] = {"expression": text, "dialect": dialect, "window": "60s"}
    if quorum:
        written["quorum"] = quorum
    built = condition(ConditionId(id), ConditionDocument.model_validate(written), {})
    assert isinstance(built, ExpressionCondition)
    return built
