from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.rates import NO_BASELINE, columns_of, measure
from collector.samples import Layout, Series, Sheet
from collector.snmp.totals import BEGUN, Law, Total, Totals, advance, law_of
from config.model.reductions import Reduce
from config.units import CounterId, GroupId, MemberName
from tests.support.collector import a_moment
from tests.support.snmp import a_column

NARROW = Law(modulus=2**32, fastest=math.inf, interval=30.0)
WIDE = Law(modulus=0, fastest=math.inf, interval=30.0)
TOP = 2**32

Reading = tuple[float, float, Mapping[str, float]]
"""Steady seconds, the agent's uptime, rows."""


def totals(readings: Sequence[Reading], law: Law = NARROW) -> list[Total]:
    total = None
    found = []
    for at, uptime, rows in readings:
        total = advance(total, rows, at=at, uptime=uptime, law=law)
        found.append(total)
    return found


RISES: Mapping[str, tuple[Law, Sequence[Mapping[str, float]], Sequence[float]]] = {
    "rows add up": (NARROW, [{"1": 5, "2": 7}, {"1": 6, "2": 9}], [0, 3]),
    "the first reading is a baseline": (NARROW, [{"1": 5_000_000}], [0]),
    "one row wraps": (NARROW, [{"1": TOP - 10, "2": 7}, {"1": 5, "2": 9}], [0, 17]),
    "both rows wrap": (NARROW, [{"1": TOP - 1, "2": TOP - 2}, {"1": 0, "2": 0}], [0, 3]),
    "a row comes": (NARROW, [{"1": 5}, {"1": 6, "2": 4_000_000}, {"1": 7, "2": 4_000_005}], [0, 1, 7]),
    "a row goes": (NARROW, [{"1": 5, "2": 4_000_000}, {"1": 6}, {"1": 8}], [0, 1, 3]),
    "a row goes and comes back": (NARROW, [{"1": 5, "2": 9}, {"1": 6}, {"1": 7, "2": 500}], [0, 1, 2]),
    "rows of 64 bits": (WIDE, [{"1": 2**63}, {"1": 2**63 + 3}], [0, 3]),
}


@pytest.mark.parametrize(("law", "rows", "expected"), RISES.values(), ids=RISES)
def test_a_total_rises_by_what_its_rows_rise(
    law: Law, rows: Sequence[Mapping[str, float]], expected: Sequence[float]
) -> None:
    found = totals([(30.0 * place, 1000 + 30.0 * place, each) for place, each in enumerate(rows)], law)

    assert [total.value for total in found] == expected
    assert [total.uptime for total in found] == [BEGUN, *(30.0 * place for place in range(1, len(rows)))]


