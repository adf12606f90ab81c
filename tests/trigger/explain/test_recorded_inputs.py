"""What is recorded of a decision's inputs."""

from __future__ import annotations

from dataclasses import replace

from config.units import Instant
from tests.support.trigger import NOON, a_fleet, a_group, a_signal, an_alarm, at, remove
from trigger.decide import decide
from trigger.explain.recorded_inputs import DecisionTrack, RecordedInputs, given_to
from trigger.policies.signals import signalled
from trigger.requests import GroupState, Request

GROUP = a_group()


def given(
    state: GroupState, track: DecisionTrack | None, seconds: float, *requests: Request
) -> tuple[RecordedInputs | None, DecisionTrack]:
    fleet = a_fleet()
    decision = decide(GROUP, requests, fleet, state, at(seconds), evaluation=None)
    return given_to(
        decision,
        GROUP,
        track,
        life=Instant(NOON),
        state=state,
        fleet=fleet,
        requests=requests,
        evaluated=False,
    )


def test_the_record_of_an_alert_does_not_repeat_those_that_it_outlasts() -> None:
    state = GroupState(desired=4)
    record, track = given(state, None, 0.0)
    for number in range(30):
        alert = a_signal(key=f"f{number:02}", until=600.0 + number)
        state = signalled(track.left, alert, Instant(NOON + number))
        record, track = given(state, track, float(number))
    assert record is not None
    assert record.before is not None
    assert [signal.key for signal in record.state.signals] == ["f29"]
    assert [signal.key for signal in record.before.signals] == ["f28"]
    assert len(track.left.signals) == 30


def test_a_request_after_a_flood_is_decided_alike_by_its_record() -> None:
    signals = tuple(a_signal(key=f"f{number:02}", until=600.0 + number) for number in range(30))
    state = GroupState(desired=4, signals=signals)
    alarm = an_alarm(remove(1))
    record, track = given(state, None, 1.0, alarm)
    assert record is not None
    assert replace(track.left, signals=record.state.signals) == record.state
    live = decide(GROUP, [alarm], record.fleet, state, at(1.0), evaluation=None)
    again = decide(GROUP, record.requests, record.fleet, record.state, at(1.0), evaluation=None)
    assert again.answers == live.answers
