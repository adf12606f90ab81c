"""Which members leave: the least useful first, by identity, never a protected one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.catalogue import Victims
from config.units import BalancerId
from handler.planning.roles import MemberRole, Role
from handler.planning.victims import VictimPreference, choose, connections_of
from handler.planning.world import BalancerView, Member, Phase, RegistrationState, ServerState, World
from tests.support.worlds import EDGE, a_member, a_registration, a_world, name_of

BACK = BalancerId("back")
SERVING = [(a_member(number), Role.SERVING) for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("candidates", "count", "order", "expected"),
    [
        pytest.param(SERVING, 0, Victims.OLDEST, [], id="none asked"),
        pytest.param(SERVING, 2, Victims.OLDEST, [1, 2], id="oldest first (Otter)"),
        pytest.param(SERVING, 2, Victims.NEWEST, [3, 2], id="newest first"),
        pytest.param(
            [*SERVING, (a_member(9, Phase.MADE), Role.ARRIVING)], 1, Victims.OLDEST, [9], id="not in service before any"
        ),
        pytest.param(
            [*SERVING, (a_member(8, Phase.MADE), Role.ARRIVING), (a_member(9, Phase.MADE), Role.BUILDING)],
            1,
            Victims.OLDEST,
            [9],
            id="building before joining",
        ),
        pytest.param(
            [*SERVING, (a_member(8, Phase.MADE), Role.BUILDING), (a_member(9), Role.BROKEN)],
            2,
            Victims.OLDEST,
            [9, 8],
            id="broken before building (DESIGN: who leaves)",
        ),
        pytest.param(
            [(a_member(1, Phase.MADE), Role.BUILDING), (a_member(2, Phase.INTENDED, None), Role.INTENDED)],
            1,
            Victims.OLDEST,
            [2],
            id="an open intent before a machine",
        ),
        pytest.param(
            [*SERVING, (a_member(9, state=None), Role.ABSENT)], 1, Victims.OLDEST, [9], id="absent before any"
        ),
        pytest.param([*SERVING, (a_member(4), Role.UNSURE)], 1, Victims.OLDEST, [1], id="unsure is as good as serving"),
        pytest.param(
            [*SERVING, (a_member(4, Phase.MADE), Role.UNSURE)], 1, Victims.OLDEST, [4], id="unsure and never served"
        ),
        pytest.param(
            [(a_member(1, protected=True), Role.SERVING), *SERVING[1:]], 3, Victims.OLDEST, [2, 3], id="never protected"
        ),
        pytest.param([(a_member(1, None), Role.ARRIVING)], 1, Victims.OLDEST, [], id="never one that is not known"),
    ],
)
def test_the_least_useful_leave_first(candidates, count: int, order: Victims, expected: list[int]) -> None:
    assert numbers(candidates, count, order) == expected


def numbers(candidates: list[MemberRole], count: int, order: Victims, world: World | None = None, revision: int = 7):
    """The members that leave, in order, by number."""
    return [member.record.sequence for member, _ in turns(candidates, count, order, world, revision)]


def turns(candidates: list[MemberRole], count: int, order: Victims, world: World | None = None, revision: int = 7):
    preference = VictimPreference(order=order, world=a_world() if world is None else world, revision=revision)
    return choose(candidates, count, preference)


def serving(*members: Member) -> list[MemberRole]:
    return [(member, Role.SERVING) for member in members]


def made_of(number: int, profile: str | None) -> Member:
    return a_member(number, profile=profile)


def in_zone(number: int, zone: str | None, **record: object) -> Member:
    member = a_member(number, **record)  # type: ignore[arg-type]
    assert member.server is not None
    return replace(member, server=replace(member.server, zone=zone))


# Of which profile


NOW_MADE = replace(a_world(), profile="new")


@pytest.mark.parametrize(
    ("members", "world", "expected"),
    [
        pytest.param(
            [made_of(1, "new"), made_of(2, "old"), made_of(3, "older"), made_of(4, "new")],
            NOW_MADE,
            [2, 3, 1, 4],
            id="those of another profile, the oldest first, then the others",
        ),
        pytest.param(
            [made_of(1, "new"), made_of(2, None), made_of(3, "old")],
            NOW_MADE,
            [3, 2, 1],
            id="not known is neither old nor new",
        ),
        pytest.param(
            [made_of(1, "new"), made_of(2, "old")], a_world(), [1, 2], id="not known what is made now: the oldest"
        ),
    ],
)
def test_those_of_an_older_profile_leave_first(members: list[Member], world: World, expected: list[int]) -> None:
    assert numbers(serving(*members), 9, Victims.OLDEST_PROFILE, world) == expected


# With how many connections


def registered(*connections: int | None) -> tuple[list[MemberRole], World]:
    members = [a_member(number) for number in range(1, len(connections) + 1)]
    registrations = [a_registration(number, connections=count) for number, count in enumerate(connections, 1)]
    return serving(*members), a_world(*members, registrations=registrations)


def test_those_with_the_least_connections_leave_first() -> None:
    candidates, world = registered(5, 0, 2, 0)
    assert numbers(candidates, 3, Victims.LEAST_CONNECTIONS, world) == [2, 4, 3]
    assert [words for _, words in turns(candidates, 3, Victims.LEAST_CONNECTIONS, world)] == [
        "with 0 connections",
        "with 0 connections",
        "with 2 connections",
    ]


def test_an_unknown_number_of_connections_is_not_zero() -> None:
    candidates, world = registered(5, 3, None, 0)
    victims = turns(candidates, 2, Victims.LEAST_CONNECTIONS, world)
    assert [member.name for member, _ in victims] == [name_of(1), name_of(2)]
    assert {words for _, words in victims} == {"the oldest, since the connections of web-k3f9ab-3 are not known"}


@pytest.mark.parametrize(
    ("front", "back", "expected"),
    [
        pytest.param(
            {name_of(1): a_registration(connections=2)},
            {name_of(1): a_registration(connections=3)},
            5,
            id="of all together",
        ),
        pytest.param(
            {name_of(1): a_registration(connections=2)}, {name_of(1): a_registration()}, None, id="one cannot tell"
        ),
        pytest.param({name_of(1): a_registration(connections=2)}, {}, None, id="one has forgotten it"),
        pytest.param({name_of(1): a_registration(connections=2)}, None, None, id="one cannot be read"),
    ],
)
def test_connections_are_counted_on_every_balancer(front, back, expected: int | None) -> None:
    member = a_member(1, balancers=((EDGE, 80), (BACK, 81)))
    world = a_world(
        member, balancer_views={EDGE: BalancerView(registrations=front), BACK: BalancerView(registrations=back)}
    )
    assert connections_of(member, world) == expected


def test_the_connections_of_a_member_without_balancers_are_not_known() -> None:
    assert connections_of(a_member(1, balancers=()), a_world()) is None


def test_what_is_not_known_of_builds_does_not_matter_among_those_in_service() -> None:
    candidates, world = registered(5, 0, 2)
    builds: list[MemberRole] = [(a_member(9, Phase.MADE, ServerState.BUILDING), Role.BUILDING)]
    assert numbers([*candidates, *builds], 2, Victims.LEAST_CONNECTIONS, world) == [9, 2]


def test_the_reason_says_that_a_member_leaves_early_because_it_does_not_serve() -> None:
    young: list[MemberRole] = [(a_member(9, Phase.MADE, ServerState.BUILDING), Role.BUILDING)]
    victims = turns([*serving(a_member(1), a_member(2)), *young], 2, Victims.OLDEST)
    assert [(member.name, words) for member, words in victims] == [
        (name_of(9), "not in service; the oldest"),
        (name_of(1), "the oldest"),
    ]


# In which zone


@pytest.mark.parametrize(
    ("zones", "count", "expected"),
    [
        pytest.param("aabbbb", 3, [3, 4, 1], id="the fullest first, until all are alike"),
        pytest.param("aabb", 4, [1, 3, 2, 4], id="of zones that are alike, by name"),
        pytest.param("abbb", 2, [2, 3], id="the oldest of a zone"),
        pytest.param("a", 2, [1], id="one"),
    ],
)
def test_the_fullest_zone_gives_first(zones: str, count: int, expected: list[int]) -> None:
    members = [in_zone(number, zone) for number, zone in enumerate(zones, 1)]
    assert numbers(serving(*members), count, Victims.ZONE_BALANCE) == expected


def test_members_that_stay_count_in_their_zones() -> None:
    kept = [in_zone(number, "a", protected=True) for number in (1, 2, 3)]
    free = [in_zone(4, "a"), in_zone(5, "b"), in_zone(6, "b")]
    assert numbers(serving(*kept, *free), 2, Victims.ZONE_BALANCE) == [4, 5]
    broken: list[MemberRole] = [(in_zone(1, "a"), Role.BROKEN), (in_zone(2, "a"), Role.BROKEN)]
    others = serving(in_zone(3, "a"), in_zone(4, "b"), in_zone(5, "b"))
    assert numbers([*broken, *others], 3, Victims.ZONE_BALANCE) == [1, 2, 4]


def test_where_a_zone_is_not_known_the_oldest_leave() -> None:
    victims = turns(
        serving(in_zone(1, "a"), in_zone(2, "b"), in_zone(3, "b"), in_zone(4, None)), 1, Victims.ZONE_BALANCE
    )
    assert [(member.name, words) for member, words in victims] == [
        (name_of(1), "the oldest, since the zone of web-k3f9ab-4 is not known")
    ]


# By lot


def test_a_lot_is_the_same_for_one_revision_and_another_for_the_next() -> None:
    candidates = serving(*(a_member(number) for number in range(1, 30)))
    drawn = [numbers(candidates, 9, Victims.RANDOM, revision=revision) for revision in (7, 7, 8)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != sorted(drawn[0])


def test_by_lot_every_member_is_as_likely() -> None:
    candidates = serving(*(a_member(number) for number in range(1, 6)))
    times = Counter(numbers(candidates, 1, Victims.RANDOM, revision=revision)[0] for revision in range(1000))
    assert set(times) == {1, 2, 3, 4, 5}
    assert min(times.values()) > 140


# Whatever is seen


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[MemberRole], World]:
    """Any candidates, and their registrations on the balancer."""
    roles: list[MemberRole] = []
    registrations = []
    for number in draw(st.lists(st.integers(1, 30), unique=True, max_size=9)):
        phase = draw(st.sampled_from([None, Phase.INTENDED, Phase.MADE, Phase.IN_SERVICE]))
        member = a_member(
            number,
            phase,
            **{} if phase is None else {"protected": draw(st.booleans()), "profile": draw(profiles)},
        )
        if member.server is not None:
            member = replace(member, server=replace(member.server, zone=draw(st.sampled_from([None, "a", "b", "c"]))))
        roles.append((member, draw(st.sampled_from(Role))))
        registrations.append(
            a_registration(number, draw(st.sampled_from(RegistrationState)), draw(st.sampled_from([None, 0, 1, 2])))
        )
    return roles, replace(
        a_world(*(member for member, _ in roles), registrations=registrations), profile=draw(profiles)
    )


profiles = st.sampled_from([None, "new", "old"])


@given(scene=scenes(), count=st.integers(0, 10), order=st.sampled_from(Victims), shuffle=st.randoms())
def test_the_order_of_the_candidates_never_matters(scene, count: int, order: Victims, shuffle) -> None:
    roles, world = scene
    other = list(roles)
    shuffle.shuffle(other)
    assert turns(roles, count, order, world) == turns(other, count, order, world)


@given(scene=scenes(), count=st.integers(0, 10), order=st.sampled_from(Victims))
def test_no_protected_or_unknown_member_is_chosen_and_no_more_than_requested(scene, count, order: Victims) -> None:
    roles, world = scene
    free = {
        member_role[0].name
        for member_role in roles
        if member_role[0].record is not None and not member_role[0].record.protected
    }
    names = [member.name for member, _ in turns(roles, count, order, world)]
    assert set(names) <= free
    assert len(names) == len(set(names)) == min(count, len(free))


@given(scene=scenes(), count=st.integers(1, 10))
def test_whatever_a_group_prefers_the_same_ranks_leave_first(scene, count: int) -> None:
    """The preference decides within a rank, and never between a build and a member that serves."""
    roles, world = scene
    as_good = {Role.UNSURE, Role.REPLACING, Role.LEAVING, Role.STUCK}  # as one that serves, if they have served
    serving = {
        member.name
        for member, role in roles
        if role is Role.SERVING
        or (role in as_good and member.record is not None and member.record.phase is Phase.IN_SERVICE)
    }
    sorts = {sum(member.name in serving for member, _ in turns(roles, count, order, world)) for order in Victims}
    assert len(sorts) == 1
