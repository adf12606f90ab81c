from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from config.units import Monotonic
from handler.ingest.pushes import pace
from handler.ingest.pushes.pace import Pace, Rate

RATE = Rate(per_second=2.0, at_once=3.0)


def admitted(bucket: Pace, *times: float, who: str = "a") -> list[bool]:
    return [bucket.admits(who, RATE, Monotonic(time)) for time in times]


def test_so_many_at_once_and_then_so_many_in_the_long_run() -> None:
    assert admitted(Pace(), 0, 0, 0, 0, 0.25, 0.5, 0.6, 1.0) == [True, True, True, False, False, True, False, True]


def test_whoever_kept_still_may_knock_as_often_as_at_first() -> None:
    assert admitted(Pace(), 0, 0, 0, 0, 100, 100, 100, 100) == [True, True, True, False, True, True, True, False]


def test_one_does_not_use_up_what_another_may() -> None:
    bucket = Pace()
    assert (admitted(bucket, 0, 0, 0, 0), admitted(bucket, 0, who="b")) == ([True, True, True, False], [True])


def test_the_buckets_of_those_who_are_quiet_are_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(pace, "_KEPT", 10)
    bucket = Pace()
    for number in range(1000):
        bucket.admits(f"m{number}", RATE, Monotonic(number / 10))
    assert len(bucket._left) <= 16


@given(st.lists(st.floats(0, 100)))
def test_nobody_ever_has_more_than_the_rate_allows(times: list[float]) -> None:
    times = sorted(times)
    let = [time for time, ok in zip(times, admitted(Pace(), *times), strict=True) if ok]
    for first, begin in enumerate(let):
        for last in range(first, len(let)):
            assert last - first + 1 <= RATE.at_once + RATE.per_second * (let[last] - begin) + 1e-6
