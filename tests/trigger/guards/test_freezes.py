"""Freeze windows in decisions, and in explanations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.calendars import Calendar
from config.model.catalogue import Group
from config.model.effects import FrozenDirection
from config.model.freezes import FreezeWindow
from config.units import Instant
from tests.support.trigger import (
    NOON,
    a_catalogue,
    a_fleet,
    a_floor,
    a_group,
    a_person,
    a_request,
    a_signal,
    add,
    an_alarm,
    at,
    remove,
)
from trigger.decide import decide
from trigger.explain.explanation import explain
from trigger.explain.shapes import shape
from trigger.explain.words import say
from trigger.reasons import Reason
from trigger.requests import Decision, GroupState, Request, Signal, SignalKind

ELEVEN = Calendar(cron="0 11 * * *")


def frozen(way: FrozenDirection = FrozenDirection.BOTH, hours: float = 2.0) -> Group:
    """From 11:00 on; it is noon."""
    return replace(a_group(), freezes=(FreezeWindow(calendar=ELEVEN, duration=hours * 3600, way=way),))


def asked(group: Group, *requests: Request, desired: int = 10, signals: tuple[Signal, ...] = ()) -> Decision:
    return decide(group, requests, a_fleet(), GroupState(desired=desired, signals=signals), at(), evaluation=None)


@pytest.mark.parametrize(
    ("way", "request_", "reason"),
    [
        pytest.param(FrozenDirection.BOTH, a_request(add(1)), Reason.FROZEN, id="policy-out"),
        pytest.param(FrozenDirection.BOTH, a_request(remove(1)), Reason.FROZEN, id="policy-in"),
        pytest.param(FrozenDirection.BOTH, an_alarm(add(1)), Reason.FROZEN, id="alarm-out"),
        pytest.param(FrozenDirection.BOTH, a_person(12), Reason.SCALED_OUT, id="person-out"),
        pytest.param(FrozenDirection.BOTH, a_person(8), Reason.SCALED_IN, id="person-in"),
        pytest.param(FrozenDirection.IN, a_request(add(1)), Reason.SCALED_OUT, id="in-lets-out-pass"),
        pytest.param(FrozenDirection.IN, a_request(remove(1)), Reason.FROZEN, id="in-stops-in"),
        pytest.param(FrozenDirection.OUT, a_request(add(1)), Reason.FROZEN, id="out-stops-out"),
        pytest.param(FrozenDirection.OUT, a_request(remove(1)), Reason.SCALED_IN, id="out-lets-in-pass"),
    ],
)
def test_a_window_stops_requests_of_its_direction_but_never_a_person(
    way: FrozenDirection, request_: Request, reason: Reason
) -> None:
    answer = asked(frozen(way), request_).answers[0]
    assert answer.reason is reason
    assert answer.until == (NOON + 3600 if reason is Reason.FROZEN else None)


def test_outside_its_window_nothing_is_frozen() -> None:
    assert asked(frozen(hours=0.5), a_request(add(1))).reason is Reason.SCALED_OUT


@pytest.mark.parametrize(
    ("desired", "signals", "size", "reason"),
    [
        pytest.param(1, (), 2, Reason.BOUNDS, id="min"),
        pytest.param(50, (), 40, Reason.BOUNDS, id="max"),
        pytest.param(10, (a_floor(12),), 12, Reason.ALERT_FLOOR, id="an-alerts-floor"),
    ],
)
def test_bounds_and_floors_go_on(desired: int, signals: tuple[Signal, ...], size: int, reason: Reason) -> None:
    decision = asked(frozen(), desired=desired, signals=signals)
    assert (decision.desired_to, decision.reason) == (size, reason)


def test_the_later_end_of_an_alert_and_a_window_counts() -> None:
    late = a_signal(SignalKind.FREEZE_IN, until=7200)
    assert asked(frozen(), a_request(remove(1)), signals=(late,)).answers[0].until == NOON + 7200
    early = a_signal(SignalKind.FREEZE_IN, until=60)
    assert asked(frozen(), a_request(remove(1)), signals=(early,)).answers[0].until == NOON + 3600


@pytest.mark.parametrize(
    ("group", "line"),
    [
        (frozen(), 'freeze window "0 11 * * *" UTC blocks scaling of web until 2026-01-01 13:00 UTC (1h left)'),
        (
            frozen(FrozenDirection.IN),
            'freeze window "0 11 * * *" UTC blocks scale-in of web until 2026-01-01 13:00 UTC (1h left)',
        ),
        (frozen(hours=0.5), 'freeze window "0 11 * * *" UTC: next at 2026-01-02 11:00 UTC, for 30m'),
    ],
)
def test_why_shows_the_active_or_next_window(group: Group, line: str) -> None:
    result = explain(a_catalogue(group=group), group, None, asked(group), a_fleet())
    assert say(result, Instant(NOON))[-1] == line


def test_a_window_that_begins_is_another_story() -> None:
    active, over = frozen(), frozen(hours=0.5)
    stories = [shape(explain(a_catalogue(group=one), one, None, asked(one), a_fleet())) for one in (active, over)]
    assert stories[0] != stories[1]