ANEW: Mapping[str, tuple[Law, Reading, Reading]] = {
    "the agent restarted": (NARROW, (0, 1000, {"1": 500}), (30, 5, {"1": 600})),
    "it restarted, and is up for longer than before": (NARROW, (0, 10, {"1": 500}), (30, 15, {"1": 600})),
    "a wide row goes back": (WIDE, (0, 1000, {"1": 500, "2": 1}), (30, 1030, {"1": 400, "2": 2})),
    "a narrow row goes back, and no uptime": (NARROW, (0, math.nan, {"1": 500}), (30, math.nan, {"1": 400})),
    "faster than it can be": (
        Law(modulus=TOP, fastest=1000.0, interval=30.0),
        (0, 1000, {"1": TOP // 2}),
        (30, 1030, {"1": 400}),
    ),
    "a gap in which a narrow row may have gone round": (NARROW, (0, 1000, {"1": 500}), (60, 1060, {"1": 600})),
    "an uptime that leaps": (WIDE, (0, 1000, {"1": 500}), (30, 4630, {"1": 600})),
    "an uptime that stands still": (WIDE, (0, 1000, {"1": 500}), (30, 1000, {"1": 600})),
    "no row is known": (NARROW, (0, 1000, {"1": 500}), (30, 1030, {"2": 600})),
    "time stands still": (NARROW, (0, 1000, {"1": 500}), (0, 1000, {"1": 600})),
}


@pytest.mark.parametrize(("law", "before", "now"), ANEW.values(), ids=ANEW)
def test_a_total_begins_anew_where_it_is_unknown_by_how_much_its_rows_rose(
    law: Law, before: Reading, now: Reading
) -> None:
    _, total = totals([before, now], law)

    assert total.value == 0.0
    assert total.uptime == BEGUN


GOES_ON: Mapping[str, tuple[Law, Reading, Reading]] = {
    "a gap with wide rows": (WIDE, (0, 1000, {"1": 500}), (300, 1300, {"1": 600})),
    "a gap too short for a whole round": (
        Law(modulus=TOP, fastest=1000.0, interval=30.0),
        (0, 1000, {"1": 500}),
        (300, 1300, {"1": 600}),
    ),
    "an uptime that wrapped": (NARROW, (0, TOP / 100 - 10, {"1": 500}), (30, 20, {"1": 600})),
    "rising, and no uptime": (NARROW, (0, math.nan, {"1": 500}), (30, math.nan, {"1": 600})),
}


@pytest.mark.parametrize(("law", "before", "now"), GOES_ON.values(), ids=GOES_ON)
def test_a_total_goes_on_where_the_rise_is_certain(law: Law, before: Reading, now: Reading) -> None:
    _, total = totals([before, now], law)

    assert total.value == 100.0


@given(
    steps=st.lists(
        st.dictionaries(st.sampled_from("abcd"), st.integers(0, TOP - 1), min_size=1, max_size=4),
        min_size=1,
        max_size=8,
    ),
    start=st.integers(0, TOP - 1),
)
def test_wraps_arrivals_and_departures_never_make_a_false_rise(steps: list[dict[str, int]], start: int) -> None:
    """Each step is by how much each row rises, and who is there; the agent shows counts modulo 2^32."""
    true = dict.fromkeys("abcd", start)
    total: Total | None = None
    there: set[str] = set()
    risen = 0
    for place, step in enumerate(steps):
        for row, rise in step.items():
            true[row] += rise
        if total is not None:
            known = there & step.keys()
            risen = risen + sum(step[row] for row in known) if known else 0
        shown = {row: true[row] % TOP for row in step}
        total = advance(total, shown, at=30.0 * place, uptime=5000 + 30.0 * place, law=NARROW)
        there = set(step)

        assert total.value == risen


def rates(readings: Sequence[Reading], *, interval: float = 30.0) -> list[float | None]:
    """What the aggregator makes of it."""
    counter = a_column("1.3.6.1.2.1.2.2.1.10", Reduce.SUM, rising=True, bits=32)
    series = Series(GroupId("web"), CounterId("in"), MemberName("a"))
    layout = Layout(series=(series,), counted=np.ones(1, dtype=np.bool_))
    columns = columns_of(layout, np.zeros(1, dtype=np.intp), [counter], interval)
    kept, before = Totals(), NO_BASELINE
    found: list[float | None] = []
    for at, uptime, rows in readings:
        total = kept.advance(series, rows, at=at, uptime=uptime, law=law_of(counter, interval))
        sheet = Sheet(layout)
        sheet.put(0, total.value, at=at, uptime=total.uptime)
        measured, before = measure(columns, before, sheet.close(a_moment(at)))
        found.append(float(measured.value[0]) if measured.usable[0] else None)
    return found


def test_the_rate_of_a_sum_goes_through_a_wrap_and_a_restart_and_a_new_row() -> None:
    found = rates(
        [
            (0, 1000, {"1": TOP - 100}),
            (30, 1030, {"1": 200}),
            (60, 1060, {"1": 500, "2": 3_000_000_000}),
            (90, 1090, {"1": 800, "2": 3_000_003_000}),
            (120, 5, {"1": 10, "2": 20}),
            (150, 35, {"1": 40, "2": 50}),
        ]
    )

    assert found == [None, 10.0, 10.0, 110.0, None, 2.0]


def test_a_restart_within_the_slack_of_uptimes_makes_no_rate_of_zero() -> None:
    assert rates([(0, 900, {"1": 10}), (1, 0, {"1": 20}), (2, 1, {"1": 25})], interval=1.0) == [None, None, 5.0]


def test_a_total_that_was_forgotten_makes_no_rate_when_it_is_asked_for_again() -> None:
    kept = Totals()
    series = Series(GroupId("web"), CounterId("in"), MemberName("a"))
    kept.advance(series, {"1": 5}, at=0.0, uptime=100.0, law=WIDE)
    kept.advance(series, {"1": 9}, at=30.0, uptime=130.0, law=WIDE)
    kept.tidy(1000.0)

    total = kept.advance(series, {"1": 10}, at=1000.0, uptime=1100.0, law=WIDE)

    assert (total.value, total.uptime) == (0.0, BEGUN)
