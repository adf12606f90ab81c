"""How long the status of a group stands."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from config.model.effects import FrozenDirection
from config.model.schedules import LastsFor, Once, QuietScope, ScheduledBound, ScheduledLimit
from config.units import Instant, PolicyId
from handler.planning.desired import Builds
from handler.planning.status import MemberState
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.status_basis import basis_of
from handler.runtime.statuses import status_of
from tests.handler.runtime.test_statuses import a_runtime
from tests.support.worlds import NOW, a_fleet
from trigger.policies.manual_freezes import frozen
from trigger.requests import Direction, Quiet


def in_all_spans() -> GroupRuntime:
    """A group that is quiet for 10 s, frozen for 15 s, backs off for 20 s; its members warm up at different times."""
    runtime = a_runtime(2)
    state = replace(runtime.state, quiets=(a_quiet(10.0),))
    runtime.state = frozen(state, FrozenDirection.BOTH, 15.0, by="ada", because="", now=NOW)
    runtime.kept_builds = Builds(failed=4, back_off_until=Instant(NOW + 20))
    runtime.definition = replace(runtime.definition, group=replace(runtime.definition.group, warm_up=60.0))
    assert runtime.seen is not None
    members = tuple(
        replace(member, record=replace(member.record, in_service_at=Instant(NOW - 30 + 10 * number)))
        for number, member in enumerate(a_fleet(2).members)
        if member.record is not None
    )
    states = dict.fromkeys((member.name for member in members), MemberState.IN_SERVICE)
    runtime.seen = replace(runtime.seen, world=replace(runtime.seen.world, members=members), states=states)
    return runtime


def a_quiet(span: float) -> Quiet:
    return Quiet(policy=PolicyId("out"), scope=QuietScope.GROUP, direction=Direction.OUT, until=Instant(NOW + span))


def test_a_status_that_stands_is_the_one_that_would_be_made() -> None:
    runtime = in_all_spans()
    times = [Instant(NOW + step / 4 + 0.01) for step in range(-4, 240)]
    stood = 0
    for made in times[::7]:
        basis, status = basis_of(runtime, made), status_of(runtime, made)
        for now in times:
            if basis.stands(runtime, now):
                assert status_of(runtime, now) == status
                stood += 1
    assert stood > len(times)


@pytest.mark.parametrize("name", [each.name for each in fields(GroupRuntime)])
def test_no_part_of_a_group_is_replaced_without_its_status_being_made_again(name: str) -> None:
    runtime = a_runtime(2)
    basis = basis_of(runtime, NOW)
    assert basis.stands(runtime, NOW)
    setattr(runtime, name, object())
    assert not basis.stands(runtime, NOW)


def test_a_status_of_before_the_clock_was_set_back_does_not_stand() -> None:
    runtime = a_runtime(2)
    assert not basis_of(runtime, NOW).stands(runtime, Instant(NOW - 1))


def test_no_status_of_a_group_with_schedules_stands() -> None:
    night = ScheduledLimit(
        id=PolicyId("night"), times=Once(at=NOW), until=LastsFor(span=60.0), limit=ScheduledBound.FLOOR, size=4
    )  # fmt: skip
    runtime = a_runtime(4)
    runtime.definition = replace(runtime.definition, group=replace(runtime.definition.group, schedules=(night,)))
    assert not basis_of(runtime, NOW).stands(runtime, NOW)
