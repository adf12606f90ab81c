"""Every persisted span, moved by a step of the clock and limited to its declared length."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from config.units import GroupId, Instant, Moment, Monotonic
from handler.planning.attempts import LONGEST_PAUSE
from handler.planning.desired import Builds
from handler.planning.limits import limited_builds, limited_record, limited_state
from handler.planning.pacing import LONGEST_BACK_OFF
from handler.planning.provisioning import BalancerProvision
from handler.planning.rolls import Roll
from handler.planning.world import Attempts, Record
from handler.ports.held_clock import ClockDifference, HeldClock
from tests.support.beds import grown
from tests.support.store import NOW, at, full_record, full_state
from tests.support.worlds import WEB, name_of
from trigger.moving import has_instants, instants_of, moved
from trigger.requests import Ceiling, GroupState, Queued, Quiet, ServiceTurn, Signal, SizeChange

DAY = 86400.0
GRACE = 120.0
KINDS = (
    GroupState,
    Quiet,
    Signal,
    SizeChange,
    Ceiling,
    ServiceTurn,
    Queued,
    Record,
    Attempts,
    Builds,
    BalancerProvision,
    Roll,
)


def test_every_field_that_is_an_instant_is_known_to_be_one() -> None:
    """A field that is declared otherwise would not be moved: a person who adds one reads this."""
    named = {
        (kind.__name__, field.name)
        for kind in KINDS
        for field in fields(kind)
        if field.name.endswith(("_at", "until", "_since")) or field.name in {"at", "since", "began", "seen"}
    }
    assert named <= {(kind.__name__, name) for kind in KINDS for name in instants_of(kind)}


@pytest.mark.parametrize("step", [-DAY, DAY, 90.0], ids=["back", "forward", "a-little"])
@pytest.mark.parametrize("value", [full_state(), full_record()], ids=lambda value: type(value).__name__)
def test_what_is_left_of_every_span_is_the_same_after_the_clock_was_set(value: object, step: float) -> None:
    after = moved(value, type(value), step)
    for name in instants_of(type(value)):
        before_at, after_at = _flat(getattr(value, name)), _flat(getattr(after, name))
        assert [b - a for a, b in zip(before_at, after_at, strict=True)] == pytest.approx([step] * len(before_at)), name
    assert moved(after, type(value), -step) == value


def _flat(value: object) -> list[float]:
    """All instants of a value, in the order of its fields."""
    if value is None:
        return []
    if isinstance(value, float):
        return [value]
    if isinstance(value, tuple):
        return [found for each in value for found in _flat(each)]
    return [found for name in instants_of(type(value)) for found in _flat(getattr(value, name))]


def test_the_times_of_a_calendar_stay_where_they_are() -> None:
    state = full_state()
    after = moved(state, GroupState, DAY)
    assert after.watched == state.watched
    assert after.turn.queued is not None
    assert state.turn.queued is not None
    assert after.turn.queued.request == state.turn.queued.request
    assert not has_instants(str)


FUTURE = at(DAY)
"""As in a store from a machine with a clock a day ahead."""


@pytest.mark.parametrize(
    ("state", "limited"),
    [
        pytest.param(
            GroupState(quiets=(replace(full_state().quiets[0], until=FUTURE, lasts=300.0),)),
            GroupState(quiets=(replace(full_state().quiets[0], until=at(300.0), lasts=300.0),)),
            id="quiet-time",
        ),
        pytest.param(
            GroupState(signals=(replace(full_state().signals[0], since=FUTURE, until=FUTURE, lasts=600.0),)),
            GroupState(signals=(replace(full_state().signals[0], since=NOW, until=at(600.0), lasts=600.0),)),
            id="alert",
        ),
        pytest.param(
            GroupState(moves=(SizeChange(at=FUTURE, before=1, after=2),)),
            GroupState(moves=(SizeChange(at=NOW, before=1, after=2),)),
            id="pace",
        ),
        pytest.param(GroupState(grown_at=FUTURE), GroupState(grown_at=NOW), id="catching-up"),
        pytest.param(GroupState(turn=ServiceTurn(began=FUTURE)), GroupState(turn=ServiceTurn(began=NOW)), id="turn"),
        pytest.param(full_state(), full_state(), id="nothing-too-late"),
    ],
)
def test_no_span_of_a_group_ends_later_than_its_declared_length_from_now(
    state: GroupState, limited: GroupState
) -> None:
    now = at(10_000.0) if state == full_state() else NOW
    assert limited_state(state, now) == limited


def test_no_back_off_ends_later_than_the_longest_from_now() -> None:
    assert limited_builds(Builds(failed=5, back_off_until=FUTURE), NOW).back_off_until == at(LONGEST_BACK_OFF)
    assert limited_builds(Builds(failed=5, back_off_until=at(5.0)), NOW).back_off_until == at(5.0)


def test_nothing_of_a_member_began_after_now_and_no_attempt_waits_longer_than_the_longest() -> None:
    record = moved(full_record(), Record, DAY)
    limited = limited_record(record, GRACE, NOW)
    began = {name: getattr(limited, name) for name in instants_of(Record) if name != "attempts"}
    assert set(began.values()) <= {NOW, None}
    assert all(each.again_at <= at(LONGEST_PAUSE) for each in limited.attempts)
    assert limited_record(full_record(), GRACE, FUTURE) == full_record()


def test_a_held_clock_goes_on_whatever_the_wall_clock_is_set_to_until_it_follows() -> None:
    reading = [Moment(wall=Instant(1000.0), steady=Monotonic(50.0))]
    clock = HeldClock(lambda: reading[0])
    reading[0] = Moment(wall=Instant(1010.0 - DAY), steady=Monotonic(60.0))
    assert (clock.wall(), clock.departed(), clock.moment().steady) == (1010.0, -DAY, 60.0)
    clock.follow(-DAY)
    assert (clock.wall(), clock.departed(), clock.elapsed()) == (1010.0 - DAY, 0.0, 1010.0)


@pytest.mark.parametrize(
    ("before", "after", "step"),
    [
        pytest.param(
            ClockDifference(boot="a", seconds=5.0), ClockDifference(boot="a", seconds=5.0 - DAY), -DAY, id="set-back"
        ),
        pytest.param(
            ClockDifference(boot="a", seconds=5.0), ClockDifference(boot="a", seconds=5.4), 0.0, id="too-little"
        ),
        pytest.param(
            ClockDifference(boot="a", seconds=5.0), ClockDifference(boot="b", seconds=DAY), 0.0, id="rebooted"
        ),
        pytest.param(ClockDifference(boot="", seconds=5.0), ClockDifference(boot="", seconds=DAY), 0.0, id="not-known"),
    ],
)
def test_over_a_restart_only_a_clock_of_the_same_boot_tells_a_step(
    before: ClockDifference, after: ClockDifference, step: float
) -> None:
    assert before.step_to(after) == step


def test_what_convergence_remembers_in_memory_moves_too() -> None:
    bed = grown(3)
    bed.cloud.hidden.add(name_of(2))
    bed.run()
    bed.converger.follow(0.0)
    witnesses = bed.converger.witnesses
    before = moved(witnesses._groups, dict[GroupId, type(witnesses._groups[WEB])], 0.0)
    since = witnesses._ledger._pages[WEB].lost
    bed.clock.advance(DAY)
    bed.converger.follow(DAY)
    assert {name: at - DAY for name, at in witnesses._ledger._pages[WEB].lost.items()} == pytest.approx(dict(since))
    assert witnesses._groups.keys() == before.keys()
    bed.cloud.hidden.clear()
    bed.settle()
    bed.expect(3)
