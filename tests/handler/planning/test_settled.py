"""Planning skips settled members: no rule may have a step or a wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.catalogue import Victims
from handler.planning.membership import Moves, keep
from handler.planning.roles import Role, role
from handler.planning.settled import nominees, sifted
from handler.planning.victims import Turn, VictimPreference, choose
from handler.planning.world import Health, Leaving, Member, Phase, Record, RegistrationState, ServerState, World
from tests.support.planning import worlds
from tests.support.worlds import EDGE, NOW, a_definition, a_fleet, a_member, a_record, a_registration, a_server, a_world

SERVED = Phase.IN_SERVICE


def record_of(member: Member) -> Record:
    assert member.record is not None
    return member.record


@given(world=worlds())
def test_of_a_settled_member_every_rule_says_nothing(world: World) -> None:
    settled, others = sifted(world)
    assert sorted([*settled, *others], key=world.members.index) == [*world.members]
    for member in settled:
        record = record_of(member)
        assert role(member, world, a_definition(), NOW) is Role.SERVING
        assert keep(member, record, world, a_definition(), NOW) == Moves()
        assert (record.phase, record.absent_at, record.failing_since) == (SERVED, None, None), "nothing is to be noted"


def test_a_fleet_that_serves_is_settled() -> None:
    assert sifted(a_fleet(3)) == ([*a_fleet(3).members], [])


@pytest.mark.parametrize(
    ("member", "registrations"),
    [
        pytest.param(a_member(1, None), [a_registration(1)], id="not known"),
        pytest.param(a_member(1, SERVED, None), [a_registration(1)], id="not listed"),
        pytest.param(a_member(1, SERVED, ServerState.UNKNOWN), [a_registration(1)], id="in a state that says nothing"),
        pytest.param(a_member(1, Phase.MADE), [a_registration(1)], id="not in service yet"),
        pytest.param(a_member(1, Phase.LEAVING), [a_registration(1)], id="leaving"),
        pytest.param(a_member(1, leaving=Leaving.REPLACED), [a_registration(1)], id="to be replaced"),
        pytest.param(a_member(1, absent_at=NOW - 5), [a_registration(1)], id="missed a moment ago"),
        pytest.param(a_member(1, detaching=(EDGE,)), [a_registration(1)], id="about to leave a balancer"),
        pytest.param(a_member(1, failing_since=NOW - 5), [a_registration(1)], id="failing a moment ago"),
        pytest.param(a_member(1), [a_registration(1, health=Health.FAILING)], id="failing"),
        pytest.param(a_member(1), [replace(a_registration(1), id="7c1b")], id="registered under a new id"),
        pytest.param(a_member(1), [], id="without its registration"),
        pytest.param(a_member(1), [a_registration(1, RegistrationState.DRAINING)], id="draining"),
        pytest.param(a_member(1), None, id="behind a balancer that cannot be read"),
        pytest.param(
            a_member(1, balancers=((EDGE, 80), ("back", 81))), [a_registration(1)], id="on half of its balancers"
        ),
    ],
)
def test_a_member_that_needs_planning_is_not_settled(member: Member, registrations) -> None:
    assert sifted(a_world(member, registrations=registrations)) == ([], [member])


@given(
    members=st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.sampled_from("ab")), max_size=9),
    count=st.integers(-1, 10),
    order=st.sampled_from(Victims),
)
def test_no_member_that_would_leave_is_passed_over(
    members: list[tuple[int, bool, str]], count: int, order: Victims
) -> None:
    all_members = [
        replace(
            a_member(n),
            record=replace(a_record(n, protected=kept), sequence=sequence),
            server=replace(a_server(n), zone=zone),
        )
        for n, (sequence, kept, zone) in enumerate(members, 1)
    ]
    preference = VictimPreference(order=order, world=a_world(), revision=7)

    def leaving(candidates: Sequence[Member]) -> Sequence[Turn]:
        return choose([(member, Role.SERVING) for member in candidates], count, preference)

    assert leaving(nominees(all_members, count, order)) == leaving(all_members)
