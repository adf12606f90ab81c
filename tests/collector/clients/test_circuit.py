from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.circuit import (
    FAILURES,
    FIRST_PAUSE,
    LATE,
    Circuit,
    CircuitCall,
    CircuitRefusal,
    Position,
    answered,
    begun,
    failed,
    overdue,
)
from config.units import Instant, Moment, Monotonic

WITHIN = 8.0


def at(seconds: float) -> Moment:
    """The wall clock is an hour off, so that one is not taken for the other."""
    return Moment(wall=Instant(seconds + 3600.0), steady=Monotonic(seconds))


def called(circuit: Circuit, now: float, within: float = WITHIN) -> tuple[Circuit, CircuitCall]:
    circuit, call = begun(circuit, at(now), within)
    assert isinstance(call, CircuitCall), call
    return circuit, call


def refused(circuit: Circuit, now: float) -> CircuitRefusal:
    _, refusal = begun(circuit, at(now), WITHIN)
    assert isinstance(refusal, CircuitRefusal), refusal
    return refusal


def failing(circuit: Circuit, now: float, times: int = 1) -> Circuit:
    """So many calls without an answer, each at once."""
    for _ in range(times):
        circuit, call = called(circuit, now)
        circuit = failed(circuit, call, "ConnectTimeout", at(now))
    return circuit


def opened(now: float = 0.0) -> Circuit:
    return failing(Circuit(), now, FAILURES)


def test_a_new_circuit_is_closed() -> None:
    assert Circuit().position is Position.CLOSED
    called(Circuit(), 0.0)


def test_failures_in_a_row_open_it_and_one_fewer_does_not() -> None:
    assert failing(Circuit(), 0.0, FAILURES - 1).position is Position.CLOSED
    assert opened().position is Position.OPEN


def test_an_answer_ends_the_row() -> None:
    circuit, call = called(failing(Circuit(), 0.0, FAILURES - 1), 1.0)

    circuit = failing(answered(circuit, call), 2.0, FAILURES - 1)

    assert circuit.position is Position.CLOSED


def test_an_open_circuit_refuses_and_says_since_when_and_after_what_and_when_it_is_tried() -> None:
    circuit = failing(failing(Circuit(), 1.0), 3.0, FAILURES - 1)

    refusal = refused(circuit, 3.25)

    assert (refusal.row.count, refusal.row.since, refusal.row.last) == (FAILURES, at(1.0), "ConnectTimeout")
    assert (refusal.again_in, refusal.probing) == (pytest.approx(FIRST_PAUSE - 0.25), False)


def test_after_its_pause_exactly_one_call_is_made() -> None:
    circuit, _ = called(opened(), FIRST_PAUSE)

    assert circuit.position is Position.HALF_OPEN
    assert [refused(circuit, FIRST_PAUSE + later).probing for later in (0.0, 1.0, WITHIN - 0.1)] == [True] * 3


def test_a_probe_that_is_answered_closes_it_and_calls_go_on() -> None:
    circuit, probe = called(opened(), FIRST_PAUSE)

    circuit = answered(circuit, probe)

    assert circuit.position is Position.CLOSED
    assert failing(circuit, 2.0, FAILURES - 1).position is Position.CLOSED, "the row begins anew"


def test_pauses_double_up_to_what_a_call_may_take_and_begin_anew_after_an_answer() -> None:
    circuit, now, pauses = opened(), 0.0, []
    for _ in range(6):
        pauses.append(refused(circuit, now).again_in)
        now += pauses[-1]
        circuit = failing(circuit, now)
    circuit, probe = called(circuit, now + WITHIN)

    again = failing(answered(circuit, probe), 99.0, FAILURES)

    assert pauses == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert refused(again, 99.0).again_in == FIRST_PAUSE


def test_a_call_that_has_not_ended_in_time_has_failed_though_a_caller_still_waits_for_it() -> None:
    circuit = Circuit()
    for _ in range(FAILURES):
        circuit, _ = called(circuit, 0.0)

    assert overdue(circuit, at(WITHIN - 0.1)).position is Position.CLOSED
    assert refused(circuit, WITHIN).row.last == LATE


