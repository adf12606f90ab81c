"""What the planner does in each situation. Source of a rule in brackets; without one it is DESIGN.md's "Moving"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.catalogue import OnVanish, Victims
from config.model.repair import Repair
from config.units import BalancerId
from handler.planning.plan import plan
from handler.planning.steps import (
    Confirm,
    Create,
    Destroy,
    Drain,
    Enable,
    EnterService,
    Forget,
    Join,
    Leave,
    MarkLeaving,
    NoteAbsence,
    NotePresence,
    Step,
    TakeUp,
    Wait,
)
from handler.planning.world import BalancerView, Leaving, Phase, RegistrationState, ServerState, World
from tests.support.planning import FRESH, SIZES, worlds
from tests.support.worlds import (
    EDGE,
    FRONT,
    NOW,
    a_definition,
    a_fleet,
    a_member,
    a_record,
    a_registration,
    a_world,
    desired,
    limits,
    name_of,
)

INTENDED, MADE, SERVED, LEAVING = Phase.INTENDED, Phase.MADE, Phase.IN_SERVICE, Phase.LEAVING
BUILDING, RUNNING, ERROR, DELETING = ServerState.BUILDING, ServerState.RUNNING, ServerState.ERROR, ServerState.DELETING
PARKED, SERVING, DRAINING = RegistrationState.PARKED, RegistrationState.SERVING, RegistrationState.DRAINING
ONE = name_of(1)
NEW = Create(member=None)
BACK = BalancerId("back")


def steps_of(size: int | None, world: World, *, deleting: bool = False, group: Any = None, **limit: Any):
    """Plan; answer steps and waits (with their counts)."""
    definition = a_definition(**(group or {}))
    answer = plan(desired(size, deleting=deleting), world, definition, limits(**limit), NOW)
    return list(answer.steps), dict(answer.waits)


def leave(number: int, why: Leaving = Leaving.SURPLUS) -> Step:
    return MarkLeaving(member=name_of(number), why=why)


def destroyed(number: int = 1) -> Step:
    return Destroy(member=name_of(number))


def left(number: int = 1, balancer: BalancerId = EDGE) -> Step:
    return Leave(member=name_of(number), balancer=balancer)


ARRIVED = a_member(1, MADE, ready=True)


@pytest.mark.parametrize(
    ("size", "world", "steps", "waits"),
    [
        # Nothing to do.
        pytest.param(3, a_fleet(3), [], {}, id="as desired: nothing"),
        pytest.param(0, a_world(), [], {}, id="no member, and none desired"),
        # No desired size.
        pytest.param(None, a_fleet(2), [], {Wait.NO_DESIRED: 2}, id="no desired size: nothing is made or removed"),
        pytest.param(
            None,
            a_world(a_member(1, None), a_member(2, INTENDED), a_member(3, SERVED, None), a_member(4, SERVED, ERROR)),
            [TakeUp(member=ONE), Confirm(member=name_of(2)), NoteAbsence(member=name_of(3))],
            {Wait.DISTRUST: 1, Wait.NO_DESIRED: 4},
            id="no desired size: only what was seen is written down",
        ),
        # Growing.
        pytest.param(2, a_world(), [NEW, NEW], {}, id="two missing, two made"),
        pytest.param(12, a_world(), [NEW] * 10, {Wait.BUDGET: 2}, id="the budget holds the rest back"),
        pytest.param(
            1, a_world(a_member(1, INTENDED, None)), [], {Wait.UNCONFIRMED: 1}, id="an open intent is a member"
        ),
        pytest.param(
            1,
            a_world(a_member(1, INTENDED, None, disproved=True)),
            [Create(member=ONE)],
            {},
            id="a disproved intent is made under its own name [Nova has no idempotency token]",
        ),
        pytest.param(
            0,
            a_world(a_member(1, INTENDED, None, disproved=True)),
            [Forget(member=ONE)],
            {},
            id="a disproved intent that is surplus is forgotten",
        ),
        pytest.param(
            1,
            a_world(a_member(1, INTENDED, None, disproved=True, create_attempts=10)),
            [Forget(member=ONE), NEW],
            {},
            id="an intent tried ten times is given up [Otter's LIMITED_RETRY]",
        ),
        pytest.param(
            2,
            a_world(a_member(1, INTENDED, None), complete=False),
            [NEW],
            {Wait.UNCONFIRMED: 1, Wait.PARTIAL: 1},
            id="on a partial listing all known members count as present",
        ),
        pytest.param(
            1, a_world(a_member(1, MADE, BUILDING, **FRESH)), [], {Wait.BUILDING: 1}, id="building is waited for"
        ),
        pytest.param(
            1, a_world(a_member(1, INTENDED, BUILDING, **FRESH)), [Confirm(member=ONE)], {Wait.BUILDING: 1}, id="found"
        ),
        pytest.param(
            1,
            a_world(a_member(1, MADE, BUILDING)),
            [leave(1, Leaving.BUILD_TIMEOUT), NEW],
            {},
            id="a build past its timeout is replaced [Otter 2]",
        ),
        pytest.param(
            3,
            a_world(a_member(1, None)),
            [TakeUp(member=ONE)],
            {},
            id="a foreign machine with our mark is taken up before anything is made",
        ),
        # Coming into service.
        pytest.param(
            1, a_world(a_member(1, MADE, ready=False, **FRESH)), [], {Wait.NOT_READY: 1}, id="not ready: not registered"
        ),
        pytest.param(
            1,
            a_world(a_member(1, MADE, ready=False)),
            [leave(1, Leaving.NOT_READY), NEW],
            {},
            id="never ready: replaced",
        ),
        pytest.param(
            1,
            a_world(ARRIVED),
            [Join(member=ONE, balancer=EDGE), Enable(member=ONE, balancer=EDGE)],
            {},
            id="ready: registered",
        ),
        pytest.param(
            1,
            a_world(ARRIVED, registrations=[a_registration(1, PARKED)]),
            [Enable(member=ONE, balancer=EDGE)],
            {},
            id="parked: enabled",
        ),
        pytest.param(
            1,
            a_world(ARRIVED, registrations=[a_registration(1)]),
            [EnterService(member=ONE)],
            {},
            id="serving: in service",
        ),
        pytest.param(
            1,
            a_world(ARRIVED, registrations=None),
            [],
            {Wait.BALANCER_UNKNOWN: 1},
            id="no member joins an unreadable balancer",
        ),
        # Staying in service.
        pytest.param(
            1,
            a_world(a_member(1)),
            [Join(member=ONE, balancer=EDGE), Enable(member=ONE, balancer=EDGE)],
            {},
            id="a registration that vanished is made again [a reload forgets servers]",
        ),
        pytest.param(
            1,
            a_world(a_member(1), registrations=[a_registration(1, DRAINING)]),
            [Enable(member=ONE, balancer=EDGE)],
            {},
            id="undrained",
        ),
        pytest.param(
            1,
            a_world(a_member(1, ready=False)),
            [],
            {Wait.NOT_READY: 1},
            id="a lost registration waits for a denying probe",
        ),
        pytest.param(
            1,
            a_world(a_member(1, ready=False), registrations=[a_registration(1)]),
            [],
            {},
            id="a failing probe removes no member",
        ),
        pytest.param(
            1, a_world(a_member(1, SERVED, ServerState.UNKNOWN)), [], {Wait.UNCONFIRMED: 1}, id="unsure: left alone"
        ),
        # Broken.
        pytest.param(
            1,
            a_world(a_member(1, SERVED, ERROR), registrations=[a_registration(1)]),
            [leave(1, Leaving.BROKEN), NEW],
            {},
            id="broken: replaced in the same pass [Otter 6]",
        ),
        pytest.param(
            1,
            a_world(a_member(1, SERVED, ERROR, protected=True)),
            [NEW],
            {Wait.PROTECTED: 1},
            id="broken and protected: replaced, and kept",
        ),
        pytest.param(
            1,
            a_world(a_member(1, SERVED, DELETING), registrations=[a_registration(1)]),
            [left(1), NEW],
            {Wait.DELETING: 1},
            id="deleted by another party: deregistered and replaced at once [Otter #1523]",
        ),
        # Too many.
        pytest.param(2, a_fleet(3), [leave(1)], {}, id="one too many: the oldest is marked, and nothing else"),
        pytest.param(
            1,
            a_world(
                a_member(1, protected=True),
                a_member(2, protected=True),
                registrations=[a_registration(1), a_registration(2)],
            ),
            [],
            {Wait.PROTECTED: 1},
            id="only protected ones: none leaves",
        ),
        pytest.param(
            1, replace(a_fleet(3), complete=False), [], {Wait.PARTIAL: 0}, id="no member is chosen on a partial listing"
        ),
        pytest.param(
            1,
            a_world(a_member(1), a_member(2, None), registrations=[a_registration(1)]),
            [TakeUp(member=name_of(2))],
            {},
            id="no member is chosen while a machine has no record",
        ),
        pytest.param(
            1,
            a_world(a_member(1), a_member(2, INTENDED, None), registrations=[a_registration(1)]),
            [leave(2)],
            {},
            id="an open intent leaves before a member in service",
        ),
        # Replacing.
        pytest.param(
            1,
            a_world(a_member(1, leaving=Leaving.REPLACED), registrations=[a_registration(1)]),
            [NEW],
            {},
            id="to be replaced: the new one comes first",
        ),
        pytest.param(
            1,
            a_world(
                a_member(1, leaving=Leaving.REPLACED),
                a_member(2, MADE, BUILDING, **FRESH),
                registrations=[a_registration(1)],
            ),
            [],
            {Wait.BUILDING: 1},
            id="to be replaced: serves until the new one does",
        ),
        pytest.param(
            1,
            a_world(
                a_member(1, leaving=Leaving.REPLACED), a_member(2), registrations=[a_registration(1), a_registration(2)]
            ),
            [leave(1, Leaving.REPLACED)],
            {},
            id="to be replaced: leaves when the new one serves",
        ),
        pytest.param(
            1,
            a_world(a_member(1, MADE, leaving=Leaving.REPLACED, **FRESH)),
            [leave(1, Leaving.REPLACED), NEW],
            {},
            id="to be replaced before it ever served: leaves at once",
        ),
        # Absence.
        pytest.param(
            1,
            a_world(a_member(1, SERVED, None)),
            [NoteAbsence(member=ONE)],
            {Wait.UNCONFIRMED: 1, Wait.DISTRUST: 1},
            id="absent once: noted, and counted [Otter's weak point f]",
        ),
        pytest.param(
            1,
            a_world(a_member(1, SERVED, None), complete=False),
            [],
            {Wait.UNCONFIRMED: 1, Wait.PARTIAL: 1},
            id="absent from a partial listing: nothing",
        ),
        pytest.param(
            1,
            a_world(a_member(1, absent_listings=2, absent_at=NOW - 5), registrations=[a_registration(1)]),
            [NotePresence(member=ONE)],
            {},
            id="back on the listing",
        ),
        pytest.param(
            1,
            a_world(a_member(1, SERVED, None, disproved=True), registrations=[a_registration(1)]),
            [left(1), Forget(member=ONE), NEW],
            {},
            id="gone with a witness: deregistered, forgotten, replaced",
        ),
        pytest.param(
            1,
            a_world(a_member(1, SERVED, None, absent_listings=2, absent_at=NOW - 30)),
            [Forget(member=ONE), NEW],
            {},
            id="absent long enough: forgotten, replaced",
        ),
        pytest.param(
            1,
            a_world(a_member(1, SERVED, None, disproved=True), registrations=None),
            [NEW],
            {Wait.BALANCER_UNKNOWN: 1},
            id="gone behind an unreadable balancer: replaced, and remembered until it can be deregistered",
        ),
    ],
)
def test_every_situation_has_its_steps(size: int | None, world: World, steps: list[Step], waits) -> None:
    assert steps_of(size, world) == (steps, waits)


LEAVER: dict[str, Any] = {"leaving_at": NOW - 1}


@pytest.mark.parametrize(
    ("member", "registrations", "steps", "waits"),
    [
        pytest.param(
            a_member(1, LEAVING, **LEAVER),
            [a_registration(1)],
            [Drain(member=ONE, balancer=EDGE)],
            {Wait.DRAINING: 1},
            id="drains",
        ),
        pytest.param(
            a_member(1, LEAVING, drained_at=NOW - 59.9),
            [a_registration(1, DRAINING, 3)],
            [],
            {Wait.DRAINING: 1},
            id="has work",
        ),
        pytest.param(
            a_member(1, LEAVING, drained_at=NOW - 1),
            [a_registration(1, DRAINING, None)],
            [],
            {Wait.DRAINING: 1},
            id="an unknown number of connections is not zero [Otter 5]",
        ),
        pytest.param(
            a_member(1, LEAVING, drained_at=NOW - 1),
            [a_registration(1, DRAINING, 0)],
            [left(), destroyed()],
            {Wait.DELETING: 1},
            id="has no work in hand",
        ),
        pytest.param(
            a_member(1, LEAVING, drained_at=NOW - 60),
            [a_registration(1, DRAINING, 3)],
            [left(), destroyed()],
            {Wait.DELETING: 1},
            id="had its time",
        ),
        pytest.param(
            a_member(1, LEAVING),
            [a_registration(1, DRAINING, 3)],
            [Drain(member=ONE, balancer=EDGE)],
            {Wait.DRAINING: 1},
            id="drains since an unknown moment: the clock starts now",
        ),
        pytest.param(
            a_member(1, LEAVING),
            [a_registration(1, PARKED)],
            [left(), destroyed()],
            {Wait.DELETING: 1},
            id="parked: no drain",
        ),
        pytest.param(
            a_member(1, LEAVING, leaving=Leaving.BROKEN),
            [a_registration(1)],
            [left(), destroyed()],
            {Wait.DELETING: 1},
            id="broken: no drain, but leaves before it is destroyed",
        ),
        pytest.param(
            a_member(1, LEAVING, in_service_at=None),
            [a_registration(1)],
            [left(), destroyed()],
            {Wait.DELETING: 1},
            id="never served: no drain",
        ),
        pytest.param(a_member(1, LEAVING), [], [destroyed()], {Wait.DELETING: 1}, id="out of its balancers: destroyed"),
        pytest.param(
            a_member(1, LEAVING), None, [], {Wait.BALANCER_UNKNOWN: 1}, id="an unreadable balancer: never destroyed"
        ),
        pytest.param(
            a_member(1, LEAVING, balancers=()),
            [a_registration(1)],
            [Drain(member=ONE, balancer=EDGE)],
            {Wait.DRAINING: 1},
            id="registered under its name where nothing was written down",
        ),
        pytest.param(
            a_member(1, LEAVING, DELETING, **LEAVER), [], [], {Wait.DELETING: 1}, id="being deleted: waited for"
        ),
        pytest.param(
            a_member(1, LEAVING, DELETING, leaving_at=NOW - 180),
            [],
            [destroyed()],
            {Wait.DELETING: 1},
            id="being deleted for longer than drain and grace: told again",
        ),
        pytest.param(
            a_member(1, LEAVING, None),
            [],
            [NoteAbsence(member=ONE), destroyed()],
            {Wait.DELETING: 1},
            id="not listed, no witness: told again",
        ),
        pytest.param(a_member(1, LEAVING, None, disproved=True), [], [Forget(member=ONE)], {}, id="gone: forgotten"),
        pytest.param(
            a_member(1, LEAVING, None, disproved=True),
            [a_registration(1)],
            [left(), Forget(member=ONE)],
            {},
            id="gone: its registration first",
        ),
    ],
)
def test_no_member_is_destroyed_before_it_has_left_its_balancers(
    member, registrations, steps: list[Step], waits
) -> None:
    assert steps_of(0, a_world(member, registrations=registrations)) == (steps, waits)


def test_a_member_to_be_replaced_stays_while_serving_members_are_leaving() -> None:
    world = a_world(
        a_member(1), a_member(2, SERVED, ServerState.UNKNOWN), a_member(3, leaving=Leaving.REPLACED),
        registrations=[a_registration(1), a_registration(2), a_registration(3)],
    )  # fmt: skip
    assert steps_of(1, world)[0] == [leave(1)]


def test_a_group_without_drain_time_does_not_drain() -> None:
    world = a_world(a_member(1, LEAVING), registrations=[a_registration(1)])
    assert steps_of(0, world, group={"drain": 0.0})[0] == [left(), destroyed()]


def test_a_member_that_only_some_processes_give_work_is_enabled_and_drained_again_before_it_leaves() -> None:
    registrations = [a_registration(1, RegistrationState.PARTLY)]
    assert steps_of(1, a_world(a_member(1), registrations=registrations))[0] == [Enable(member=ONE, balancer=EDGE)]
    leaving = a_member(1, LEAVING, drained_at=NOW - 90)
    assert steps_of(0, a_world(leaving, registrations=registrations)) == (
        [Drain(member=ONE, balancer=EDGE)],
        {Wait.DRAINING: 1},
    )


def test_a_member_leaves_all_its_balancers_before_it_is_destroyed() -> None:
    member = a_member(1, LEAVING, balancers=((EDGE, 80), (BACK, 81)), drained_at=NOW - 1)
    balancer_views = {
        EDGE: BalancerView(registrations={ONE: a_registration(1, DRAINING, 0)}),
        BACK: BalancerView(registrations={ONE: a_registration(1, DRAINING, 2)}),
    }
    assert steps_of(0, a_world(member, balancer_views=balancer_views)) == ([left()], {Wait.DRAINING: 1})
    balancer_views[BACK] = BalancerView(registrations={ONE: a_registration(1, DRAINING, 0)})
    assert steps_of(0, a_world(member, balancer_views=balancer_views))[0] == [left(1, EDGE), left(1, BACK), destroyed()]
    balancer_views[BACK] = BalancerView(registrations=None, because="no answer")
    assert steps_of(0, a_world(member, balancer_views=balancer_views)) == ([left()], {Wait.BALANCER_UNKNOWN: 1})


def test_a_member_serves_where_it_was_made_to_serve_whatever_is_declared_now() -> None:
    member = a_member(1, MADE, ready=True, balancers=((BACK, 81),))
    world = a_world(member, balancer_views={EDGE: BalancerView(registrations={}), BACK: BalancerView(registrations={})})
    assert steps_of(1, world)[0] == [Join(member=ONE, balancer=BACK), Enable(member=ONE, balancer=BACK)]


def test_nothing_is_made_before_the_back_off_ends() -> None:
    world = a_world(a_member(1, INTENDED, None, disproved=True))
    assert steps_of(3, world, back_off_until=NOW + 0.1) == ([], {Wait.BUILD_BACK_OFF: 3})
    assert steps_of(3, world, back_off_until=NOW)[0] == [Create(member=ONE), NEW, NEW]


@pytest.mark.parametrize("creates", [0, -4], ids=["spent", "overspent"])
def test_a_spent_budget_makes_nothing_new_but_goes_on_with_open_intents(creates: int) -> None:
    world = a_world(a_member(1, INTENDED, None, disproved=True))
    assert steps_of(3, world, creates=creates) == ([Create(member=ONE)], {Wait.BUDGET: 2})


def vanished(gone: int, of: int, phase: Phase = SERVED) -> World:
    """A fleet of which the first ``gone`` members are proved gone."""
    numbers = range(1, of + 1)
    return a_world(
        *(a_member(n, phase, None if n <= gone else RUNNING, disproved=n <= gone, ready=True) for n in numbers),
        registrations=[a_registration(n) for n in numbers if n > gone],
    )


@pytest.mark.parametrize(
    ("gone", "of", "stops"),
    [
        pytest.param(2, 2, False, id="fewer than three are believed"),
        pytest.param(3, 40, True, id="three stop, however large the group is"),
        pytest.param(3, 5, True, id="more than half stops"),
        pytest.param(6, 6, True, id="all stops"),
    ],
)
def test_when_many_vanish_at_once_nothing_is_forgotten_or_made(gone: int, of: int, stops: bool) -> None:
    steps, waits = steps_of(of, vanished(gone, of))
    assert (steps == [], waits.get(Wait.MANY_VANISHED, 0)) == (stops, gone if stops else 0)


def test_when_many_vanished_no_other_member_is_chosen_to_leave() -> None:
    assert steps_of(1, vanished(4, 6)) == ([], {Wait.MANY_VANISHED: 4})


def broken(lost: int, of: int) -> World:
    """A fleet whose cloud reports the first ``lost`` members as broken, though all are registered with balancers."""
    numbers = range(1, of + 1)
    members = [a_member(n, SERVED, ERROR if n <= lost else RUNNING) for n in numbers]
    return a_world(*members, registrations=[a_registration(n) for n in numbers])


def test_when_a_cloud_reports_most_of_a_fleet_as_broken_no_member_is_destroyed_or_created() -> None:
    assert steps_of(5, broken(3, 5)) == ([], {Wait.MANY_VANISHED: 3})
    assert steps_of(6, broken(3, 6)) == ([], {Wait.MANY_VANISHED: 3})
    assert steps_of(6, broken(2, 6))[0] == [*(leave(n, Leaving.BROKEN) for n in (1, 2)), NEW, NEW]


def test_vanished_and_broken_members_are_doubted_together() -> None:
    world = a_world(
        a_member(1, SERVED, None, disproved=True),
        *(a_member(n, SERVED, ERROR) for n in (2, 3)),
        *(a_member(n, SERVED) for n in (4, 5)),
        registrations=[a_registration(n) for n in (1, 2, 3, 4, 5)],
    )
    assert steps_of(5, world) == ([], {Wait.MANY_VANISHED: 3})


def test_members_that_are_listed_as_deleted_are_doubted_together_too_whether_they_served_or_not() -> None:
    world = a_world(
        a_member(1, SERVED, DELETING), a_member(2, MADE, DELETING), a_member(3, SERVED, None, disproved=True)
    )
    assert steps_of(9, world) == ([NEW] * 6, {Wait.MANY_VANISHED: 3})


def test_members_that_the_group_leaves_to_a_person_hold_nothing_else_up() -> None:
    left = {"repair": Repair(broken=False)}
    waits = steps_of(5, broken(4, 6), group=left)
    assert waits == ([leave(1)], {Wait.UNREPAIRED: 3})


def test_a_person_can_order_to_believe_that_many_broke() -> None:
    assert steps_of(3, broken(3, 3), accept_vanished=True)[0] == [
        *(leave(n, Leaving.BROKEN) for n in (1, 2, 3)),
        NEW,
        NEW,
        NEW,
    ]


def test_a_person_can_order_to_believe_that_many_vanished() -> None:
    steps, waits = steps_of(4, vanished(4, 4), accept_vanished=True)
    assert steps == [Forget(member=name_of(n)) for n in (1, 2, 3, 4)] + [NEW] * 4
    assert waits == {}


def test_builds_that_vanish_before_they_served_are_failed_builds_not_a_vanished_fleet() -> None:
    steps, waits = steps_of(3, vanished(3, 3, MADE))
    assert (steps, waits) == ([Forget(member=name_of(n)) for n in (1, 2, 3)] + [NEW] * 3, {})


def test_where_vanishing_shrinks_the_vanished_are_not_replaced() -> None:
    group = {"on_vanish": OnVanish.SHRINK}
    assert steps_of(3, vanished(1, 3), group=group) == ([], {Wait.VANISHED: 1})
    assert plan(desired(3), vanished(1, 3), a_definition(**group), limits(), NOW).vanished == (ONE,)
    dying = a_world(a_member(1, SERVED, DELETING), a_member(2), registrations=[a_registration(2)])
    assert steps_of(2, dying, group=group) == ([], {Wait.DELETING: 1})


def test_a_vanished_member_that_leaves_as_surplus_does_not_lower_the_size_as_well() -> None:
    group = a_definition(on_vanish=OnVanish.SHRINK)
    smaller = plan(desired(2), vanished(1, 3), group, limits(), NOW)
    assert (smaller.steps, smaller.vanished) == ((leave(1),), ())


def test_a_vanished_member_whose_replacement_was_ordered_does_not_lower_the_size() -> None:
    world = a_world(
        a_member(1, SERVED, None, disproved=True, leaving=Leaving.REPLACED),
        *(a_member(number) for number in (2, 3)),
        registrations=[a_registration(2), a_registration(3)],
    )
    steps, waits = steps_of(3, world, group={"on_vanish": OnVanish.SHRINK})
    assert (steps, waits) == ([Forget(member=ONE), NEW], {})


def test_deleting_a_group_makes_all_members_leave() -> None:
    world = a_world(
        a_member(1, protected=True),
        a_member(2, MADE, BUILDING, **FRESH),
        a_member(3, INTENDED, None),
        a_member(4, INTENDED, None, disproved=True),
        a_member(5, SERVED, None, disproved=True),
        a_member(6, SERVED, ERROR),
        registrations=[a_registration(1)],
    )
    steps, _ = steps_of(None, world, deleting=True)
    assert steps == [
        leave(1, Leaving.DELETED),
        leave(2, Leaving.DELETED),
        leave(3, Leaving.DELETED),
        Forget(member=name_of(4)),
        Forget(member=name_of(5)),
        leave(6, Leaving.DELETED),
    ]


def test_deleting_a_group_on_a_partial_listing_chooses_no_member() -> None:
    assert steps_of(2, replace(a_fleet(2), complete=False), deleting=True) == ([], {Wait.PARTIAL: 0})


def test_the_group_chooses_whether_the_newest_leave() -> None:
    assert steps_of(2, a_fleet(3), group={"victims": Victims.NEWEST})[0] == [leave(3)]


def test_steps_come_in_one_order_removals_first_creations_last() -> None:
    world = a_world(
        a_member(5, MADE, ready=True),
        a_member(4, SERVED, None, disproved=True),
        a_member(3),
        a_member(2, INTENDED, None, disproved=True),
        a_member(1, SERVED, ERROR),
        registrations=[a_registration(3)],
    )
    assert steps_of(4, world)[0] == [
        leave(1, Leaving.BROKEN),
        Forget(member=name_of(4)),
        Join(member=name_of(5), balancer=EDGE),
        Enable(member=name_of(5), balancer=EDGE),
        Create(member=name_of(2)),
        NEW,
    ]


@given(world=worlds(), size=SIZES, deleting=st.booleans(), seed=st.randoms())
def test_the_order_of_members_changes_nothing(world: World, size: int | None, deleting: bool, seed) -> None:
    shuffled = list(world.members)
    seed.shuffle(shuffled)
    other = replace(world, members=tuple(shuffled))
    assert steps_of(size, world, deleting=deleting) == steps_of(size, other, deleting=deleting)


@given(world=worlds(), size=SIZES, deleting=st.booleans())
def test_whatever_is_seen_no_rule_of_safety_is_broken(world: World, size: int | None, deleting: bool) -> None:
    steps, _ = steps_of(size, world, deleting=deleting)
    members = {member.name: member for member in world.members}
    registrations = {} if world.balancer_views[EDGE].not_found else world.balancer_views[EDGE].registrations
    leaving = {step.member for step in steps if isinstance(step, Leave)}
    for step in steps:
        match step:
            case Destroy(member=name):
                record = members[name].record
                assert record is not None
                assert record.phase is LEAVING, "no member is destroyed that was not chosen, durably"
                assert registrations is not None, "no member of a balancer that cannot be read"
                assert name not in registrations or name in leaving, "no member that has not left"
            case MarkLeaving(why=Leaving.SURPLUS | Leaving.REPLACED | Leaving.DELETED):
                assert world.complete, "no member is chosen on a partial listing"
            case Forget(member=name):
                assert world.complete
                assert members[name].server is None, "no listed member is forgotten"
            case Create(member=None):
                assert size is not None
                assert not deleting
            case _:
                pass
    served = [m for m in world.members if m.record is not None and m.record.phase is SERVED and m.server is not None]
    served = [m for m in served if m.record.leaving is not Leaving.REPLACED]  # their place is taken before they leave
    new = sum(step == NEW for step in steps)
    assert not new or new + sum(m.server.state is RUNNING for m in served) <= (size or 0), "never more than desired"


@pytest.mark.parametrize(("lacking", "returned"), [((), ()), ((FRONT.name,), (ONE,))], ids=["not seen", "seen"])
def test_a_member_that_returns_is_taken_back_once_all_of_its_parts_were_seen(lacking, returned) -> None:
    gone = a_record(1, Phase.GONE, leaving=Leaving.VANISHED)
    back = replace(a_member(1, None), gone=gone, lacking=lacking)
    world = a_world(back, a_member(2), registrations=[a_registration(2)])
    definition = a_definition(parts=(FRONT,), on_vanish=OnVanish.SHRINK)
    answer = plan(replace(desired(1), earlier=2), world, definition, limits(), NOW)
    assert (answer.steps, answer.returned) == ((), returned)
