from __future__ import annotations

import pytest

from config.units import GroupId
from handler.runtime.slots import Slot


def _slot(interval: float = 30.0, phase: float = 0.0) -> Slot:
    return Slot(interval=interval, phase=phase, groups=(GroupId("web"),))


@pytest.mark.parametrize(
    ("phase", "now", "due"),
    [(0.0, 0.0, 30.0), (0.0, 29.9, 30.0), (0.0, 30.0, 60.0), (7.5, 7.4, 7.5), (7.5, 7.5, 37.5), (15.0, 100.0, 105.0)],
)
def test_the_next_tick_is_the_first_one_still_to_come(phase: float, now: float, due: float) -> None:
    assert _slot(phase=phase).next_at(now) == due


def test_a_tick_that_took_longer_than_its_interval_skips_ticks_instead_of_doubling_them() -> None:
    slot = _slot(interval=10.0)
    assert slot.next_at(10.0 + 25.0) == 40.0


@pytest.mark.parametrize(
    ("newest", "now", "due"),
    [
        pytest.param(60.2, 62.0, 90.0, id="it was away between two ticks"),
        pytest.param(60.2, 91.5, 91.5, id="a tick came due meanwhile"),
        pytest.param(61.0, 89.9, 90.0, id="the last tick was late"),
        pytest.param(60.2, 200.0, 200.0, id="it was away for long, and the windows are too old"),
    ],
)
def test_a_tick_that_came_due_while_no_daemon_ran_is_due_at_once(newest: float, now: float, due: float) -> None:
    assert _slot().due_after(newest, now) == due