def test_a_probe_that_never_comes_back_is_replaced() -> None:
    circuit, _ = called(opened(), FIRST_PAUSE)

    refusal = refused(circuit, FIRST_PAUSE + WITHIN)

    circuit, _ = called(overdue(circuit, at(FIRST_PAUSE + WITHIN)), FIRST_PAUSE + WITHIN + refusal.again_in)
    assert circuit.position is Position.HALF_OPEN


def test_a_failure_that_is_reported_late_is_not_counted_twice() -> None:
    circuit, call = called(failing(Circuit(), 0.0, FAILURES - 2), 0.0)
    circuit = overdue(circuit, at(WITHIN))

    assert failed(circuit, call, "ReadTimeout", at(WITHIN)) == circuit
    assert circuit.position is Position.CLOSED


def test_a_call_from_before_that_is_answered_closes_it() -> None:
    circuit, slow = called(Circuit(), 0.0)

    circuit = answered(failing(circuit, 0.0, FAILURES), slow)

    assert circuit.position is Position.CLOSED


def test_calls_from_before_that_fail_neither_lengthen_a_pause_nor_end_a_probe_nor_count_after_it() -> None:
    circuit = Circuit()
    slow = []
    for _ in range(FAILURES + 3):
        circuit, call = called(circuit, 0.0)
        slow.append(call)
    circuit = failing(circuit, 0.0, FAILURES)

    circuit = failed(circuit, slow.pop(), "ReadTimeout", at(0.5))
    assert refused(circuit, 0.5).again_in == FIRST_PAUSE - 0.5
    circuit, probe = called(circuit, FIRST_PAUSE)
    circuit = failed(circuit, slow.pop(), "ReadTimeout", at(2.0))
    assert circuit.position is Position.HALF_OPEN
    circuit = answered(circuit, probe)
    for call in slow:
        circuit = failed(circuit, call, "ReadTimeout", at(3.0))
    assert circuit == answered(circuit, probe)


ACTS = st.lists(
    st.tuples(
        st.floats(0.0, 5.0),
        st.sampled_from(["begin", "begin", "answer", "fail", "fail"]),
        st.integers(0, 5),
        st.floats(0.1, 30.0),
    ),
    max_size=80,
)


@given(acts=ACTS)
def test_whatever_happens(acts: list[tuple[float, str, int, float]]) -> None:
    circuit, now, calls = Circuit(), 0.0, list[CircuitCall]()
    for later, act, which, within in acts:
        now += later
        before = circuit
        if act == "begin":
            circuit, call = begun(circuit, at(now), within)
            if isinstance(call, CircuitCall):
                calls.append(call)
            else:
                assert 0.0 < call.again_in <= 30.0
                assert call.row.count >= FAILURES
                assert circuit.position is not Position.CLOSED
        elif calls and act == "answer":
            circuit = answered(circuit, calls.pop(which % len(calls)))
            assert circuit.position is Position.CLOSED
        elif calls:
            circuit = failed(circuit, calls.pop(which % len(calls)), "reset", at(now))
            assert circuit.position is not Position.HALF_OPEN or before.position is Position.HALF_OPEN
        probes = [call for call in circuit.under_way if call.era == circuit.era]
        assert len(probes) == 1 or circuit.position is not Position.HALF_OPEN
        assert not (circuit.position is Position.OPEN and probes)
        assert circuit.era >= before.era


@given(pauses=st.lists(st.floats(0.0, 40.0), max_size=30), within=st.floats(0.5, 30.0))
def test_an_endpoint_that_is_dead_is_tried_again_for_ever_and_one_that_is_back_is_found(
    pauses: list[float], within: float
) -> None:
    circuit, now, tried = opened(), 0.0, [0.0]
    for pause in pauses:
        now += pause
        circuit, call = begun(circuit, at(now), within)
        if isinstance(call, CircuitCall):
            tried.append(now)
            now += within
            circuit = failed(circuit, call, "ConnectTimeout", at(now))

    circuit, call = begun(circuit, at(now + max(within, FIRST_PAUSE)), within)

    assert isinstance(call, CircuitCall)
    assert answered(circuit, call).position is Position.CLOSED
    assert all(later - earlier >= within for earlier, later in pairwise(tried[1:]))
