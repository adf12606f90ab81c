"""Balancers are made for groups and deleted with them, whatever the cloud answers and whenever Trimtab dies."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from config.errors import DriverError, Permanent, Transient
from config.model.managed import ManagedPart, Vip
from handler.convergence.passes import Pass
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Create, Destroy, Wait
from handler.planning.world import ServerState
from tests.support.beds import Bed
from tests.support.fake_cloud import LOST, Killed
from tests.support.provisioning import MADE, FakeProvisioner, a_bed, undeclare
from tests.support.worlds import WEB

LB, LISTENER, POOL, MONITOR, *_ = ManagedPart


def parts(made: FakeProvisioner) -> list[str]:
    return list(made.scene.parts)


def grown(size: int, **options: object) -> tuple[Bed, FakeProvisioner]:
    bed, made = a_bed(size, **options)  # type: ignore[arg-type]
    settle(bed)
    return bed, made


def settle(bed: Bed) -> None:
    """Run passes until nothing is left to do, also with balancers."""
    for _ in range(300):
        done = bed.run()
        if done.plan.converged and done.next_in is None:
            return
        bed.clock.advance(5.0 if done.next_in is None else done.next_in)
    raise AssertionError(f"not settled: {done.plan} {done.messages}")


def serving(made: FakeProvisioner) -> set[str]:
    return {name for name, (state, *_) in made.scene.registrations.items() if state == "serving"}


def test_a_balancer_is_made_part_by_part_and_then_members_join() -> None:
    bed, made = a_bed(2)
    done = bed.run()
    assert parts(made) == ["loadbalancer"]
    assert (
        bed.run().world.balancer_views[MADE].closed == "balancer made: load balancer loadbalancer-1 is PENDING_CREATE"
    )
    assert done.failures == done.retries == ()
    settle(bed)
    assert parts(made) == ["loadbalancer", "listener", "pool", "healthmonitor"]
    assert serving(made) == set(bed.edge.states) == bed.machines
    known = {record.name: record.registrations for record in bed.store.members(WEB)}
    assert known == {name: ((MADE, f"seat-{name}"),) for name in bed.machines}
    (binding,) = bed.store.bindings(WEB)
    assert dict(binding.parts) == made.scene.parts
    assert binding.pending_since is None


def test_each_call_stands_between_two_lines_of_the_journal() -> None:
    bed, made = a_bed(0)
    made.faults.script("create", Transient("timed out"))
    settle(bed)
    events = [(event.name, event.result, event.message) for event in bed.store.events.values()]
    assert events == [
        ("make_part", StepResult.RETRY, "made: loadbalancer: timed out"),
        *(("make_part", StepResult.DONE, f"made: {part.value}") for part in (LB, LISTENER, POOL, MONITOR)),
    ]


def test_what_is_to_be_made_is_written_down_before() -> None:
    bed, made = a_bed(1)
    made.faults.script("create", Transient("timed out"))
    done = bed.run()
    assert [binding.balancer for binding in bed.store.bindings(WEB)] == [MADE]
    assert done.retries == ("balancer made: timed out",)
    settle(bed)
    assert made.scene.made == 4


@pytest.mark.parametrize("call", ["create", "delete"])
def test_an_answer_that_is_lost_makes_nothing_twice_and_leaves_nothing(call: str) -> None:
    bed, made = a_bed(1)
    made.faults.script(call, *[LOST, None] * 4)
    settle(bed)
    assert (made.scene.made, serving(made)) == (4, bed.machines)
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)
    settle(bed)
    assert (parts(made), bed.store.bindings(WEB), bed.machines) == ([], (), set())


def test_a_balancer_that_is_not_ready_delays_no_repair_elsewhere() -> None:
    bed, made = a_bed(2)
    made.faults.always["create"] = Transient("no quota yet")
    for _ in range(30):
        done = bed.run()
        bed.clock.advance(done.next_in or 5.0)
    assert set(bed.edge.states) == bed.machines
    assert dict(done.plan.waits) == {Wait.NOT_READY: 2}
    broken = min(bed.machines)
    bed.cloud.say(broken, ServerState.ERROR)
    seen = set()
    for _ in range(30):
        done = bed.run()
        seen |= {type(outcome.step) for outcome in done.outcomes}
        bed.clock.advance(done.next_in or 5.0)
    assert {Create, Destroy} <= seen
    assert broken not in bed.machines
    assert set(bed.edge.states) == bed.machines
    assert len(bed.machines) == 2


def test_a_part_that_is_pending_for_too_long_is_reported_in_words() -> None:
    bed, made = a_bed(1)
    bed.run()
    made.scene.busy_until = bed.clock() + 1000.0
    bed.clock.advance(59.0)
    assert bed.run().failures == ()
    bed.clock.advance(1.0)
    bed.restart()
    (why,) = bed.run().failures
    assert why == (
        "balancer made: load balancer loadbalancer-1 is PENDING_CREATE for 1m: ask the cloud operator to repair it"
    )
    bed.clock.advance(1000.0)
    settle(bed)
    assert serving(made) == bed.machines


def test_a_part_that_came_to_nothing_is_an_error_until_it_is_gone() -> None:
    bed, made = a_bed(1)
    made.broken = LB
    bed.run()
    bed.clock.advance(60.0)
    (why,) = bed.run().failures
    assert "load balancer loadbalancer-1 is ERROR" in why
    made.broken = None
    made.scene.parts.clear()
    settle(bed)
    assert serving(made) == bed.machines


def test_what_the_cloud_refuses_for_good_is_an_error() -> None:
    bed, made = a_bed(1)
    made.faults.always["create"] = Permanent("quota of load balancers is used up")
    assert bed.run().failures == ("balancer made: quota of load balancers is used up",)


def test_it_is_deleted_once_its_last_member_has_left() -> None:
    bed, made = grown(2)
    undeclare(bed)
    settle(bed)
    assert len(parts(made)) == 4, "members that were made behind it are there still"
    for name in sorted(bed.machines):
        bed.replace(name)
    settle(bed)
    assert (parts(made), bed.store.bindings(WEB)) == ([], ())
    assert set(bed.edge.states) == bed.machines


def test_a_group_that_is_deleted_takes_its_balancer_with_it_after_its_members() -> None:
    bed, made = grown(2)
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)
    bed.cloud.before_destroy = lambda name: [  # type: ignore[assignment]
        pytest.fail("no balancer any more") for _ in [0] if len(parts(made)) < 4 or name in made.scene.registrations
    ]
    assert bed.run().bound
    assert bed.converger.observe(bed.store.kept[WEB]).bound, "who only looks does not know"
    settle(bed)
    done = bed.run()
    assert (parts(made), bed.machines, done.bound) == ([], set(), False)


def test_a_group_that_is_deleted_makes_no_balancer_any_more() -> None:
    bed, made = a_bed(1)
    made.faults.always["create"] = Transient("timed out")
    bed.run()
    made.faults.clear()
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)
    settle(bed)
    assert (made.scene.made, bed.store.bindings(WEB)) == (0, ())


def test_nothing_is_deleted_while_it_has_foreign_registrations() -> None:
    bed, made = grown(1)
    made.scene.registrations["mail"] = ["serving", "192.0.2.9", 25]
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)
    for _ in range(30):
        done = bed.run()
        bed.clock.advance(done.next_in or 5.0)
    assert done.failures == ("balancer made is not deleted: mail sits in it, and is none of ours",)
    assert (len(parts(made)), done.bound) == (4, True)
    del made.scene.registrations["mail"]
    settle(bed)
    assert parts(made) == []


def test_what_exists_by_the_files_word_outlives_the_group() -> None:
    bed, made = grown(1, vip=None, loadbalancer="front")
    assert parts(made) == ["listener", "pool", "healthmonitor"]
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)
    settle(bed)
    assert (parts(made), [*made.parts()]) == ([], [LB])


def delete(bed: Bed) -> None:
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)


@pytest.mark.parametrize("deleting", [False, True], ids=["made", "deleted"])
def test_killed_at_any_instant_it_is_created_once_and_deleted_completely(deleting: bool) -> None:
    for instant in range(1, 500):
        bed, made = grown(1) if deleting else a_bed(1)
        if deleting:
            delete(bed)
        bed.instants.count, bed.instants.kill_at = 0, instant
        with suppress(Killed):
            settle(bed)
        survived = bed.instants.count < instant
        bed.restart()
        settle(bed)
        assert made.scene.made == 4, f"killed at {instant}"
        whole = ["loadbalancer", "listener", "pool", "healthmonitor"]
        assert parts(made) == ([] if deleting else whole), f"killed at {instant}"
        assert len(bed.store.bindings(WEB)) == (0 if deleting else 1)
        assert serving(made) == bed.machines
        if survived:
            assert instant > 12
            return
    raise AssertionError("the scenario never ends")


def test_a_group_without_such_balancers_asks_nothing() -> None:
    bed = Bed(size=1)
    bed.store.bindings = lambda group: pytest.fail("asked")  # type: ignore[method-assign]
    bed.settle()
    assert set(bed.edge.states) == bed.machines


# A balancer that was made and vanished. The group's interval is 30 s.


def vanish(made: FakeProvisioner) -> None:
    """A person deletes all of it, past Trimtab."""
    made.scene.parts.clear()
    made.scene.registrations.clear()


def look_for(bed: Bed, seconds: float) -> Pass:
    done = bed.run()
    for _ in range(int(seconds / 5.0)):
        bed.clock.advance(5.0)
        done = bed.run()
    return done


def notes(bed: Bed) -> list[str]:
    return [event.message for event in bed.store.events.values() if event.name == "balancer_remade"]


VANISHED = "balancer made: its load balancer loadbalancer-1 does not exist any more: it is made anew, "
PERHAPS = "perhaps with another address: see that clients find it, and declare vip.address to keep one"


def test_a_vanished_balancer_is_reported_and_created_again_after_three_intervals() -> None:
    bed, made = grown(2)
    vanish(made)
    done = look_for(bed, 85.0)
    assert parts(made) == []
    assert done.failures == (f"{VANISHED}{PERHAPS}, once it has been missing for three intervals",)
    assert notes(bed) == []

    look_for(bed, 15.0)
    settle(bed)
    assert notes(bed) == [VANISHED + PERHAPS]
    assert parts(made) == ["loadbalancer", "listener", "pool", "healthmonitor"]
    assert serving(made) == bed.machines
    (binding,) = bed.store.bindings(WEB)
    assert dict(binding.parts) == made.scene.parts


def test_a_pinned_address_is_named() -> None:
    bed, made = grown(1, vip=Vip(subnet="public", address="192.0.2.10"))
    vanish(made)
    look_for(bed, 100.0)
    assert notes(bed) == [f"{VANISHED}with the address 192.0.2.10"]


def test_a_restart_begins_the_three_intervals_anew() -> None:
    bed, made = grown(1)
    vanish(made)
    look_for(bed, 85.0)
    bed.restart()
    look_for(bed, 85.0)
    assert parts(made) == []
    look_for(bed, 15.0)
    assert len(notes(bed)) == 1


def test_a_clock_that_is_set_does_not_shorten_the_three_intervals() -> None:
    bed, made = grown(1)
    vanish(made)
    look_for(bed, 40.0)
    bed.clock.advance(45.0)
    bed.converger.follow(45.0)
    look_for(bed, 45.0)
    assert parts(made) == []
    look_for(bed, 15.0)
    assert len(notes(bed)) == 1


def test_a_listing_that_wrongly_lacks_a_balancer_creates_no_second_one_and_removes_no_member() -> None:
    bed, made = grown(3)
    made.hidden = True
    bed.desire(2)
    done = look_for(bed, 300.0)
    message = "its load balancer loadbalancer-1 exists, and is not found by the name or tag that Trimtab gave it"
    assert done.failures[0].startswith(f"balancer made: {message}")
    assert (made.scene.made, len(bed.machines), notes(bed)) == (4, 3, [])

    made.hidden = False
    settle(bed)
    assert (len(bed.machines), serving(made)) == (2, bed.machines)


@pytest.mark.parametrize("answer", [Transient("too slow"), Permanent("not allowed")])
def test_a_cloud_that_does_not_say_whether_it_is_gone_makes_no_second_one(answer: DriverError) -> None:
    bed, made = grown(2)
    made.hidden = True
    made.faults.always["is_gone"] = answer
    bed.desire(1)
    look_for(bed, 300.0)
    assert (made.scene.made, len(bed.machines)) == (4, 2)


def test_a_listing_that_wrongly_lacks_a_balancer_does_not_have_it_forgotten_with_its_group() -> None:
    bed, made = grown(0)
    made.hidden = True
    delete(bed)
    look_for(bed, 60.0)
    assert len(bed.store.bindings(WEB)) == 1
    made.hidden = False
    settle(bed)
    assert (parts(made), bed.store.bindings(WEB)) == ([], ())


def test_a_group_with_a_vanished_balancer_is_deleted_with_its_members() -> None:
    bed, made = grown(2)
    vanish(made)
    delete(bed)
    look_for(bed, 100.0)
    assert (bed.machines, bed.store.bindings(WEB), parts(made)) == (set(), (), [])


def test_a_pool_that_vanished_is_made_anew_under_its_load_balancer() -> None:
    bed, made = grown(2)
    for part in (POOL, MONITOR):
        del made.scene.parts[part.value]
    made.scene.registrations.clear()
    look_for(bed, 100.0)
    settle(bed)
    assert notes(bed) == [
        "balancer made: its pool pool-3 does not exist any more: it is made anew, with the address that it had"
    ]
    assert serving(made) == bed.machines
