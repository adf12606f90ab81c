from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.native_dialect import parse
from trigger.conditions.expressions import judge
from trigger.conditions.spans import Known, ValueSpan, exactly
from trigger.verdicts import Truth

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN
ANSWERS: list[tuple[str, Mapping[str, float], Truth]] = [
    ("a > 1", {}, U),
    ("!(a > 1)", {}, U),
    ("a > 1 && b > 1", {"b": 0}, F),
    ("a > 1 && b > 1", {"b": 2}, U),
    ("a > 1 || b > 1", {"b": 2}, T),
    ("a > 1 || b > 1", {"b": 0}, U),
    ("a = a", {}, U),
    ("a ?? b > 1", {"b": 2}, T),
    ("a ?? b > 1", {"a": 0, "b": 2}, F),
    ("a ?? b > 1", {}, U),
    ("a ?? 5 > 1", {}, T),
    ("a / b > 1", {"a": 1, "b": 0}, U),
    ("a / b > 1 || a = 1", {"a": 1, "b": 0}, T),
    ("a / b = 0.5", {"a": 1, "b": 2}, T),
    ("min(a, b) = 1 && max(a, b) = 2", {"a": 1, "b": 2}, T),
    ("min(a, b) > 0", {"a": 1}, U),
    ("abs(a) = 3", {"a": -3}, T),
    ("-a = 3", {"a": -3}, T),
    ("a - b * 2 = -3", {"a": 1, "b": 2}, T),
    ("a + 0.2 = 0.3", {"a": 0.1}, T),  # within the rounding of arithmetic
    ("a != 1", {"a": 1}, F),
    ("a <> 1", {"a": 2}, T),
    ("a >= 1 && a <= 1 && a == 1", {"a": 1}, T),
    ("cpu.p95 > 1 && cpu < 1", {"cpu.p95": 2, "cpu": 0}, T),
    ("cpu.p95 > 1", {"cpu": 2}, U),
    ("1e308 * 10 > 1", {}, T),
    ("1e308 * 10 - 1e308 * 10 = 0", {}, U),
]


@pytest.mark.parametrize(("text", "values", "answer"), ANSWERS)
def test_an_unknown_value_makes_the_answer_unknown_unless_it_cannot_matter(
    text: str, values: Mapping[str, float], answer: Truth
) -> None:
    assert judge(parse(text), {name: exactly(value) for name, value in values.items()}) is answer


_numbers = st.integers(min_value=-4, max_value=4).map(float)
_quantities = st.recursive(
    st.sampled_from(["a", "b", "1", "2"]),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda each: f"({' '.join(each)})")
        | inner.map(lambda each: f"abs({each})")
        | inner.map(lambda each: f"-{each}")
        | st.tuples(inner, inner).map(lambda each: f"max({each[0]}, {each[1]})")
    ),
    max_leaves=6,
)
_texts = st.recursive(
    st.tuples(_quantities, st.sampled_from([">", ">=", "<", "<=", "=", "!="]), _quantities).map(" ".join),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda each: f"({' '.join(each)})")
        | inner.map(lambda each: f"!({each})")
    ),
    max_leaves=4,
)


@given(_texts, _numbers, _numbers, _numbers, _numbers)
def test_a_span_is_true_or_false_only_if_every_value_in_it_is(
    text: str, a: float, b: float, wider: float, other: float
) -> None:
    around = {"a": ValueSpan(min(a, wider), max(a, wider)), "b": ValueSpan(min(b, other), max(b, other))}
    within: Mapping[str, Known] = {"a": exactly(a), "b": exactly(b)}

    wide = judge(parse(text), around)
    narrow = judge(parse(text), within)

    assert wide in {U, narrow} or narrow is U  # division by what can be 0 is unknown in either


@given(_texts, _numbers)
def test_a_truth_without_a_value_is_the_truth_for_every_value(text: str, a: float) -> None:
    without = judge(parse(text), {})
    given_a: Mapping[str, Known] = {"a": exactly(a)}

    assert without in {U, judge(parse(text), given_a)}
