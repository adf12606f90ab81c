from __future__ import annotations

import threading
import time

from handler.recording.intake import RecordingIntake
from tests.support.recording import WEB, a_layout, a_scrape, at
from tests.support.waiting import PATIENT

LAYOUT = a_layout()


def test_what_is_handed_over_comes_out_in_order() -> None:
    intake = RecordingIntake()
    for second in range(3):
        intake.put((WEB,), a_scrape(at(second), LAYOUT))

    batch = intake.take(0.0)

    assert [tick.at for tick in batch.ticks] == [at(0), at(1), at(2)]
    assert intake.take(0.0).ticks == ()


def test_a_tick_that_is_too_large_for_the_queue_passes_alone() -> None:
    intake = RecordingIntake(samples_at_most=1)

    assert intake.put((WEB,), a_scrape(at(0), LAYOUT))
    assert not intake.put((WEB,), a_scrape(at(1), LAYOUT))


def test_there_is_room_again_when_the_writer_has_taken_what_there_was() -> None:
    intake = RecordingIntake(samples_at_most=2)
    intake.put((WEB,), a_scrape(at(0), LAYOUT))
    intake.put((WEB,), a_scrape(at(1), LAYOUT))
    intake.take(0.0)

    assert intake.put((WEB,), a_scrape(at(2), LAYOUT))
    assert intake.dropped == 1


def test_what_was_left_out_is_remembered_without_its_samples() -> None:
    intake = RecordingIntake(samples_at_most=2)
    for second in range(10_000):
        intake.put((WEB,), a_scrape(at(second), LAYOUT))

    batch = intake.take(0.0)

    assert intake.dropped == 9_999
    assert [tick.scrape is None for tick in batch.ticks] == [False] + [True] * 5_000
    assert batch.ticks[-1].at == at(9_999)


def test_a_writer_that_waits_is_woken() -> None:
    intake, woken = RecordingIntake(), []
    waiter = threading.Thread(target=lambda: woken.append(intake.take(30.0)))
    waiter.start()
    intake.put((WEB,), a_scrape(at(0), LAYOUT))
    waiter.join(PATIENT)

    assert [len(batch.ticks) for batch in woken] == [1]


def test_handing_over_takes_no_time_whatever_there_is() -> None:
    intake = RecordingIntake()
    large = a_scrape(at(0), a_layout(*(("web", "cpu", f"m-{n}") for n in range(20_000))))
    began = time.thread_time()
    for _ in range(1000):
        intake.put((WEB,), large)

    assert (time.thread_time() - began) / 1000 < 0.001
