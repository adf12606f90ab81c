from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.demo.meters import Busy, Trailing


def test_nothing_is_known_of_no_time() -> None:
    assert Trailing(2.0, at=5.0).rate() == 0.0
    assert Busy(2, 2.0, at=5.0).percent(5.0) == 0.0


def test_only_the_window_counts() -> None:
    trailing = Trailing(2.0, at=0.0)
    for at, total in ((1.0, 100.0), (9.0, 100.0), (10.0, 101.0)):
        trailing.add(at, total)

    assert trailing.rate() == pytest.approx(0.5)


def test_a_reading_across_the_edge_of_the_window_counts_in_part() -> None:
    trailing = Trailing(2.0, at=0.0)
    trailing.add(3.0, 3.0)
    trailing.add(4.0, 3.0)

    assert trailing.rate() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("taken", "percent"),
    [
        pytest.param([], 0.0, id="idle"),
        pytest.param([(10.0, 12.0), (10.0, 12.0)], 100.0, id="full"),
        pytest.param([(10.0, 12.0)], 50.0, id="one of two"),
        pytest.param([(11.0, 12.0), (11.0, 12.0)], 50.0, id="full for half of the time"),
        pytest.param([(3.0, 9.9)], 0.0, id="long ago"),
        pytest.param([(3.0, 11.0)], 25.0, id="since before the window"),
    ],
)
def test_busy_slots_are_weighted_by_time(taken: list[tuple[float, float]], percent: float) -> None:
    busy = Busy(2, 2.0, at=0.0)
    for at, change in sorted(
        [(start, busy.take) for start, _ in taken] + [(end, busy.give) for _, end in taken], key=lambda it: it[0]
    ):
        change(at)

    assert busy.percent(12.0) == pytest.approx(percent)


@given(st.lists(st.tuples(st.floats(0.001, 3.0), st.booleans()), max_size=60))
def test_busy_is_always_a_percentage(changes: list[tuple[float, bool]]) -> None:
    busy, at, taken = Busy(3, 2.0, at=100.0), 100.0, 0
    for span, takes in changes:
        at += span
        if takes and taken < 3:
            busy.take(at)
            taken += 1
        elif not takes and taken:
            busy.give(at)
            taken -= 1

        assert -1e-6 <= busy.percent(at) <= 100.0 + 1e-6
