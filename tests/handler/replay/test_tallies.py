from __future__ import annotations

from handler.replay.tallies import TickMeter


def test_a_tick_counts_until_the_next() -> None:
    meter = TickMeter(30.0)
    for at, size in ((0, 2), (30, 4), (60, 4)):
        meter.tick(at, size, busy=False)

    tally = meter.tally(())

    assert (round(tally.size_hours * 3600), round(tally.hours * 3600)) == (2 * 30 + 4 * 30, 60)


def test_a_gap_counts_for_one_and_a_half_intervals() -> None:
    meter = TickMeter(30.0)
    meter.tick(0, 2, busy=False, short=True)
    meter.tick(3600, 2, busy=False, short=False)

    assert meter.tally(()).short_minutes == 0.75


def test_without_a_load_the_time_over_capacity_is_unknown() -> None:
    meter = TickMeter(30.0)
    meter.tick(0, 2, busy=False)

    assert meter.tally(()).short_minutes is None
