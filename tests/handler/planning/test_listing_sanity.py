"""When a listing is believed, when not, and the message about it."""

from __future__ import annotations

import pytest

from config.units import Instant, MemberName
from handler.planning.evidence import Doubt, Ground
from handler.planning.listing_sanity import ListingStreak, lengthened, named_in
from handler.planning.plan import plan
from handler.planning.steps import Create, MarkLeaving, Wait
from handler.planning.world import Phase, RegistrationState, ServerState, World
from tests.support.worlds import (
    EDGE,
    NOW,
    a_definition,
    a_fleet,
    a_member,
    a_registration,
    a_world,
    desired,
    limits,
    name_of,
)

SHRUNK, CONTRADICTED, STALE, MANY_LOST, PARTIAL = (
    Ground.SHRUNK,
    Ground.CONTRADICTED,
    Ground.STALE,
    Ground.MANY_LOST,
    Ground.PARTIAL,
)


def lacking(
    *numbers: int, of: int, registrations: RegistrationState | None = None, complete: bool = True, **changes: object
) -> World:
    """A fleet of which these are not listed; ``registrations`` are their registrations (``None``: none)."""
    fleet = range(1, of + 1)
    members = [a_member(n, Phase.IN_SERVICE, None if n in numbers else ServerState.RUNNING) for n in fleet]
    others = [a_registration(n) for n in fleet if n not in numbers]
    theirs = [a_registration(n, registrations) for n in numbers] if registrations is not None else []
    world = a_world(*members, registrations=[*others, *theirs], complete=complete)
    return World(
        group=world.group,
        at=world.at,
        complete=world.complete,
        because=world.because,
        members=world.members,
        balancer_views=world.balancer_views,
        **changes,  # type: ignore[arg-type]
    )


def doubts(world: World, size: int | None = 10, *, accept: bool = False, **group: object) -> dict[Ground, Doubt]:
    asked = limits(accept_vanished=accept)
    answer = plan(desired(size), world, a_definition(**group), asked, NOW)
    return {doubt.ground: doubt for doubt in answer.doubts}


GONE = [a_member(n, Phase.IN_SERVICE, None, disproved=True) for n in range(1, 5)]
HERE = [a_member(n) for n in range(5, 11)]


@pytest.mark.parametrize(
    ("world", "grounds"),
    [
        pytest.param(a_fleet(10), set(), id="all are listed"),
        pytest.param(lacking(1, 2, 3, of=10), set(), id="as many are missing as is allowed"),
        pytest.param(lacking(1, 2, 3, 4, of=10), {SHRUNK}, id="more are missing than is allowed"),
        pytest.param(lacking(1, of=3), {SHRUNK}, id="one of three is more than 30 %"),
        pytest.param(
            lacking(1, of=10, registrations=RegistrationState.SERVING), {CONTRADICTED}, id="one is given work"
        ),
        pytest.param(
            lacking(1, of=10, registrations=RegistrationState.DRAINING), set(), id="one that drains says nothing"
        ),
        pytest.param(
            lacking(1, of=10, registrations=RegistrationState.PARKED), set(), id="one that is parked says nothing"
        ),
        pytest.param(
            lacking(1, 2, 3, 4, of=10, registrations=RegistrationState.SERVING),
            {SHRUNK, CONTRADICTED},
            id="too many, given work",
        ),
        pytest.param(lacking(1, 2, 3, 4, of=10, complete=False), {PARTIAL}, id="a partial one is only that"),
        pytest.param(a_world(*GONE[:2], *HERE), set(), id="two that are proved gone are not missed"),
        pytest.param(
            a_world(*GONE, *HERE, registrations=[a_registration(1)]),
            {MANY_LOST},
            id="four that are proved gone are many",
        ),
        pytest.param(
            a_world(*GONE, a_member(5, Phase.IN_SERVICE, None), *HERE[1:]),
            {SHRUNK, MANY_LOST},
            id="beside those proved gone, one more is too many",
        ),
        pytest.param(
            a_world(*(a_member(n, Phase.LEAVING, None) for n in range(1, 5)), *HERE), set(), id="who leaves may be gone"
        ),
        pytest.param(
            a_world(*(a_member(n, Phase.INTENDED, None) for n in range(1, 5)), *HERE),
            set(),
            id="intents are none",
        ),
        pytest.param(lacking(of=3, untraced=(name_of(8),)), {CONTRADICTED}, id="an unknown name is given work"),
        pytest.param(lacking(of=3, relisted=(name_of(8),)), {STALE}, id="who was proved gone is listed"),
        pytest.param(a_world(*GONE[:3], a_member(5), a_member(6)), {MANY_LOST}, id="most are proved gone at once"),
    ],
)
def test_a_listing_is_doubted_for_these_reasons(world: World, grounds: set[Ground]) -> None:
    assert doubts(world).keys() == grounds


