"""Incidents of fleets under other autoscalers, replayed here: no serving member is lost, none is created twice.

Each test is named after what happened there; the numbers are those of the public reports.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.errors import Transient
from handler.convergence.passes import Pass
from handler.planning.evidence import Ground
from handler.planning.steps import Wait
from handler.planning.world import Listing, RegistrationState
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import FakeCloud
from tests.support.worlds import name_of

_HOURS_OF_PASSES = 30


def grounds(done: Pass) -> set[Ground]:
    return {doubt.ground for doubt in done.plan.doubts}


def waits(done: Pass) -> set[Wait]:
    return {wait for wait, _ in done.plan.waits}


def lists(cloud: FakeCloud, *numbers: int) -> None:
    """From now on a listing shows these and claims to be complete; queries by name fail."""
    names = {name_of(number) for number in numbers}
    listed = type(cloud).list

    def stale(group: str) -> Listing:
        answer = listed(cloud, group)  # type: ignore[arg-type]
        return replace(answer, servers=tuple(server for server in answer.servers if server.name in names))

    cloud.list = stale  # type: ignore[method-assign, assignment]
    cloud.faults.always["find"] = Transient("the management server is starting")


def answers_again(cloud: FakeCloud) -> None:
    cloud.__dict__.pop("list", None)
    cloud.faults.clear()


def passes(bed: Bed, count: int, seconds: float) -> list[Pass]:
    """So many passes in that time."""
    done = []
    for _ in range(count):
        done.append(bed.run())
        bed.clock.advance(seconds / count)
    return done


# kubernetes/autoscaler#5829, #6911, #10147: a count that lags behind; "one fewer" then removes a machine that serves.


def test_a_stale_count_removes_no_member_that_was_not_chosen() -> None:
    bed = grown(4)
    bed.desire(6)
    bed.cloud.build_time = 40.0
    bed.run()
    lists(bed.cloud, 1, 2, 3, 4)  # two have come up meanwhile, and the count does not know
    bed.clock.advance(60)
    bed.desire(5)
    passes(bed, 4, 20)
    answers_again(bed.cloud)
    bed.settle()
    bed.expect(5)
    assert len(set(bed.cloud.destroyed)) == 1
    assert set(bed.cloud.destroyed) == bed.chosen()
    assert len(bed.cloud.created) == 6


def test_a_stale_count_is_no_reason_to_shrink() -> None:
    bed = grown(6)
    lists(bed.cloud, 1, 2, 3, 4)
    bed.desire(4)
    for done in passes(bed, 3, 15):
        assert grounds(done) == {Ground.SHRUNK, Ground.CONTRADICTED}
    assert (bed.cloud.destroyed, bed.chosen()) == ([], set())
    answers_again(bed.cloud)
    bed.settle()
    bed.expect(4)
    assert bed.cloud.destroyed == [name_of(1), name_of(2)]


# kubernetes/autoscaler#446: the cache had not been filled yet, and every node looked empty.


def test_an_empty_cache_neither_empties_nor_doubles_the_fleet() -> None:
    bed = grown(10)
    before = bed.machines
    lists(bed.cloud)
    every = passes(bed, _HOURS_OF_PASSES, 7200)
    assert grounds(every[0]) == {Ground.SHRUNK, Ground.CONTRADICTED}
    assert grounds(every[-1]) == {Ground.HEARD}
    assert (bed.machines, bed.cloud.destroyed, len(bed.cloud.created)) == (before, [], 10)
    answers_again(bed.cloud)
    assert bed.settle().plan.doubts == ()
    bed.expect(10)
    assert bed.machines == before


@pytest.mark.parametrize("by_name", [False, True], ids=["none can be asked for", "all can be asked for"])
def test_an_empty_cache_after_a_lost_store_does_not_make_a_second_fleet(by_name: bool) -> None:
    bed = grown(10)
    before = bed.machines
    bed.store.records.clear()
    bed.store.sequences.clear()
    lists(bed.cloud)
    if by_name:
        bed.cloud.faults.clear()
    first = bed.run()
    assert grounds(first) == (set() if by_name else {Ground.CONTRADICTED})
    passes(bed, 2, 10)
    answers_again(bed.cloud)
    passes(bed, 3, 10)
    bed.adopt_store()  # its size was not taken from a listing, and launches are there that it does not know
    bed.settle()
    bed.expect(10)
    assert (bed.machines, len(bed.cloud.created)) == (before, 10)


def test_names_left_in_a_balancer_hold_a_new_fleet_up_no_longer_than_three_listings() -> None:
    bed = Bed(size=2)
    bed.edge.states[name_of(7)] = RegistrationState.SERVING
    bed.cloud.faults.always["find"] = Transient("not supported")
    every = passes(bed, 4, 40)
    assert [grounds(done) for done in every[:3]] == [{Ground.CONTRADICTED}] * 3
    assert (grounds(every[3]), len(bed.cloud.created)) == (set(), 2)


# nomad-autoscaler#376 and its like: half of the nodes on the list, and it drains until none is left.


def test_half_a_listing_is_not_taken_for_half_a_fleet() -> None:
    bed = grown(10)
    before = bed.machines
    lists(bed.cloud, 1, 3, 5, 7, 9)
    for size in (10, 7, 3):
        bed.desire(size)
        for done in passes(bed, 2, 8):
            assert Wait.DISTRUST in waits(done)
    assert (bed.machines, bed.cloud.destroyed, bed.chosen()) == (before, [], set())
    bed.desire(10)
    answers_again(bed.cloud)
    bed.settle()
    assert (bed.machines, len(bed.cloud.created)) == (before, 10)


def test_half_a_listing_costs_nothing_where_the_other_half_answers_by_name() -> None:
    bed = grown(10)
    lists(bed.cloud, 1, 3, 5, 7, 9)
    bed.cloud.faults.clear()
    assert bed.run().plan.converged


# nomad-autoscaler#376, #628: drained, and never terminated; and while it drains, the next one is drained.


def test_a_drained_member_is_destroyed_after_the_restart_and_no_other_is_drained() -> None:
    bed = grown(5)
    bed.edge.busy = 50.0
    bed.desire(4)
    passes(bed, 5, 20)
    assert [name for name, state in bed.edge.states.items() if state is RegistrationState.DRAINING] == [name_of(1)]
    bed.cloud.faults.always["destroy"] = Transient("timed out")
    passes(bed, 10, 600)
    assert name_of(1) in bed.machines
    bed.cloud.faults.clear()
    bed.restart()
    bed.settle()
    bed.expect(4)
    assert (set(bed.cloud.destroyed), bed.chosen()) == ({name_of(1)}, {name_of(1)})


# Found here: a listing that is older than the proof that a member is gone, while queries by name fail.


def test_a_stale_listing_does_not_revive_a_gone_member_while_the_cloud_answers_no_query() -> None:
    bed = grown(3)
    ghost = bed.cloud.find(name_of(1))
    assert ghost is not None
    bed.desire(2)
    bed.settle()
    listed = bed.cloud.list
    bed.cloud.list = lambda group: replace(  # type: ignore[method-assign]
        listed(group), servers=(*listed(group).servers, ghost)
    )
    bed.cloud.faults.always["find"] = Transient("timed out")
    for done in passes(bed, 5, 20):
        assert grounds(done) == {Ground.STALE}
    bed.cloud.list = listed  # type: ignore[method-assign]
    assert bed.settle().plan.doubts == ()
    assert bed.known() == bed.machines == {name_of(2), name_of(3)}
