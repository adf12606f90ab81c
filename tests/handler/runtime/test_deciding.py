from __future__ import annotations

import pytest

from config.units import GroupId
from handler.runtime.deciding import Slot


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
