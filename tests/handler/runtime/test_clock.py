from __future__ import annotations

import time

import pytest

from handler.runtime import clock


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="the system has no clock that counts while it sleeps")
def test_the_steady_clock_has_counted_the_hour_for_which_the_machine_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    system = {time.CLOCK_BOOTTIME: 5000.0, time.CLOCK_MONOTONIC: 1400.0}
    monkeypatch.setattr(time, "clock_gettime", system.__getitem__)
    assert clock.moment().steady == 5000.0


def test_the_wall_clock_is_the_same_in_both_readings() -> None:
    before = clock.wall()
    assert before <= clock.moment().wall <= clock.wall()
