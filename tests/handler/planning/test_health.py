"""Which members are replaced for failing the health checks of their balancers, and when none is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.repair import HealthRepair, Repair
from config.units import BalancerId, Instant
from handler.planning.plan import plan
from handler.planning.steps import Create, MarkLeaving, NoteHealth, Plan, Wait
from handler.planning.world import BalancerView, Health, Leaving, Phase, RegistrationState, ServerState, World
from tests.support.planning import SIZES, worlds
from tests.support.worlds import EDGE, NOW, a_definition, a_member, a_registration, a_world, desired, limits, name_of

FAILING, HEALTHY, UNKNOWN = Health.FAILING, Health.HEALTHY, Health.UNKNOWN
LONG, JUST = NOW - 120.0, NOW - 119.0
BACK = BalancerId("back")
USUAL = HealthRepair()


def a_fleet(*healths: Health | None, since: float | None = LONG, **records: dict[str, Any]) -> World:
    """Members 1, 2, … in service with this health on the balancer; failing ones have failed ``since`` then."""
    members = []
    for number, health in enumerate(healths, 1):
        record = {"failing_since": since if health is FAILING else None, **records.get(f"m{number}", {})}
        members.append(a_member(number, **record))
    return a_world(
        *members, registrations=[a_registration(number, health=health) for number, health in enumerate(healths, 1)]
    )


def planned(world: World, size: int | None = None, rule: HealthRepair | None = USUAL, **limit: Any) -> Plan:
    size = len(world.members) if size is None else size
    return plan(desired(size), world, a_definition(repair=Repair(unhealthy=rule)), limits(**limit), NOW)


def replaced(*numbers: int) -> list[object]:
    marks = [MarkLeaving(member=name_of(number), why=Leaving.UNHEALTHY) for number in numbers]
    return [*marks, *(Create(member=None) for _ in numbers)]


def noted(number: int, *, failing: bool) -> NoteHealth:
    return NoteHealth(member=name_of(number), failing=failing)


def test_a_member_that_failed_for_long_enough_is_replaced() -> None:
    assert [*planned(a_fleet(FAILING, HEALTHY, HEALTHY)).steps] == replaced(1)


def test_until_then_it_is_waited_for() -> None:
    answer = planned(a_fleet(FAILING, HEALTHY, since=JUST))
    assert (answer.steps, dict(answer.waits)) == ((), {Wait.FAILING: 1})


def test_when_it_began_is_written_down_once() -> None:
    answer = planned(a_fleet(FAILING, HEALTHY, since=None))
    assert (answer.steps, dict(answer.waits)) == ((noted(1, failing=True),), {Wait.FAILING: 1})


@pytest.mark.parametrize(
    ("health", "over"),
    [
        pytest.param(HEALTHY, True, id="answers again"),
        pytest.param(None, True, id="is checked no more"),
        pytest.param(UNKNOWN, False, id="no result"),
    ],
)
def test_its_time_is_over_as_soon_as_it_answers(health: Health | None, over: bool) -> None:
    answer = planned(a_fleet(health, HEALTHY, m1={"failing_since": LONG}))
    assert [*answer.steps] == ([noted(1, failing=False)] if over else [])
    assert answer.converged is not over


@pytest.mark.parametrize(
    ("rule", "world"),
    [
        pytest.param(None, a_fleet(FAILING, HEALTHY, since=None), id="it is not asked for"),
        pytest.param(HealthRepair(), a_fleet(None, None, None), id="no member is checked"),
        pytest.param(HealthRepair(), a_fleet(UNKNOWN, UNKNOWN), id="no result"),
        pytest.param(
            HealthRepair(), a_fleet(FAILING, HEALTHY, since=None, m1={"in_service_at": NOW - 299}), id="it warms up"
        ),
    ],
)
def test_nothing_is_done_and_nothing_waited_for_where(rule: HealthRepair | None, world: World) -> None:
    assert planned(world, rule=rule).converged


def test_a_mark_of_failing_is_taken_off_once_health_is_not_asked_for() -> None:
    assert planned(a_fleet(FAILING, HEALTHY), rule=None).steps == (noted(1, failing=False),)


def test_a_warm_up_that_has_not_begun_protects_no_member() -> None:
    world = a_fleet(FAILING, HEALTHY, m1={"in_service_at": NOW + 3600})
    assert [*planned(world).steps] == replaced(1)


def test_a_protected_member_is_not_replaced() -> None:
    answer = planned(a_fleet(FAILING, HEALTHY, m1={"protected": True}))
    assert (answer.steps, dict(answer.waits)) == ((), {Wait.FAILING: 1})


@pytest.mark.parametrize("count", [1, 2, 7])
def test_when_all_members_fail_none_is_blamed(count: int) -> None:
    answer = planned(a_fleet(*[FAILING] * count), rule=HealthRepair(at_most=99))
    assert [*answer.steps] == [noted(number, failing=False) for number in range(1, count + 1)]
    assert dict(answer.waits) == {Wait.MANY_FAILING: count}
    assert "finds no member healthy: the fault may be its own" in answer.repair_stopped


def test_even_an_ordered_convergence_does_not_replace_all_members_at_once() -> None:
    answer = planned(a_fleet(*[FAILING] * 3, since=None), accept_vanished=True)
    assert (answer.steps, dict(answer.waits)) == ((), {Wait.MANY_FAILING: 3})


@pytest.mark.parametrize(
    ("failing", "of", "rule", "stops"),
    [
        pytest.param(1, 2, HealthRepair(), False, id="one may always"),
        pytest.param(2, 10, HealthRepair(), False, id="a fifth"),
        pytest.param(3, 10, HealthRepair(), True, id="more than a fifth"),
        pytest.param(3, 10, HealthRepair(at_most=3), False, id="as many as it says"),
        pytest.param(4, 10, HealthRepair(at_most=3), True, id="more than it says"),
    ],
)
def test_more_than_a_few_at_once_are_not_replaced(failing: int, of: int, rule: HealthRepair, stops: bool) -> None:
    healths = [FAILING] * failing + [HEALTHY] * (of - failing)
    answer = planned(a_fleet(*healths), rule=rule)
    numbers = range(1, failing + 1)
    assert [*answer.steps] == ([noted(n, failing=False) for n in numbers] if stops else replaced(*numbers))
    assert dict(answer.waits) == ({Wait.MANY_FAILING: failing} if stops else {})
    assert bool(answer.repair_stopped) is stops


def test_what_stops_repair_is_reported_with_names_and_what_to_do() -> None:
    assert planned(a_fleet(*[FAILING] * 7, *[HEALTHY] * 7)).repair_stopped == (
        "web-k3f9ab-1, web-k3f9ab-2, web-k3f9ab-3, web-k3f9ab-4, web-k3f9ab-5 and 2 more fail the health check, more "
        "than 2 at once (repair.unhealthy.at_most): none is replaced until fewer fail, or until trimtab converge"
    )


def test_a_person_can_order_to_believe_that_many_fail() -> None:
    answer = planned(a_fleet(*[FAILING] * 3, *[HEALTHY] * 3, since=None), accept_vanished=True)
    marks = [step for step in answer.steps if not isinstance(step, NoteHealth)]
    assert marks == replaced(1, 2, 3)


def test_convergence_for_another_reason_replaces_no_member_before_its_time() -> None:
    answer = planned(a_fleet(FAILING, HEALTHY, since=JUST), accept_vanished=True)
    assert answer.steps == ()


@pytest.mark.parametrize("healths", [[FAILING, FAILING], [FAILING] * 4 + [HEALTHY]])
def test_a_person_can_order_it_of_one_member(healths: list[Health]) -> None:
    steps = planned(a_fleet(*healths, since=None), accept_members=(name_of(2),)).steps
    assert [step for step in steps if not isinstance(step, NoteHealth)] == replaced(2)


def test_members_are_replaced_in_turns_while_others_are_missing() -> None:
    healths = [FAILING, FAILING, *[HEALTHY] * 7]
    coming = a_member(10, Phase.MADE, ServerState.BUILDING, made_at=NOW - 5)
    world = a_fleet(*healths)
    answer = planned(replace(world, members=(*world.members, coming)), 10)
    assert [*answer.steps] == replaced(1)
    assert answer.waits == ((Wait.BUILDING, 1), (Wait.FAILING, 1))


@pytest.mark.parametrize(
    ("limit", "complete"),
    [
        pytest.param({"creates": 0}, True, id="the budget of creates is used up"),
        pytest.param({"back_off_until": Instant(NOW + 9)}, True, id="builds fail"),
        pytest.param({}, False, id="the listing is partial"),
    ],
)
def test_no_member_is_replaced_while_none_can_be_created(limit: dict[str, Any], complete: bool) -> None:
    world = replace(a_fleet(FAILING, HEALTHY), complete=complete)
    assert dict(planned(world, **limit).waits)[Wait.FAILING] == 1
    assert planned(world, **limit).steps == ()


def test_failing_members_leave_first_when_there_are_too_many() -> None:
    answer = planned(a_fleet(HEALTHY, HEALTHY, FAILING, since=JUST), 2)
    assert [step.member for step in answer.steps if isinstance(step, MarkLeaving)] == [name_of(3)]


def two_balancers(edge: Iterable[Health | None], back: Iterable[Health | None] | None, **record: Any) -> World:
    """Members that stand on two balancers, of which the second may be dead."""
    edge = [*edge]
    both = ((EDGE, 80), (BACK, 81))
    members = [a_member(n, balancers=both, failing_since=LONG, **record) for n in range(1, len(edge) + 1)]
    front = {name_of(n): a_registration(n, health=health) for n, health in enumerate(edge, 1)}
    behind = (
        None if back is None else {name_of(n): a_registration(n, health=health) for n, health in enumerate(back, 1)}
    )
    return a_world(
        *members,
        balancer_views={
            EDGE: BalancerView(registrations=front),
            BACK: BalancerView(registrations=behind, because="it is dead"),
        },
    )


@pytest.mark.parametrize(
    ("edge", "back", "gone"),
    [
        pytest.param([FAILING, HEALTHY], [HEALTHY, HEALTHY], [1], id="one balancer is enough"),
        pytest.param([FAILING, HEALTHY], [FAILING, HEALTHY], [1], id="both"),
        pytest.param(
            [FAILING, FAILING], [HEALTHY, HEALTHY], [], id="a balancer that fails all members is not believed"
        ),
        pytest.param([FAILING, HEALTHY], [FAILING, FAILING], [1], id="what the other says still is"),
        pytest.param([FAILING, HEALTHY], [HEALTHY, FAILING], [], id="each fails one member: together all"),
        pytest.param([FAILING, HEALTHY], None, [1], id="a dead balancer does not prevent repair by the other"),
    ],
)
def test_each_balancer_is_believed_by_itself(edge: list[Health], back: list[Health] | None, gone: list[int]) -> None:
    steps = planned(two_balancers(edge, back), rule=HealthRepair(at_most=9)).steps
    assert [step.member for step in steps if isinstance(step, MarkLeaving)] == [name_of(number) for number in gone]


def test_a_registration_without_work_shows_no_health() -> None:
    world = a_fleet(FAILING, HEALTHY)
    registrations = [a_registration(1, RegistrationState.DRAINING, health=FAILING), a_registration(2, health=HEALTHY)]
    assert not [
        s for s in planned(a_world(*world.members, registrations=registrations)).steps if isinstance(s, MarkLeaving)
    ]


@given(world=worlds(), size=SIZES, at_most=st.integers(1, 3), since=st.booleans())
def test_in_any_world_no_more_members_are_replaced_than_the_budget_and_never_all(
    world: World, size: int | None, at_most: int, since: bool
) -> None:
    rule = HealthRepair(at_most=at_most, warm_up=0.0)
    steps = plan(desired(size), world, a_definition(repair=Repair(unhealthy=rule)), limits(), NOW).steps
    gone = {step.member for step in steps if isinstance(step, MarkLeaving) and step.why is Leaving.UNHEALTHY}
    serving = {m.name for m in world.members if m.record is not None and m.record.phase is Phase.IN_SERVICE}
    assert len(gone) <= at_most
    assert not gone or gone < serving


@pytest.mark.parametrize(("attempts", "numbers"), [(0, ()), (10, (2,))], ids=["it leaves", "it cannot be removed"])
def test_a_removal_that_is_stuck_holds_up_no_other_repair(attempts: int, numbers: tuple[int, ...]) -> None:
    """One of four may fail at once; another one left for it before."""
    world = a_fleet(HEALTHY, FAILING, HEALTHY, HEALTHY)
    left = a_member(9, Phase.LEAVING, leaving=Leaving.UNHEALTHY, drained_at=NOW, destroy_attempts=attempts)
    steps = planned(replace(world, members=(*world.members, left)), size=4).steps
    assert [step for step in steps if isinstance(step, MarkLeaving | Create)] == replaced(*numbers)
