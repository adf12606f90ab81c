"""A few passes think at a time, while many wait for calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from handler.convergence.pass_threads import PassThreads, waiting
from tests.support.waiting import PATIENT


@pytest.fixture
def threads() -> Iterator[PassThreads]:
    threads = PassThreads(thinking=1, calling=2)
    yield threads
    threads.shutdown()


def results(*futures: Future[str]) -> list[str]:
    return [future.result(PATIENT) for future in futures]


def calling(over: threading.Event, begun: Callable[[], None] = lambda: None, answer: str = "done") -> Callable[[], str]:
    def work() -> str:
        with waiting():
            begun()
            assert over.wait(PATIENT)
        return answer

    return work


def test_a_pass_that_waits_for_a_call_holds_up_no_other(threads: PassThreads) -> None:
    over = threading.Event()
    slow = threads.submit(calling(over))
    assert results(threads.submit(lambda: "quick")) == ["quick"]
    over.set()
    assert results(slow) == ["done"]


def test_no_more_passes_think_at_a_time_than_may(threads: PassThreads) -> None:
    thinking, most = 0, 0

    def think() -> str:
        nonlocal thinking, most
        for _ in range(50):
            thinking += 1
            most = max(most, thinking)
            thinking -= 1
            with waiting():
                pass
        return "thought"

    assert results(*(threads.submit(think) for _ in range(8))) == ["thought"] * 8
    assert most == 1


def test_a_pass_that_comes_back_goes_before_one_that_has_not_begun(threads: PassThreads) -> None:
    over, called, order = threading.Event(), threading.Event(), list[str]()

    def slow() -> str:
        calling(over, called.set)()
        order.append("back")
        return ""

    def busy() -> str:
        over.set()
        while not threads._returning:
            threading.Event().wait(0.001)
        return ""

    def new() -> str:
        order.append("new")
        return ""

    first = threads.submit(slow)
    assert called.wait(PATIENT)
    results(first, threads.submit(busy), threads.submit(new))
    assert order == ["back", "new"]


def test_an_urgent_pass_goes_before_others_that_have_not_begun(threads: PassThreads) -> None:
    over, order = threading.Event(), list[str]()
    busy = threads.submit(lambda: str(over.wait(PATIENT)))
    others = [threads.submit(lambda: str(order.append("other"))) for _ in range(2)]
    urgent = threads.urgent.submit(lambda: str(order.append("urgent")))

    over.set()
    results(busy, *others, urgent)

    assert order == ["urgent", "other", "other"]


def test_passes_beyond_those_that_may_wait_keep_their_turn(threads: PassThreads) -> None:
    over = threading.Event()
    slow = [threads.submit(calling(over)) for _ in range(3)]
    after = threads.submit(lambda: "after")
    over.set()
    assert results(*slow, after) == ["done", "done", "done", "after"]


def test_a_failure_of_a_pass_reaches_its_caller_and_costs_no_turn(threads: PassThreads) -> None:
    def fail() -> str:
        with waiting():
            raise LookupError("no such thing")

    failed = threads.submit(fail)
    with pytest.raises(LookupError):
        failed.result(PATIENT)
    assert results(threads.submit(lambda: "next")) == ["next"]


def test_a_pass_that_was_cancelled_before_it_began_never_runs(threads: PassThreads) -> None:
    over, ran = threading.Event(), threading.Event()
    first = threads.submit(lambda: str(over.wait(PATIENT)))
    second = threads.submit(ran.set)
    assert second.cancel()
    over.set()
    assert results(first, threads.submit(lambda: "next")) == ["True", "next"]
    assert not ran.is_set()


def test_outside_the_threads_of_passes_waiting_does_nothing() -> None:
    with waiting():
        pass
