"""Which members are replaced automatically, by the cause; others are left alone and count."""

from __future__ import annotations

import pytest

from config.model.catalogue import OnVanish
from config.model.repair import Repair
from handler.planning.plan import plan
from handler.planning.steps import Create, Destroy, Forget, Leave, MarkLeaving, Plan, Wait
from handler.planning.world import Leaving, Member, Phase, ServerState
from tests.support.worlds import EDGE, NOW, a_definition, a_member, a_registration, a_world, desired, limits, name_of

OFF = Repair(vanished=False, broken=False, unbuilt=False)
ONE = name_of(1)
SERVED, MADE = Phase.IN_SERVICE, Phase.MADE

VANISHED = a_member(1, SERVED, None, disproved=True)
DELETED = a_member(1, SERVED, ServerState.DELETING)
BROKEN = a_member(1, SERVED, ServerState.ERROR)
STOPPED = a_member(1, SERVED, ServerState.STOPPED)
LATE = a_member(1, MADE, ServerState.BUILDING)
UNREADY = a_member(1, MADE, ready=False)
FAILED = a_member(1, MADE, ServerState.ERROR)
LOST = a_member(1, MADE, None, disproved=True)
CAUSES = [
    pytest.param("vanished", VANISHED, id="vanished"),
    pytest.param("broken", BROKEN, id="broken"),
    pytest.param("broken", STOPPED, id="stopped"),
    pytest.param("unbuilt", LATE, id="builds for too long"),
    pytest.param("unbuilt", UNREADY, id="not ready in time"),
    pytest.param("unbuilt", FAILED, id="broke before it served"),
    pytest.param("unbuilt", LOST, id="vanished before it served"),
]


def planned(member: Member, repair: Repair, *, deleting: bool = False, size: int = 2, **limit: object) -> Plan:
    """Plan for a member in trouble beside one that serves."""
    world = a_world(member, a_member(2), registrations=[a_registration(2)])
    definition = a_definition(repair=repair, on_vanish=OnVanish.REPLACE)
    return plan(desired(size, deleting=deleting), world, definition, limits(**limit), NOW)


@pytest.mark.parametrize(("cause", "member"), CAUSES)
def test_a_member_is_replaced_where_its_cause_is_on_and_left_where_it_is_off(cause: str, member: Member) -> None:
    on = Repair(**{name: name == cause for name in ("vanished", "broken", "unbuilt")})
    assert planned(member, on).steps[-1:] == (Create(member=None),)
    off = planned(member, Repair(**{cause: False}))
    assert (off.steps, dict(off.waits)) == ((), {Wait.UNREPAIRED: 1})


@pytest.mark.parametrize(("cause", "member"), CAUSES)
def test_a_person_orders_what_is_left(cause: str, member: Member) -> None:
    assert planned(member, OFF, accept_vanished=True) == planned(member, Repair(), accept_vanished=True)
    assert planned(member, OFF, accept_members=(ONE,)).steps == planned(member, Repair()).steps
    assert planned(member, OFF, accept_members=(name_of(2),)).steps == ()


@pytest.mark.parametrize(("cause", "member"), CAUSES)
def test_a_group_that_is_deleted_loses_them_all_the_same(cause: str, member: Member) -> None:
    assert planned(member, OFF, deleting=True) == planned(member, Repair(), deleting=True)


def test_a_member_that_is_deleted_by_another_party_is_still_deregistered() -> None:
    world = a_world(DELETED, a_member(2), registrations=[a_registration(1), a_registration(2)])
    answer = plan(desired(2), world, a_definition(repair=OFF), limits(), NOW)
    assert (answer.steps, dict(answer.waits)) == ((Leave(member=ONE, balancer=EDGE),), {Wait.DELETING: 1})


def test_a_member_that_is_left_goes_first_when_there_are_too_many() -> None:
    assert planned(BROKEN, OFF, size=1).steps == (MarkLeaving(member=ONE, why=Leaving.SURPLUS),)


def test_a_member_that_is_left_does_not_lower_the_size() -> None:
    world = a_world(VANISHED, a_member(2), registrations=[a_registration(2)])
    definition = a_definition(repair=OFF, on_vanish=OnVanish.SHRINK)
    answer = plan(desired(2), world, definition, limits(), NOW)
    assert (answer.steps, answer.vanished, dict(answer.waits)) == ((), (), {Wait.UNREPAIRED: 1})


def test_what_has_been_decided_before_is_carried_through() -> None:
    gone = a_member(1, Phase.LEAVING, None, disproved=True)
    assert Forget(member=ONE) in planned(gone, OFF).steps
    leaving = a_member(1, Phase.LEAVING, ServerState.ERROR, leaving=Leaving.BROKEN)
    assert Destroy(member=ONE) in planned(leaving, OFF).steps
