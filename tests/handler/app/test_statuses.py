"""The one word for how a group is, and what a person is told with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.misses import Miss
from collector.samples import Reply
from config.model import Mode
from config.schedules import Lasting, Limit, Once, ScheduledLimit
from config.units import CounterId, Instant, MemberName, PolicyId
from handler.app.rooms import Room, Seen
from handler.app.statuses import condition_of, messages_of, status_of
from handler.desired import Builds
from handler.planning import plan
from handler.status import GroupCondition
from tests.support.worlds import NOW, WEB, a_definition, a_fleet, a_world, desired, limits
from trigger.requests import Fleet, GroupState


def a_room(size: int | None, *, found: int = 2, complete: bool = True, mode: Mode = Mode.ACT) -> Room:
    """A room whose last pass found this many members in service, just as they should be."""
    definition = a_definition(mode=mode)
    world = replace(a_fleet(found) if found else a_world(), complete=complete)
    seen = Seen(
        at=NOW,
        world=world,
        plan=plan(desired(size), world, definition, limits(), NOW),
        states={},
        fleet=Fleet(listed=complete, marked=found, in_service=found, creates_left=9, back_off_until=None),
        failures=(),
        retries=(),
    )
    return Room(id=WEB, definition=definition, state=GroupState(desired=size), seen=seen)


@pytest.mark.parametrize(
    ("room", "condition"),
    [
        pytest.param(a_room(2), GroupCondition.RUNNING, id="as desired"),
        pytest.param(a_room(3), GroupCondition.SCALING, id="one is missing"),
        pytest.param(a_room(None), GroupCondition.STARTING, id="no desired size yet"),
        pytest.param(a_room(None, mode=Mode.ADVISE), GroupCondition.RUNNING, id="advised: needs no desired size"),
        pytest.param(a_room(None, mode=Mode.OFF), GroupCondition.RUNNING, id="off: needs no desired size"),
        pytest.param(a_room(3, mode=Mode.ADVISE), GroupCondition.RUNNING, id="advised: nothing is being done"),
        pytest.param(
            a_room(None, complete=False, mode=Mode.ADVISE), GroupCondition.STARTING, id="advised, and not listed yet"
        ),
    ],
)
def test_a_group_is_in_one_condition(room: Room, condition: GroupCondition) -> None:
    assert condition_of(room, NOW) is condition


def test_bounds_are_those_that_schedules_leave_now() -> None:
    night = ScheduledLimit(
        id=PolicyId("night"), times=Once(at=NOW), until=Lasting(span=60.0), limit=Limit.FLOOR, size=4
    )  # fmt: skip
    room = a_room(4)
    declared = room.definition.group
    room.definition = replace(room.definition, group=replace(declared, schedules=(night,)))
    assert room.bounds(NOW) == (4, declared.maximum)
    assert room.bounds(Instant(NOW + 60)) == (declared.minimum, declared.maximum)


def test_while_builds_back_off_the_group_warns_how_many_failed_and_says_when_the_next_try_is() -> None:
    room = a_room(3)
    room.kept_builds = Builds(failed=4, back_off_until=Instant(NOW + 60))
    assert condition_of(room, NOW) is GroupCondition.WARNING
    assert messages_of(room, NOW) == (
        (
            "4 builds failed in a row: nothing is made before 2023-11-14 22:14:20 UTC; a corrected profile ends that, "
            "and so does trimtab converge web"
        ),
    )


def test_when_the_back_off_is_over_there_is_nothing_to_warn_of() -> None:
    room = a_room(3)
    room.kept_builds = Builds(failed=4, back_off_until=NOW)
    assert (condition_of(room, NOW), messages_of(room, NOW)) == (GroupCondition.SCALING, ())


def test_a_value_that_was_not_heard_is_named_and_makes_no_warning() -> None:
    room = a_room(0, found=0)
    said = "-1 is outside range 0..100"
    room.misses = (
        Miss(counter=CounterId("cpu"), reply=Reply.OUTSIDE_RANGE, count=3, member=MemberName("web-1"), said=said),
        Miss(counter=CounterId("load"), reply=Reply.TIMEOUT, count=1, member=MemberName("web-2"), said=""),
    )

    assert status_of(room, NOW).unbelieved == (f"cpu of web-1 and 2 others was not heard: {said}",)
    assert condition_of(room, NOW) is GroupCondition.RUNNING
