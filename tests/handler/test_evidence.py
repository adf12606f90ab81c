"""Whole groups on a cloud that is wrong about many members at once, and on one where many are really lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from config.errors import StoreError, Transient
from config.model.catalogue import Budget, OnVanish
from config.model.simulation import Incident, ScriptedEvent
from config.units import GroupId, Instant, MemberName
from handler.convergence.passes import Pass
from handler.planning.desired import Definition
from handler.planning.evidence import Ground, Hearing, MissedMember
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Wait
from handler.planning.world import Health, Leaving, Listing, Phase, ServerState
from handler.ports.stored import EventKind
from handler.snapshots.reading import read_snapshot
from handler.snapshots.writing import written
from handler.web.render import text_of
from tests.support.beds import Bed, grown
from tests.support.worlds import WEB, a_definition, name_of

BUDGET = Budget(outstanding=100, per_hour=1000)
FIRST_HALF = [name_of(number) for number in range(1, 6)]
LASTING = 3600.0


def alone(**group: Any) -> Definition:
    """A group that no source hears: no probe, and a balancer that checks nothing."""
    return a_definition(ready=None, budget=BUDGET, maximum=12, **group)


def probed(**group: Any) -> Definition:
    return a_definition(budget=BUDGET, maximum=12, **group)


def lies(bed: Bed, what: ScriptedEvent, share: float = 0.5, lasts: float = LASTING) -> None:
    """From now on the cloud is wrong about a share of its machines."""
    at = bed.clock() - bed.cloud.simulation.began
    bed.cloud.behave(script=(Incident(at=at, what=what, share=share, lasts=lasts),))


def tells_the_truth(bed: Bed) -> None:
    bed.cloud.behave(script=())


def passes(bed: Bed, seconds: float, each: Callable[[], None] = lambda: None) -> Pass:
    """Passes every five seconds for so long."""
    for _ in range(math.ceil(seconds / 5)):
        done = bed.run()
        bed.clock.advance(5.0)
        each()
    return done


def grounds(done: Pass) -> set[Ground]:
    return {doubt.ground for doubt in done.plan.doubts}


def noted_sizes(bed: Bed, name: str) -> list[tuple[int | None, int | None]]:
    notes = [event for event in bed.store.events.values() if event.kind is EventKind.NOTE and event.name == name]
    return [(note.desired_from, note.desired_to) for note in notes]


def addresses(bed: Bed, *names: MemberName) -> set[str]:
    """Where these are; without any names, where everything is."""
    servers = (bed.cloud.machines[name].view(bed.clock()).server for name in names or bed.cloud.machines)
    return {server.address for server in servers if server is not None and server.address is not None}


def desired(bed: Bed) -> int | None:
    return bed.store.kept[WEB].state.desired


# A listing that lacks half


@pytest.mark.parametrize("on_vanish", OnVanish)
@pytest.mark.parametrize("what", [ScriptedEvent.HIDE, ScriptedEvent.DENY])
@pytest.mark.parametrize("definition", [alone, probed], ids=["no source", "a source that hears them"])
def test_half_a_fleet_that_a_cloud_denies_is_neither_replaced_nor_given_up_nor_destroyed_when_it_is_back(
    definition: Callable[..., Definition], what: ScriptedEvent, on_vanish: OnVanish
) -> None:
    bed = grown(10, definition=definition(on_vanish=on_vanish))
    before = bed.machines
    lies(bed, what)
    done = passes(bed, 1800)
    assert grounds(done) >= {Ground.MANY_LOST if definition is alone else Ground.HEARD}
    tells_the_truth(bed)
    bed.settle()
    bed.expect(10)
    assert (bed.machines, len(bed.cloud.created), bed.cloud.destroyed, desired(bed)) == (before, 10, [], 10)


def test_a_restart_while_half_is_denied_costs_nothing() -> None:
    bed = grown(10, definition=probed())
    bed.mute = addresses(bed)
    lies(bed, ScriptedEvent.DENY)
    bed.restart()
    done = passes(bed, 1800)
    assert grounds(done) == {Ground.MANY_LOST}
    assert (len(bed.cloud.created), bed.cloud.destroyed) == (10, [])


def test_the_message_says_how_much_is_missing_and_what_would_settle_it() -> None:
    bed = grown(10, definition=alone())
    lies(bed, ScriptedEvent.DENY)
    done = passes(bed, 60)
    words = next(doubt.words for doubt in done.plan.doubts if doubt.ground is Ground.MANY_LOST)
    assert "the cloud reports 5 members at once as gone" in words
    assert "no independent source" in words
    assert "trimtab converge web" in words
    assert dict(done.plan.waits)[Wait.MANY_VANISHED] == 5
    assert words in done.retries


def test_a_person_s_word_is_enough_where_no_source_testifies() -> None:
    bed = grown(10, definition=alone())
    for name in FIRST_HALF:
        bed.cloud.die(name)
    assert len(passes(bed, 600).plan.unproved) == 5
    bed.run(accept_vanished=True)
    bed.settle()
    bed.expect(10)
    assert not bed.machines & set(FIRST_HALF)


def test_a_member_that_is_heard_is_given_up_only_by_its_name() -> None:
    bed = grown(3, definition=probed())
    lies(bed, ScriptedEvent.DENY, share=0.3)
    done = passes(bed, 600)
    (heard,) = done.plan.unproved
    assert grounds(bed.run(accept_vanished=True)) >= {Ground.HEARD}
    assert heard in bed.known()
    bed.converger.run(bed.store.kept[WEB], only=heard)
    assert heard not in bed.known()


def test_one_or_two_members_are_believed_to_be_gone_by_a_definite_answer() -> None:
    bed = grown(10, definition=alone())
    for name in FIRST_HALF[:2]:
        bed.cloud.die(name)
    bed.settle()
    bed.expect(10)
    assert not bed.machines & set(FIRST_HALF[:2])


# A zone that really burnt down


def test_a_zone_that_burnt_down_is_replaced_without_a_person_once_its_probes_have_been_silent() -> None:
    bed = grown(10, definition=probed())
    passes(bed, 60)
    burnt = bed.clock()
    for name in FIRST_HALF:
        bed.cloud.die(name)
    done = passes(bed, 45)
    assert (grounds(done), len(bed.cloud.created)) == ({Ground.MANY_LOST}, 10)
    assert "until probe has been silent for 1m30s" in done.plan.doubts[0].words
    bed.settle()
    bed.expect(10)
    assert bed.clock() - burnt < 200
    assert not bed.machines & set(FIRST_HALF)


@pytest.mark.parametrize("on_vanish", OnVanish)
def test_a_zone_that_burnt_down_is_found_out_by_a_balancer_s_checks(on_vanish: OnVanish) -> None:
    bed = grown(10, definition=alone(on_vanish=on_vanish))
    bed.edge.health = dict.fromkeys(bed.machines, Health.HEALTHY)
    passes(bed, 60)
    for name in FIRST_HALF:
        bed.cloud.die(name)
        bed.edge.health[name] = Health.FAILING
    passes(bed, 200)
    bed.settle()
    bed.expect(10 if on_vanish is OnVanish.REPLACE else 5)


def test_a_balancer_that_is_down_at_the_same_time_proves_nothing() -> None:
    bed = grown(10, definition=alone())
    bed.edge.health = dict.fromkeys(bed.machines, Health.HEALTHY)
    passes(bed, 60)
    for name in FIRST_HALF:
        bed.cloud.die(name)
        bed.edge.health[name] = Health.FAILING
    bed.edge.faults.always["registrations"] = Transient("connection refused")
    passes(bed, 600)
    assert len(bed.cloud.created) == 10
    bed.edge.faults.clear()
    passes(bed, 10)
    bed.settle()
    bed.expect(10)


# Counters


def poll(bed: Bed, silent: set[MemberName], heard_at: Instant) -> None:
    """A poll of every member by SNMP, of which these have been silent since ``heard_at``."""
    missed = {name: MissedMember(heard_at=heard_at, silent_since=heard_at) for name in silent}
    asked = bed.known(Phase.IN_SERVICE)
    hearing = Hearing(source="snmp", at=bed.clock(), asked=asked, missed=missed)
    bed.converger.witnesses.hear(WEB, [hearing])


def test_members_whose_agents_answer_are_not_gone_and_those_whose_agents_are_silent_are() -> None:
    bed = grown(10, definition=alone())
    for name in FIRST_HALF:
        bed.cloud.die(name)
    last = bed.clock()
    passes(bed, 300, lambda: poll(bed, set(), bed.clock()))
    assert len(bed.cloud.created) == 10
    last = bed.clock()
    passes(bed, 85, lambda: poll(bed, set(FIRST_HALF), last))
    assert len(bed.cloud.created) == 10
    passes(bed, 60, lambda: poll(bed, set(FIRST_HALF) & bed.known(), last))
    bed.settle()
    bed.expect(10)


def test_an_agent_at_an_address_that_is_another_machine_s_now_is_no_evidence() -> None:
    bed = grown(4, definition=alone())
    here = {name: machine.view(bed.clock()).server for name, machine in bed.cloud.machines.items()}
    bed.run()
    bed.cloud.die(name_of(1))
    listed = bed.cloud.list

    first = here[name_of(1)]
    assert first is not None

    def reused(group: GroupId) -> Listing:
        answer = listed(group)
        moved = [replace(s, address=first.address) if s.name == name_of(2) else s for s in answer.servers]
        return replace(answer, servers=tuple(moved))

    bed.cloud.list = reused  # type: ignore[method-assign]
    poll(bed, set(), bed.clock())
    bed.run()
    assert name_of(1) not in bed.known()


# All of them are said to be being deleted


@pytest.mark.parametrize("definition", [alone, probed], ids=["no source", "a source that hears them"])
def test_a_fleet_that_is_listed_as_being_deleted_is_not_made_a_second_time(
    definition: Callable[..., Definition],
) -> None:
    bed = grown(10, definition=definition())
    before = bed.machines
    lies(bed, ScriptedEvent.DELETING, share=1.0)
    done = passes(bed, 1800)
    assert grounds(done) == {Ground.MANY_LOST if definition is alone else Ground.HEARD}
    assert len(done.plan.unproved) == 10
    assert len(bed.machines) == 10
    tells_the_truth(bed)
    bed.settle()
    bed.expect(10)
    assert (bed.machines, bed.cloud.destroyed) == (before, [])


def test_growth_goes_on_only_up_to_the_size_while_all_are_listed_as_being_deleted() -> None:
    bed = grown(10, definition=alone())
    lies(bed, ScriptedEvent.DELETING, share=1.0)
    bed.desire(12)
    passes(bed, 1800)
    assert len(bed.machines) == 12


def test_new_members_that_are_listed_as_being_deleted_before_they_serve_are_not_made_again() -> None:
    bed = grown(2, definition=alone())
    bed.cloud.build_time = 60.0
    bed.desire(8)
    bed.run()
    lies(bed, ScriptedEvent.DELETING, share=1.0)
    passes(bed, 600)
    assert len(bed.machines) == 8


def test_two_members_that_a_person_deletes_are_replaced_at_once() -> None:
    bed = grown(5, definition=probed())
    for name in FIRST_HALF[:2]:
        bed.cloud.go(name, 30.0)
    bed.run()
    assert len(bed.cloud.created) == 7
    bed.settle()
    bed.expect(5)


def test_a_fleet_that_is_listed_as_stopped_is_not_replaced_while_it_answers() -> None:
    bed = grown(6, definition=alone())
    bed.edge.health = dict.fromkeys(bed.machines, Health.HEALTHY)
    for name in bed.machines:
        bed.cloud.say(name, ServerState.STOPPED)
    done = passes(bed, 900)
    assert (grounds(done), len(bed.cloud.created)) == ({Ground.HEARD}, 6)


# Members that come back


def lost_and_replaced(on_vanish: OnVanish = OnVanish.REPLACE) -> Bed:
    """Five of ten are there, and everything says that they are not: cloud, balancer and probe."""
    bed = grown(10, definition=probed(on_vanish=on_vanish))
    passes(bed, 60)
    lies(bed, ScriptedEvent.DENY)
    bed.mute = addresses(bed, *(name for name in bed.machines if bed.cloud.find(name) is None))
    passes(bed, 300)
    return bed


def test_members_that_come_back_stay_and_those_made_in_their_place_leave_drained_and_newest_first() -> None:
    bed = lost_and_replaced()
    before = {name_of(number) for number in range(1, 11)}
    assert len(bed.machines) == 15
    tells_the_truth(bed)
    bed.mute = set()
    served = []
    passes(bed, 20, lambda: served.append(len(bed.serving() & bed.machines)))
    assert bed.cloud.destroyed == []  # three complete listings over half a minute are needed
    passes(bed, 300, lambda: served.append(len(bed.serving() & bed.machines)))
    bed.settle()
    bed.expect(10)
    assert bed.machines == before
    assert bed.chosen() == {name_of(number) for number in range(11, 16)}
    assert min(served) >= 10
    leaving = [record.leaving for record, _ in bed.store.records.values() if record.phase is Phase.GONE]
    assert set(leaving) == {Leaving.SURPLUS}
    assert all(record.lost_at is None for record in bed.store.members(WEB))


def test_once_members_are_back_the_group_s_own_order_holds_again() -> None:
    bed = lost_and_replaced()
    tells_the_truth(bed)
    bed.mute = set()
    passes(bed, 300)
    bed.settle()
    bed.desire(9)
    bed.settle()
    assert name_of(1) not in bed.machines


def test_nothing_more_is_made_in_the_place_of_members_that_are_listed_again() -> None:
    bed = lost_and_replaced()
    bed.cloud.die(name_of(15))
    tells_the_truth(bed)
    bed.mute = set()
    made = len(bed.cloud.created)
    passes(bed, 300)
    bed.settle()
    bed.expect(10)
    assert len(bed.cloud.created) == made


def test_where_vanishing_shrinks_the_size_returns_to_what_it_was() -> None:
    bed = lost_and_replaced(OnVanish.SHRINK)
    before = {name_of(number) for number in range(1, 11)}
    assert (desired(bed), len(bed.cloud.created)) == (5, 10)
    tells_the_truth(bed)
    bed.mute = set()
    passes(bed, 300)
    bed.settle()
    bed.expect(10)
    assert (bed.machines, bed.cloud.destroyed, desired(bed), len(noted_sizes(bed, "returned"))) == (before, [], 10, 1)


def test_a_size_that_was_decided_meanwhile_stays_when_members_come_back() -> None:
    bed = lost_and_replaced(OnVanish.SHRINK)
    bed.desire(7)
    bed.settle()
    tells_the_truth(bed)
    bed.mute = set()
    passes(bed, 300)
    bed.settle()
    bed.expect(7)
    assert (desired(bed), noted_sizes(bed, "returned")) == (7, [])
    assert {name_of(11), name_of(12)} <= bed.chosen()  # made meanwhile: they leave before those that are back


def test_a_disk_that_is_full_when_members_come_back_delays_both_size_and_members() -> None:
    bed = lost_and_replaced(OnVanish.SHRINK)
    tells_the_truth(bed)
    bed.mute = set()
    passes(bed, 30)
    bed.store.full = True
    with pytest.raises(StoreError):
        passes(bed, 30)
    assert (desired(bed), len(bed.known())) == (5, 5)
    bed.store.full = False
    bed.settle()
    bed.expect(10)


def test_members_that_were_listed_as_deleted_and_serve_again_keep_their_places() -> None:
    bed = grown(5, definition=probed())
    lies(bed, ScriptedEvent.DELETING, share=0.3)
    passes(bed, 60)
    assert len(bed.machines) == 7
    tells_the_truth(bed)
    passes(bed, 120)
    bed.settle()
    bed.expect(5)
    assert bed.machines == {name_of(number) for number in range(1, 6)}


# A saved world judges alike


def test_a_saved_world_carries_the_evidence() -> None:
    bed = grown(10, definition=probed())
    passes(bed, 60)
    for name in FIRST_HALF:
        bed.cloud.die(name)
    for _ in range(30):
        snapshot = bed.converger.snapshot(bed.store.kept[WEB])
        again = read_snapshot(text_of(written(snapshot)), "world.json")
        assert again.plan() == snapshot.plan()
        bed.run()
        bed.clock.advance(7.0)
    bed.settle()
    bed.expect(10)


def test_every_step_of_such_a_story_is_done() -> None:
    bed = lost_and_replaced()
    tells_the_truth(bed)
    bed.mute = set()
    results: set[StepResult] = set()
    for _ in range(60):
        results |= {outcome.result for outcome in bed.run().outcomes}
        bed.clock.advance(5.0)
    assert results == {StepResult.DONE}
