from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from config.errors import Permanent, Refused, StoreError, Transient
from config.units import CounterId, GroupId, PolicyId
from handler.operations.lookup import NoSuch
from handler.planning.status import GroupCondition
from handler.planning.steps import Create
from handler.planning.world import Leaving, Listing, Phase, World
from handler.ports.stored import EventKind, TickSpan
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from tests.support.waiting import PATIENT
from tests.support.worlds import name_of
from trigger.explain.explanation import Explanation
from trigger.reasons import Reason
from trigger.requests import Pause
from trigger.verdicts import Direction

OUT, IN = PolicyId("out"), PolicyId("in")


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


# Sizes


def test_a_person_sets_the_size_and_history_names_the_person(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        decision = await up.operations.scale(WEB, 3, force=False, by="ada")
        assert (decision.desired_from, decision.desired_to) == (2, 3)
        await up.grown(3)
        newest = [event for event in await up.operations.history(WEB, before=None, limit=99) if event.desired_to == 3]
        assert [(event.by, event.desired_from) for event in newest] == [("person ada", 2)]

    bed.run(scene)


def test_force_goes_above_max_and_stays_until_the_next_accepted_decision(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        refused = await up.operations.scale(WEB, 6, force=False, by="ada")
        assert refused.reason is Reason.ABOVE_MAX
        forced = await up.operations.scale(WEB, 6, force=True, by="ada")
        assert forced.reason is Reason.FORCED
        await up.grown(6)
        await up.ticked(3)
        assert up.status.forced
        assert up.status.desired == 6
        assert up.status.quiets
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        assert not up.status.forced

    bed.run(scene)


def test_less_than_min_is_refused_with_force_too_unless_paused(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        assert (await up.operations.scale(WEB, 1, force=True, by="ada")).reason is Reason.BELOW_MIN
        await up.operations.pauses.pause(WEB, decisions_only=True, by="ada")
        assert (await up.operations.scale(WEB, 1, force=False, by="ada")).reason is Reason.PAUSED
        assert (await up.operations.scale(WEB, 1, force=True, by="ada")).reason is Reason.FORCED
        await up.grown(1)
        await up.operations.pauses.resume(WEB, by="ada")
        await up.grown(2)

    bed.run(scene)


# Alarms


def test_an_alarm_executes_its_policy_and_reports_the_clamp(bed: EngineBed) -> None:
    bed.declare(model().replace("add: 1", "add: 5"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        asked = await up.operations.alarm(WEB, OUT, id="a1", by="nagios")
        assert (asked.desired_from, asked.desired_to, asked.reason) == (2, 4, Reason.SCALED_OUT)
        assert asked.answer is not None
        assert [(clamp.guard, clamp.before, clamp.after) for clamp in asked.answer.clamps] == [(Reason.AT_MAX, 7, 4)]
        await up.grown(4)

    bed.run(scene)


def test_the_same_alarm_again_gets_the_first_answer_and_does_nothing(bed: EngineBed) -> None:
    bed.declare(model().replace("add: 1, quiet_time: 1h", "add: 1, quiet_time: 0s"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        first = await up.operations.alarm(WEB, OUT, id="a1", by="nagios")
        again = await up.operations.alarm(WEB, OUT, id="a1", by="nagios")
        assert (first.repeated, again.repeated) == (False, True)
        assert (again.reason, again.desired_from, again.desired_to) == (first.reason, 2, 3)
        await up.grown(3)
        assert (await up.operations.alarm(WEB, OUT, id="a2", by="nagios")).desired_to == 4

    bed.run(scene)


def test_the_same_alarm_at_the_same_moment_acts_once(bed: EngineBed) -> None:
    bed.declare(model(maximum=9).replace("add: 1, quiet_time: 1h", "add: 1, quiet_time: 0s"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        answers = await asyncio.gather(*(up.operations.alarm(WEB, OUT, id="a1", by="nagios") for _ in range(10)))
        assert [answer.repeated for answer in answers].count(False) == 1
        assert {answer.desired_to for answer in answers} == {3}
        assert up.status.desired == 3
        assert up.status.revision == 2

    bed.run(scene)


def test_an_alarm_from_before_a_restart_is_known_after_it(bed: EngineBed) -> None:
    async def first(up: Up) -> None:
        await up.grown(2)
        await up.operations.alarm(WEB, OUT, id="a1", by="nagios")
        await up.grown(3)

    async def second(up: Up) -> None:
        assert (await up.operations.alarm(WEB, OUT, id="a1", by="nagios")).repeated
        await up.grown(3)

    bed.run(first)
    bed.run(second)


def test_a_client_that_stops_waiting_for_an_alarm_does_not_stop_it(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        asking = asyncio.create_task(up.operations.alarm(WEB, OUT, id="a1", by="nagios"))
        await asyncio.sleep(0)
        asking.cancel()
        answer = await up.operations.alarm(WEB, OUT, id="a1", by="nagios")
        assert answer.repeated
        assert up.status.desired == 3

    bed.run(scene)


def test_a_refused_alarm_still_triggers_convergence(bed: EngineBed) -> None:
    bed.declare(model(interval="20s", maximum=2))

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.cloud.die(name_of(1))
        asked = await up.operations.alarm(WEB, OUT, id="a1", by="nagios")
        assert asked.reason is Reason.AT_MAX
        await up.until(lambda: bed.machines == {name_of(2), name_of(3)})

    bed.run(scene)


def test_an_alarm_for_an_orphan_is_refused_whether_or_not_its_policy_is_still_declared(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.declare("groups: {}\n")
        await up.operations.reload()
        with pytest.raises(NoSuch, match="orphaned"):
            await up.operations.alarm(WEB, OUT, id="a1", by="nagios")
        rest = model().partition("groups:")[0]
        bed.declare(rest + "groups: {}\n")
        await up.operations.reload()
        assert (await up.operations.alarm(WEB, OUT, id="a2", by="nagios")).reason is Reason.ORPHANED
        assert up.status.desired == 2

    bed.run(scene)


@pytest.mark.parametrize(
    ("group", "policy", "words"),
    [("wed", "out", "did you mean web"), ("web", "ou", "did you mean out"), ("zzz", "out", "there is no group zzz")],
)
def test_unknown_names_are_answered_with_the_nearest(bed: EngineBed, group: str, policy: str, words: str) -> None:
    async def scene(up: Up) -> None:
        with pytest.raises(NoSuch, match=words):
            await up.operations.alarm(GroupId(group), PolicyId(policy), id="a1", by="test")

    bed.run(scene)


# Pausing


def test_a_pause_stops_decisions_and_repair_and_survives_a_restart(bed: EngineBed) -> None:
    async def before(up: Up) -> None:
        await up.grown(2)
        await up.operations.pauses.pause(WEB, decisions_only=False, by="ada")

    async def after(up: Up) -> None:
        assert up.status.pause is Pause.ALL
        bed.readings.value = 95.0
        bed.cloud.die(name_of(1))
        await up.passed(3)
        await up.until(
            lambda: up.runtime.explanation is not None and up.runtime.explanation.policies
        )  # evaluations go on
        assert up.status.reason is Reason.PAUSED
        assert up.status.condition is GroupCondition.PAUSED
        assert bed.machines == {name_of(2)}
        assert up.status.desired == 2
        await up.operations.pauses.resume(WEB, by="ada")
        await up.grown(3)

    bed.run(before)
    bed.run(after)


def test_a_pause_of_decisions_leaves_repair_at_work(bed: EngineBed) -> None:
    async def before(up: Up) -> None:
        await up.grown(2)
        await up.operations.pauses.pause(WEB, decisions_only=True, by="ada")

    async def after(up: Up) -> None:
        bed.readings.value = 95.0
        bed.cloud.die(name_of(1))
        await up.until(lambda: bed.machines == {name_of(2), name_of(3)} and up.settled())
        await up.ticked(3)
        assert up.status.pause is Pause.DECISIONS
        assert up.status.desired == 2
        acts = {event.name: event.by for event in await up.operations.history(WEB, before=None, limit=99)}
        assert acts["pause"] == "ada"

    bed.run(before)
    bed.run(after)


def test_a_pause_of_one_direction_survives_a_restart_and_ends_by_itself(bed: EngineBed) -> None:
    async def before(up: Up) -> None:
        await up.grown(2)
        await up.operations.pauses.pause(WEB, decisions_only=False, direction=Direction.OUT, by="ada")

    async def after(up: Up) -> None:
        assert up.status.pause is Pause.OUT
        bed.readings.value = 95.0
        bed.cloud.die(name_of(1))  # repair goes on
        await up.until(lambda: bed.machines == {name_of(2), name_of(3)} and up.settled())
        await up.until(lambda: up.status.reason is Reason.PAUSED)
        assert up.status.desired == 2
        await up.operations.pauses.pause(WEB, decisions_only=False, direction=Direction.IN, by="ada")
        assert up.status.pause is Pause.DECISIONS
        await up.operations.pauses.resume(WEB, direction=Direction.OUT, by="bob")
        assert up.status.pause is Pause.IN
        await up.grown(3)
        acts = [(event.name, event.message) for event in await up.operations.history(WEB, before=None, limit=99)]
        pauses = [act for act in acts if act[0] in {"pause", "resume"}]
        assert pauses == [("resume", "scale-out only"), ("pause", "scale-in only"), ("pause", "scale-out only")]

    bed.run(before)
    bed.run(after)


def test_one_direction_cannot_be_resumed_where_everything_is_paused(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.pauses.pause(WEB, decisions_only=False, by="ada")
        with pytest.raises(Refused, match="paused in both directions"):
            await up.operations.pauses.resume(WEB, direction=Direction.IN, by="ada")
        assert up.status.pause is Pause.ALL
        await up.operations.pauses.resume(WEB, by="ada")
        await _builds_fail(up)
        await up.operations.pauses.pause(WEB, decisions_only=False, by="ada")
        with pytest.raises(Refused, match="paused in both directions"):
            await up.operations.pauses.resume(WEB, direction=Direction.IN, by="ada")
        assert up.runtime.builds.failed > 2, "what is refused ends no wait"

    bed.run(scene)


# Convergence


def test_a_dry_run_returns_the_steps_and_takes_none(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.pauses.pause(WEB, decisions_only=False, by="ada")
        bed.cloud.die(name_of(1))
        await up.operations.scale(WEB, 3, force=True, by="ada")
        assert (await up.operations.converge(WEB, dry_run=True, by="ada")).steps == ()
        assert bed.machines == {name_of(2)}

    bed.run(scene)

    async def advise(up: Up) -> None:
        plan = await up.operations.converge(WEB, dry_run=True, by="ada")
        assert sum(isinstance(step, Create) for step in plan.steps) == 2
        assert bed.machines == {name_of(2)}

    bed.declare(model(mode="advise"))
    bed.run(_resumed)
    bed.run(advise)


async def _resumed(up: Up) -> None:
    await up.operations.pauses.resume(WEB, by="ada")


def test_many_members_that_vanish_at_once_count_as_gone_only_when_a_person_confirms(bed: EngineBed) -> None:
    bed.declare(model(minimum=4))

    async def scene(up: Up) -> None:
        await up.grown(4)
        for number in (1, 2, 3):
            bed.cloud.die(name_of(number))
        await up.passed(3)
        assert len(bed.cloud.created) == 4
        assert {wait.value: count for wait, count in up.status.waits} == {"many_vanished": 3}
        await up.operations.converge(WEB, dry_run=False, by="ada")
        await up.grown(4)
        assert name_of(4) in bed.machines

    bed.run(scene)


async def _builds_fail(up: Up) -> None:
    """Wait until failed builds hold back new ones for longer than a test lasts; then remove the cause."""
    up.bed.cloud.faults.always["create"] = Permanent("no such image")
    await up.operations.scale(WEB, 4, force=False, by="ada")
    await up.until(lambda: up.runtime.builds.failed > 2)
    up.bed.cloud.faults.clear()
    assert len(up.bed.machines) == 2
    assert any("builds failed in a row" in message for message in up.status.messages)


def test_a_corrected_profile_ends_the_wait_after_failed_builds(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await _builds_fail(up)
        await up.operations.reload()
        await up.passed(2)
        assert len(bed.machines) == 2, "the same file corrects nothing"
        bed.declare(model().replace("command: [serve]", "command: [corrected]"))
        await up.operations.reload()
        await up.grown(4)

    bed.run(scene)


def test_a_profile_that_was_corrected_while_the_daemon_was_down_ends_the_wait_too(bed: EngineBed) -> None:
    async def before(up: Up) -> None:
        await up.grown(2)
        await _builds_fail(up)

    async def after(up: Up) -> None:
        await up.grown(4)

    bed.run(before)
    bed.declare(model().replace("command: [serve]", "command: [corrected]"))
    bed.run(after)


def test_an_order_to_converge_ends_the_wait_after_failed_builds(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await _builds_fail(up)
        await up.operations.converge(WEB, dry_run=False, by="ada")
        await up.grown(4)

    bed.run(scene)


def test_a_doubted_listing_is_reported_by_status_why_history_and_a_metric(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        listed = bed.cloud.list
        bed.cloud.list = lambda group: Listing(servers=(), complete=True)  # type: ignore[method-assign]
        bed.cloud.faults.always["find"] = Transient("not now")
        up.runtime.wake.set()
        await up.until(lambda: up.operations.doubts(WEB))
        assert set(up.operations.doubts(WEB)) <= set(up.status.messages)
        assert up.status.condition is GroupCondition.WARNING
        assert 'trimtab_inventory_doubt{group="web",ground="shrunk"} 1.0' in up.operations.metrics().decode()
        assert 'trimtab_inventory_distrust{group="web"} 1.0' in up.operations.metrics().decode()
        bed.cloud.list = listed  # type: ignore[method-assign]
        up.runtime.wake.set()
        await up.until(lambda: not up.operations.doubts(WEB))
        assert 'trimtab_inventory_distrust{group="web"} 0.0' in up.operations.metrics().decode()
        await up.passed(2)  # a pass's report is stored after the pass
        events = [
            event for event in await up.operations.history(WEB, before=None, limit=99) if "listing_" in event.name
        ]
        assert [(event.name, event.message[:55]) for event in events] == [
            ("listing_believed", ""),
            ("listing_doubted", "the listing is not believed: it lacks 2 of 2 members, m"),
        ]

    bed.run(scene)
    assert not bed.cloud.destroyed


def test_observing_shows_the_world_and_changes_nothing(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        world = await up.operations.observe(WEB)
        assert {member.name for member in world.members} == bed.machines
        assert world.complete

    bed.run(scene)
    assert len(bed.cloud.created) == 2


# Members


def test_a_protected_member_is_never_surplus(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        await up.operations.members.protect(WEB, name_of(1), protected=True, by="ada")
        await up.operations.scale(WEB, 2, force=False, by="ada")
        await up.grown(2)
        assert bed.machines == {name_of(1), name_of(3)}
        assert [member.protected for member in up.status.members] == [True, False]
        await up.operations.members.protect(WEB, name_of(1), protected=False, by="ada")
        await up.until(lambda: not any(member.protected for member in up.status.members))

    bed.run(scene)


def test_a_member_that_is_named_leaves_and_the_size_follows(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 4, force=False, by="ada")
        await up.grown(4)
        decision = await up.operations.members.dismiss(WEB, name_of(3), force=False, by="ada")
        assert (decision.desired_from, decision.desired_to) == (4, 3)
        await up.grown(3)
        assert bed.machines == {name_of(1), name_of(2), name_of(4)}
        assert bed.cloud.destroyed == [name_of(3)]
        events = await up.operations.history(WEB, before=None, limit=99)
        assert [(event.by, event.desired_to) for event in events if event.desired_from == 4] == [("person ada", 3)]
        assert "drain" in {event.name for event in events if event.by == name_of(3)}
        with pytest.raises(NoSuch, match="has no member"):
            await up.operations.members.dismiss(WEB, name_of(3), force=True, by="ada")

    bed.run(scene)
    assert len(bed.cloud.created) == 4


def test_no_member_leaves_by_name_below_min_unless_the_group_is_paused(bed: EngineBed) -> None:
    bed.declare(model(minimum=2))

    async def scene(up: Up) -> None:
        await up.grown(2)
        for force in (False, True):
            refused = await up.operations.members.dismiss(WEB, name_of(2), force=force, by="ada")
            assert (refused.winner, refused.desired_to) == (None, 2)
        await up.passed(2)
        assert {record.phase for record in up.store.members(WEB)} == {Phase.IN_SERVICE}
        await up.operations.pauses.pause(WEB, decisions_only=True, by="ada")
        forced = await up.operations.members.dismiss(WEB, name_of(2), force=True, by="ada")
        assert forced.desired_to == 1
        await up.grown(1)
        assert bed.machines == {name_of(1)}

    bed.run(scene)


def test_a_protected_member_leaves_by_name_only_by_force(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        await up.operations.members.protect(WEB, name_of(1), protected=True, by="ada")
        with pytest.raises(Refused, match="is protected"):
            await up.operations.members.dismiss(WEB, name_of(1), force=False, by="ada")
        assert up.status.desired == 3
        await up.operations.members.dismiss(WEB, name_of(1), force=True, by="ada")
        with pytest.raises((Refused, NoSuch)):
            await up.operations.members.dismiss(WEB, name_of(1), force=True, by="ada")
        await up.grown(2)
        assert name_of(1) not in bed.machines

    bed.run(scene)


def test_no_member_leaves_when_the_store_cannot_be_written(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        record = up.store.record

        def full(*_: object) -> None:
            raise StoreError("the disk is full")

        up.store.record = full  # type: ignore[method-assign]
        with pytest.raises(StoreError):
            await up.operations.members.dismiss(WEB, name_of(1), force=False, by="ada")
        up.store.record = record  # type: ignore[method-assign]
        await up.passed(2)
        assert (up.status.desired, len(bed.machines)) == (3, 3)

    bed.run(scene)


def test_in_mode_advise_no_member_leaves_by_name(bed: EngineBed) -> None:
    bed.run(lambda up: up.grown(2))
    bed.declare(model(mode="advise", minimum=1))

    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.members)
        await up.operations.members.dismiss(WEB, name_of(1), force=False, by="ada")
        assert up.status.desired == 2
        assert {record.phase for record in up.store.members(WEB)} == {Phase.IN_SERVICE}

    bed.run(scene)


def test_a_replacement_comes_before_the_replaced_one_goes(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        serving: list[int] = []
        bed.cloud.before_destroy = lambda name: serving.append(len(bed.edge.states))
        await up.operations.members.replace(WEB, name_of(1), by="ada")
        await up.until(lambda: bed.machines == {name_of(2), name_of(3)} and up.settled())
        assert serving == [2]
        assert up.status.desired == 2
        history = await up.operations.history(WEB, before=None, limit=99)
        assert Leaving.REPLACED.value in {event.message for event in history if event.kind is EventKind.STEP}

    bed.run(scene)


def test_operations_on_unknown_members_suggest_the_nearest_name(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        for act in (
            up.operations.members.replace(WEB, name_of(9), by="ada"),
            up.operations.members.protect(WEB, name_of(9), protected=True, by="a"),
        ):
            with pytest.raises(NoSuch, match="did you mean web-"):
                await act

    bed.run(scene)


def test_a_member_that_does_not_serve_yet_is_not_replaced(bed: EngineBed) -> None:
    bed.cloud.build_time = 3600.0

    async def scene(up: Up) -> None:
        await up.until(lambda: len(bed.machines) == 2)
        with pytest.raises(Refused, match="nothing to replace"):
            await up.operations.members.replace(WEB, name_of(1), by="ada")

    bed.run(scene)


def test_why_counts_draining_members_and_no_source_asks_them(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        bed.edge.busy = 3600.0
        await up.operations.scale(WEB, 2, force=False, by="ada")
        await up.until(lambda: name_of(1) in bed.edge.drained)
        await up.until(lambda: up.runtime.explanation is not None and up.runtime.explanation.leaving == 1)
        assert name_of(1) not in {member.name for member in up.runtime.roster(up.operations.now()).members}

    bed.run(scene)


def test_a_member_that_is_leaving_cannot_be_protected_any_more(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        bed.edge.busy = 3600.0
        await up.operations.scale(WEB, 2, force=False, by="ada")
        await up.until(lambda: name_of(1) in bed.edge.drained)
        with pytest.raises(Refused, match="too late to protect"):
            await up.operations.members.protect(WEB, name_of(1), protected=True, by="ada")

    bed.run(scene)


@pytest.mark.parametrize("meanwhile", ["pause", "scale"])
def test_an_order_that_arrives_while_a_pass_gathers_counts_for_that_pass(bed: EngineBed, meanwhile: str) -> None:
    listings, permits = threading.Semaphore(0), threading.Semaphore(0)
    listed = bed.cloud.list

    def slowly(group: GroupId) -> Listing:
        listings.release()
        permits.acquire(timeout=PATIENT)
        return listed(group)

    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        await up.grown(3)
        await up.operations.pauses.pause(WEB, decisions_only=False, by="ada")
        await up.operations.scale(WEB, 2, force=True, by="ada")
        bed.cloud.list = slowly  # type: ignore[method-assign]
        await asyncio.to_thread(listings.acquire)  # a pass that only looks
        await up.operations.pauses.resume(WEB, by="ada")
        permits.release()
        await asyncio.to_thread(listings.acquire)  # a pass that is to make three two
        if meanwhile == "pause":
            await up.operations.pauses.pause(WEB, decisions_only=False, by="ada")
        else:
            await up.operations.scale(WEB, 3, force=False, by="ada")
        permits.release(100)
        await up.passed(2)
        assert up.serving() == 3

    bed.run(scene)
    assert (bed.edge.drained, bed.cloud.destroyed) == ({}, [])


# Explaining


def test_why_answers_for_now_and_for_any_moment_of_the_past(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.ticked(2)
        steady = up.runtime.explanation
        assert steady is not None
        bed.readings.value = 95.0
        await up.grown(3)
        now = await up.operations.why(WEB, None)
        assert isinstance(now, Explanation)
        assert now.desired_to == 3
        then = await up.operations.why(WEB, steady.at)
        assert isinstance(then, TickSpan)
        assert (then.first.reason, then.first.desired_to) == (Reason.STEADY, 2)
        assert await up.operations.why(WEB, type(steady.at)(1.0)) is None

    bed.run(scene)


def test_why_remembers_the_last_decision_over_a_restart(bed: EngineBed) -> None:
    async def before(up: Up) -> None:
        await up.grown(2)
        await up.ticked()

    async def after(up: Up) -> None:
        runtime = up.runtime
        if runtime.explanation is None:
            assert isinstance(await up.operations.why(WEB, None), TickSpan)

    bed.run(before)
    bed.declare(model(interval="30s"))
    bed.run(after)


def test_the_history_of_an_unknown_group_is_not_found(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        with pytest.raises(NoSuch):
            await up.operations.history(GroupId("wed"), before=None, limit=5)

    bed.run(scene)


# Measurements


def test_a_probe_reads_what_policies_need_of_every_member_and_decides_nothing(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        revision = up.status.revision
        found = await up.operations.probe(WEB, ())
        assert {(each.counter, each.value) for each in found} == {("load", bed.readings.value)}
        assert len({each.member for each in found}) == 2
        assert up.status.revision == revision

    bed.run(scene)


def test_a_probe_of_a_counter_that_is_not_declared_names_the_nearest(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        with pytest.raises(NoSuch, match="did you mean load"):
            await up.operations.probe(WEB, [CounterId("lod")])

    bed.run(scene)


def test_a_missing_measurement_is_reported_with_a_remedy_until_it_returns(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.readings.value = None
        await up.until(lambda: bool(up.operations.misses(WEB)))
        (line,) = up.operations.misses(WEB)
        assert line.startswith("load of ")
        assert "and 1 other: timeout; " in line
        bed.readings.value = 50.0
        await up.until(lambda: not up.operations.misses(WEB))

    bed.run(scene)


def test_a_budget_that_holds_growth_back_is_reported_and_so_is_its_end(bed: EngineBed) -> None:
    bed.declare(model(maximum=9).replace("process: {}", "process: {}, budget: {outstanding: 1}"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.cloud.build_time = 0.3
        await up.operations.scale(WEB, 5, force=False, by="ada")
        words = "clouds.box.budget.outstanding allows 1 creation at once"
        await up.until(lambda: up.status.budget == words)
        assert up.status.condition is GroupCondition.WARNING
        assert any(words in message for message in up.status.messages)
        await up.grown(5)
        notes = await up.operations.history(WEB, before=None, limit=99, kinds={EventKind.NOTE})
        events = [note.name for note in reversed(notes) if note.name.startswith("budget")]
        assert events[:2] == ["budget_reached", "budget_leaves_room"]
        assert up.status.condition is not GroupCondition.WARNING

    bed.run(scene)


def test_the_budget_of_a_cloud_counts_the_groups_that_are_declared_on_it(bed: EngineBed) -> None:
    other = model(maximum=30).partition("groups:\n")[2].replace("  web:", "  api:", 1).replace("use: edge", "use: side")
    bed.declare(model(maximum=40) + other)

    async def scene(up: Up) -> None:
        assert (up.runtime.beside, up.runtime.stored().granted.outstanding) == (30, 35)
        bed.declare(model(maximum=40))
        await up.operations.reload()
        assert (up.runtime.beside, up.runtime.stored().granted.outstanding) == (0, 20)

    bed.run(scene)


def test_a_policy_that_the_hourly_budget_refuses_makes_the_group_warn(bed: EngineBed) -> None:
    bed.declare(model(budget="{per_hour: 2}"))

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.readings.value = 90.0
        words = "the growth that policies request is limited: groups.web.budget.per_hour allows 2 creations in an hour"
        await up.until(lambda: any(message.startswith(words) for message in up.status.messages))
        assert up.status.condition is GroupCondition.WARNING
        bed.readings.value = 50.0
        await up.until(lambda: not up.status.messages)

    bed.run(scene)


def test_worlds_of_one_group_are_gathered_one_at_a_time_and_a_look_wakes_no_pass(bed: EngineBed) -> None:
    """What is remembered of its members from look to look changes meanwhile."""
    under_way: list[None] = []
    beside: list[int] = []

    async def scene(up: Up) -> None:
        await up.grown(2)
        converger, operations = up.engine.parts.converger, up.operations
        gather = converger.gather

        def slow(*given: Any, **more: Any) -> World:
            under_way.append(None)
            beside.append(len(under_way))
            time.sleep(0.02)
            try:
                return gather(*given, **more)
            finally:
                under_way.pop()

        converger.gather = slow  # type: ignore[method-assign]
        await asyncio.gather(
            operations.converge(WEB, dry_run=False, by="ada"),
            operations.converge(WEB, dry_run=True, by="ada"),
            operations.snapshot(WEB),
            operations.observe(WEB),
            operations.members.observe(WEB, name_of(1)),
        )
        assert (max(beside), len(beside) >= 5) == (1, True)
        converger.gather = gather  # type: ignore[method-assign]
        for look in (
            lambda: operations.converge(WEB, dry_run=True, by="ada"),
            lambda: operations.snapshot(WEB),
            lambda: operations.members.observe(WEB, name_of(1)),
        ):
            up.runtime.wake.clear()
            await look()
            assert not up.runtime.wake.is_set()

    bed.run(scene)
