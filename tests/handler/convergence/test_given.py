"""Members that a person gave to the group, or takes from it: what is planned, and what is never done to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from config.errors import Refused, Transient
from config.units import MemberName
from handler.operations.member_actions import evicted, given
from handler.planning.launches import LaunchId
from handler.planning.plan import plan
from handler.planning.steps import (
    Confirm,
    Create,
    Drain,
    Forget,
    Leave,
    MarkLeaving,
    MarkMachine,
    Step,
    Unmark,
    Wait,
)
from handler.planning.world import Leaving, Member, Phase, RegistrationState, ServerState, World
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import LOST
from tests.support.worlds import (
    EDGE,
    INSTALLATION,
    NOW,
    WEB,
    a_definition,
    a_member,
    a_record,
    a_registration,
    a_server,
    a_world,
    desired,
    limits,
    name_of,
)

ONE = name_of(1)
DATABASE = MemberName("database")


def intended(state: ServerState | None = None, *, disproved: bool = True, **fields: Any) -> Member:
    return a_member(1, Phase.INTENDED, state, disproved=disproved, **{"given": True, "server_id": "vm-7", **fields})


def leaving(state: ServerState | None = ServerState.RUNNING, *, disproved: bool = False, **fields: Any) -> Member:
    return a_member(1, Phase.LEAVING, state, disproved=disproved, **{"leaving": Leaving.EVICTED, **fields})


def steps_of(world: World, size: int = 1, **limit: Any) -> list[Step]:
    return list(plan(desired(size), world, a_definition(), limits(**limit), NOW).steps)


def waits_of(world: World, size: int = 1) -> dict[Wait, int]:
    return dict(plan(desired(size), world, a_definition(), limits(), NOW).waits)


# Given.


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        pytest.param(a_world(intended()), [MarkMachine(member=ONE)], id="not marked yet"),
        pytest.param(a_world(intended(disproved=False)), [], id="not known whether it is marked"),
        pytest.param(a_world(intended(), complete=False), [], id="half a listing proves nothing"),
        pytest.param(a_world(intended(create_attempts=99)), [MarkMachine(member=ONE)], id="marking is never given up"),
        pytest.param(
            a_world(intended(ServerState.RUNNING, disproved=False)), [Confirm(member=ONE)], id="found by its mark"
        ),
    ],
)
def test_a_machine_that_is_given_is_marked_and_never_made(world: World, expected: list[Step]) -> None:
    steps = steps_of(world)
    assert steps[: len(expected)] == expected
    assert not any(isinstance(step, Create) for step in steps)


def test_a_mark_waits_for_no_back_off_of_builds() -> None:
    assert steps_of(a_world(intended()), back_off_until=NOW + 600) == [MarkMachine(member=ONE)]


def test_a_machine_that_is_to_leave_before_it_is_marked_is_left_alone() -> None:
    assert steps_of(a_world(intended()), 0) == [Forget(member=ONE)]


@pytest.mark.parametrize(
    ("state", "fields", "why"),
    [
        pytest.param(ServerState.ERROR, {}, Leaving.EVICTED, id="broke before it ever served"),
        pytest.param(ServerState.RUNNING, {}, Leaving.EVICTED, id="never got ready"),
        pytest.param(ServerState.ERROR, {"in_service_at": NOW - 60}, Leaving.BROKEN, id="broke in service"),
        pytest.param(ServerState.ERROR, {"given": False}, Leaving.BROKEN, id="was made here"),
    ],
)
def test_what_was_given_and_never_served_is_given_back(
    state: ServerState, fields: dict[str, Any], why: Leaving
) -> None:
    phase = Phase.IN_SERVICE if "in_service_at" in fields else Phase.MADE
    member = a_member(1, phase, state, ready=False, **{"given": True, **fields})
    assert MarkLeaving(member=ONE, why=why) in steps_of(a_world(member))


@pytest.mark.parametrize("deleting", [True, False], ids=["the group is deleted", "the group shrinks"])
@pytest.mark.parametrize(
    ("phase", "state"),
    [
        pytest.param(Phase.INTENDED, None, id="its mark has no answer yet"),
        pytest.param(Phase.MADE, ServerState.RUNNING, id="it has its mark"),
    ],
)
def test_what_was_given_and_never_served_is_given_back_whyever_it_leaves(
    deleting: bool, phase: Phase, state: ServerState | None
) -> None:
    member = a_member(1, phase, state, given=True, server_id="vm-7", ready=False, disproved=False)
    steps = plan(desired(0, deleting=deleting), a_world(member), a_definition(), limits(), NOW).steps
    assert [step.why for step in steps if isinstance(step, MarkLeaving)] == [Leaving.EVICTED]


def test_a_record_of_a_given_machine_names_it_by_its_own_id() -> None:
    launch = LaunchId(installation=INSTALLATION, group=WEB, sequence=9)
    record = given(launch, a_server(3, id="vm-7"), a_definition(), NOW)
    assert (record.name, record.server_id, record.phase, record.given) == (name_of(9), "vm-7", Phase.INTENDED, True)
    assert record.balancers == ((EDGE, 8080),)


# Evicted.


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        pytest.param(
            a_world(leaving(), registrations=[a_registration(1, connections=2)]),
            [Drain(member=ONE, balancer=EDGE)],
            id="drained",
        ),
        pytest.param(
            a_world(leaving(drained_at=NOW - 5), registrations=[a_registration(1, RegistrationState.DRAINING, 0)]),
            [Leave(member=ONE, balancer=EDGE), Unmark(member=ONE)],
            id="out of its balancer",
        ),
        pytest.param(a_world(leaving()), [Unmark(member=ONE)], id="its mark is taken off"),
        pytest.param(a_world(leaving(ServerState.ERROR)), [Unmark(member=ONE)], id="in whatever state"),
        pytest.param(a_world(leaving(ServerState.DELETING)), [Unmark(member=ONE)], id="also if a person deletes it"),
        pytest.param(a_world(leaving(None, disproved=True)), [Forget(member=ONE)], id="forgotten when that is proved"),
        pytest.param(a_world(leaving(), registrations=None), [], id="not before it has left"),
    ],
)
def test_an_evicted_member_leaves_like_any_other_and_is_never_destroyed(world: World, expected: list[Step]) -> None:
    assert steps_of(world, 0) == expected


def test_a_member_that_still_bears_its_mark_is_waited_for() -> None:
    assert waits_of(a_world(leaving()), 0) == {Wait.RELEASING: 1}


def test_deleting_the_group_destroys_no_evicted_machine() -> None:
    planned = plan(desired(0, deleting=True), a_world(leaving()), a_definition(), limits(), NOW)
    assert planned.steps == (Unmark(member=ONE),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"phase": Phase.INTENDED}, "has not been found in the cloud yet"),
        ({"phase": Phase.LEAVING}, "leaving already"),
        ({"protected": True}, "is protected"),
    ],
)
def test_members_that_cannot_be_evicted(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        evicted(a_record(1, **fields), NOW, force=False)


# Over passes.


def test_an_adoption_with_a_lost_answer_goes_on() -> None:
    bed = grown(2)
    own = bed.cloud.add(DATABASE).id
    bed.cloud.faults.script("mark", LOST, Transient("busy"))
    name = bed.adopt()
    bed.settle()
    bed.expect(3)
    assert bed.cloud.machines[name].id == own


def test_a_group_that_is_deleted_gives_back_what_it_was_just_given() -> None:
    bed = grown(1)
    own = bed.cloud.add(DATABASE).id
    bed.cloud.faults.script("mark", LOST)
    bed.adopt()
    bed.run()
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)
    bed.settle()
    assert bed.cloud.destroyed == [ONE]
    assert [machine.id for machine in bed.cloud.machines.values()] == [own]


def test_an_eviction_is_tried_until_the_mark_is_off_and_counts_as_garbage_meanwhile() -> None:
    bed = grown(3)
    bed.cloud.faults.always["unmark"] = Transient("busy")
    bed.evict(ONE)
    for _ in range(40):
        done = bed.run()
        bed.clock.advance(30.0)
    assert done.plan.stuck == (ONE,)
    assert bed.known(Phase.IN_SERVICE) == bed.serving() == {name_of(2), name_of(3)}
    bed.cloud.faults.clear()
    for _ in range(120):
        bed.run()
        bed.clock.advance(60.0)
    bed.expect(2)
    assert bed.cloud.destroyed == []


def test_a_given_machine_that_is_surplus_later_is_destroyed_like_any_other() -> None:
    bed = Bed(size=0)
    bed.settle()
    bed.cloud.add(DATABASE)
    name = bed.adopt()
    bed.settle()
    bed.expect(1)
    bed.desire(0)
    bed.settle()
    assert bed.cloud.destroyed == [name]
