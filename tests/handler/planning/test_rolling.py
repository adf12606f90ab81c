"""Which members leave next in a roll, and how many are created meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from handler.planning.context import context_of
from handler.planning.desired import Rolling
from handler.planning.roles import Role, sequence_of
from handler.planning.rolling import Rolled, rolled
from handler.planning.steps import MarkLeaving, Wait
from handler.planning.world import Health, Leaving, Member, Phase, RegistrationState, ServerState, World
from tests.support.planning import SIZES
from tests.support.rolling import NEW, OLD, ONE_LESS, ONE_MORE, budgets, made_of, mixed, moves, planned, rolling
from tests.support.worlds import NOW, a_definition, a_member, a_registration, a_world, limits, name_of

PHASES = {"leaving": {"phase": Phase.LEAVING, "leaving": Leaving.REPLACED, "leaving_at": NOW - 1, "drained_at": NOW}}
WIDE = Rolling(surge=2, unavailable=1)
KEPT = {"protected": True}


@pytest.mark.parametrize(
    ("world", "roll", "expected"),
    [
        pytest.param(made_of(OLD, OLD, OLD), None, ([], 0), id="without a roll nothing moves"),
        pytest.param(made_of(NEW, NEW, NEW), ONE_MORE, ([], 0), id="all use the current profile"),
        pytest.param(made_of(OLD, OLD, OLD), ONE_MORE, ([], 1), id="with surge, another one comes first"),
        pytest.param(made_of(OLD, OLD, OLD, NEW), ONE_MORE, ([1], 0), id="once it serves, the oldest leaves"),
        pytest.param(made_of(OLD, OLD, OLD), ONE_LESS, ([1], 0), id="without surge, the oldest leaves first"),
        pytest.param(made_of(OLD, OLD), ONE_LESS, ([], 1), id="and what it leaves behind is filled"),
        pytest.param(made_of(OLD, OLD, OLD), WIDE, ([1], 2), id="both at once, leavers taking up room"),
        pytest.param(made_of(OLD, OLD, NEW, NEW, NEW), WIDE, ([1, 2], 0), id="never below the size less unavailable"),
        pytest.param(made_of(None, NEW, NEW, NEW), ONE_MORE, ([1], 0), id="what it is made of is not known: replaced"),
        pytest.param(made_of(OLD, OLD, OLD, now=OLD), ONE_MORE, ([], 0), id="back to the profile that all are made of"),
        pytest.param(made_of(OLD, NEW, NEW, m1=KEPT), ONE_MORE, ([], 0), id="protected ones are left alone"),
        pytest.param(made_of(OLD, OLD, NEW, NEW, m1=KEPT), ONE_MORE, ([2], 0), id="the member after them leaves"),
        pytest.param(made_of(OLD, OLD, OLD, m2=PHASES["leaving"]), ONE_MORE, ([], 1), id="a leaver takes up the surge"),
        pytest.param(made_of(OLD, OLD, OLD, OLD, OLD), ONE_MORE, ([1, 2], 0), id="who is too many leaves anyway"),
        pytest.param(replace(made_of(OLD, OLD, OLD), profile=None), ONE_MORE, ([], 0), id="not known what is new"),
        pytest.param(
            replace(made_of(OLD, OLD, OLD), complete=False), WIDE, ([], 0), id="half a listing: no member leaves"
        ),
    ],
)
def test_what_a_roll_does_now(world: World, roll: Rolling | None, expected: tuple[list[int], int]) -> None:
    assert moves(planned(world, 3, roll)) == expected


@pytest.mark.parametrize("limited", [{"creates": 0}, {"back_off_until": NOW + 9}], ids=["budget", "back-off"])
def test_no_member_leaves_before_one_that_cannot_be_created(limited) -> None:
    assert moves(planned(made_of(OLD, OLD, OLD), 3, ONE_LESS, **limited)) == ([], 0)
    assert moves(planned(made_of(OLD, OLD, OLD, NEW), 3, ONE_LESS, **limited)) == ([1], 0), "others serve already"


def test_a_scale_out_during_a_roll_is_made_beside_it() -> None:
    assert moves(planned(made_of(OLD, OLD, NEW), 5)) == ([], 3)


def test_a_scale_in_during_a_roll_takes_the_old_ones() -> None:
    assert moves(planned(made_of(NEW, OLD, OLD, NEW), 2)) == ([2, 3], 0)


def test_a_repair_during_a_roll_goes_on() -> None:
    broken = a_member(1, state=ServerState.ERROR, profile=OLD)
    world = replace(made_of(OLD, OLD, OLD), members=(broken, *made_of(OLD, OLD, OLD).members[1:]))
    assert moves(planned(world, 3)) == ([1], 2), "one in its place, and the one more of the roll"


def test_a_removal_that_is_stuck_holds_up_no_repair() -> None:
    stuck = {**PHASES["leaving"], "destroy_attempts": 10}
    assert moves(planned(made_of(OLD, NEW, NEW, m1=stuck), 3, ONE_LESS)) == ([], 1)
    assert moves(planned(made_of(OLD, NEW, NEW, m1=PHASES["leaving"]), 3, ONE_LESS)) == ([], 0), "still going: its room"


def test_members_that_do_not_serve_yet_are_waited_for() -> None:
    """A member that is set aside is not: no member is created before a person decides."""
    parked = replace(
        a_world(a_member(1, state=ServerState.PARKED, profile=OLD), registrations=[a_registration(1)]), profile=NEW
    )
    plan = planned(parked, 1)
    assert (moves(plan), plan.waits) == (([], 0), ((Wait.ROLLING, 1),))
    building = a_member(1, Phase.MADE, ServerState.BUILDING, profile=OLD, intended_at=NOW, made_at=NOW)
    assert moves(planned(replace(a_world(building), profile=NEW), 1)) == ([], 1)


def test_a_rebooting_member_does_no_work_and_leaves_as_soon_as_there_are_more_than_desired() -> None:
    reboots = a_member(1, state=ServerState.PASSING, profile=OLD)
    three = made_of(OLD, OLD, NEW)
    assert moves(planned(replace(three, members=(reboots, *three.members[1:])), 3)) == ([], 1)
    four = made_of(OLD, OLD, NEW, NEW)
    assert moves(planned(replace(four, members=(reboots, *four.members[1:])), 3)) == ([1], 0), "three others serve"
    assert moves(planned(replace(three, members=(reboots, *three.members[1:])), 2)) == ([1], 0)


@pytest.mark.parametrize(
    ("roll", "limited", "expected"),
    [
        pytest.param(ONE_LESS, {}, ([1], 0), id="one may be missing"),
        pytest.param(WIDE, {}, ([1], 1), id="one may be missing, and one more comes"),
        pytest.param(ONE_LESS, {"creates": 0}, ([], 0), id="none can be made"),
    ],
)
def test_a_member_that_does_no_work_is_one_of_those_that_may_be_missing(roll: Rolling, limited, expected) -> None:
    world = made_of(OLD, OLD, NEW)
    reboots = a_member(1, state=ServerState.PASSING, profile=OLD)
    assert moves(planned(replace(world, members=(reboots, *world.members[1:])), 3, roll, **limited)) == expected
    ill = [
        replace(a_registration(number), health=Health.FAILING if number == 1 else Health.HEALTHY)
        for number in (1, 2, 3)
    ]
    ailing = replace(world, balancer_views=a_world(registrations=ill).balancer_views)
    assert moves(planned(ailing, 3, roll, **limited)) == expected


def test_while_too_few_serve_no_member_that_does_no_work_leaves_either() -> None:
    world = made_of(OLD, OLD, NEW)
    reboot = [a_member(number, state=ServerState.PASSING, profile=OLD) for number in (1, 2)]
    assert moves(planned(replace(world, members=(*reboot, world.members[2])), 3, ONE_LESS)) == ([], 0)


def test_members_that_fail_their_health_check_are_no_service_that_lets_others_go() -> None:
    """A release that comes into service and does not answer is not rolled on."""
    world = made_of(OLD, OLD, OLD, NEW)
    registrations = [a_registration(number) for number in (1, 2, 3)]
    ill = replace(a_registration(4), health=Health.FAILING)
    ailing = replace(
        world,
        balancer_views=a_world(
            registrations=[*(replace(s, health=Health.HEALTHY) for s in registrations), ill]
        ).balancer_views,
    )
    assert moves(planned(ailing, 3)) == ([], 0)


def test_while_no_member_passes_the_health_checks_a_roll_removes_none() -> None:
    """It may be the check that is broken."""
    world = made_of(OLD, OLD, OLD, NEW)
    ill = [replace(a_registration(number), health=Health.FAILING) for number in (1, 2, 3, 4)]
    assert moves(planned(replace(world, balancer_views=a_world(registrations=ill).balancer_views), 3)) == ([], 0)
    one = [*(replace(registration, health=Health.HEALTHY) for registration in ill[1:]), ill[0]]
    assert moves(planned(replace(world, balancer_views=a_world(registrations=one).balancer_views), 3)) == ([1], 0), (
        "three others serve"
    )


def test_a_roll_reports_how_many_are_to_come_and_which_are_protected() -> None:
    plan = planned(made_of(OLD, OLD, OLD, NEW, m3=KEPT), 3)
    assert dict(plan.waits) == {Wait.ROLLING: 1, Wait.PROTECTED: 1}


def test_the_words_of_one_that_leaves_say_that_it_is_rolled() -> None:
    step = planned(made_of(OLD, NEW), 1).steps[0]
    assert isinstance(step, MarkLeaving)
    assert (step.why, step.because) == (Leaving.REPLACED, "rolled: it does not use the current profile")


def test_leaving_members_use_quota_on_a_partial_listing_too() -> None:
    world = made_of(OLD, OLD, OLD, m1={"phase": Phase.LEAVING, "leaving": Leaving.REPLACED})
    for seen in (world, replace(world, complete=False)):
        assert moves(planned(seen, 3, ONE_LESS)) == ([], 0)


def test_progress_counts_serving_and_remaining_members() -> None:
    world = made_of(OLD, OLD, NEW, NEW, m1=KEPT)
    in_service = {name_of(number) for number in (1, 2, 3)}
    progress = rolled(world, in_service)
    assert (progress, progress.remaining) == (Rolled(current=1, old=2, protected=(name_of(1),)), 1)


def is_serving(member: Member, world: World) -> bool:
    scene = context_of(rolling(1), world, a_definition(), limits(), NOW)
    return member in scene.settled or (member, Role.SERVING) in scene.roles


@given(world=mixed(), size=SIZES, roll=budgets)
def test_never_more_than_the_surge_above_and_never_fewer_in_service_because_of_a_roll(
    world: World, size: int | None, roll: Rolling
) -> None:
    before, made_before = moves(planned(world, size, None))
    leaving, made = moves(planned(world, size, roll))
    serving = {sequence_of(member) for member in world.members if is_serving(member, world)}
    if {*before} & serving != {*leaving} & serving:
        assert len(serving - {*leaving}) >= (size or 0) - roll.unavailable
    assert made - made_before <= roll.surge
    records = [member.record for member in world.members if member.record is not None]
    asked = {record.sequence for record in records if record.leaving is Leaving.REPLACED}
    protected = {record.sequence for record in records if record.protected}
    assert not (protected - asked) & {*leaving}


@given(world=mixed(), size=SIZES, roll=budgets)
def test_the_order_of_members_does_not_matter_to_a_roll(world: World, size: int | None, roll: Rolling) -> None:
    turned = replace(world, members=world.members[::-1])
    assert planned(world, size, roll) == planned(turned, size, roll)


def test_a_draining_registration_is_no_service() -> None:
    world = made_of(OLD, OLD, NEW)
    drained = replace(
        world,
        balancer_views=a_world(
            registrations=[a_registration(1), a_registration(2, RegistrationState.DRAINING), a_registration(3)]
        ).balancer_views,
    )
    assert moves(planned(drained, 2, ONE_MORE)) == ([1], 0)
