"""Conditions judged in columns have the truths that they have one by one."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.cells import WindowColumns
from aggregator.frames import Aggregate, Cell, Insufficient, Lack
from config.load import parse
from config.model.catalogue import Compare, Condition
from config.units import GroupId
from trigger.conditions.columns import TRUTHS, LastTruths, rows_of
from trigger.conditions.judging import judge

WEB, SHOP = GroupId("web"), GroupId("shop")
CATALOGUE = parse(
    """
counters: {load: {push: LOAD}, jobs: {push: JOBS, per: group}}
conditions:
  above: {counter: load, above: 50}
  at_least: {counter: load, at_least: 50, quorum: 60%}
  below: {counter: load, below: 50}
  at_most: {counter: load, at_most: 50, quorum: 90%}
  equals: {counter: load, equals: 0.3}
  each: {counter: jobs, per_member: true, above: 5}
  both: {expression: "load > 5 && jobs > 5"}
policies:
  out: {when: [above, at_least, equals], match: any, add: 1}
  in: {when: [below, at_most, equals], match: any, remove: 1}
  each: {when: [each], add: 1}
  both: {when: [both], add: 1}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [serve]}}
groups:
  web: {profile: web, min: 1, max: 9, policies: [out]}
  shop: {profile: web, min: 1, max: 9, policies: [in]}
  each: {profile: web, min: 1, max: 9, policies: [out, each]}
  both: {profile: web, min: 1, max: 9, policies: [both]}
""",
    "x",
)
NUMBERS = st.sampled_from([49.0, 50.0, 51.0, 0.1 * 3, 0.3, 0.3 + 1e-8, -math.inf, math.inf, math.nan])
CELLS = st.tuples(st.sampled_from([0, 0, 2, 5]), NUMBERS, NUMBERS, NUMBERS, st.sampled_from([0.5, 0.6, 0.9, 1.0]))


def a_cell(lack: int, low: float, value: float, high: float, coverage: float) -> Cell:
    if lack:
        bounds = (low, high) if lack == 5 else (-math.inf, math.inf)
        because = Lack.TOO_FEW_HEARD if lack == 5 else Lack.TOO_FEW
        return Insufficient(because=because, samples=0, needed=1, heard=0, expected=2, low=bounds[0], high=bounds[1])
    return Aggregate(
        value=value, low=low, high=high, samples=1, needed=1, heard=1, expected=2, coverage=coverage, age=0.0
    )


@given(st.lists(CELLS, min_size=6, max_size=6))
def test_truths_in_columns_are_those_of_each_condition_alone(
    numbers: list[tuple[int, float, float, float, float]],
) -> None:
    cells = [a_cell(*each) for each in numbers]
    places = iter(range(6))
    rows = rows_of(CATALOGUE, [WEB, SHOP], lambda group, key: next(places))
    windows = WindowColumns(
        lack=np.array([each[0] for each in numbers]),
        low=np.array([cell.low for cell in cells]),
        value=np.array([each[2] for each in numbers]),
        high=np.array([cell.high for cell in cells]),
        coverage=np.array([each[4] for each in numbers]),
    )
    asked = [(name, shrinking) for policy, shrinking in (("out", False), ("in", True)) for name in _when(policy)]
    alone = [judge(name, cell, shrinking=shrinks).truth for (name, shrinks), cell in zip(asked, cells, strict=True)]
    assert [TRUTHS[code] for code in rows.truths(windows)] == alone


def _when(policy: str) -> list[Condition]:
    found = [CATALOGUE.conditions[name] for name in CATALOGUE.policies[policy].when]
    return [condition for condition in found if isinstance(condition, Condition)]


def test_what_needs_more_than_numbers_is_not_judged_in_columns() -> None:
    rows = rows_of(CATALOGUE, [GroupId(name) for name in ("web", "shop", "each", "both")], lambda group, key: 0)
    assert rows.groups.keys() == {WEB, SHOP}
    assert {compare for compare, _ in rows.compares} == set(Compare)


def at(value: float) -> WindowColumns:
    """A tick at which all counters show this."""
    level, whole = np.array([value]), np.array([1.0])
    return WindowColumns(lack=np.zeros(1, dtype=np.intp), low=level, value=level, high=level, coverage=whole)


def test_a_group_is_compared_with_the_tick_before_only_if_all_groups_were_decided_about_then() -> None:
    truths = LastTruths(CATALOGUE, [WEB, SHOP], lambda group, key: 0)
    assert truths.unlike(at(60.0)) == {WEB, SHOP}
    truths.keep()
    assert truths.unlike(at(60.0)) == set()
    truths.keep()
    assert truths.unlike(at(40.0)) == {WEB, SHOP}, "of this tick, only one of the two is decided about"
    assert truths.unlike(at(60.0)) == {WEB, SHOP}
    truths.keep()
    assert truths.unlike(at(60.0)) == set()
