"""Groups that share a balancer change it one at a time, and none waits."""

from __future__ import annotations

import pytest

from config.units import BalancerId, GroupId
from handler.convergence.balancer_locks import TERM, BalancerLeases
from tests.support.fake_cloud import FakeClock
from tests.support.worlds import EDGE, WEB

BACK, API = BalancerId("back"), GroupId("api")


def test_one_at_a_time_changes_a_balancer_and_the_other_begins_nothing() -> None:
    leases, clock = BalancerLeases(), FakeClock()
    with leases.taken([EDGE], WEB, clock) as web_may, leases.taken([EDGE, BACK], API, clock) as api_may:
        assert (web_may(EDGE), api_may(EDGE), api_may(BACK)) == (True, False, True)
    with leases.taken([EDGE], API, clock) as api_may:
        assert api_may(EDGE)


def test_what_was_not_asked_for_may_not_be_changed() -> None:
    with BalancerLeases().taken([EDGE], WEB, FakeClock()) as may:
        assert not may(BACK)


def test_after_its_deadline_an_owner_begins_nothing_and_others_still_wait_for_what_it_has_begun() -> None:
    leases, clock = BalancerLeases(), FakeClock()
    with leases.taken([EDGE], WEB, clock) as web_may:
        clock.advance(TERM)
        with leases.taken([EDGE], API, clock) as api_may:
            assert (web_may(EDGE), api_may(EDGE)) == (False, False)


def test_from_an_owner_that_is_stuck_a_lease_is_taken_away_and_it_takes_none_from_its_heir() -> None:
    leases, clock = BalancerLeases(), FakeClock()
    with leases.taken([EDGE], WEB, clock) as web_may:
        clock.advance(TERM + 60.0)
        heir = leases.taken([EDGE], API, clock)
        api_may = heir.__enter__()
        assert (web_may(EDGE), api_may(EDGE)) == (False, True)
    with leases.taken([EDGE], WEB, clock) as web_may:
        assert not web_may(EDGE)
    heir.__exit__(None, None, None)


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_a_clock_that_is_set_makes_no_lease_longer_or_shorter(step: float) -> None:
    leases, clock = BalancerLeases(), FakeClock()
    with leases.taken([EDGE], WEB, clock) as web_may:
        clock.advance(step)
        leases.follow(step)
        clock.advance(TERM - 1.0)
        assert web_may(EDGE)
        clock.advance(1.0)
        assert not web_may(EDGE)
    with leases.taken([EDGE], API, clock) as api_may:
        assert api_may(EDGE), "the lease was released"
