"""How a policy combines conditions, from the frame to the words. Source: DESIGN.md "Judging"; Kleene's M of N."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Cell
from config.model.catalogue import Adjustment, Catalogue
from tests.support.conditions import an_expression
from tests.support.trigger import (
    a_catalogue,
    a_condition,
    a_fleet,
    a_frame,
    a_policy,
    add,
    at,
    measured,
    missing,
    remove,
)
from trigger.decide import decide
from trigger.explain.explanation import explain
from trigger.explain.words import brief, say
from trigger.policies.evaluate import evaluate, requests_from
from trigger.requests import GroupState
from trigger.verdicts import Advice, Truth

CONDITIONS = (a_condition("busy"), a_condition("full", counter="disk"), an_expression("load > 2 || cpu.p95 > 95"))
NAMES = ("busy", "full", "slow")


def watching(enough: int | None, does: Adjustment | None = None, when: tuple[str, ...] = NAMES) -> Catalogue:
    return a_catalogue(policies=[a_policy(when=when, enough=enough, does=does)], conditions=CONDITIONS)


def advice(catalogue: Catalogue, cells: dict[str, Cell]) -> Advice:
    (group,) = catalogue.groups
    return evaluate(catalogue, group, a_frame(catalogue, cells), {}, at()).advices[0]


BUSY: dict[str, Cell] = {"busy": measured(90), "full": measured(10), "load": measured(3), "cpu": measured(90)}


@pytest.mark.parametrize(
    ("enough", "expected"), [(None, Truth.FALSE), (1, Truth.TRUE), (2, Truth.TRUE), (3, Truth.FALSE)]
)
def test_as_many_conditions_must_hold_as_the_policy_says(enough: int | None, expected: Truth) -> None:
    assert advice(watching(enough), BUSY).truth is expected


found = st.sampled_from(
    [measured(90), measured(1), missing(), measured(90, low=0, high=100), measured(3, low=0, high=9)]
)


@given(
    st.dictionaries(st.sampled_from(["busy", "full", "load", "cpu"]), found),
    st.sampled_from([None, 1, 2, 3]),
    st.permutations(NAMES),
    st.booleans(),
)
def test_unknown_never_fires_and_the_order_of_conditions_never_matters(
    cells: dict[str, Cell], enough: int | None, order: list[str], shrinks: bool
) -> None:
    does = remove(1) if shrinks else add(1)
    catalogue = watching(enough, does)
    result = advice(catalogue, cells)
    assert advice(watching(enough, does, tuple(order)), cells).truth is result.truth
    evaluation = evaluate(catalogue, next(iter(catalogue.groups)), a_frame(catalogue, cells), {}, at())
    assert bool(requests_from(catalogue, evaluation)) is (result.truth is Truth.TRUE)


def lines(catalogue: Catalogue, cells: dict[str, Cell]) -> tuple[str, ...]:
    (group,) = catalogue.groups.values()
    evaluation = evaluate(catalogue, group.id, a_frame(catalogue, cells), {}, at())
    decision = decide(
        group, requests_from(catalogue, evaluation), a_fleet(), GroupState(desired=4), at(), evaluation=evaluation
    )
    result = explain(catalogue, group, evaluation, decision, a_fleet())
    return (brief(result), *say(result, at().wall))


def test_why_shows_an_expression_with_its_truth_and_every_aggregate_that_it_names() -> None:
    result = lines(watching(2), {**BUSY, "busy": measured(10), "cpu": missing()})
    assert "out: does not fire; 1 of 3 holds, 2 needed; fires once 2 of these hold" in result
    assert "  slow: load > 2 || cpu.p95 > 95 is true" in result
    assert "    load avg 1m = 3 % (10 of 10 members, 4 s old)" in result
    assert "    cpu avg across members, p95 1m is unknown: 0 of 10 members answered" in result


def test_an_expression_alone_says_what_happened_in_one_line() -> None:
    result = lines(watching(None, when=("slow",)), {"load": measured(1), "cpu": measured(3)})
    assert result[0].endswith("slow: load > 2 || cpu.p95 > 95 is false")
    assert "out: does not fire; fires once this holds" in result
