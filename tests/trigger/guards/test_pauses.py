from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.units import Instant
from tests.support.trigger import a_person, a_request, add, an_alarm, decided, remove
from trigger.guards.pauses import fleet_paused, fleet_resumed, paused, resumed
from trigger.reasons import Reason
from trigger.requests import FleetPause, GroupState, Pause
from trigger.verdicts import Direction

NOW = Instant(1000.0)
PAUSES = st.sampled_from(Pause)


@pytest.mark.parametrize(
    ("now", "asked", "then"),
    [
        (Pause.NO, Pause.OUT, Pause.OUT),
        (Pause.OUT, Pause.OUT, Pause.OUT),
        (Pause.OUT, Pause.IN, Pause.DECISIONS),
        (Pause.IN, Pause.OUT, Pause.DECISIONS),
        (Pause.DECISIONS, Pause.IN, Pause.DECISIONS),
        (Pause.ALL, Pause.IN, Pause.ALL),
        (Pause.IN, Pause.ALL, Pause.ALL),
    ],
)
def test_a_pause_of_one_direction_adds_to_what_is_paused(now: Pause, asked: Pause, then: Pause) -> None:
    assert paused(GroupState(pause=now), asked).pause is then


@pytest.mark.parametrize(
    ("now", "direction", "then"),
    [
        (Pause.DECISIONS, Direction.OUT, Pause.IN),
        (Pause.DECISIONS, Direction.IN, Pause.OUT),
        (Pause.OUT, Direction.OUT, Pause.NO),
        (Pause.OUT, Direction.IN, Pause.OUT),
        (Pause.NO, Direction.IN, Pause.NO),
        (Pause.ALL, Direction.IN, Pause.ALL),
    ],
)
def test_going_on_in_one_direction_leaves_the_other_as_it_is(now: Pause, direction: Direction, then: Pause) -> None:
    assert resumed(GroupState(pause=now), direction).pause is then


def stopped(pause: Pause) -> FleetPause:
    return FleetPause(pause=pause, by="ada", since=NOW)


@pytest.mark.parametrize(
    ("own", "fleet", "both"),
    [
        (Pause.NO, Pause.ALL, Pause.ALL),
        (Pause.DECISIONS, Pause.ALL, Pause.ALL),
        (Pause.ALL, Pause.OUT, Pause.ALL),
        (Pause.OUT, Pause.IN, Pause.DECISIONS),
        (Pause.IN, Pause.IN, Pause.IN),
        (Pause.OUT, Pause.DECISIONS, Pause.DECISIONS),
    ],
)
def test_the_pauses_of_the_group_and_of_the_fleet_add_up(own: Pause, fleet: Pause, both: Pause) -> None:
    assert GroupState(pause=own, fleet_pause=stopped(fleet)).stopped is both


@given(PAUSES, PAUSES)
def test_a_pause_beside_another_only_ever_stops_more_and_their_order_is_nothing(one: Pause, other: Pause) -> None:
    both = one.also(other)
    assert both is other.also(one)
    assert all(both.stops(way) == (one.stops(way) or other.stops(way)) for way in Direction)
    assert (both is Pause.ALL) == (Pause.ALL in {one, other})


def test_the_fleets_pause_answers_every_request_as_a_groups_own_does() -> None:
    before = GroupState(desired=4, fleet_pause=stopped(Pause.ALL))
    decision = decided(a_request(add(2)), an_alarm(remove(1)), a_person(6), state=before)
    assert {answer.reason for answer in decision.answers} == {Reason.PAUSED}
    assert decision.state == before


def test_a_persons_force_passes_the_fleets_pause_as_it_does_a_groups() -> None:
    before = GroupState(desired=4, fleet_pause=stopped(Pause.ALL))
    assert decided(a_person(1, force=True), state=before).desired_to == 1


def test_the_fleets_pause_of_one_direction_leaves_the_other() -> None:
    before = GroupState(desired=4, fleet_pause=stopped(Pause.OUT))
    assert decided(a_request(add(2)), state=before).reason is Reason.PAUSED
    assert decided(a_request(remove(1)), state=before).desired_to == 3


@given(PAUSES, st.sampled_from([Pause.ALL, Pause.DECISIONS, Pause.OUT, Pause.IN]))
def test_a_group_is_as_it_was_when_the_fleet_goes_on(own: Pause, fleet: Pause) -> None:
    before = paused(GroupState(desired=4), own)
    during = replace(before, fleet_pause=fleet_paused(None, fleet, by="ada", because="", now=NOW))
    assert replace(during, fleet_pause=fleet_resumed(during.fleet_pause, None)) == before


def test_a_person_that_adds_to_a_pause_becomes_its_author_and_its_start_stays() -> None:
    first = fleet_paused(None, Pause.OUT, by="ada", because="quota", now=NOW)
    both = fleet_paused(first, Pause.IN, by="bob", because="", now=Instant(2000.0))
    assert both == FleetPause(pause=Pause.DECISIONS, by="bob", since=NOW)
    assert fleet_paused(both, Pause.IN, by="eve", because="", now=Instant(3000.0)) is both


def test_one_direction_of_the_fleet_goes_on_and_the_last_one_ends_the_pause() -> None:
    left = fleet_resumed(stopped(Pause.DECISIONS), Direction.OUT)
    assert left is not None
    assert left.pause is Pause.IN
    assert fleet_resumed(left, Direction.IN) is None
    assert fleet_resumed(None, None) is None
