from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from handler.replay.optimum import least_member_steps, needed
from handler.replay.paths import PathRecorder, path_of
from handler.replay.scores import CapacityScore, FleetTiming, scored

TIMING = FleetTiming(step=30.0, boot=2, drain=1)


def cheapest(sizes: list[int], boot: int, drain: int) -> int:
    """Try every fleet that is never too small; each order after the start costs a boot and a drain."""
    fleets = itertools.product(*(range(size, max(sizes) + 1) for size in sizes))
    return min(
        sum(fleet) + (boot + drain) * sum(max(after - before, 0) for before, after in itertools.pairwise(fleet))
        for fleet in fleets
    )


@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=7), boot=st.integers(0, 2), drain=st.integers(0, 2))
def test_no_fleet_that_is_never_too_small_is_cheaper(sizes: list[int], boot: int, drain: int) -> None:
    """The optimum does not pay for what comes before a member's first need, which every fleet may pay once a member."""
    least = least_member_steps(np.array(sizes), boot, drain)
    first_orders = max(sizes) - sizes[0]

    assert least <= cheapest(sizes, boot, drain) <= least + first_orders * (boot + drain)


def test_the_optimum_has_a_cost_of_one_and_a_quality_of_zero() -> None:
    rate = np.array([100.0, 100.0, 200.0, 200.0, 100.0, 100.0])

    perfect = CapacityScore(cost=1.0, over=0.0, flaps=0.0)

    assert perfect.quality == 0.0
    assert needed(rate, 100.0, 1).tolist() == [1, 1, 2, 2, 1, 1]


def test_a_fleet_that_grows_too_late_misses_the_load_of_its_boot_time() -> None:
    rate = np.full(10, 100.0)
    rate[4:] = 200.0
    late = np.array([1] * 4 + [2] * 6)

    path = path_of(late, TIMING.boot)
    score = scored(path, rate, 100.0, TIMING)

    assert path.serving.tolist() == [1] * 6 + [2] * 4
    assert score.over == 100.0 * 200.0 / 1600.0
    assert score.flaps == 0.0


def test_only_steps_since_the_history_count() -> None:
    rate, sizes = np.full(20, 100.0), np.full(20, 1)
    sizes[:10] = 5

    assert scored(path_of(sizes, TIMING.boot), rate, 100.0, TIMING, since=12).cost == 1.0
    assert scored(path_of(sizes, TIMING.boot), rate, 100.0, TIMING).cost > 1.0


def test_members_that_leave_while_they_boot_do_not_drain() -> None:
    assert path_of(np.array([1, 3, 1, 1]), TIMING.boot).paid(TIMING.drain).tolist() == [1, 3, 1, 1]


def test_a_fleet_that_is_taken_down_tick_by_tick_is_paid_until_its_members_have_drained() -> None:
    recorder = PathRecorder()
    for ordered, serving, left in ((2, 1, 0), (2, 2, 0), (1, 1, 1), (1, 1, 1), (1, 1, 1)):
        recorder.tick(ordered, serving, left)

    assert recorder.path().paid(2).tolist() == [2, 2, 2, 2, 1]
