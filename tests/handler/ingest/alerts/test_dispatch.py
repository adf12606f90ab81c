from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from config.model.effects import Effect, RaiseFloor, Shield
from config.units import Instant
from handler.ingest.alerts.dispatch import MORE, SIGNALS_AT_MOST, applied
from handler.ingest.alerts.mapping import EVERYTHING, Meaning, mapped
from handler.ingest.alerts.notifications import ReceivedAlert
from tests.support.hooks import declared, firing, resolved, rules
from tests.support.trigger import NOON
from trigger.requests import GroupState


def at(seconds: float) -> Instant:
    return Instant(NOON + seconds)


def meanings(effect: Effect, *alerts: ReceivedAlert, now: float = 0.0) -> tuple[Meaning, ...]:
    return mapped(rules(declared(effect)), alerts, EVERYTHING, at(now)).meanings


def test_a_signal_is_renewed_by_repetition_and_ended_by_resolution() -> None:
    begun = applied(GroupState(), meanings(Shield(), firing()), at(0.0))
    renewed = applied(begun, meanings(Shield(), firing(), now=60.0), at(60.0))
    assert [signal.until for signal in begun.signals] == [at(900.0)]
    assert [signal.until for signal in renewed.signals] == [at(960.0)]
    assert applied(renewed, meanings(Shield(), resolved()), at(61.0)).signals == ()


def test_one_alert_that_is_resolved_leaves_the_others() -> None:
    alerts = [firing(fingerprint="a"), firing(fingerprint="b"), resolved(fingerprint="a")]
    state = applied(GroupState(), meanings(RaiseFloor(size=4), *alerts), at(0.0))
    assert [(signal.key, signal.size) for signal in state.signals] == [("b", 4)]


def test_a_lost_end_costs_no_more_than_the_time_to_live() -> None:
    begun = applied(GroupState(), meanings(Shield(), firing()), at(0.0))
    other = meanings(RaiseFloor(size=2), firing(fingerprint="a"), now=900.0)
    assert [signal.key for signal in applied(begun, other, at(900.0)).signals] == ["a"]


@given(st.lists(st.integers(0, 10**6), max_size=4 * SIGNALS_AT_MOST))
def test_a_flood_of_alerts_keeps_a_state_small_and_the_group_shielded(fingerprints: list[int]) -> None:
    alerts = [firing(fingerprint=f"{number:x}") for number in fingerprints]
    state = applied(GroupState(), meanings(Shield(), *alerts), at(0.0))
    assert len(state.signals) == min(len(set(fingerprints)), SIGNALS_AT_MOST + 1)
    assert bool(state.signals) is bool(fingerprints)


def test_what_stands_for_the_rest_ends_by_time_alone() -> None:
    alerts = [firing(fingerprint=f"{number:x}") for number in range(SIGNALS_AT_MOST + 5)]
    ends = [resolved(fingerprint=f"{number:x}") for number in range(SIGNALS_AT_MOST + 5)]
    state = applied(GroupState(), meanings(Shield(), *alerts, *ends), at(0.0))
    assert [signal.key for signal in state.signals] == [MORE]
