"""A person's freeze: begun, replaced, ended, and what it stops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.effects import FrozenDirection
from config.units import Instant
from tests.support.trigger import NOON, a_person, a_request, a_signal, add, decided, remove
from trigger.policies.manual_freezes import ManualFreeze, frozen, manual_freezes, unfrozen
from trigger.policies.signals import signalled
from trigger.reasons import Reason
from trigger.requests import GroupState, Request, SignalKind

IN, OUT, BOTH = FrozenDirection.IN, FrozenDirection.OUT, FrozenDirection.BOTH
NOW = Instant(NOON)
ALERT = a_signal(SignalKind.FREEZE_IN)


def freeze(state: GroupState, direction: FrozenDirection, lasts: float = 3600.0, by: str = "ada") -> GroupState:
    return frozen(state, direction, lasts, by=by, because="the fair", now=NOW)


def shown(state: GroupState, after: float = 0.0) -> list[tuple[FrozenDirection, str, float]]:
    return [(each.direction, each.by, each.until - NOON) for each in manual_freezes(state, Instant(NOON + after))]


@pytest.mark.parametrize(
    ("direction", "request_", "reason"),
    [
        (BOTH, a_request(add(1)), Reason.FROZEN),
        (BOTH, a_request(remove(1)), Reason.FROZEN),
        (IN, a_request(add(1)), Reason.SCALED_OUT),
        (IN, a_request(remove(1)), Reason.FROZEN),
        (OUT, a_request(remove(1)), Reason.SCALED_IN),
        (BOTH, a_person(5), Reason.SCALED_OUT),
        (BOTH, a_person(3), Reason.SCALED_IN),
    ],
)
def test_it_stops_policies_in_its_direction_until_its_end_and_no_person(
    direction: FrozenDirection, request_: Request, reason: Reason
) -> None:
    (answer,) = decided(request_, state=freeze(GroupState(), direction)).answers
    assert (answer.reason, answer.until) == (reason, NOON + 3600 if reason is Reason.FROZEN else None)


def test_it_ends_by_itself() -> None:
    state = freeze(GroupState(), BOTH, lasts=60.0)
    assert (shown(state, after=59.0), shown(state, after=60.0)) == ([(BOTH, "ada", 60.0)], [])


def test_the_newest_replaces_the_one_before_also_by_a_shorter_one() -> None:
    state = freeze(freeze(GroupState(), BOTH, lasts=7200.0), BOTH, lasts=60.0, by="bob")
    assert shown(state) == [(BOTH, "bob", 60.0)]


def test_of_two_directions_one_can_be_replaced_and_ended_by_itself() -> None:
    state = freeze(freeze(GroupState(), BOTH), IN, lasts=60.0, by="bob")
    assert shown(state) == [(IN, "bob", 60.0), (OUT, "ada", 3600.0)]
    assert shown(unfrozen(state, IN)) == [(OUT, "ada", 3600.0)]
    assert shown(unfrozen(state, BOTH)) == []


def test_alerts_stay_beside_it_and_outlast_it() -> None:
    state = signalled(freeze(GroupState(), IN), ALERT, NOW)
    assert shown(state) == [(IN, "ada", 3600.0)]
    assert unfrozen(state, BOTH).signals == (ALERT,)
    assert manual_freezes(replace(state, signals=(ALERT,)), NOW) == ()


def test_its_reason_is_kept() -> None:
    (found,) = manual_freezes(freeze(GroupState(), OUT), NOW)
    assert found == ManualFreeze(direction=OUT, since=NOW, until=Instant(NOON + 3600), by="ada", because="the fair")
