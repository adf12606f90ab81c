from __future__ import annotations

import pytest

from config.checks.lint import lint
from tests.support.config import declared
from trigger.conditions.expressions import certain
from trigger.policies.sizing import resized

LOW = ("below: 30}\n", "below: 30}\n  low: {counter: cpu, below: 20}\n  slow: {counter: cpu, below: 9, window: 5m}\n")


def said(when: str, *, busy: str = "counter: cpu, above: 80") -> list[str]:
    changes = LOW, ("counter: cpu, above: 80", busy), ("[busy]", when), ("[out, in]", "[out]")
    return [p.message for p in lint(declared(*changes), resized, certain) if p.message.startswith("policies.out.when")]


@pytest.mark.parametrize(
    ("when", "remedy"),
    [("[busy, low]", "write match: any"), ("[busy, low, idle], match: {at_least: 3}", "leave one out")],
)
def test_conditions_that_no_value_meets_together_never_hold(when: str, remedy: str) -> None:
    (message,) = said(when)
    assert message == f"policies.out.when: no value of cpu is above 80 (busy) and below 20 (low): {remedy}"


def test_what_is_proposed_works() -> None:
    assert said("[busy, low], match: any") == []
    assert said("[busy]") == []


@pytest.mark.parametrize(
    "when", ["[low, idle]", "[busy, slow]", "[busy, low, idle], match: {at_least: 2}", "[busy, low], match: any"]
)
def test_those_that_some_value_or_some_way_meets_may(when: str) -> None:
    assert said(when) == []


def test_an_expression_may_exclude_itself() -> None:
    (message,) = said("[busy]", busy="expression: 'cpu > 80 && cpu < 30'")
    assert message.endswith("no value of cpu is above 80 (busy) and below 30 (busy): leave one out")
    assert said("[busy]", busy="expression: 'cpu > 80 || cpu < 30'") == []
