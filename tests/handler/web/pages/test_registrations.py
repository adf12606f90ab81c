from __future__ import annotations

import re
from dataclasses import replace

import pytest

from handler.planning.world import BalancerView, Health, Member, Phase, Registration, RegistrationState, World
from handler.web.pages.group import parts_of
from handler.web.pages.registrations import ShownRegistration, shown_registrations
from tests.support import pages
from tests.support.worlds import EDGE, a_member, a_registration, a_world


def shown(world: World) -> list[tuple[str, bool]]:
    """The first member's balancers."""
    return [(each.text, each.is_trouble) for each in shown_registrations(world)[world.members[0].name]]


@pytest.mark.parametrize(
    ("registration", "text", "is_trouble"),
    [
        (a_registration(connections=3), "edge: serving", False),
        (a_registration(state=RegistrationState.PARKED), "edge: gets no work", False),
        (a_registration(state=RegistrationState.PARTLY), "edge: gets work from some processes only", False),
        (a_registration(state=RegistrationState.DRAINING), "edge: draining", False),
        (a_registration(state=RegistrationState.DRAINING, connections=1), "edge: draining, 1 connection left", False),
        (a_registration(state=RegistrationState.DRAINING, connections=0), "edge: draining, 0 connections left", False),
        (a_registration(health=Health.UNKNOWN), "edge: serving", False),
        (a_registration(health=Health.FAILING), "edge: serving, fails its health check", True),
        (replace(a_registration(), note="weight 5"), "edge: serving, weight 5", False),
    ],
)
def test_a_registration_is_shown_in_words_with_what_is_wrong(
    registration: Registration, text: str, is_trouble: bool
) -> None:
    assert shown(a_world(a_member(), registrations=[registration])) == [(text, is_trouble)]


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (BalancerView(registrations=None, because="no answer"), "edge: unreadable (no answer)"),
        (BalancerView(registrations=None, because="404", not_found=True), "edge: not found"),
    ],
)
def test_a_balancer_that_cannot_tell_is_never_shown_as_one_without_the_member(view: BalancerView, text: str) -> None:
    assert shown(a_world(a_member(), balancer_views={EDGE: view})) == [(text, True)]


@pytest.mark.parametrize(
    ("member", "is_trouble"),
    [(a_member(), True), (a_member(phase=Phase.MADE), False), (a_member(phase=Phase.LEAVING), False)],
    ids=["in service", "not yet in service", "leaving"],
)
def test_only_a_member_in_service_should_be_registered(member: Member, is_trouble: bool) -> None:
    assert shown(a_world(member)) == [("edge: not registered", is_trouble)]


def test_a_group_without_balancers_or_without_a_pass_has_no_such_column() -> None:
    alone = a_world(a_member(balancers=()), balancer_views={})
    for world in (None, alone):
        assert shown_registrations(world) == {}
        facts = replace(pages.some_facts(pages.a_status(pages.a_member())), world=world)
        assert "Balancers" not in parts_of(facts)["members"]


def test_the_table_of_members_has_each_one_s_balancers_and_when_they_were_read() -> None:
    world = a_world(a_member(), registrations=[a_registration(health=Health.FAILING)])
    status = pages.a_status(pages.a_member(name=world.members[0].name), pages.a_member("web-new"))
    table = str(parts_of(replace(pages.some_facts(status), world=world))["members"])
    assert re.findall(r'<td data-label="Balancers">(.*?)</td>', table) == [
        "<b>edge: serving, fails its health check</b>",
        "",
    ]
    assert "Balancers as the last pass saw them, at " in table


def test_balancers_of_others_that_know_the_member_are_shown_too() -> None:
    world = a_world(a_member(balancers=()), registrations=[a_registration()])
    assert shown_registrations(world)[world.members[0].name] == (ShownRegistration("edge: serving", False),)
