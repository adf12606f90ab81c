from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from collector.clients.circuit import FAILURES, Position
from collector.clients.circuits import Circuits, endpoint_of, sending
from config.errors import Transient, Unsent
from config.units import Instant, Moment, Monotonic
from tests.support.waiting import PATIENT

NOVA, KEYSTONE = "http://cloud:8774", "http://cloud:5000"
NOON = 1768996800.0
"""2026-01-21 12:00:00 UTC."""


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> Moment:
        return Moment(wall=Instant(NOON + self.now), steady=Monotonic(self.now))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def circuits(clock: Clock) -> Circuits:
    return Circuits(clock)


def failing(circuits: Circuits, endpoint: str = NOVA, times: int = FAILURES) -> None:
    for _ in range(times):
        with circuits.sending(endpoint, 30.0) as one:
            one.failed("ConnectTimeout")


def answering(circuits: Circuits, endpoint: str = NOVA) -> None:
    with circuits.sending(endpoint, 30.0) as one:
        one.answered()


def positions(circuits: Circuits) -> dict[str, Position]:
    return {each.endpoint: each.position for each in circuits.statuses()}


def test_a_refusal_says_since_when_after_what_and_when_the_next_is_tried(circuits: Circuits, clock: Clock) -> None:
    failing(circuits, times=FAILURES - 1)
    clock.now = 30.0
    failing(circuits, times=1)

    with pytest.raises(Unsent) as refused, circuits.sending(NOVA, 30.0):
        raise AssertionError("it was sent")

    assert str(refused.value) == (
        "calls to http://cloud:8774 are held back: 5 calls in a row failed since 2026-01-21 12:00:00 UTC, the last: "
        "ConnectTimeout; the next call is tried at 2026-01-21 12:00:31 UTC"
    )
    assert refused.value.retry_after == 1.0
    assert isinstance(refused.value, Transient)


def test_each_endpoint_has_a_circuit_of_its_own(circuits: Circuits) -> None:
    failing(circuits)

    answering(circuits, KEYSTONE)

    assert positions(circuits) == {NOVA: Position.OPEN, KEYSTONE: Position.CLOSED}


def test_of_many_that_wait_for_a_pause_to_end_one_probes(circuits: Circuits, clock: Clock) -> None:
    failing(circuits)
    clock.now = 1.0
    probing, may_end = threading.Barrier(8), threading.Event()

    def call(_: int) -> str:
        probing.wait(PATIENT)
        try:
            with circuits.sending(NOVA, 30.0) as one:
                may_end.wait(PATIENT)
                one.answered()
        except Unsent as refused:
            may_end.set() if circuits.statuses()[0].unsent == 7 else None
            return str(refused)
        return "sent"

    with ThreadPoolExecutor(8) as pool:
        outcomes = sorted(pool.map(call, range(8)))

    assert outcomes.count("sent") == 1
    assert sum(words.endswith("a call is being tried now") for words in outcomes) == 7
    assert positions(circuits) == {NOVA: Position.CLOSED}


def test_a_refused_caller_hears_why_and_how_many_calls_were_not_sent(circuits: Circuits, clock: Clock) -> None:
    answering(circuits, KEYSTONE)
    failing(circuits)
    for _ in range(3):
        with contextlib.suppress(Unsent), circuits.sending(NOVA, 30.0):
            pass

    keystone, nova = circuits.statuses()

    assert (keystone.endpoint, keystone.because, keystone.unsent) == (KEYSTONE, "", 0)
    assert (nova.unsent, nova.because.partition(" are held back: 5 calls")[0]) == (3, f"calls to {NOVA}")
    clock.now = 1.0
    with circuits.sending(NOVA, 30.0):
        assert circuits.statuses()[1].because.endswith("a call is being tried now")


def test_a_call_that_an_exception_ends_has_failed_whatever_it_was(circuits: Circuits) -> None:
    for _ in range(FAILURES):
        with pytest.raises(KeyboardInterrupt), circuits.sending(NOVA, 30.0):
            raise KeyboardInterrupt

    assert positions(circuits) == {NOVA: Position.OPEN}


def test_an_endpoint_that_is_not_called_any_more_is_forgotten(circuits: Circuits, clock: Clock) -> None:
    failing(circuits)
    clock.now = 3599.0
    assert positions(circuits) == {NOVA: Position.OPEN}

    clock.now = 3600.0

    assert circuits.statuses() == ()
    answering(circuits)


def test_a_call_that_is_forgotten_meanwhile_may_end(circuits: Circuits, clock: Clock) -> None:
    with circuits.sending(NOVA, 30.0) as one:
        clock.now = 7200.0
        circuits.statuses()
        circuits.statuses()
        one.answered()

    assert positions(circuits) == {NOVA: Position.CLOSED}


def test_without_circuits_everything_is_sent() -> None:
    sent = 0
    for _ in range(FAILURES + 1):
        with sending(None, NOVA, 30.0) as one:
            one.failed("ConnectTimeout")
            sent += 1

    assert sent == FAILURES + 1


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [
        pytest.param("https://a.example", "https://a.example:443", id="a port that goes without saying"),
        pytest.param("http://a:5000/v3/auth/tokens", "http://a:5000", id="a version is no service"),
        pytest.param("https://a/identity/v3/auth/tokens", "https://a:443/identity", id="a service behind a port"),
        pytest.param("https://a/compute/v2.1/servers", "https://a:443/compute", id="and another one"),
        pytest.param("http://u:p@a/RPC2", "http://a:80/RPC2", id="credentials are not shown"),
    ],
)
def test_an_endpoint_is_what_answers(address: str, endpoint: str) -> None:
    assert endpoint_of(address) == endpoint


def test_while_all_is_held_back_no_call_is_begun_and_no_endpoint_is_blamed(clock: Clock) -> None:
    why = [""]
    circuits = Circuits(clock, lambda: why[0])
    with circuits.sending(NOVA, 30.0) as one:
        why[0] = "the lease is over"  # while a call is under way, which ends as it would
        one.answered()
    with pytest.raises(Unsent, match=f"nothing is sent to {NOVA}: the lease is over"), circuits.sending(NOVA, 30.0):
        pytest.fail("a call was begun")
    why[0] = ""
    with circuits.sending(NOVA, 30.0) as one:
        one.answered()
    assert [(each.position, each.unsent) for each in circuits.statuses()] == [(Position.CLOSED, 0)]
