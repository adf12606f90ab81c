"""Removals that do not end: when they are STUCK, what that delays (nothing), and when they are retried."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from config.errors import Permanent, Transient
from config.model.parts import OnDelete
from config.units import Instant
from handler.planning.plan import plan
from handler.planning.removals import ATTEMPTS, WITHIN, is_due, is_stuck, retried
from handler.planning.roles import state_of
from handler.planning.status import MemberState
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Create, Destroy, Drain, Forget, RemovePart, Wait
from handler.planning.world import (
    Attempts,
    Leaving,
    MadePart,
    Member,
    PartState,
    Phase,
    RegistrationState,
    ServerState,
    World,
)
from tests.support.beds import Bed, grown
from tests.support.worlds import (
    FRONT,
    NOW,
    WEB,
    a_definition,
    a_fleet,
    a_member,
    a_record,
    a_registration,
    a_world,
    desired,
    limits,
    name_of,
)
from trigger.requests import Pause

GRACE = 120.0
ONE = name_of(1)


def ago(seconds: float) -> Instant:
    return Instant(NOW - seconds)


def stuck_member(number: int = 1, state: ServerState | None = ServerState.ERROR, **fields: Any) -> Member:
    tried = {"destroy_attempts": ATTEMPTS, "removal_at": ago(700), "removal_tried_at": ago(10)}
    return a_member(number, Phase.LEAVING, state, **{**tried, **fields})


def planned(world: World, size: int | None, *, deleting: bool = False, **limit: Any):
    return plan(desired(size, deleting=deleting), world, a_definition(grace=GRACE), limits(**limit), NOW)


@pytest.mark.parametrize(
    ("fields", "stuck"),
    [
        pytest.param({"destroy_attempts": ATTEMPTS - 1}, False, id="one attempt is left"),
        pytest.param({"destroy_attempts": ATTEMPTS}, True, id="too many attempts"),
        pytest.param({"removal_at": ago(GRACE + WITHIN - 1)}, False, id="it may still take effect"),
        pytest.param({"removal_at": ago(GRACE + WITHIN)}, True, id="it never takes effect"),
        pytest.param({"leaving_at": ago(86400)}, False, id="a long drain is no removal"),
        pytest.param({"phase": Phase.IN_SERVICE, "destroy_attempts": ATTEMPTS}, False, id="it does not leave"),
    ],
)
def test_when_a_removal_is_stuck(fields: dict[str, Any], stuck: bool) -> None:
    assert is_stuck(a_record(1, **{"phase": Phase.LEAVING, **fields}), GRACE, NOW) is stuck


@pytest.mark.parametrize(
    ("began", "last", "due"),
    [
        pytest.param(5, 5, False, id="just tried"),
        pytest.param(61, 61, True, id="a minute later at the soonest"),
        pytest.param(900, 400, False, id="tried for 500 s, 400 s ago"),
        pytest.param(1100, 500, False, id="tried for 600 s, 500 s ago"),
        pytest.param(1100, 600, True, id="tried for 500 s, 600 s ago"),
        pytest.param(90000, 3599, False, id="less than an hour ago"),
        pytest.param(90000, 3600, True, id="an hour later at the latest"),
        pytest.param(-50, -50, True, id="the clock was set back"),
    ],
)
def test_a_stuck_removal_is_tried_again_ever_less_often(began: float, last: float, due: bool) -> None:
    record = a_record(1, Phase.LEAVING, removal_at=ago(began), removal_tried_at=ago(last))
    assert is_due(record, NOW) is due


def test_a_removal_of_which_no_instant_is_remembered_is_tried_at_once() -> None:
    assert is_due(a_record(1, Phase.LEAVING, destroy_attempts=ATTEMPTS), NOW)


@pytest.mark.parametrize("state", [ServerState.RUNNING, ServerState.ERROR, ServerState.DELETING])
def test_a_group_with_nothing_but_a_stuck_member_beside_its_size_is_converged(state: ServerState) -> None:
    fleet = a_fleet(3)
    world = a_world(
        *fleet.members, stuck_member(9, state), registrations=[a_registration(number) for number in (1, 2, 3)]
    )

    plan = planned(world, 3)

    assert plan.converged
    assert plan.stuck == (name_of(9),)
    assert state_of(world.members[-1], world, a_definition(), NOW) is MemberState.STUCK


def test_a_stuck_member_is_no_size_and_holds_up_no_growth() -> None:
    world = a_world(stuck_member(1), stuck_member(2), a_member(3), registrations=[a_registration(3)])

    plan = planned(world, 3)

    assert plan.steps == (Create(member=None), Create(member=None))
    assert plan.stuck == (name_of(1), name_of(2))


def test_a_stuck_member_is_removed_again_when_that_is_due() -> None:
    world = a_world(stuck_member(removal_at=ago(1000), removal_tried_at=ago(600)))

    assert planned(world, 0).steps == (Destroy(member=ONE),)


def test_a_deletion_that_never_ends_is_waited_for_and_then_stuck() -> None:
    def waiting(seconds: float) -> World:
        return a_world(stuck_member(1, ServerState.DELETING, destroy_attempts=0, removal_at=ago(seconds)))

    assert planned(waiting(GRACE + WITHIN - 1), 0).waits == ((Wait.DELETING, 1),)
    assert planned(waiting(GRACE + WITHIN), 0).stuck == (ONE,)


def test_a_stuck_member_that_is_gone_at_last_is_forgotten() -> None:
    world = a_world(stuck_member(1, None, disproved=True))

    assert planned(world, 0).steps == (Forget(member=ONE),)


def test_a_stuck_member_that_is_registered_again_by_hand_is_drained_first() -> None:
    world = a_world(
        stuck_member(1, ServerState.RUNNING, removal_tried_at=ago(7200)),
        registrations=[a_registration(1, RegistrationState.SERVING)],
    )

    assert planned(world, 0).steps == (Drain(member=ONE, balancer=next(iter(world.balancer_views))),)


def test_deleting_a_group_chooses_a_stuck_member_no_second_time() -> None:
    assert planned(a_world(stuck_member()), 0, deleting=True).steps == ()


# Over passes.


def failing(bed: Bed, error: Exception) -> None:
    bed.cloud.faults.always["destroy"] = error


@pytest.mark.parametrize("error", [Transient("busy"), Permanent("locked")], ids=["transient", "permanent"])
def test_a_removal_that_fails_for_good_is_a_warning_and_the_group_goes_on(error: Exception) -> None:
    bed = grown(3)
    failing(bed, error)
    bed.desire(2)
    for _ in range(40):
        done = bed.run()
        bed.clock.advance(30.0)
    assert done.plan.stuck == (ONE,)
    assert done.failures == ()
    words = f"{ONE} cannot be removed after 1?\\d attempts .state in the cloud: running.: it counts as garbage"
    assert re.search(words, done.retries[-1])

    bed.desire(6)
    bed.settle(stuck=True)
    serving = bed.known(Phase.IN_SERVICE)
    assert len(serving) == 6
    assert serving == bed.serving()
    bed.cloud.die(next(iter(serving)))
    bed.settle(stuck=True)
    assert len(bed.known(Phase.IN_SERVICE)) == 6
    bed.desire(1)
    bed.run()
    assert len(bed.chosen()) == 6

    bed.cloud.faults.clear()
    for _ in range(100):
        bed.run()
        bed.clock.advance(60.0)
    bed.expect(1)


def test_attempts_come_ever_less_often_and_a_restart_does_not_begin_them_anew() -> None:
    bed = grown(1)
    failing(bed, Transient("busy"))
    bed.desire(0)
    tried = []
    for number in range(4000):
        if number == 2000:
            bed.restart()
        before = len(bed.store.events)
        if any(isinstance(outcome.step, Destroy) for outcome in bed.run().outcomes):
            tried.append(bed.clock())
        assert len(bed.store.events) - before <= 2
        bed.clock.advance(30.0)

    pauses = [after - before for before, after in zip(tried[ATTEMPTS:], tried[ATTEMPTS + 1 :], strict=False)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(3600, abs=30)
    assert len(tried) < 50


def test_a_failure_of_a_stuck_removal_does_not_hold_back_the_next_pass() -> None:
    bed = grown(2)
    failing(bed, Transient("busy", retry_after=500.0))
    bed.desire(1)
    for _ in range(20):
        bed.run()
        bed.clock.advance(600.0)
    bed.cloud.build_time = 40.0
    bed.desire(2)
    bed.run()
    _, cloud = bed.store.records[ONE]
    bed.store.records[ONE] = (a_record(1, Phase.LEAVING, destroy_attempts=ATTEMPTS, leaving=Leaving.SURPLUS), cloud)

    done = bed.run()

    assert [outcome.result for outcome in done.outcomes if isinstance(outcome.step, Destroy)] == [StepResult.LIMITED]
    assert done.next_in is not None
    assert done.next_in <= 2.0


def stuck_bed(size: int = 2) -> Bed:
    """A bed that is to be empty, with members that the cloud refused to remove until they were stuck."""
    bed = grown(size)
    failing(bed, Permanent("locked"))
    bed.desire(0)
    for _ in range(40):
        done = bed.run()
        bed.clock.advance(30.0)
    assert len(done.plan.stuck) == size
    assert [step for step in done.plan.steps if isinstance(step, Destroy)] == []
    bed.cloud.faults.clear()
    return bed


def test_an_order_for_the_group_tries_stuck_removals_at_once() -> None:
    bed = stuck_bed(2)
    bed.run(accept_vanished=True)
    assert bed.machines == set()
    bed.settle()
    bed.expect(0)


def test_an_order_for_one_member_tries_its_stuck_removal_and_no_other() -> None:
    bed = stuck_bed(2)
    bed.run(only=ONE)
    assert bed.machines == {name_of(2)}
    assert bed.run().plan.stuck == (name_of(2),)


def test_a_removal_that_was_ordered_again_has_all_its_attempts_again() -> None:
    bed = stuck_bed(1)
    failing(bed, Transient("busy"))
    done = bed.run(accept_vanished=True)
    assert done.plan.stuck == ()
    assert dict(done.plan.waits) == {Wait.DELETING: 1}
    assert bed.store.records[ONE][0].destroy_attempts == 1
    bed.restart()
    assert bed.run().plan.stuck == ()


def test_an_order_while_a_balancer_cannot_be_read_is_remembered() -> None:
    bed = stuck_bed(1)
    bed.edge.faults.always["registrations"] = Transient("no answer")
    bed.run(accept_vanished=True)
    bed.edge.faults.clear()
    bed.settle()
    bed.expect(0)


def test_a_removal_that_the_cloud_accepted_and_never_ended_is_asked_for_again_by_order() -> None:
    world = a_world(stuck_member(destroy_attempts=0, removal_at=ago(3000), removal_tried_at=ago(10)))
    assert planned(world, 0).steps == ()
    assert planned(retried(world, GRACE, None, NOW), 0).steps == (Destroy(member=ONE),)


def test_a_paused_group_is_only_looked_at_whatever_is_ordered() -> None:
    bed = stuck_bed(1)
    kept = bed.store.kept[WEB]
    bed.store.kept[WEB] = replace(kept, state=replace(kept.state, pause=Pause.ALL))
    before = bed.store.records[ONE]
    assert bed.run(accept_vanished=True).plan.stuck == (ONE,)
    assert bed.store.records[ONE] == before


@pytest.mark.parametrize("again_in", [-1.0, 5.0], ids=["due", "tried not long ago"])
def test_no_plan_waits_for_a_part_that_cannot_be_removed(again_in: float) -> None:
    tried = Attempts(call="remove_part front", count=ATTEMPTS, again_at=Instant(NOW + again_in), because="in use")
    gone = stuck_member(state=None, disproved=True, parts=((FRONT.name, OnDelete.DESTROY),), attempts=(tried,))
    part = MadePart(name=FRONT.name, id="p-1", state=PartState.READY)
    world = a_world(replace(gone, parts=(part,)))
    answer = planned(world, 0)
    assert answer.steps == ((RemovePart(member=ONE, part=FRONT.name),) if again_in < 0 else ())
    assert answer.waits == ()
    assert planned(a_world(replace(gone, parts=())), 0).waits == (), "nor for an answer about it"