@pytest.mark.parametrize(("share", "doubted"), [(0.1, True), (0.4, False), (1.0, False)])
def test_a_group_says_how_much_may_be_missing(share: float, doubted: bool) -> None:
    assert bool(doubts(lacking(1, 2, 3, 4, of=10), distrust=share)) is doubted


@pytest.mark.parametrize("changes", [{}, {"untraced": (name_of(8),)}, {"relisted": (name_of(8),)}])
def test_a_person_is_believed_more_than_all_but_a_partial_listing(changes: dict[str, object]) -> None:
    assert doubts(lacking(1, 2, 3, 4, of=10, **changes), accept=True) == {}  # type: ignore[arg-type]
    partial = lacking(1, 2, 3, 4, of=10, complete=False, **changes)  # type: ignore[arg-type]
    assert doubts(partial, accept=True).keys() == {PARTIAL}


@pytest.mark.parametrize("changes", [{"untraced": (name_of(8),)}, {"relisted": (name_of(8),)}])
def test_from_a_listing_that_is_not_believed_no_member_is_surplus(changes: dict[str, object]) -> None:
    answer = plan(desired(1), lacking(of=3, **changes), a_definition(), limits(), NOW)  # type: ignore[arg-type]
    assert (answer.steps, answer.waits) == ((), ((Wait.DISTRUST, 1),))
    believed = plan(desired(1), lacking(of=3), a_definition(), limits(), NOW)
    assert [type(step) for step in believed.steps] == [MarkLeaving] * 2


def test_no_member_is_created_while_a_balancer_sends_work_to_an_unknown_name() -> None:
    world = lacking(of=1, untraced=(name_of(8),))
    assert plan(desired(3), world, a_definition(), limits(), NOW).steps == ()
    believed = plan(desired(3), world, a_definition(), limits(accept_vanished=True), NOW)
    assert [type(step) for step in believed.steps] == [Create] * 2


def test_the_message_names_missing_members_and_what_would_confirm_the_listing() -> None:
    missing = [a_member(n, Phase.IN_SERVICE, None, absent_listings=1, absent_at=NOW - 9) for n in (1, 2)]
    doubt = doubts(a_world(*missing, *HERE[:2], registrations=[a_registration(1)]))
    assert doubt[SHRUNK].words == (
        "the listing is not believed: it lacks 2 of 4 members, more than 30% (web-k3f9ab-1, web-k3f9ab-2); "
        "to confirm it: a definite answer about each of them, 3 complete listings in a row with the same result over "
        "30 s (so far 2), or trimtab converge"
    )
    assert "lacks web-k3f9ab-1, which a balancer sends work to" in doubt[CONTRADICTED].words


def test_many_names_are_cut_short() -> None:
    doubt = doubts(lacking(*range(1, 9), of=10))
    assert "web-k3f9ab-5 and 3 more" in doubt[SHRUNK].words


def test_those_that_only_a_person_can_tell_of_are_not_waited_for_twice() -> None:
    doubt = Doubt(ground=MANY_LOST, members=(name_of(1),), words="")
    assert named_in([doubt, Doubt(ground=STALE, members=(name_of(2),), words="")]) == {name_of(2)}


def test_a_streak_ends_when_a_listing_says_otherwise() -> None:
    one, two = MemberName("one"), MemberName("two")
    first = lengthened({}, [one, two], NOW)
    second = lengthened(first, [one], Instant(NOW + 5))
    third = lengthened(second, [one, two], Instant(NOW + 30))
    assert third == {one: ListingStreak(listings=3, since=NOW), two: ListingStreak(listings=1, since=Instant(NOW + 30))}


@pytest.mark.parametrize(("listings", "seconds", "settled"), [(3, 30.0, True), (2, 99.0, False), (9, 29.9, False)])
def test_a_streak_settles_a_matter_once_it_is_long_in_number_and_in_time(
    listings: int, seconds: float, settled: bool
) -> None:
    assert ListingStreak(listings=listings, since=NOW).is_settled(Instant(NOW + seconds)) is settled


def test_an_unreadable_balancer_contradicts_no_listing() -> None:
    world = a_world(*(a_member(n) for n in range(1, 10)), a_member(10, Phase.IN_SERVICE, None), registrations=None)
    assert doubts(world) == {}
    assert world.balancer_views[EDGE].registrations is None
