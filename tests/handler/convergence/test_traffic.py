"""Limits of calls to a cloud: a bucket for all groups, parallel calls, time that it asked for, and a full cloud."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import Engaged, Full, Permanent, Transient, Unsent
from config.model.clouds import Calls, Cloud, ProcessCloud
from config.units import CloudId, Instant
from handler.convergence.traffic import Bucket, CloudTraffic, refilled
from tests.support.fake_cloud import FakeClock
from tests.support.worlds import NOW

TEN = Calls(count=10, per=5.0, at_once=3)
BOX = ProcessCloud(id=CloudId("box"), calls=TEN)


def admitted(traffic: CloudTraffic, clock: FakeClock, wanted: int, cloud: Cloud = BOX, *, asks: bool = False) -> int:
    """How many of so many calls may be made, one after the other."""
    may = 0
    for _ in range(wanted):
        with traffic.call(cloud, clock, asks=asks) as admits:
            may += admits
    return may


@pytest.mark.parametrize(
    ("level", "later", "expected"),
    [
        pytest.param(0.0, 1.0, 2.0, id="evenly"),
        pytest.param(0.0, 0.2, 0.4, id="in parts"),
        pytest.param(9.0, 60.0, 10.0, id="never more than it holds"),
        pytest.param(4.0, -60.0, 4.0, id="time that goes back fills none"),
    ],
)
def test_a_bucket_fills_with_time(level: float, later: float, expected: float) -> None:
    now = Instant(NOW + later)
    assert refilled(Bucket(level=level, at=NOW), TEN, now) == Bucket(level=pytest.approx(expected), at=now)


@given(pauses=st.lists(st.floats(0, 3), max_size=60))
def test_over_any_time_no_more_is_asked_than_a_burst_and_what_flows_in(pauses: list[float]) -> None:
    traffic, clock = CloudTraffic(), FakeClock()
    may = admitted(traffic, clock, 20)
    for pause in pauses:
        clock.advance(pause)
        may += admitted(traffic, clock, 20)
    assert may <= TEN.count + sum(pauses) * TEN.count / TEN.per + 1e-6


def test_what_is_left_is_what_may_be_asked() -> None:
    traffic, clock = CloudTraffic(), FakeClock()
    assert traffic.left(BOX, clock()) == 10
    assert admitted(traffic, clock, 7) == 7
    clock.advance(0.75)
    assert traffic.left(BOX, clock()) == admitted(traffic, clock, 20) == 4


def test_reading_calls_leave_half_of_the_bucket_to_changing_ones() -> None:
    traffic, clock = CloudTraffic(), FakeClock()
    assert admitted(traffic, clock, 20, asks=True) == 5
    assert admitted(traffic, clock, 20) == 5


def test_only_so_many_calls_run_side_by_side_and_others_do_not_wait() -> None:
    traffic, clock = CloudTraffic(), FakeClock()
    with traffic.call(BOX, clock) as first, traffic.call(BOX, clock) as second, traffic.call(BOX, clock) as third:
        with traffic.call(BOX, clock) as fourth:
            assert (first, second, third, fourth) == (True, True, True, False)
        assert traffic.left(BOX, clock()) == 7
    with traffic.call(BOX, clock) as again:
        assert again
    assert traffic.in_parallel(BOX, 8) == 3


def test_a_cloud_that_asks_for_time_gets_it_and_others_are_called() -> None:
    traffic, clock, other = CloudTraffic(), FakeClock(), replace(BOX, id=CloudId("other"), calls=None)
    with pytest.raises(Transient), traffic.call(BOX, clock):
        raise Transient("too many requests", retry_after=17.0)
    traffic.heard(BOX, Transient("too many requests", retry_after=3.0), clock())
    assert (traffic.closed_until(BOX, clock()), traffic.left(BOX, clock())) == (NOW + 17.0, 0)
    assert (admitted(traffic, clock, 2), admitted(traffic, clock, 2, other)) == (0, 2)
    assert traffic.left(other, clock()) is None
    clock.advance(17.0)
    assert (traffic.closed_until(BOX, clock()), admitted(traffic, clock, 2)) == (None, 2)


@pytest.mark.parametrize("error", [Transient("busy"), Permanent("refused")])
def test_other_failures_close_nothing(error) -> None:
    traffic, clock = CloudTraffic(), FakeClock()
    traffic.heard(BOX, error, clock())
    assert (admitted(traffic, clock, 1), traffic.is_full(BOX, clock())) == (1, False)


def test_of_a_full_cloud_nothing_is_made_for_a_while_and_all_else_is_done() -> None:
    traffic, clock = CloudTraffic(), FakeClock()
    traffic.heard(BOX, Full("quota"), clock())
    with traffic.call(BOX, clock, makes=True) as makes, traffic.call(BOX, clock) as destroys:
        assert (makes, destroys, traffic.is_full(BOX, clock())) == (False, True, True)
    clock.advance(10.0)
    with traffic.call(BOX, clock, makes=True) as makes:
        assert makes


def test_an_endpoint_that_is_down_delays_creations_and_nothing_else() -> None:
    traffic, clock = CloudTraffic(), FakeClock()
    traffic.heard(BOX, Unsent("left alone", retry_after=7.0), clock())
    with traffic.call(BOX, clock, makes=True) as may_make:
        assert may_make, "a listing was not sent"

    traffic.heard(BOX, Unsent("left alone", retry_after=7.0), clock(), makes=True)

    with traffic.call(BOX, clock, makes=True) as may_make, traffic.call(BOX, clock) as may_remove:
        assert (may_make, may_remove) == (False, True)
    assert traffic.closed_until(BOX, clock()) is None
    clock.advance(7.0)
    with traffic.call(BOX, clock, makes=True) as may_make:
        assert may_make


def test_a_busy_resource_delays_no_other_call() -> None:
    traffic, clock = CloudTraffic(), FakeClock()
    traffic.heard(BOX, Engaged("it is SCALING", retry_after=7.0), clock(), makes=True)
    with traffic.call(BOX, clock, makes=True) as may_make:
        assert may_make
    assert traffic.closed_until(BOX, clock()) is None
