"""Check which windows a group needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.frames import WindowKey
from aggregator.specs import keys_for, observed_keys, ticks_of, window_key
from config.model.catalogue import Holds
from config.model.counters import Per
from config.model.reductions import Reduce
from config.units import CounterId
from tests.support.aggregator import CPU, WEB, a_catalogue, a_condition, a_counter, a_group, a_policy


def a_key(*, across: Reduce = Reduce.AVG, aggregate: Reduce = Reduce.AVG, window: float = 10.0) -> WindowKey:
    return WindowKey(counter=CPU, across=across, aggregate=aggregate, window=window)


@pytest.mark.parametrize(
    ("condition", "policy", "expected"),
    [
        pytest.param(a_condition(), a_policy(), a_key(window=10.0), id="no window is one interval"),
        pytest.param(a_condition(window=60.0), a_policy(), a_key(window=60.0), id="a window is kept"),
        pytest.param(
            a_condition(across=Reduce.MAX, aggregate=Reduce.MIN, window=60.0),
            a_policy(duration=300.0),
            a_key(across=Reduce.MAX, aggregate=Reduce.MIN, window=60.0),
            id="both aggregations are kept apart",
        ),
        pytest.param(
            a_condition(across=Reduce.MAX, aggregate=Reduce.MIN, window=60.0),
            a_policy(duration=300.0, holds=Holds.AVERAGE),
            a_key(across=Reduce.MAX, aggregate=Reduce.AVG, window=300.0),
            id="holds average is the average over the duration",
        ),
        pytest.param(
            a_condition(window=60.0),
            a_policy(duration=0.0, holds=Holds.AVERAGE),
            a_key(window=10.0),
            id="holds average over no duration is one interval",
        ),
    ],
)
def test_a_window_follows_from_the_condition_and_the_policy_that_asks(condition, policy, expected):
    assert window_key(condition, policy, a_group(interval=10.0)) == expected


def test_what_a_group_observes_has_windows_of_its_own_whatever_its_policies_read():
    counters = [a_counter(), a_counter("depth", per=Per.GROUP)]
    group = replace(a_group(policies=[]), observed=(CounterId("depth"), CPU))
    catalogue = a_catalogue(counters=counters, groups=[group])

    depth = WindowKey(counter=CounterId("depth"), across=Reduce.AVG, aggregate=Reduce.AVG, window=10.0)
    of_members = [a_key(across=across) for across in (Reduce.AVG, Reduce.MIN, Reduce.MAX)]
    assert observed_keys(catalogue, WEB) == (depth, *of_members)
    assert set(keys_for(catalogue, WEB)) == {depth, *of_members}


def test_the_keys_of_a_group_are_sorted_and_each_stands_once():
    catalogue = a_catalogue(
        conditions=[
            a_condition("worst", across=Reduce.MAX),
            a_condition("long", window=60.0),
            a_condition("busy"),
            a_condition("idle"),
        ],
        policies=[a_policy("out", when=["worst", "long", "busy"]), a_policy("in", when=["idle"])],
        groups=[a_group(policies=["out", "in"])],
    )
    assert keys_for(catalogue, WEB) == (a_key(), a_key(window=60.0), a_key(across=Reduce.MAX))


def test_a_group_without_policies_asks_for_nothing():
    assert keys_for(a_catalogue(groups=[a_group(policies=[])]), WEB) == ()


@pytest.mark.parametrize(
    ("window", "interval", "ticks"),
    [
        pytest.param(60.0, 10.0, 6, id="whole number"),
        pytest.param(65.0, 10.0, 7, id="never less time than the window"),
        pytest.param(1.0, 10.0, 1, id="at least one"),
        pytest.param(0.3, 0.1, 3, id="rounding of binary fractions adds no tick"),
        pytest.param(0.7, 0.1, 7, id="rounding of binary fractions loses no tick"),
    ],
)
def test_a_window_has_a_whole_number_of_ticks(window, interval, ticks):
    assert ticks_of(window, interval) == ticks
