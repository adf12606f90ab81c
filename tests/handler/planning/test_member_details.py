"""One member from all its sides."""

from __future__ import annotations

from typing import Any

import pytest

from config.model.repair import HealthRepair, Repair
from config.units import BalancerId
from handler.planning.member_details import close_up
from handler.planning.plan import Snapshot
from handler.planning.roles import Role
from handler.planning.steps import Destroy, MarkLeaving, NoteHealth
from handler.planning.world import BalancerView, Health, Leaving, Member, Phase, ServerState
from tests.support.snapshots import a_snapshot
from tests.support.worlds import EDGE, NOW, a_fleet, a_member, a_registration, a_world, name_of

ONE = name_of(1)
SERVED, MADE = Phase.IN_SERVICE, Phase.MADE


def a_moment(member: Member, *, health: Health | None = None, **group: Any) -> Snapshot:
    world = a_world(
        member,
        a_member(2),
        registrations=[a_registration(1, connections=3, health=health), a_registration(2, health=health)],
    )
    return a_snapshot(world, 2, **group)


def test_it_shows_every_side() -> None:
    seen = close_up(ONE, a_moment(a_member(1)))
    assert seen is not None
    assert (seen.record, seen.server) == (a_member(1).record, a_member(1).server)
    assert (seen.registrations, seen.unread) == ({EDGE: a_registration(1, connections=3)}, {})
    assert (seen.role, seen.why, seen.steps) == (Role.SERVING, "it serves", ())


def test_an_unknown_member_has_no_details() -> None:
    assert close_up(name_of(9), a_snapshot(a_fleet(2), 2)) is None


def test_unreadable_balancers_and_missing_registrations_are_distinguished() -> None:
    back = BalancerId("back")
    balancer_views = {
        EDGE: BalancerView(registrations={}),
        back: BalancerView(registrations=None, because="it is silent"),
    }
    world = a_world(a_member(1, balancers=((EDGE, 80), (back, 81))), balancer_views=balancer_views)
    seen = close_up(ONE, a_snapshot(world, 1))
    assert seen is not None
    assert (seen.registrations, seen.unread) == ({EDGE: None}, {back: "it is silent"})


@pytest.mark.parametrize(
    ("member", "role", "why"),
    [
        pytest.param(
            a_member(1, MADE, ServerState.BUILDING, made_at=NOW - 9), Role.BUILDING, "is building it", id="new"
        ),
        pytest.param(a_member(1, SERVED, None), Role.ABSENT, "does not yet prove that it is gone", id="absent"),
        pytest.param(a_member(1, SERVED, ServerState.ERROR), Role.BROKEN, "it does not run", id="broken"),
        pytest.param(
            a_member(1, Phase.LEAVING, leaving=Leaving.BUILD_TIMEOUT),
            Role.LEAVING,
            "leave: build timeout",
            id="leaving",
        ),
    ],
)
def test_it_says_what_the_member_is_and_why(member: Member, role: Role, why: str) -> None:
    seen = close_up(ONE, a_moment(member))
    assert seen is not None
    assert seen.role is role
    assert seen.why.endswith(why)


def test_every_role_but_those_described_by_their_cause_has_words() -> None:
    from handler.planning.member_details import _WHY

    assert set(Role) - set(_WHY) == {Role.LEAVING, Role.FAILING}


def test_a_member_that_fails_says_since_when_and_when_it_is_replaced() -> None:
    failing = a_member(1, failing_since=NOW - 60)
    world = a_world(
        failing,
        a_member(2),
        registrations=[a_registration(1, health=Health.FAILING), a_registration(2, health=Health.HEALTHY)],
    )
    seen = close_up(ONE, a_snapshot(world, 2, repair=Repair(unhealthy=HealthRepair())))
    assert seen is not None
    assert seen.why == (
        "it serves, and fails the health check of its balancer since 2023-11-14 22:12:20 UTC; it is replaced after "
        "failing for 120 s"
    )


def test_a_member_that_nothing_is_done_about_says_why_not() -> None:
    left = close_up(ONE, a_moment(a_member(1, SERVED, ServerState.ERROR), repair=Repair(broken=False)))
    stopped = close_up(ONE, a_moment(a_member(1), health=Health.FAILING, repair=Repair(unhealthy=HealthRepair())))
    assert left is not None
    assert stopped is not None
    assert left.why == "its cloud reports that it does not run; the group's repair leaves it to a person"
    assert "it is not replaced: web-k3f9ab-1, web-k3f9ab-2 fail the health check" in stopped.why


def test_of_the_plan_only_its_own_steps_are_shown() -> None:
    broken = (a_member(1, SERVED, ServerState.ERROR), a_member(2, Phase.LEAVING, leaving=Leaving.BROKEN))
    seen = close_up(ONE, a_snapshot(a_world(*broken, registrations=[]), 2, drain=0.0))
    assert seen is not None
    assert seen.steps == (MarkLeaving(member=ONE, why=Leaving.BROKEN),)


def test_a_plan_of_one_member_leaves_out_all_others() -> None:
    broken = [a_member(number, SERVED, ServerState.ERROR, failing_since=NOW) for number in (1, 2)]
    leaving = a_member(3, Phase.LEAVING, ServerState.ERROR, leaving=Leaving.BROKEN)
    answer = a_snapshot(a_world(*broken, leaving, a_member(4), registrations=[a_registration(4)]), 4).plan()
    assert answer.of(name_of(2)).steps == (
        NoteHealth(member=name_of(2), failing=False),
        MarkLeaving(member=name_of(2), why=Leaving.BROKEN),
    )
    assert answer.of(name_of(3)).steps == (Destroy(member=name_of(3)),)
    assert (answer.of(ONE).waits, answer.of(name_of(9)).steps) == (answer.waits, ())
