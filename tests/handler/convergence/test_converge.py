"""Passes over a cloud, a balancer and a store in memory: what is done, written down, and left for the next pass."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from config.errors import Permanent, StoreError, Transient
from config.model.catalogue import Budget, Mode, OnVanish, ProcessRecipe, ReadyProbe, Victims
from config.model.clouds import Calls
from config.model.repair import Repair
from config.units import BalancerId, GroupId, Instant, MemberName
from handler.convergence.passes import Pass
from handler.convergence.sightings import READY
from handler.planning.declared import Revision
from handler.planning.desired import Builds
from handler.planning.removals import ATTEMPTS
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Confirm, Create, EnterService, Forget, Join, MarkLeaving, TakeUp, Wait
from handler.planning.world import Leaving, Phase, RegistrationState, ServerState
from handler.ports.stored import StoredGroup
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import LOST
from tests.support.snapshots import read, text_of
from tests.support.waiting import PATIENT
from tests.support.worlds import EDGE, WEB, a_definition, name_of
from trigger.requests import Pause

ONE, TWO, THREE = name_of(1), name_of(2), name_of(3)
OTHER = ProcessRecipe(command=("corrected",))


def waits(done) -> set[Wait]:
    return {wait for wait, _ in done.plan.waits}


def forgotten(done: Pass) -> int:
    return sum(isinstance(outcome.step, Forget) and outcome.result is StepResult.DONE for outcome in done.outcomes)


def steps_stored(bed: Bed) -> list[tuple[str, str]]:
    return [(event.name, event.by) for event in bed.store.events.values()]


# Growing and shrinking.


def test_a_group_grows_and_shrinks_to_the_size_desired() -> None:
    bed = grown(2)
    for size in (5, 1, 3, 0):
        bed.desire(size)
        bed.settle()
        bed.expect(size)


def test_members_side_by_side_end_as_members_one_by_one() -> None:
    bed = grown(7, workers=8)
    bed.desire(3)
    bed.settle()
    bed.expect(3)


def test_a_step_is_written_down_before_its_call_and_after_its_answer() -> None:
    bed = grown(1)
    bed.desire(0)
    bed.settle()
    assert steps_stored(bed) == [
        (name, ONE)
        for name in ("create", "join", "enable", "enter_service", "mark_leaving", "drain", "leave", "destroy", "forget")
    ]
    assert {event.result for event in bed.store.events.values()} == {StepResult.DONE}


def test_a_member_that_leaves_drains_first_and_is_destroyed_last() -> None:
    bed = grown(2)
    bed.edge.busy = 30.0
    bed.desire(1)
    bed.run()
    bed.run()
    assert bed.edge.states[ONE] is RegistrationState.DRAINING
    bed.clock.advance(29.0)
    assert waits(bed.run()) == {Wait.DRAINING}
    assert bed.cloud.destroyed == []
    bed.clock.advance(1.0)
    bed.run()
    assert (ONE in bed.edge.states, bed.cloud.destroyed) == (False, [ONE])


def test_nothing_joins_before_it_is_ready() -> None:
    bed = Bed(size=1)
    bed.unready.add("198.18.0.2")
    bed.run()
    done = bed.run()
    assert waits(done) == {Wait.NOT_READY}
    assert [member.unready for member in done.world.members] == ["HTTP 503"]
    assert bed.edge.states == {}
    bed.unready.clear()
    bed.settle()
    bed.expect(1)


def test_members_in_service_are_not_probed() -> None:
    bed = grown(2)
    bed.probed.clear()
    bed.run()
    assert bed.probed == []


def test_a_member_in_service_is_probed_when_its_registration_is_lost() -> None:
    bed = grown(2)
    bed.probed.clear()
    bed.edge.reload()
    bed.settle()
    bed.expect(2)
    assert sorted(bed.probed) == ["198.18.0.2", "198.18.0.3"]


def test_members_are_probed_as_the_profile_declares_that_they_were_made_of() -> None:
    """A file that declares another probe, for a release to come, moves no member that runs."""
    bed = grown(2)
    before = bed.definition
    bed.store.declared[WEB] = [Revision(number=1, at=bed.clock(), definition=before)]
    later = ReadyProbe(path="/live", port=9090, within=300.0)
    bed.redefine(replace(before, profile=replace(before.profile, ready=later)))
    asked = set[tuple[str, int]]()

    def probe(address: str, ready: ReadyProbe) -> str:
        asked.add((ready.path, ready.port))
        return READY if ready == before.profile.ready else "nothing listens at port 9090"

    bed._probe = probe  # type: ignore[method-assign]
    bed.restart()
    bed.edge.reload()
    bed.settle()
    bed.expect(2)
    assert asked <= {("/healthz", 8080)}


@pytest.mark.parametrize("own", [a_definition().profile.ready, None], ids=["its own probe", "none of its own"])
def test_a_member_on_its_way_into_service_is_probed_as_its_own_profile_declares(own: ReadyProbe | None) -> None:
    bed = Bed(size=1, definition=a_definition(ready=own))
    bed.run()
    bed.store.declared[WEB] = [Revision(number=1, at=bed.clock(), definition=bed.definition)]
    later = ReadyProbe(path="/live", port=9090, within=300.0)
    bed.redefine(replace(bed.definition, profile=replace(bed.definition.profile, ready=later)))
    bed._probe = lambda address, ready: READY if ready == own else "HTTP 404"  # type: ignore[method-assign]
    bed.restart()
    bed.settle()
    bed.expect(1)
    assert bed.machines == {ONE}


def test_what_a_member_is_made_of_is_written_down_before_it_is_made() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", Transient("timed out"))
    bed.run()
    (record,) = bed.store.members(WEB)
    assert (record.phase, record.profile) == (Phase.INTENDED, bed.definition.profile_digest)
    newer = replace(bed.definition, profile=replace(bed.definition.profile, recipe=ProcessRecipe(command=("newer",))))
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], definition=newer)
    bed.clock.advance(60)
    bed.run()
    (record,) = bed.store.members(WEB)
    assert (record.name, record.phase, record.profile) == (ONE, Phase.MADE, newer.profile_digest)


def test_the_group_chooses_and_history_has_the_reason() -> None:
    bed = grown(3, definition=a_definition(victims=Victims.OLDEST_PROFILE))
    newer = replace(bed.definition, profile=replace(bed.definition.profile, recipe=ProcessRecipe(command=("newer",))))
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], definition=newer)
    bed.replace(ONE)
    bed.settle()
    bed.desire(2)
    bed.settle()
    assert bed.machines == {THREE, name_of(4)}
    messages = [event.message for event in bed.store.events.values() if event.name == "mark_leaving"]
    assert messages == ["replaced", "surplus: it uses an old profile"]


# Answers that are lost, calls that fail.


def test_a_cloud_is_told_which_creation_may_have_been_asked_for_before() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", Transient("timed out"))
    bed.settle()

    bed.desire(2)
    bed.settle()

    assert [launch.first for launch in bed.cloud.launches] == [False, True]


def test_a_lost_answer_to_create_makes_no_second_machine() -> None:
    bed = Bed(size=3)
    bed.cloud.faults.script("create", LOST, None, LOST)
    bed.settle()
    bed.expect(3)
    assert len(bed.cloud.created) == 3


def test_a_member_that_is_found_and_serves_at_once_keeps_both_times() -> None:
    bed = Bed(definition=a_definition(balancers=()), size=3)
    bed.cloud.faults.always["create"] = LOST
    bed.run()
    done = bed.run()
    assert {type(outcome.step) for outcome in done.outcomes} == {Confirm, EnterService}
    for record in bed.store.members(WEB):
        assert (record.phase, record.server_id is None, record.made_at is None) == (Phase.IN_SERVICE, False, False)
    names = [event.name for event in bed.store.history(WEB, before=None, limit=len(done.outcomes))]
    assert sorted(names) == sorted(["confirm", "enter_service"] * (len(done.outcomes) // 2))


def test_a_lost_answer_behind_a_lagging_listing_makes_no_second_machine() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", LOST)
    bed.cloud.hidden.add(ONE)
    bed.settle()
    bed.expect(1)
    assert bed.cloud.created == [ONE]


def test_while_the_cloud_cannot_tell_an_open_intent_is_not_created_again() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", Transient("timed out"))
    bed.run()
    bed.cloud.faults.always["find"] = Transient("timed out")
    done = bed.run()
    assert (waits(done), done.outcomes) == ({Wait.UNCONFIRMED}, ())
    bed.cloud.faults.clear()
    bed.settle()
    assert bed.cloud.created == [ONE]


def test_a_create_that_fails_for_now_is_tried_again_under_the_same_name_ever_more_slowly() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", *[Transient("busy")] * 4)
    pauses = []
    for _ in range(4):
        done = bed.run()
        pauses.append(done.next_in)
        bed.clock.advance(60)
    assert pauses == [1.0, 2.0, 4.0, 8.0]
    assert done.retries == ("create: busy (web-k3f9ab-1)",)
    assert bed.store.records[ONE][0].create_attempts == 4
    bed.settle()
    assert bed.known() == {ONE}


def test_what_a_cloud_asks_for_is_waited_for() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", Transient("rate limit", retry_after=17.0))
    assert bed.run().next_in == 17.0


def test_a_create_that_is_refused_is_over_and_counts_as_a_failed_build() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", Permanent("quota exceeded"))
    done = bed.run()
    assert (done.failures, done.failed_builds, done.back_off_until) == (
        ("create: quota exceeded: raise the account's limit, or lower max (web-k3f9ab-1)",),
        1,
        None,
    )
    assert bed.known() == set()
    bed.settle()
    assert bed.machines == {TWO}


def test_an_intent_that_fails_ten_times_is_given_up() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", *[Transient("busy")] * 10)
    for _ in range(11):
        done = bed.run()
        bed.clock.advance(30)
    assert done.failed_builds == 1
    bed.settle()
    assert bed.machines == {TWO}


def test_a_member_that_cannot_leave_is_not_destroyed() -> None:
    bed = grown(1)
    bed.desire(0)
    bed.edge.faults.always["leave"] = Permanent("read-only")
    for _ in range(20):
        done = bed.run()
        bed.clock.advance(10)
    assert done.failures == ("leave: read-only (web-k3f9ab-1)",)
    assert bed.cloud.destroyed == []
    assert (done.plan.steps, waits(done)) == ((), {Wait.DELETING, Wait.BACK_OFF})
    bed.edge.faults.clear()
    bed.settle()
    bed.expect(0)


def test_a_member_behind_an_unreadable_balancer_is_not_destroyed() -> None:
    bed = grown(2)
    bed.desire(1)
    bed.edge.faults.always["registrations"] = Transient("no answer")
    for _ in range(10):
        done = bed.run()
        bed.clock.advance(100)
    assert waits(done) == {Wait.BALANCER_UNKNOWN}
    assert done.retries == ("balancer edge: no answer",)
    assert bed.cloud.destroyed == []


def test_a_member_that_is_being_deleted_gets_no_second_call_before_its_grace_is_over() -> None:
    bed = grown(1)
    bed.cloud.stop_time = 100.0
    bed.desire(0)
    bed.settle()
    assert bed.cloud.destroyed == [ONE]


# The store.


def test_without_its_intent_on_disk_no_call_is_made() -> None:
    bed = Bed(size=3)
    bed.store.full = True
    done = bed.run()
    assert (bed.cloud.machines, done.outcomes, done.failures) == ({}, (), ("the disk is full",))
    assert done.next_in == 5.0
    bed.store.full = False
    bed.settle()
    bed.expect(3)


@pytest.mark.parametrize("writes", range(12))
def test_a_disk_that_fills_up_in_the_middle_loses_nothing(writes: int) -> None:
    bed = Bed(size=2)
    bed.store.fail_write_in = writes
    for _ in range(6):
        bed.run()
    bed.store.full, bed.store.fail_write_in = False, None
    bed.settle()
    bed.expect(2)
    assert len(bed.cloud.created) == 2


def test_a_choice_that_cannot_be_written_down_is_not_carried_out() -> None:
    bed = grown(3)
    bed.desire(1)
    bed.store.full = True
    for _ in range(5):
        bed.run()
    bed.expect(3)


def test_one_write_that_fails_ends_the_pass_for_all_members() -> None:
    bed = Bed(size=3)
    begin = bed.store.begin_step
    answers = iter([StoreError("the disk was full for a moment")])

    def begin_step(*args, **kwargs):
        for error in answers:
            raise error
        return begin(*args, **kwargs)

    bed.store.begin_step = begin_step  # type: ignore[method-assign]
    done = bed.run()
    assert (done.outcomes, bed.machines) == ((), set())
    assert done.failures == ("nothing more is done: the disk was full for a moment",)
    bed.settle()
    bed.expect(3)
    assert bed.machines == {ONE, TWO, THREE}


def test_records_that_cannot_be_read_end_the_pass() -> None:
    bed = grown(1)

    def unreadable(_):
        raise StoreError("damaged")

    bed.store.members = unreadable  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="damaged"):
        bed.run()


# Builds that fail.


def test_three_failed_builds_in_a_row_hold_creation_back_ever_longer() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", *[Permanent("no such image")] * 5)
    builds = []
    for _ in range(5):
        done = bed.run()
        until = done.back_off_until
        builds.append((done.failed_builds, None if until is None else until - bed.clock()))
        if until is not None:
            assert waits(bed.run()) == {Wait.BUILD_BACK_OFF}
            bed.clock.now = until
    assert builds == [(1, None), (2, None), (3, 30.0), (4, 60.0), (5, 120.0)]


def backing_off(bed: Bed) -> Bed:
    """Builds of the bed fail until nothing is made because of it; then the cause goes away."""
    bed.cloud.faults.always["create"] = Permanent("no such image")
    while bed.run().back_off_until is None:
        pass
    bed.cloud.faults.clear()
    assert waits(bed.run()) == {Wait.BUILD_BACK_OFF}
    return bed


def test_an_order_for_the_group_lifts_the_back_off_of_builds() -> None:
    bed = backing_off(Bed(size=2))
    done = bed.run(accept_vanished=True)
    assert sum(isinstance(outcome.step, Create) for outcome in done.outcomes) == 2
    assert (done.failed_builds, done.back_off_until) == (0, None)
    bed.restart()
    bed.settle()
    bed.expect(2)


def test_an_order_for_one_member_makes_that_one_and_no_other() -> None:
    bed = Bed(size=2)
    bed.cloud.faults.script("create", Transient("busy"), Transient("busy"))
    bed.run()
    bed.store.save_builds(WEB, Builds(failed=5, back_off_until=Instant(bed.clock() + 600)))
    bed.clock.advance(60)
    assert waits(bed.run()) == {Wait.BUILD_BACK_OFF}
    bed.run(only=TWO)
    assert bed.machines == {TWO}
    assert waits(bed.run()) >= {Wait.BUILD_BACK_OFF}


@pytest.mark.parametrize(
    "corrected",
    [
        pytest.param(lambda was: replace(was, profile=replace(was.profile, recipe=OTHER)), id="profile"),
        pytest.param(lambda was: replace(was, profile=replace(was.profile, ready=None)), id="what is ready"),
        pytest.param(lambda was: replace(was, cloud=replace(was.cloud, calls=Calls(count=9))), id="cloud"),
        pytest.param(lambda was: replace(was, group=replace(was.group, build_timeout=9999.0)), id="build timeout"),
    ],
)
def test_a_corrected_definition_lifts_the_back_off_of_builds(corrected) -> None:
    bed = backing_off(Bed(size=2))
    bed.redefine(corrected(bed.definition))
    bed.run()
    assert len(bed.machines) == 2
    bed.settle()
    assert bed.store.kept[WEB].builds.failed == 0


def test_another_size_of_the_group_does_not_lift_the_back_off_of_builds() -> None:
    bed = backing_off(Bed(size=2))
    bed.redefine(replace(bed.definition, group=replace(bed.definition.group, maximum=7)))
    assert waits(bed.run()) == {Wait.BUILD_BACK_OFF}


def test_a_pass_that_began_before_the_definition_was_corrected_holds_nothing_back() -> None:
    bed = Bed(size=2)
    bed.cloud.faults.always["create"] = Permanent("no such image")
    old = bed.store.kept[WEB]
    bed.redefine(replace(bed.definition, profile=replace(bed.definition.profile, recipe=OTHER)))
    for _ in range(3):
        kept = bed.store.kept[WEB]
        builds = {name: getattr(kept, name) for name in ("failed_builds", "back_off_until", "builds_of")}
        bed.converger.run(replace(old, **builds))
    assert bed.store.kept[WEB].failed_builds > 2
    bed.cloud.faults.clear()
    bed.run()
    assert len(bed.machines) == 2


def test_a_member_that_enters_service_ends_the_row() -> None:
    bed = Bed(size=2)
    bed.cloud.faults.script("create", Permanent("no such image"))
    bed.settle()
    kept = bed.store.kept[WEB]
    assert (kept.failed_builds, kept.back_off_until) == (0, None)


def test_builds_that_time_out_are_failed_builds() -> None:
    bed = Bed(size=1)
    bed.cloud.build_time = 10_000
    bed.run()
    bed.clock.advance(900)
    assert bed.run().failed_builds == 1


def test_members_that_never_get_ready_are_failed_builds() -> None:
    bed = Bed(size=1)
    bed.unready.add("198.18.0.2")
    bed.run()
    bed.clock.advance(300)
    done = bed.run()
    assert done.failed_builds == 1
    leaving = [step for step in done.plan.steps if isinstance(step, MarkLeaving)]
    assert [(step.why, step.because) for step in leaving] == [(Leaving.NOT_READY, "HTTP 503")]


def test_members_that_die_before_they_served_are_failed_builds() -> None:
    bed = Bed(size=4)
    bed.run()
    for name in bed.machines:
        bed.cloud.die(name)
    done = bed.run()
    assert (done.failed_builds, done.vanished) == (4, ())
    assert bed.run().plan.waits == ((Wait.BUILDING, 4),) or done.back_off_until is not None


def test_budgets_of_group_and_cloud_bound_what_is_made_at_a_time() -> None:
    definition = a_definition(budget=Budget(outstanding=4, per_hour=6))
    bed = Bed(definition, size=9)
    bed.unready.update(f"10.0.0.{number}" for number in range(20))
    done = bed.run()
    assert (len(bed.machines), waits(done), done.creates_left) == (4, {Wait.BUDGET}, 2)
    bed.unready.clear()
    for _ in range(10):
        done = bed.run()
    assert (len(bed.machines), waits(done), done.creates_left) == (6, {Wait.BUDGET}, 0)
    bed.clock.advance(3600)
    bed.settle()
    bed.expect(9)


def test_a_group_of_four_grows_to_twenty_in_one_wave_where_its_cloud_has_room_for_forty() -> None:
    bed = grown(4, definition=a_definition(maximum=40))
    bed.desire(20)
    done = bed.run()
    assert (len(bed.machines), done.plan.budget, done.retries) == (20, "", ())


def test_the_groups_of_a_cloud_make_room_for_each_other() -> None:
    bed = Bed(a_definition(maximum=20), size=20)
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], beside=20)
    assert len(bed.run().outcomes) == 20


def test_a_budget_that_limits_growth_is_reported_with_its_name_and_what_it_allows() -> None:
    bed = grown(4, definition=a_definition(maximum=20))
    bed.desire(20)
    done = bed.run()
    assert (len(bed.machines), dict(done.plan.waits)[Wait.BUDGET]) == (14, 6)
    assert done.plan.budget == "clouds.box.budget.outstanding allows 10 creations at once"
    assert done.retries == (f"6 more members wait: {done.plan.budget}; if that is too few, raise it in the file",)
    assert done.failures == ()


@pytest.mark.parametrize(
    ("group", "cloud", "words"),
    [
        (Budget(outstanding=2), Budget(), "groups.web.budget.outstanding allows 2 creations at once"),
        (Budget(per_hour=1), Budget(), "groups.web.budget.per_hour allows 1 creation in an hour"),
        (Budget(), Budget(outstanding=3, per_hour=2), "clouds.box.budget.per_hour allows 2 creations in an hour"),
        (Budget(per_hour=5), Budget(outstanding=3), "clouds.box.budget.outstanding allows 3 creations at once"),
        (Budget(per_hour=2), Budget(per_hour=2), "clouds.box.budget.per_hour allows 2 creations in an hour"),
    ],
    ids=["group at once", "group an hour", "cloud an hour", "cloud at once", "both"],
)
def test_the_budget_that_leaves_the_least_is_the_one_that_is_reported(group: Budget, cloud: Budget, words: str) -> None:
    definition = a_definition(budget=group)
    bed = Bed(replace(definition, cloud=replace(definition.cloud, budget=cloud)), size=9)
    assert bed.run().plan.budget == words


def test_groups_of_one_cloud_share_its_budget() -> None:
    cloud = replace(a_definition().cloud, budget=Budget(outstanding=3))
    bed = Bed(replace(a_definition(), cloud=cloud), size=9)
    bed.store.intend(other := replace(a_definition().group, id="api").id, cloud.id, 2, (), bed.clock())
    bed.run()
    assert (len(bed.machines), len(bed.store.members(other))) == (1, 2)


# Members that vanish, unknown machines, foreign machines.


def test_a_member_that_dies_is_replaced() -> None:
    bed = grown(3)
    bed.cloud.die(ONE)
    assert forgotten(bed.run()) == 1
    bed.settle()
    bed.expect(3)
    assert ONE not in bed.machines


def test_where_the_cloud_cannot_be_asked_by_name_absence_must_last() -> None:
    bed = grown(3)
    bed.cloud.die(ONE)
    bed.cloud.faults.always["find"] = Transient("not supported")
    for _ in range(3):
        assert forgotten(bed.run()) == 0
        bed.clock.advance(10)
    assert forgotten(bed.run()) == 1
    bed.settle()
    bed.expect(3)


def test_a_member_that_is_only_missing_from_a_listing_is_not_replaced() -> None:
    bed = grown(3)
    bed.cloud.hidden.add(ONE)
    done = bed.run()
    assert done.plan.converged
    assert bed.machines == {ONE, TWO, THREE}


def test_a_member_that_comes_back_after_it_was_taken_for_gone_is_no_orphan() -> None:
    bed = grown(3)
    bed.cloud.hidden.add(ONE)
    bed.mute.add(bed.probed[0])
    bed.cloud.faults.always["find"] = Transient("not supported")
    for _ in range(10):
        bed.run()
        bed.clock.advance(10)
    assert bed.known() == {TWO, THREE, name_of(4)}
    bed.cloud.hidden.clear()
    bed.mute.clear()
    for _ in range(10):
        bed.run()
        bed.clock.advance(10)
    bed.settle()
    bed.expect(3)
    assert bed.machines == {ONE, TWO, THREE}


def test_a_partial_listing_changes_nothing() -> None:
    bed = grown(4)
    bed.cloud.partial = True
    for size in (4, 2):
        bed.desire(size)
        done = bed.run()
        assert (done.outcomes, waits(done) >= {Wait.PARTIAL}) == ((), True)
    assert done.retries == ("the listing is partial: one host does not answer",)


def test_a_cloud_that_does_not_answer_makes_an_incomplete_world() -> None:
    bed = grown(2)
    bed.cloud.faults.always["list"] = Transient("connection refused")
    world = bed.converger.gather(WEB, bed.definition)
    assert (world.complete, world.because, len(world.members)) == (False, "connection refused", 2)
    bed.run()
    assert bed.machines == {ONE, TWO}


def test_many_that_vanish_at_once_wait_for_a_person_where_no_source_can_tell() -> None:
    bed = grown(5, definition=a_definition(ready=None))
    for name in (ONE, TWO, THREE):
        bed.cloud.die(name)
    for _ in range(5):
        done = bed.run()
        bed.clock.advance(100)
    assert done.plan.waits == ((Wait.MANY_VANISHED, 3),)
    assert len(bed.machines) == 2
    assert forgotten(bed.run(accept_vanished=True)) == 3
    bed.settle()
    bed.expect(5)


def test_where_vanishing_shrinks_no_member_is_created_before_the_size_is_lowered() -> None:
    bed = grown(3, definition=a_definition(on_vanish=OnVanish.SHRINK))
    bed.cloud.die(ONE)
    bed.store.full = True
    for _ in range(3):
        with pytest.raises(StoreError):
            bed.run()
    bed.store.full = False
    done = bed.run()
    assert ([record.name for record in done.vanished], waits(done)) == ([ONE], {Wait.VANISHED})
    bed.settle()
    bed.expect(2)
    assert (bed.machines, bed.cloud.destroyed) == ({TWO, THREE}, [])


def test_after_a_lost_store_the_fleet_is_taken_up_as_it_serves() -> None:
    bed = grown(3)
    before = dict(bed.edge.states)
    bed.store.records.clear()
    bed.store.sequences.clear()
    bed.desire(None)
    bed.unready.update(["198.18.0.2", "198.18.0.3", "198.18.0.4"])  # a newly declared probe without an answer
    done = bed.run()
    assert [type(outcome.step) for outcome in done.outcomes] == [TakeUp] * 3
    bed.desire(3)
    bed.clock.advance(3600)
    bed.settle()
    bed.expect(3)
    assert bed.edge.states == before
    bed.desire(4)
    bed.unready.clear()
    bed.settle()
    assert bed.machines == {ONE, TWO, THREE, name_of(4)}


def test_a_stale_listing_does_not_bring_back_a_gone_member() -> None:
    bed = grown(1)
    ghost = bed.cloud.find(ONE)
    bed.desire(0)
    bed.settle()
    listed = bed.cloud.list

    def stale(group):
        answer = listed(group)
        return replace(answer, servers=(*answer.servers, ghost))

    bed.cloud.list = stale  # type: ignore[method-assign]
    assert bed.run().plan.converged
    assert bed.known() == set()


@pytest.mark.parametrize("name", ["database-1", "web-zzzzzz-1", "api-k3f9ab-1", "web-k3f9ab-x"])
def test_a_foreign_machine_is_never_seen_nor_touched(name: str) -> None:
    bed = grown(2)
    foreign = MemberName(name)
    bed.cloud.add(foreign)
    bed.edge.states[foreign] = RegistrationState.SERVING
    for size in (3, 0):
        bed.desire(size)
        bed.settle()
    assert set(bed.cloud.machines) == {foreign}
    assert bed.edge.states == {foreign: RegistrationState.SERVING}
    assert foreign not in bed.cloud.destroyed


# Replacing, deleting, holding still.


def test_a_replaced_member_serves_until_the_new_one_does() -> None:
    bed = grown(2)
    bed.replace(ONE)
    seen = []
    bed.cloud.before_destroy = lambda _: seen.append(bed.serving() - {ONE})
    bed.settle()
    bed.expect(2)
    assert seen == [{TWO, THREE}]


def test_a_broken_member_is_replaced_without_over_provisioning() -> None:
    bed = grown(2)
    bed.cloud.say(ONE, ServerState.ERROR)
    bed.settle()
    bed.expect(2)
    assert bed.chosen() == {ONE}


def test_a_deleted_group_is_emptied() -> None:
    bed = grown(3)
    bed.store.mark_deleting(WEB)
    bed.settle()
    bed.expect(0)


def paused(group: StoredGroup) -> StoredGroup:
    return replace(group, state=replace(group.state, pause=Pause.ALL))


def orphaned(group: StoredGroup) -> StoredGroup:
    return replace(group, state=replace(group.state, orphaned=True))


def advised(group: StoredGroup) -> StoredGroup:
    definition = replace(group.definition, group=replace(group.definition.group, mode=Mode.ADVISE))
    return replace(group, definition=definition)


@pytest.mark.parametrize("held", [paused, orphaned, advised])
def test_a_held_group_is_looked_at_and_not_touched(held) -> None:
    bed = grown(2)
    bed.cloud.die(ONE)
    before = bed.instants.count
    done = bed.converger.run(held(bed.store.kept[WEB]))
    assert (done.outcomes, done.next_in, bed.instants.count) == ((), None, before)
    assert [member.disproved for member in done.world.members] == [True, False]


def test_a_paused_plan_says_so_and_has_no_steps() -> None:
    bed = grown(2)
    bed.desire(5)
    plan = bed.converger.dry_run(paused(bed.store.kept[WEB]))
    assert (plan.steps, plan.waits) == ((), ((Wait.PAUSED, 2),))


def test_a_snapshot_that_was_written_and_read_plans_what_the_dry_run_says() -> None:
    bed = grown(3)
    bed.cloud.die(ONE)
    for size in (5, 3, 1):
        bed.desire(size)
        stored = bed.store.kept[WEB]
        assert read(text_of(bed.converger.snapshot(stored))).plan() == bed.converger.dry_run(stored)


def test_a_dry_run_says_what_would_be_done_and_does_nothing() -> None:
    bed = grown(2)
    bed.desire(5)
    before = bed.instants.count
    assert bed.converger.dry_run(bed.store.kept[WEB]).steps == (Create(member=None),) * 3
    assert bed.instants.count == before


def test_a_deleted_group_is_emptied_even_when_it_is_orphaned() -> None:
    bed = grown(2)
    bed.store.kept[WEB] = orphaned(bed.store.kept[WEB])
    bed.store.mark_deleting(WEB)
    bed.settle()
    bed.expect(0)


def test_members_stay_on_the_balancers_that_they_were_made_with() -> None:
    back = BalancerId("back")
    bed = grown(1, definition=a_definition(balancers=(EDGE, back)))
    only_edge = replace(bed.definition.group, balancers=bed.definition.group.balancers[:1])
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], definition=replace(bed.definition, group=only_edge))
    bed.desire(2)
    bed.settle()
    assert set(bed.balancers[EDGE].states) == {ONE, TWO}
    assert set(bed.balancers[back].states) == {ONE}


def test_a_balancer_that_is_no_longer_declared_keeps_its_members_alive() -> None:
    bed = grown(1)
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], definition=replace(bed.definition, balancers={}))
    bed.desire(0)
    for _ in range(5):
        done = bed.run()
    assert waits(done) == {Wait.BALANCER_UNKNOWN}
    assert bed.cloud.destroyed == []
    assert "no longer declared" in done.retries[0]


def test_different_members_are_worked_on_side_by_side() -> None:
    bed = Bed(size=3, workers=8)
    meeting = threading.Barrier(3, timeout=PATIENT)
    bed.run()
    join = bed.edge.join

    def meet(member, address, port):
        meeting.wait()  # broken unless three are here at once
        join(member, address, port)

    bed.edge.join = meet  # type: ignore[method-assign]
    bed.settle()
    bed.expect(3)


def test_a_clock_that_jumps_back_only_makes_it_wait() -> None:
    bed = grown(2)
    for name in bed.machines:
        bed.cloud.say(name, ServerState.RUNNING)
    bed.clock.now = Instant(bed.clock.now - 86_400)
    assert bed.run().plan.converged
    bed.desire(1)
    bed.settle()
    assert bed.known(Phase.IN_SERVICE) == {TWO}


# Calls that fail.


def test_back_offs_outlive_the_process() -> None:
    bed = Bed(size=1)
    bed.cloud.faults.script("create", *[Transient("busy")] * 3)
    for _ in range(3):
        bed.run()
        bed.clock.advance(4)
    bed.restart()
    bed.clock.advance(-0.5)
    done = bed.run()
    assert (done.outcomes, waits(done), done.retries) == ((), {Wait.BACK_OFF}, ("create: busy (web-k3f9ab-1)",))
    assert done.next_in == pytest.approx(0.5)
    bed.clock.advance(0.5)
    bed.settle()
    assert bed.machines == {ONE}


def test_the_failure_of_one_member_delays_no_other() -> None:
    bed = grown(1)
    bed.desire(3)
    bed.edge.faults.script("join", Transient("busy"))
    bed.run()
    done = bed.run()
    assert Counter(outcome.result for outcome in done.outcomes if isinstance(outcome.step, Join)) == {
        StepResult.LIMITED: 1,
        StepResult.DONE: 1,
    }
    assert done.next_in == 0.2
    bed.run()
    assert len(bed.known(Phase.IN_SERVICE)) == 2


def test_convergence_by_a_person_waits_for_no_back_off() -> None:
    bed = grown(1)
    bed.desire(0)
    bed.cloud.faults.always["destroy"] = Permanent("locked")
    for _ in range(20):
        bed.run()
        bed.clock.advance(30)
    bed.cloud.faults.clear()
    assert bed.run().failures == ("destroy: locked (web-k3f9ab-1)",)
    bed.run(accept_vanished=True)
    assert bed.machines == set()


def test_an_attempt_that_succeeds_ends_the_row() -> None:
    bed = grown(1)
    bed.edge.reload()
    bed.edge.faults.script("enable", Transient("busy"))
    bed.run()
    assert [one.call for one in bed.store.records[ONE][0].attempts] == ["enable"]
    bed.clock.advance(1)
    bed.run()
    assert bed.store.records[ONE][0].attempts == ()


def test_a_pass_sends_away_only_so_many_and_the_next_one_follows_at_once() -> None:
    bed = a_bed(230)
    bed.settle()
    bed.desire(0)
    bed.run()
    bed.run()
    bed.clock.advance(100)
    done = bed.run()
    assert (len(bed.machines), len(bed.edge.states)) == (30, 0)
    assert (waits(done), done.next_in) == ({Wait.DELETING, Wait.ENOUGH}, 0.2)
    bed.settle()
    bed.expect(0)


# What clouds allow.


def a_bed(size: int, **calls: Any) -> Bed:
    """A bed with such a limit of calls to its cloud, and wide budgets."""
    definition, budget = a_definition(), Budget(outstanding=500, per_hour=5000)
    cloud = replace(definition.cloud, budget=budget, calls=Calls(**calls) if calls else None)
    return Bed(replace(definition, cloud=cloud, group=replace(definition.group, budget=budget)), size=size)


def test_a_pass_makes_as_many_as_the_cloud_may_be_asked_for_and_the_next_ones_the_rest() -> None:
    bed = a_bed(25, count=10, per=10.0)
    done = bed.run()
    assert (len(bed.cloud.created), waits(done), len(bed.known())) == (10, {Wait.RATE_LIMIT}, 10)
    bed.clock.advance(5)
    bed.run()
    assert len(bed.cloud.created) == 15
    bed.settle()
    bed.expect(25)


def test_removals_go_before_creations_also_where_calls_are_few() -> None:
    bed = a_bed(6, count=10, per=10.0)
    bed.settle()
    bed.clock.advance(60)
    for name in sorted(bed.machines)[:2]:
        bed.replace(name)
    bed.desire(12)
    bed.settle()
    bed.expect(12)
    bed.desire(0)
    bed.run()
    bed.run()
    bed.clock.advance(100)
    done = bed.run()
    assert (len(bed.machines), waits(done)) == (2, {Wait.DELETING, Wait.RATE_LIMIT})
    bed.settle()
    bed.expect(0)


def test_what_is_used_up_between_planning_and_calling_is_left_to_the_next_pass_and_no_line_is_written() -> None:
    bed = a_bed(3, count=10, per=10.0)

    def use_up(_) -> None:
        while True:
            with bed.converger._traffic.call(bed.definition.cloud, bed.clock) as admitted:
                if not admitted:
                    return

    bed.cloud.before_create = use_up
    done = bed.run()
    assert [(type(each.step), each.result) for each in done.outcomes] == [(Create, StepResult.DONE)]
    assert (waits(done), done.next_in) == ({Wait.RATE_LIMIT}, 0.2)
    assert len(bed.store.events) == 1
    bed.cloud.before_create = lambda _: None
    bed.settle()
    bed.expect(3)
    assert bed.cloud.created == [ONE, TWO, THREE]


def test_a_cloud_that_asks_for_time_is_left_alone_for_all_groups() -> None:
    bed = a_bed(3)
    bed.cloud.faults.script("create", Transient("rate limit", retry_after=40.0))
    done = bed.run()
    assert [outcome.result for outcome in done.outcomes] == [StepResult.RETRY]
    assert (waits(done), bed.cloud.created) == ({Wait.RATE_LIMIT}, [])
    bed.cloud.faults.always.update(dict.fromkeys(("list", "find", "create"), Permanent("called all the same")))
    bed.clock.advance(39.0)
    other = bed.converger.run(replace(bed.stored, id=GroupId("api")))
    assert (other.outcomes, waits(other)) == ((), {Wait.RATE_LIMIT, Wait.PARTIAL})
    assert other.world.because == "cloud box asked for time: it is left alone until 22:14:00 UTC"
    bed.cloud.faults.clear()
    bed.clock.advance(1.0)
    bed.settle()
    bed.expect(3)
    assert [record.create_attempts for record in bed.store.members(WEB)] == [0, 0, 0]


def test_a_full_cloud_is_called_again_after_members_have_left_and_no_build_has_failed() -> None:
    bed = grown(4)
    bed.cloud.behave(quota=4)
    bed.cloud.stop_time = 30.0
    bed.cloud.say(ONE, ServerState.ERROR)
    seen: set[Wait] = set()
    for _ in range(60):
        done = bed.run()
        seen |= waits(done)
        assert (done.failed_builds, done.failures) == (0, ())
        if done.plan.converged:
            break
        bed.clock.advance(done.next_in or 1.0)
    bed.expect(4)
    assert {Wait.FULL, Wait.DELETING} <= seen
    assert bed.store.records[name_of(5)][0].create_attempts == 0


def test_a_full_cloud_without_leaving_members_is_an_error_and_no_failed_build() -> None:
    bed = grown(2)
    bed.cloud.behave(quota=2)
    bed.desire(5)
    for _ in range(20):
        done = bed.run()
        bed.clock.advance(done.next_in or 1.0)
    who = "web-k3f9ab-3, web-k3f9ab-4, web-k3f9ab-5"
    assert done.failures == (f"create: the quota of 2 servers is used up (3 members: {who})",)
    assert (done.failed_builds, len(bed.known())) == (0, 5)
    bed.cloud.behave(quota=None)
    bed.settle()
    bed.expect(5)
    assert bed.machines == {name_of(number) for number in range(1, 6)}


@pytest.mark.parametrize("leaves", ["to be replaced", "stuck", "evicted"])
def test_on_a_full_cloud_a_member_that_makes_no_room_hides_no_error(leaves: str) -> None:
    bed = grown(2)
    bed.cloud.behave(quota=2)
    if leaves == "to be replaced":
        bed.replace(ONE)
    else:
        why, attempts = (Leaving.SURPLUS, ATTEMPTS) if leaves == "stuck" else (Leaving.EVICTED, 0)
        bed.cloud.faults.always["destroy"] = bed.cloud.faults.always["unmark"] = Transient("locked")
        record, cloud = bed.store.records[ONE]
        going = replace(record, phase=Phase.LEAVING, leaving=why, leaving_at=bed.clock(), destroy_attempts=attempts)
        bed.store.records[ONE] = (going, cloud)
    for _ in range(5):
        done = bed.run()
        bed.clock.advance(done.next_in or 1.0)
    assert any("the quota of 2 servers is used up" in failure for failure in done.failures)


# Members between two states.


def test_a_member_that_is_long_between_two_states_is_reported_by_name_and_waited_for() -> None:
    bed = grown(2)
    bed.cloud.say(ONE, ServerState.PASSING)
    bed.run()
    bed.clock.advance(899.0)
    assert bed.run().retries == ()
    bed.clock.advance(1.0)
    done = bed.run()
    assert done.retries == (f"{ONE} has been passing for longer than 15m",)
    assert (waits(done), done.plan.steps, done.plan.overdue) == ({Wait.PASSING}, (), (ONE,))
    bed.cloud.say(ONE, ServerState.RUNNING)
    assert bed.run().retries == ()
    bed.cloud.say(ONE, ServerState.PASSING)
    assert bed.run().plan.overdue == ()


def test_a_member_that_takes_too_long_is_replaced_where_the_group_declares_it() -> None:
    bed = grown(2, definition=a_definition(repair=Repair(passing=1800.0)))
    bed.cloud.say(ONE, ServerState.PASSING)
    bed.run()
    bed.clock.advance(1799.0)
    bed.run()
    assert ONE in bed.machines
    bed.clock.advance(1.0)
    bed.settle()
    bed.expect(2)
    assert ONE not in bed.machines


# Removals before creations.


@pytest.mark.parametrize("workers", [1, 4])
def test_removals_of_a_pass_are_carried_out_before_its_creations_begin(workers: int) -> None:
    bed = grown(4, workers=workers)
    for name in (ONE, TWO):
        bed.cloud.say(name, ServerState.ERROR)
    bed.run()
    bed.desire(7)
    order: list[str] = []
    bed.cloud.before_destroy = lambda name: order.append("destroy")
    bed.cloud.before_create = lambda name: order.append("create")
    done = bed.run()
    assert order == ["destroy"] * 2 + ["create"] * 3
    assert [type(outcome.step) for outcome in done.outcomes][-3:] == [Create] * 3


def test_a_removal_is_over_only_when_the_cloud_reports_no_machine() -> None:
    bed = grown(2)
    bed.desire(1)
    bed.cloud.faults.always["find"] = Transient("no answer")
    for _ in range(3):
        bed.run()
        bed.clock.advance(8.0)
    assert (bed.machines, bed.known(Phase.LEAVING)) == ({TWO}, {ONE})
    bed.cloud.faults.clear()
    bed.settle()
    bed.expect(1)
