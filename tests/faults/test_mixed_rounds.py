"""Rounds of faults are drawn alike by one seed, and what would be wrong with a run is found out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tests.support.mixed_rounds import FLEETS, MOST, Act, Fault, Round, needed, rounds
from tests.support.worker_watch import Hold, Tick, Ticks, late_calls, wrong_holds

INTERVAL = 8.0


def a_tick(at: float, since: float | None = 0.0) -> Tick:
    holds = {} if since is None else {("calm", "later"): Hold(since, at)}
    return Tick(at, frozenset({"calm"}), INTERVAL, holds)


def test_one_seed_draws_the_same_rounds_and_another_one_draws_others() -> None:
    kinds = tuple(Fault)
    assert [*rounds(7, 50, kinds)] == [*rounds(7, 50, kinds)]
    assert [*rounds(7, 50, kinds)] != [*rounds(8, 50, kinds)]


def test_each_kind_of_fault_befalls_each_fleet_as_often_as_any_other() -> None:
    blows = [blow for drawn in rounds(1, 160, tuple(Fault)) for blow in drawn.blows]
    assert set(Counter((blow.fault, blow.fleet) for blow in blows).values()) == {160 // len(Fault) // len(FLEETS)}


def test_some_rounds_have_two_faults_and_all_of_them_together_as_many_as_are_wanted() -> None:
    sizes = Counter(len(drawn.blows) for drawn in rounds(1, 200, tuple(Fault)))
    assert set(sizes) == {1, 2}
    assert sizes[1] + 2 * sizes[2] == 200


def test_a_fleet_that_is_to_grow_or_to_shrink_can_and_a_fault_comes_while_members_move() -> None:
    size = 1
    for drawn in rounds(1, 500, tuple(Fault)):
        wanted = {Act.GROW: drawn.size > size, Act.SHRINK: drawn.size < size, Act.ROLL: drawn.size == size}
        assert wanted[drawn.act]
        moves = size if drawn.act is Act.ROLL else abs(drawn.size - size)
        assert 0 <= drawn.after <= moves
        size = drawn.size
        assert 1 <= size <= MOST


def test_a_fleet_needs_those_that_it_grows_by_and_anew_those_that_are_replaced() -> None:
    played = [Round(act, size, (), 0, 0.0) for act, size in ((Act.GROW, 4), (Act.ROLL, 4), (Act.SHRINK, 2))]
    assert needed(played) == 1 + 3 + 4


def test_a_group_that_is_not_evaluated_waits_from_when_it_could_be() -> None:
    ticks = Ticks([a_tick(1.0), a_tick(9.0), a_tick(31.0), a_tick(39.0)])
    assert ticks.longest_wait("calm", 20.0, INTERVAL) == 11.0
    assert ticks.longest_wait("calm", 9.0, INTERVAL) == 22.0


def test_a_hold_that_ends_without_a_lost_tick_is_found_out() -> None:
    assert wrong_holds(Ticks([a_tick(1.0), a_tick(9.0, since=9.0)]), "calm", "later", taken=[]) != []
    assert wrong_holds(Ticks([a_tick(1.0), a_tick(12.0, since=None)]), "calm", "later", taken=[4.0]) != []
    assert wrong_holds(Ticks([a_tick(1.0), a_tick(12.0)]), "calm", "later", taken=[4.0]) == []
    blind = replace(a_tick(20.0), holds=a_tick(9.0).holds)
    assert wrong_holds(Ticks([a_tick(9.0), blind, a_tick(25.0, since=25.0)]), "calm", "later", taken=[]) == []


def test_a_hold_that_a_new_holder_goes_on_with_after_a_lost_tick_is_found_out() -> None:
    assert wrong_holds(Ticks([a_tick(1.0), a_tick(17.0)]), "calm", "later", taken=[4.0]) != []
    assert wrong_holds(Ticks([a_tick(1.0), a_tick(17.0, since=None)]), "calm", "later", taken=[4.0]) == []
    assert wrong_holds(Ticks([a_tick(1.0), a_tick(17.0)]), "calm", "later", taken=[]) == []


def test_a_term_whose_worker_mistakes_the_databases_clock_is_found_out() -> None:
    right = [a_tick(at) for at in (2.0, 10.0, 19.0)]
    ahead = [replace(a_tick(at), at=at - 2.4) for at in (26.0, 34.0)]
    assert Ticks(right).clock_errors("calm", "later", taken=[1.0]) == {1.0: 0.0}
    errors = Ticks([*right, *ahead]).clock_errors("calm", "later", taken=[1.0, 20.0])
    assert [round(error, 1) for error in errors.values()] == [0.0, -2.4]


def test_a_call_of_a_worker_that_another_one_has_followed_is_late() -> None:
    taken = [(0.0, "a"), (10.0, "b")]
    heard = [(1.0, "a", "early"), (9.0, "a", "in time"), (11.0, "a", "late"), (12.0, "b", "own")]
    assert late_calls(heard, taken) == [(11.0, "a", "late")]
