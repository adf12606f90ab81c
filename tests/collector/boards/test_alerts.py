from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.boards.alerts import Board, Brought
from config.units import AlertId, GroupId, Instant
from tests.support.collector import a_moment

WEB, DEPTH = GroupId("web"), AlertId("depth")


def brought(value: float, *, key: str = "f1", at: float = 0.0, until: float = 300.0, group: str = "web") -> Brought:
    return Brought(group=GroupId(group), alert=DEPTH, key=key, value=value, at=a_moment(at), until=Instant(until))


def a_board(*alerts: Brought) -> Board:
    board = Board()
    for one in alerts:
        board.put(one)
    return board


@pytest.mark.parametrize(
    ("alerts", "expected"),
    [
        pytest.param([], None, id="no-alert"),
        pytest.param([brought(7)], 7, id="one-alert"),
        pytest.param([brought(0)], 0, id="zero-is-a-number"),
        pytest.param([brought(7), brought(3, at=1)], 3, id="a-later-alert"),
        pytest.param([brought(3, at=1), brought(7)], 3, id="an-earlier-alert-arrives-late"),
        pytest.param([brought(3), brought(7)], 7, id="two-at-one-instant-the-greater"),
        pytest.param([brought(3, key="f2"), brought(7), brought(5, key="f3")], 7, id="of-several-alerts-the-greatest"),
        pytest.param([brought(7, until=100), brought(3, key="f2")], 3, id="one-is-over"),
        pytest.param([brought(7, until=100)], None, id="all-are-over"),
        pytest.param([brought(7, group="api")], None, id="of-another-group"),
    ],
)
def test_the_value_of_an_alert(alerts: list[Brought], expected: float | None) -> None:
    assert a_board(*alerts).value(WEB, DEPTH, a_moment(100.0)) == expected


@pytest.mark.parametrize(
    ("steady", "wall", "expected"),
    [
        pytest.param(299.0, 299.0, 7, id="its-time-has-not-passed"),
        pytest.param(300.0, 300.0, None, id="it-has"),
        pytest.param(300.0, -3300.0, None, id="the-wall-clock-was-set-back"),
        pytest.param(30.0, 3630.0, None, id="the-machine-has-slept-and-the-steady-clock-with-it"),
    ],
)
def test_a_number_is_over_by_the_clock_that_says_so_first(steady: float, wall: float, expected: float | None) -> None:
    assert a_board(brought(7)).value(WEB, DEPTH, a_moment(steady, wall=wall)) == expected


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_a_number_lasts_as_long_as_before_once_the_clock_was_set_and_followed(step: float) -> None:
    board = a_board(brought(7))
    board.follow(step)
    assert board.value(WEB, DEPTH, a_moment(299.0, wall=299.0 + step)) == 7
    assert board.value(WEB, DEPTH, a_moment(300.0, wall=300.0 + step)) is None


def test_an_alert_after_the_wall_clock_was_set_back_is_newer_all_the_same() -> None:
    later = Brought(
        group=WEB, alert=DEPTH, key="f1", value=3.0, at=a_moment(30.0, wall=-3570.0), until=Instant(-3270.0)
    )
    assert a_board(brought(7), later).value(WEB, DEPTH, a_moment(40.0, wall=-3560.0)) == 3


def test_a_resolved_alert_takes_its_own_number_with_it() -> None:
    board = a_board(brought(7), brought(3, key="f2"))
    board.drop(WEB, DEPTH, "f1")
    board.drop(WEB, DEPTH, "never-received")
    assert board.value(WEB, DEPTH, a_moment(0.0)) == 3
    board.drop(WEB, DEPTH, "f2")
    assert board.value(WEB, DEPTH, a_moment(0.0)) is None


def test_a_flood_costs_no_more_memory_than_a_thousand_numbers() -> None:
    board = a_board(*(brought(number, key=str(number), until=300.0 + number) for number in range(1500)))
    assert board.value(WEB, DEPTH, a_moment(0.0)) == 1499
    (kept,) = board._brought.values()
    assert sorted(map(int, kept)) == list(range(500, 1500))


NUMBERS = st.builds(
    brought,
    st.integers(0, 5).map(float),
    key=st.sampled_from(["f1", "f2"]),
    at=st.integers(0, 3).map(float),
    until=st.sampled_from([50.0, 300.0]),
)


@given(st.lists(NUMBERS, unique_by=lambda one: (one.key, one.at, one.value)), st.randoms(use_true_random=False))
def test_the_order_in_which_numbers_come_never_matters(alerts: list[Brought], random) -> None:
    shuffled = list(alerts)
    random.shuffle(shuffled)
    for now in (0.0, 100.0):
        assert a_board(*alerts).value(WEB, DEPTH, a_moment(now)) == a_board(*shuffled).value(WEB, DEPTH, a_moment(now))
