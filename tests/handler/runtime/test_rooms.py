from __future__ import annotations

from config.units import Instant, MemberName
from handler.planning.roles import state_of
from handler.planning.status import MemberState
from handler.planning.steps import Plan
from handler.planning.world import Phase, ServerState, World
from handler.runtime.rooms import Room, Seen
from tests.support.worlds import NOW, WEB, a_definition, a_member, a_world, name_of
from trigger.requests import Fleet, GroupState


def a_room(world: World | None, *, warm_up: float = 60.0, addresses: dict[MemberName, str] | None = None) -> Room:
    definition = a_definition(warm_up=warm_up)
    seen = None
    if world is not None:
        fleet = Fleet(listed=True, marked=0, in_service=0, creates_left=0, back_off_until=None)
        plan = Plan(group=WEB, revision=1, steps=(), waits=())
        states = {member.name: state_of(member, world, definition, NOW) for member in world.members}
        seen = Seen(at=NOW, world=world, plan=plan, states=states, fleet=fleet, failures=(), retries=())
    return Room(id=WEB, definition=definition, state=GroupState(), seen=seen, addresses=addresses or {})


def test_before_the_first_pass_nothing_is_listed_and_nobody_is_asked() -> None:
    room = a_room(None)
    assert not room.fleet().listed
    assert room.roster(NOW).members == ()


def test_only_members_that_have_entered_service_are_asked() -> None:
    world = a_world(
        a_member(1),
        a_member(2, Phase.MADE),
        a_member(3, Phase.INTENDED, state=None),
        a_member(4, Phase.LEAVING),
        a_member(5, phase=None),
        a_member(6, state=ServerState.ERROR),
    )
    assert [member.name for member in a_room(world).roster(NOW).members] == [name_of(1)]


def test_a_member_that_is_missing_from_the_listing_is_still_expected_to_answer_where_it_was() -> None:
    world = a_world(a_member(1), a_member(2, state=None), a_member(3, state=None))
    assert state_of(world.members[1], world, a_definition(), NOW) is MemberState.UNKNOWN
    roster = a_room(world, addresses={name_of(1): "10.0.0.1", name_of(2): "10.0.0.2"}).roster(NOW)
    assert [(member.name, member.address) for member in roster.members] == [
        (name_of(1), "10.0.0.1"),
        (name_of(2), "10.0.0.2"),
        (name_of(3), ""),
    ]


def test_a_member_that_warms_up_is_asked_and_not_counted() -> None:
    world = a_world(a_member(1, in_service_at=Instant(NOW - 59)), a_member(2, in_service_at=Instant(NOW - 60)))
    assert [member.counted for member in a_room(world, warm_up=60.0).roster(NOW).members] == [False, True]


def test_a_clock_that_is_set_back_does_not_make_a_fleet_that_serves_warm_up() -> None:
    world = a_world(a_member(1, in_service_at=Instant(NOW + 86_400)))
    assert [member.counted for member in a_room(world, warm_up=60.0).roster(NOW).members] == [True]
