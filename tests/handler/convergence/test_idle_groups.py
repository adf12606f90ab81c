"""Groups with nothing to do are watched by one inventory of their cloud, which proves nothing against a member."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.errors import Transient
from config.model.catalogue import Budget, Mode
from config.units import Instant
from handler.convergence.idle_groups import IdleState, idle_state
from handler.convergence.inventory import inventory_of
from handler.planning.world import Listing, ServerState
from tests.support.shared_cloud import API, GROUPS, SharedCloud
from tests.support.worlds import INSTALLATION, WEB, a_definition, name_of
from trigger.requests import GroupState


@pytest.fixture
def shared() -> SharedCloud:
    shared = SharedCloud()
    shared.settle()
    return shared


def test_groups_whose_machines_are_as_they_were_need_no_pass(shared: SharedCloud) -> None:
    shared.clock.advance(30.0)
    assert shared.compare() == dict.fromkeys(GROUPS, IdleState.SAME)


def test_a_machine_that_is_missing_calls_for_a_pass_of_its_own_group_alone(shared: SharedCloud) -> None:
    shared.cloud.die(name_of(1))
    assert shared.compare() == {WEB: IdleState.OTHER, API: IdleState.SAME}


@pytest.mark.parametrize("state", [state for state in ServerState if state is not ServerState.RUNNING])
def test_a_machine_in_another_state_calls_for_a_pass(shared: SharedCloud, state: ServerState) -> None:
    shared.cloud.say(name_of(2), state)
    assert shared.compare() == {WEB: IdleState.OTHER, API: IdleState.SAME}


def test_a_machine_that_no_record_knows_calls_for_a_pass(shared: SharedCloud) -> None:
    shared.cloud.add(name_of(7, group=API))
    assert shared.compare() == {WEB: IdleState.SAME, API: IdleState.OTHER}


def test_machines_of_other_installations_call_for_none(shared: SharedCloud) -> None:
    shared.cloud.add(name_of(7, installation="zzzzzz"))
    assert shared.compare() == dict.fromkeys(GROUPS, IdleState.SAME)


def test_a_partial_inventory_says_nothing_about_any_group(shared: SharedCloud) -> None:
    shared.cloud.partial = True
    assert shared.compare() == dict.fromkeys(GROUPS, IdleState.SILENT)


def test_a_cloud_that_does_not_answer_says_nothing(shared: SharedCloud) -> None:
    shared.cloud.faults.script("list", Transient("timed out"))
    assert not shared.compare()


def test_a_cloud_that_asked_for_time_is_not_asked(shared: SharedCloud) -> None:
    shared.cloud.faults.script("list", Transient("too many calls", retry_after=60.0))
    shared.compare()
    assert not shared.compare()


def test_an_inventory_asked_for_before_a_pass_says_nothing_about_what_the_pass_made(shared: SharedCloud) -> None:
    before = inventory_of(shared.definition.cloud.id, shared.cloud.list_all(), INSTALLATION, shared.clock())
    shared.clock.advance(1.0)
    shared.desire(WEB, 3)
    shared.settle()
    assert idle_state(shared.idle[WEB], before) is IdleState.SILENT
    assert shared.store.records[name_of(3)][0].absent_listings == 0


def test_what_an_inventory_lacks_is_neither_written_down_nor_removed(shared: SharedCloud) -> None:
    shared.cloud.hidden.add(name_of(1))
    records = dict(shared.store.records)
    assert shared.compare()[WEB] is IdleState.OTHER
    assert shared.store.records == records
    assert shared.cloud.destroyed == []


def test_a_group_is_observed_by_a_listing_that_is_given(shared: SharedCloud) -> None:
    stored = shared.store.kept[WEB]
    listed = shared.converger.listings(shared.definition.cloud, GROUPS)[WEB]
    shared.cloud.faults.script("list", Transient("timed out"))
    assert shared.converger.observe(stored, listed).world.complete
    assert not shared.converger.observe(stored).world.complete


def test_a_group_with_a_balancer_makes_its_passes(shared: SharedCloud) -> None:
    done = shared.run(WEB)
    stored = replace(shared.store.kept[WEB], definition=a_definition())
    assert shared.converger.idle(stored, done) is None


@pytest.mark.parametrize(("mode", "rests"), [(Mode.ADVISE, True), (Mode.ACT, False)])
def test_a_group_without_a_size_needs_no_pass_if_it_is_only_advised(mode: Mode, *, rests: bool) -> None:
    shared = SharedCloud()
    stored = shared.store.kept[WEB]
    definition = replace(stored.definition, group=replace(stored.definition.group, mode=mode))
    shared.store.kept[WEB] = replace(stored, definition=definition, state=GroupState())
    shared.run(WEB)
    assert (WEB in shared.idle) is rests
    if rests:
        assert shared.compare() == {WEB: IdleState.SAME}
        shared.cloud.add(name_of(1))
        assert shared.compare() == {WEB: IdleState.OTHER}


def test_a_group_at_the_end_of_its_budget_makes_its_passes(shared: SharedCloud) -> None:
    stored = shared.store.kept[WEB]
    narrow = replace(stored.definition.cloud, budget=Budget(outstanding=9, per_hour=10))
    shared.store.kept[WEB] = replace(stored, definition=replace(stored.definition, cloud=narrow))
    shared.run(WEB)
    assert WEB not in shared.idle


def test_a_budget_that_others_use_up_calls_for_a_pass(shared: SharedCloud) -> None:
    idle = replace(shared.idle[WEB], hourly=12)
    shared.clock.advance(30.0)
    assert shared.converger.compare(shared.definition.cloud, [idle]).found == {WEB: IdleState.OTHER}


def test_a_machine_listed_twice_calls_for_a_pass(shared: SharedCloud) -> None:
    twice = shared.cloud.list_all().servers * 2
    later = Instant(shared.clock() + 1.0)
    inventory = inventory_of(shared.definition.cloud.id, Listing(servers=twice, complete=True), INSTALLATION, later)
    assert idle_state(shared.idle[WEB], inventory) is IdleState.OTHER


def test_losses_of_two_groups_that_one_inventory_shows_are_judged_together(shared: SharedCloud) -> None:
    for member in (name_of(1), name_of(2)):
        shared.cloud.die(member)
    shared.cloud.die(name_of(1, group=API))
    assert shared.compare() == dict.fromkeys(GROUPS, IdleState.OTHER)
    shared.cloud.faults.always["find"] = Transient("timed out")
    shared.run(WEB)
    done = shared.run(API)
    assert len(done.world.losses.elsewhere) == 2
