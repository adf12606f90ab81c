from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.checks.overlaps import true_for
from config.checks.satisfiability import ways
from config.model.catalogue import Condition, ExpressionCondition
from config.model.expressions import And, Comparison, Name, Not, NumberLiteral, Or, Proposition, Relation
from config.units import ConditionId, PolicyId
from tests.support.config import declared
from trigger.conditions.expressions import judge
from trigger.conditions.spans import exactly
from trigger.verdicts import Truth


def found(when: str, *, expression: str | None = None, expressions: bool = True) -> list[tuple[list[str], bool]]:
    """The ways of the policy `out`: what stands after `when:`, and an expression as a third condition, `odd`."""
    odd = () if expression is None else (("  idle: {", f"  odd: {{expression: {expression!r}}}\n  idle: {{"),)
    spare = (("below: 30}\n", "below: 30}\n  more: {counter: sessions, at_least: 5}\n"),)
    catalogue = declared(*odd, *spare, ("when: [busy]", f"when: {when}"), ("[out, in]", "[in]"))
    policy = catalogue.policies[PolicyId("out")]
    return [
        ([text_of(one) for one in way.thresholds], way.whole)
        for way in ways(catalogue, policy, expressions=expressions)
    ]


def text_of(condition: Condition) -> str:
    return f"{condition.counter}.{condition.aggregate.value} {condition.compare.value} {condition.threshold:g}"


BUSY, MORE = "cpu.avg above 80", "sessions.avg at_least 5"


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        pytest.param("[busy]", [([BUSY], True)], id="one"),
        pytest.param("[busy, more]", [([BUSY, MORE], True)], id="all"),
        pytest.param("[busy, more], match: any", [([BUSY], True), ([MORE], True)], id="any"),
        pytest.param(
            "[busy, more, idle], match: {at_least: 2}",
            [([BUSY, MORE], True), ([BUSY, "cpu.avg below 30"], True), ([MORE, "cpu.avg below 30"], True)],
            id="so-many",
        ),
    ],
)
def test_conditions_hold_in_every_choice_that_suffices(when: str, expected: list[object]) -> None:
    assert found(when) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("cpu > 7", [(["cpu.avg above 7"], True)]),
        ("7 < cpu", [(["cpu.avg above 7"], True)]),
        ("7 >= cpu.p95", [(["cpu.p95 at_most 7"], True)]),
        ("cpu > -7", [(["cpu.avg above -7"], True)]),
        ("!(cpu >= 7)", [(["cpu.avg below 7"], True)]),
        ("cpu > 7 && sessions < 3", [(["cpu.avg above 7", "sessions.avg below 3"], True)]),
        ("cpu > 7 || sessions < 3", [(["cpu.avg above 7"], True), (["sessions.avg below 3"], True)]),
        ("!(cpu > 7 || sessions < 3)", [(["cpu.avg at_most 7", "sessions.avg at_least 3"], True)]),
        ("!(cpu > 7 && sessions < 3)", [(["cpu.avg at_most 7"], True), (["sessions.avg at_least 3"], True)]),
        ("cpu > 7 && sessions * 2 > 3", [(["cpu.avg above 7"], False)]),
        ("cpu != 7", [([], False)]),
        ("!(cpu != 7)", [(["cpu.avg equals 7"], True)]),
        ("cpu > sessions", [([], False)]),
        ("(cpu ?? 0) > 7", [([], False)]),
    ],
)
def test_an_expression_holds_in_each_side_of_its_ors(expression: str, expected: list[object]) -> None:
    assert found("[odd]", expression=expression) == expected
    assert found("[odd, busy]", expression=expression, expressions=False) == [([BUSY], False)]


def test_a_policy_that_holds_in_too_many_ways_is_not_looked_at() -> None:
    many = " && ".join(f"(cpu > {number} || sessions > {number})" for number in range(9))
    assert found("[odd]", expression=many) == []


ODD = declared(
    ("  idle: {", "  odd: {expression: 'cpu > 1 || sessions > 1'}\n  idle: {"),
    ("when: [busy]", "when: [odd]"),
    ("[out, in]", "[in]"),
)
numbers = st.integers(0, 5).map(float)
comparisons = st.builds(
    Comparison,
    relation=st.sampled_from(Relation),
    left=st.sampled_from([Name(name="cpu", column=1), Name(name="sessions", column=1)]),
    right=st.builds(NumberLiteral, value=numbers),
)
trees: st.SearchStrategy[Proposition] = st.recursive(
    comparisons,
    lambda inner: (
        st.builds(Not, of=inner) | st.builds(And, left=inner, right=inner) | st.builds(Or, left=inner, right=inner)
    ),
    max_leaves=6,
)


@given(trees, numbers, numbers)
def test_what_is_true_holds_in_some_way_and_whole_ways_are_true(tree: Proposition, cpu: float, sessions: float) -> None:
    odd = ODD.conditions[ConditionId("odd")]
    assert isinstance(odd, ExpressionCondition)
    expression = dataclasses.replace(odd.expression, tree=tree)
    changed = dataclasses.replace(
        ODD, conditions={**ODD.conditions, odd.id: dataclasses.replace(odd, expression=expression)}
    )
    values = {"cpu": cpu, "sessions": sessions}
    truth = judge(expression, {name: exactly(value) for name, value in values.items()}) is Truth.TRUE

    holding = [
        way
        for way in ways(changed, changed.policies[PolicyId("out")])
        if all(true_for(one).holds(values[one.counter]) for one in way.thresholds)
    ]

    assert not truth or holding
    assert truth or not any(way.whole for way in holding)
