from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from collector.clients.shared import Shared
from config.errors import Transient
from tests.support.waiting import PATIENT, until


class Source:
    """Readings that end when they are let, and tell their number."""

    def __init__(self) -> None:
        self.begun = 0
        self.gate = threading.Semaphore(0)
        self.wrong: Exception | None = None

    def ask(self) -> int:
        self.begun += 1
        number = self.begun
        assert self.gate.acquire(timeout=PATIENT)
        if self.wrong is not None:
            raise self.wrong
        return number


def test_a_caller_that_asks_during_a_reading_gets_the_next_one_and_shares_it() -> None:
    source = Source()
    shared = Shared(source.ask)
    with ThreadPoolExecutor(max_workers=9) as pool:
        first = pool.submit(shared.read)
        until(lambda: source.begun == 1)
        others = [pool.submit(shared.read) for _ in range(8)]
        until(lambda: len(shared._condition._waiters) == 8)  # type: ignore[attr-defined]
        source.gate.release(2)

        assert first.result(timeout=PATIENT) == 1
        assert {other.result(timeout=PATIENT) for other in others} == {2}
    assert source.begun == 2


def test_one_after_the_other_each_reads_anew() -> None:
    source = Source()
    shared = Shared(source.ask)
    source.gate.release(3)

    assert [shared.read() for _ in range(3)] == [1, 2, 3]


def test_a_failure_reaches_every_caller_that_waited_for_it_and_no_other() -> None:
    source = Source()
    shared = Shared(source.ask)
    source.wrong = Transient("later")
    with ThreadPoolExecutor(max_workers=4) as pool:
        asked = [pool.submit(shared.read) for _ in range(4)]
        source.gate.release(4)
        wait(asked, timeout=PATIENT)
        for one in asked:
            with pytest.raises(Transient, match="later"):
                one.result()

    source.wrong = None
    source.gate.release()
    assert shared.read() == source.begun


def test_a_mistake_of_ours_leaves_no_caller_waiting() -> None:
    source = Source()
    shared = Shared(source.ask)
    source.wrong = ZeroDivisionError()
    source.gate.release(2)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            shared.read()

    source.wrong = None
    source.gate.release()
    assert shared.read() == 3
