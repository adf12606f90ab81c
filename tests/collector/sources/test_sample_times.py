from __future__ import annotations

from collector.samples import Series
from collector.sources.sample_times import SampleTimes
from config.units import CounterId
from tests.support.collector import WEB

HITS, JOBS = Series(WEB, CounterId("hits"), None), Series(WEB, CounterId("jobs"), None)


def test_the_same_sample_is_always_of_the_same_instant() -> None:
    times = SampleTimes()

    first = times.instant(HITS, 1000.0, at=50.000, now=60.0)
    again = times.instant(HITS, 1000.0, at=50.004, now=90.0)

    assert (first, again) == (50.0, 50.0)
    assert times.instant(HITS, 1015.0, at=65.002, now=120.0) == 65.002


def test_series_do_not_share_their_times() -> None:
    times = SampleTimes()

    times.instant(HITS, 1000.0, at=50.0, now=60.0)

    assert times.instant(JOBS, 1000.0, at=51.0, now=60.0) == 51.0


def test_what_is_not_asked_for_is_forgotten() -> None:
    times = SampleTimes()
    times.instant(HITS, 1000.0, at=50.0, now=60.0)
    times.instant(JOBS, 1000.0, at=50.0, now=900.0)

    times.tidy(1000.0)

    assert times.instant(HITS, 1000.0, at=53.0, now=1000.0) == 53.0
    assert times.instant(JOBS, 1000.0, at=53.0, now=1000.0) == 50.0
