"""What a plan leaves out for now, and what it does not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from config.units import BalancerId, Instant
from handler.planning.membership import Moves
from handler.planning.rate_limits import RateLimiter
from handler.planning.roles import Role
from handler.planning.steps import Create, Destroy, Enable, Join, Leave, Step, Wait
from handler.planning.world import Attempts
from tests.support.worlds import EDGE, NOW, a_member, a_record, limits, name_of

ONE, BACK = name_of(1), BalancerId("back")
CREATE, DESTROY = Create(member=ONE), Destroy(member=ONE)


def registered(balancer: BalancerId) -> list[Step]:
    return [Join(member=ONE, balancer=balancer), Enable(member=ONE, balancer=balancer)]


def deregistered(balancer: BalancerId) -> Step:
    return Leave(member=ONE, balancer=balancer)


def failed(call: str, balancer: BalancerId | None = None, *, again_in: float = 5.0) -> Attempts:
    return Attempts(call=call, balancer=balancer, count=1, again_at=Instant(NOW + again_in))


def accepted(*, again_in: float) -> Attempts:
    return Attempts(call="destroy", count=0, again_at=Instant(NOW + again_in))


@pytest.mark.parametrize(
    ("steps", "attempts", "left", "wait"),
    [
        pytest.param(registered(EDGE), [], registered(EDGE), set(), id="nothing failed"),
        pytest.param(
            registered(EDGE), [failed("join", EDGE, again_in=0.0)], registered(EDGE), set(), id="long enough ago"
        ),
        pytest.param(
            registered(EDGE), [failed("join", EDGE)], [], {Wait.BACK_OFF}, id="no member is enabled unregistered"
        ),
        pytest.param(
            [*registered(EDGE), *registered(BACK)],
            [failed("join", EDGE)],
            registered(BACK),
            {Wait.BACK_OFF},
            id="another balancer does not wait for it",
        ),
        pytest.param(
            [deregistered(EDGE), deregistered(BACK), DESTROY],
            [failed("leave", EDGE)],
            [deregistered(BACK)],
            {Wait.BACK_OFF},
            id="no member is destroyed before it has left",
        ),
        pytest.param(
            [deregistered(EDGE), DESTROY],
            [failed("destroy")],
            [deregistered(EDGE)],
            {Wait.BACK_OFF},
            id="who leaves may leave",
        ),
    ],
)
def test_a_call_that_failed_waits_with_all_that_must_not_come_before_it(steps, attempts, left, wait) -> None:
    record = a_record(attempts=tuple(attempts))
    moves = RateLimiter(limits(), NOW).limited(Moves(tuple(steps), frozenset({Wait.DELETING})), record)
    assert moves == Moves(tuple(left), frozenset({Wait.DELETING, *wait}))


@pytest.mark.parametrize(("again_in", "left"), [(5.0, ()), (0.0, (DESTROY,))])
def test_a_removal_that_was_accepted_is_waited_for_and_then_asked_for_again(again_in: float, left) -> None:
    limiter, moves = RateLimiter(limits(), NOW), Moves((DESTROY,), frozenset({Wait.DELETING}))
    limited = limiter.limited(moves, a_record(attempts=(accepted(again_in=again_in),)))
    assert (limited, limiter.held) == (Moves(left, frozenset({Wait.DELETING})), [])


def test_ordered_convergence_waits_for_no_back_off() -> None:
    moves, record = Moves((DESTROY,)), a_record(attempts=(failed("destroy"),))
    assert RateLimiter(limits(accept_vanished=True), NOW).limited(moves, record) == moves


def test_what_is_made_again_waits_too_and_what_is_new_does_not() -> None:
    new, again = Create(member=None), Create(member=name_of(2))
    roles: Any = [(a_member(1, attempts=(failed("create"),)), Role.DISPROVED), (a_member(2), Role.DISPROVED)]
    limiter, waits = RateLimiter(limits(), NOW), Counter[Wait]()
    assert [*limiter.creations([CREATE, again, new], roles, waits)] == [again, new]
    assert (limiter.held, waits) == ([failed("create")], {Wait.BACK_OFF: 1})


def test_removals_and_then_creations_share_what_the_cloud_may_be_asked_for() -> None:
    limiter, waits = RateLimiter(limits(calls=3), NOW), Counter[Wait]()
    left = [limiter.limited(Moves((DESTROY,)), a_record()) for _ in range(2)]
    assert left == [Moves((DESTROY,))] * 2
    assert [*limiter.creations([Create(member=None)] * 4, [], waits)] == [Create(member=None)]
    assert waits == {Wait.RATE_LIMIT: 3}


@pytest.mark.parametrize(
    ("limit", "line", "rest"),
    [
        pytest.param({"destroys": 2}, [deregistered(EDGE), DESTROY], [deregistered(EDGE)], id="destroys"),
        pytest.param({"joins": 2}, registered(EDGE), [], id="joins"),
    ],
)
def test_a_pass_does_so_much_of_a_kind_and_leaves_the_rest_to_the_next(limit, line, rest) -> None:
    limiter = RateLimiter(limits(**limit), NOW)
    limited = [limiter.limited(Moves(tuple(line)), a_record()) for _ in range(4)]
    assert limited == [Moves(tuple(line))] * 2 + [Moves(tuple(rest), frozenset({Wait.ENOUGH}))] * 2
