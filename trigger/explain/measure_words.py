"""Write in words what was measured, and how it was judged."""

from __future__ import annotations

import math
from typing import assert_never

from aggregator.frames import Lack
from config.model.catalogue import Compare
from config.model.expressions import Dialect
from config.model.reductions import Reduce
from config.units import format_span
from trigger.explain.explanation import ConditionExplanation, ExpressionExplanation, Measured, TermExplanation
from trigger.explain.time_words import say_span
from trigger.verdicts import Truth

_TINY, _HUGE = 1e-6, 1e12
"""Beyond these a number is written with its power of ten: a person cannot count that many zeros."""


def say_condition(condition: ConditionExplanation) -> str:
    """Say what was measured, on how many members, and how it compares.

    For example ``cpu avg 1m = 63.2 % (4 s old), not above 80 %``.
    """
    name = _name(condition)
    if condition.value is not None:
        value = say_quantity(condition.value, condition, apart_from=condition.threshold)
        return f"{name} = {value} ({_source(condition)}), {_judged(condition)}"
    if condition.low is None or condition.high is None:
        return f"{name} is unknown: {_lack(condition)}"
    between = f"between {say_number(condition.low)} and {say_quantity(condition.high, condition)}"
    return f"{name} is {between} ({_lack(condition)}), {_judged(condition)}"


def say_measured(condition: ConditionExplanation) -> str:
    """Say what was measured, without a comparison: ``requests avg 1m = 960 (4 s old)``."""
    if condition.value is None:
        return f"{_name(condition)} is unknown: {_lack(condition)}"
    return f"{_name(condition)} = {say_quantity(condition.value, condition)} ({_source(condition)})"


def say_expression(judged: ExpressionExplanation) -> str:
    """Say whether an expression is true; `say_term` says what its terms are."""
    reading = ", read as OneFlow reads it," if judged.dialect is Dialect.ONEFLOW else ""
    return f"{judged.condition}: {judged.expression}{reading} is {judged.truth.value}"


def say_term(term: TermExplanation) -> str:
    """Say the value of one name in an expression."""
    if term.value is not None:
        return f"{_name(term)} = {say_quantity(term.value, term)} ({_source(term)})"
    if term.low is None or term.high is None:
        return f"{_name(term)} is unknown: {_lack(term)}"
    return f"{_name(term)} is between {say_number(term.low)} and {say_quantity(term.high, term)} ({_lack(term)})"


def say_range(of: Measured, least: float, greatest: float) -> str:
    """Say the least and greatest value of one aggregate: ``cpu avg 1m from 20 to 63.2 %``."""
    return f"{_name(of)} from {say_number(least)} to {say_quantity(greatest, of)}"


def _name(condition: Measured) -> str:
    over = f"{condition.aggregate} {format_span(condition.window)}"
    if condition.per_group or condition.across == condition.aggregate:
        return f"{condition.counter} {over}"
    return f"{condition.counter} {condition.across} across members, {over}"


def _judged(condition: ConditionExplanation) -> str:
    against = f"{say_compare(condition.compare)} {say_quantity(condition.threshold, condition)}{_shared(condition)}"
    match condition.truth:
        case Truth.TRUE:
            return against
        case Truth.FALSE:
            return f"not {against}"
        case Truth.UNKNOWN:
            return f"perhaps {against}"
        case _:
            assert_never(condition.truth)


def _shared(condition: ConditionExplanation) -> str:
    """Say each member's part of a threshold that is divided by the desired size."""
    return "" if condition.per_member is None else f", {say_number(condition.per_member)} for each member"


def _source(condition: Measured) -> str:
    """Say how many members answered, how long ago, and what the value could be with the missing answers."""
    parts = [] if condition.expected == 1 else [f"{condition.heard} of {condition.expected} members"]
    if condition.left_out:
        parts.append(_left_out(condition))
    if condition.age is not None:
        parts.append(f"{say_span(condition.age)} old")
    answered = ", ".join(parts)
    low, high = condition.low, condition.high
    if low is not None and low == high:
        return answered
    if low is not None and high is not None:
        return f"{answered}; {say_number(low)} to {say_quantity(high, condition)} with the missing answers"
    unknown = isinstance(condition, TermExplanation) or condition.truth is Truth.UNKNOWN
    return f"{answered}; {'no range limits the missing answers' if unknown else 'missing answers left out'}"


def _left_out(condition: Measured) -> str:
    return f"{condition.left_out} warming up, not counted"


def _lack(condition: Measured) -> str:
    match condition.lack:
        case Lack.NO_SAMPLES:
            answered = f"0 of {condition.expected} members answered"
            return "its source gave no value" if condition.per_group else answered
        case Lack.TOO_FEW:
            return f"less than {format_span(condition.window)} has been measured so far"
        case Lack.STALE:
            return "the last answer is too old"
        case Lack.NO_MEMBERS:
            return f"the group has no member to ask{f' ({_left_out(condition)})' if condition.left_out else ''}"
        case Lack.TOO_FEW_HEARD:
            return f"{condition.heard} of {condition.expected} members answered, too few to rank"
        case None:
            return "it was not measured"
        case _:
            assert_never(condition.lack)


def say_compare(compare: Compare) -> str:
    """Return a comparison in words: ``above``, ``at least``."""
    return "equal to" if compare is Compare.EQUALS else compare.value.replace("_", " ")


def say_quantity(value: float, of: Measured, *, apart_from: float | None = None) -> str:
    """Write a number as `say_number` does, with its unit."""
    counts = Reduce.COUNT.value in {of.across, of.aggregate}
    unit = "" if counts else "%" if of.unit == "percent" else of.unit
    return f"{say_number(value, apart_from)} {unit}".rstrip()


def say_number(value: float, apart_from: float | None = None) -> str:
    """Write three digits, or as many as make ``value`` differ from a threshold that it does not equal."""
    if not math.isfinite(value) or not _TINY <= abs(value) < _HUGE:
        return f"{value:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    for more in range(12):
        text = f"{value:.{decimals + more}f}"
        if apart_from is None or value == apart_from or float(text) != apart_from:
            break
    else:
        return repr(value)
    return text.rstrip("0").rstrip(".") if "." in text else text
