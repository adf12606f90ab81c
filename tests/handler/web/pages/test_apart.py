from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.counters import Counter
from config.units import CounterId, MemberName
from handler.web.pages.apart import ShownValue, shown_values, standing_apart
from tests.support.filled import filled

CPU, LOAD = CounterId("cpu"), CounterId("load")
COUNTER: Counter = filled(Counter)
COUNTERS = {CPU: replace(COUNTER, unit="percent"), LOAD: replace(COUNTER, unit="")}


@pytest.mark.parametrize(
    ("values", "apart"),
    [
        pytest.param([40, 41, 42, 43, 99], {4}, id="one far above"),
        pytest.param([40, 41, 42, 43, 2], {4}, id="one far below"),
        pytest.param([40, 41, 42, 43, 44], set(), id="a usual spread"),
        pytest.param([10, 30, 50, 70, 90], set(), id="a wide spread"),
        pytest.param([40, 41, 42, 98, 99, 43, 44], {3, 4}, id="two of seven"),
        pytest.param([40, 41, 42, 1e9, 43], {3}, id="however far it is"),
        pytest.param([0, 0, 0, 0, 0, 0, 0, 5], {7}, id="all others are equal"),
        pytest.param([7, 7, 7, 7, 7], set(), id="all are equal"),
        pytest.param([40, 41, 42, 99], set(), id="too few to tell"),
        pytest.param([], set(), id="none"),
    ],
)
def test_a_member_stands_apart_by_what_most_of_them_show(values: list[float], apart: set[int]) -> None:
    members = {MemberName(str(place)): float(value) for place, value in enumerate(values)}
    assert standing_apart(members) == {MemberName(str(place)) for place in apart}


def test_a_member_shows_its_counters_in_order_with_their_units() -> None:
    first, second = MemberName("web-1"), MemberName("web-2")
    shown = shown_values({(LOAD, first): 3.0, (CPU, first): 41.5, (CPU, second): 7.0}, COUNTERS)
    assert shown == {
        first: (ShownValue("cpu 41.5 %", apart=False), ShownValue("load 3", apart=False)),
        second: (ShownValue("cpu 7 %", apart=False),),
    }


def test_one_counter_does_not_say_that_another_stands_apart() -> None:
    members = [MemberName(str(place)) for place in range(5)]
    cpu = {(CPU, member): value for member, value in zip(members, (40.0, 41.0, 42.0, 43.0, 99.0), strict=True)}
    shown = shown_values({**cpu, **{(LOAD, member): 1.0 for member in members}}, COUNTERS)
    assert [[each.apart for each in shown[member]] for member in members] == [[False, False]] * 4 + [[True, False]]


def test_a_counter_that_is_no_longer_declared_is_left_out() -> None:
    assert shown_values({(CounterId("gone"), MemberName("web-1")): 1.0}, COUNTERS) == {}
