"""The state of a group, and the messages with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.outages.misses import Miss
from collector.samples import Reply
from config.model.catalogue import Mode
from config.model.schedules import LastsFor, Once, ScheduledBound, ScheduledLimit
from config.units import CounterId, Instant, MemberName, PolicyId
from handler.planning.desired import Builds
from handler.planning.plan import plan
from handler.planning.status import GroupCondition
from handler.planning.world import Phase
from handler.runtime.group_runtime import GroupRuntime, LastPass
from handler.runtime.statuses import condition_of, messages_of, status_of
from tests.support.worlds import NOW, WEB, a_definition, a_fleet, a_member, a_world, desired, limits
from trigger.requests import Fleet, GroupState, Pause


def a_runtime(size: int | None, *, found: int = 2, complete: bool = True, mode: Mode = Mode.ACT) -> GroupRuntime:
    """A group runtime whose last pass found this many members in service, as desired."""
    definition = a_definition(mode=mode)
    world = replace(a_fleet(found) if found else a_world(), complete=complete)
    seen = LastPass(
        at=NOW,
        world=world,
        plan=plan(desired(size), world, definition, limits(), NOW),
        states={},
        fleet=Fleet(listed=complete, marked=found, in_service=found, creates_left=9, back_off_until=None),
        failures=(),
        retries=(),
    )
    return GroupRuntime(id=WEB, definition=definition, state=GroupState(desired=size), seen=seen)


@pytest.mark.parametrize(
    ("runtime", "condition"),
    [
        pytest.param(a_runtime(2), GroupCondition.RUNNING, id="as desired"),
        pytest.param(a_runtime(3), GroupCondition.SCALING, id="one is missing"),
        pytest.param(a_runtime(None), GroupCondition.STARTING, id="no desired size yet"),
        pytest.param(a_runtime(None, mode=Mode.ADVISE), GroupCondition.RUNNING, id="advised: needs no desired size"),
        pytest.param(a_runtime(None, mode=Mode.OFF), GroupCondition.RUNNING, id="off: needs no desired size"),
        pytest.param(a_runtime(3, mode=Mode.ADVISE), GroupCondition.RUNNING, id="advised: nothing is being done"),
        pytest.param(
            a_runtime(None, complete=False, mode=Mode.ADVISE), GroupCondition.STARTING, id="advised, and not listed yet"
        ),
    ],
)
def test_a_group_is_in_one_condition(runtime: GroupRuntime, condition: GroupCondition) -> None:
    assert condition_of(runtime, NOW) is condition


def test_bounds_are_those_that_schedules_leave_now() -> None:
    night = ScheduledLimit(
        id=PolicyId("night"), times=Once(at=NOW), until=LastsFor(span=60.0), limit=ScheduledBound.FLOOR, size=4
    )  # fmt: skip
    runtime = a_runtime(4)
    declared = runtime.definition.group
    runtime.definition = replace(runtime.definition, group=replace(declared, schedules=(night,)))
    assert runtime.bounds(NOW) == (4, declared.maximum)
    assert runtime.bounds(Instant(NOW + 60)) == (declared.minimum, declared.maximum)


def test_while_builds_back_off_the_group_warns_how_many_failed_and_says_when_the_next_try_is() -> None:
    runtime = a_runtime(3)
    runtime.kept_builds = Builds(failed=4, back_off_until=Instant(NOW + 60))
    assert condition_of(runtime, NOW) is GroupCondition.WARNING
    assert messages_of(runtime, NOW) == (
        (
            "4 builds failed in a row: no member is created before 2023-11-14 22:14:20 UTC; to end this now: correct "
            "the profile, or trimtab converge web"
        ),
    )


def test_when_the_back_off_is_over_there_is_nothing_to_warn_of() -> None:
    runtime = a_runtime(3)
    runtime.kept_builds = Builds(failed=4, back_off_until=NOW)
    assert (condition_of(runtime, NOW), messages_of(runtime, NOW)) == (GroupCondition.SCALING, ())


def test_a_value_that_was_not_heard_is_named_and_makes_no_warning() -> None:
    runtime = a_runtime(0, found=0)
    detail = "-1 is outside range 0..100"
    runtime.misses = (
        Miss(counter=CounterId("cpu"), reply=Reply.OUTSIDE_RANGE, count=3, member=MemberName("web-1"), detail=detail),
        Miss(counter=CounterId("load"), reply=Reply.TIMEOUT, count=1, member=MemberName("web-2"), detail=""),
    )

    assert status_of(runtime, NOW).unbelieved == (f"cpu of web-1 and 2 others rejected: {detail}",)
    assert condition_of(runtime, NOW) is GroupCondition.RUNNING


def replaced_seen(runtime: GroupRuntime, *, in_service: int) -> GroupRuntime:
    assert runtime.seen is not None
    runtime.seen = replace(runtime.seen, fleet=replace(runtime.seen.fleet, in_service=in_service))
    return runtime


def serving_none(size: int = 4, **changes: object) -> GroupRuntime:
    """A group of which nothing is listed."""
    runtime = a_runtime(size, found=0)
    for name, value in changes.items():
        setattr(runtime, name, value)
    return runtime


def of_intents(*attempts: int) -> GroupRuntime:
    """A group with intended members, each after so many failed calls."""
    runtime = serving_none()
    assert runtime.seen is not None
    members = (
        a_member(number, Phase.INTENDED, None, create_attempts=failed) for number, failed in enumerate(attempts, 1)
    )
    runtime.seen = replace(runtime.seen, world=a_world(*members))
    return runtime


def without_room() -> GroupRuntime:
    runtime = serving_none()
    assert runtime.seen is not None
    runtime.seen = replace(runtime.seen, plan=replace(runtime.seen.plan, quota="instances: 10 of 10"))
    return runtime


@pytest.mark.parametrize(
    ("runtime", "because"),
    [
        (serving_none(kept_builds=Builds(failed=3)), "0 of 4 members are in service, and the last 3 builds failed"),
        (of_intents(3, 4), "0 of 4 members are in service, and every creation fails"),
        (without_room(), "0 of 4 members are in service, and the cloud has no room for one"),
    ],
    ids=["builds", "calls", "quota"],
)
def test_a_group_that_serves_nothing_and_cannot_make_a_member_is_in_error(runtime: GroupRuntime, because: str) -> None:
    assert condition_of(runtime, NOW) is GroupCondition.ERROR
    assert messages_of(runtime, NOW)[0] == because


@pytest.mark.parametrize(
    "runtime",
    [
        serving_none(),
        of_intents(0, 0),
        of_intents(9, 2),
        serving_none(0, kept_builds=Builds(failed=3)),
        serving_none(state=GroupState(desired=4, pause=Pause.ALL), kept_builds=Builds(failed=3)),
        replaced_seen(serving_none(kept_builds=Builds(failed=3)), in_service=1),
    ],
    ids=[
        "the first are not asked for yet",
        "the first are asked for",
        "one may come yet",
        "none is wanted",
        "paused",
        "one serves",
    ],
)
def test_a_group_is_in_no_error_while_nothing_proves_that_it_gets_no_member(runtime: GroupRuntime) -> None:
    assert condition_of(runtime, NOW) is not GroupCondition.ERROR
