"""A fleet that is taken down tick by tick is the one that follows from its sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.replay.members import BootTimes, ReplayMembers, always
from handler.replay.paths import FleetPath, PathRecorder, path_of
from tests.support.replay import WEB, declared

STEP = 30.0


def followed(sizes: list[int], boot: BootTimes) -> FleetPath:
    members, recorder = ReplayMembers(declared().groups[WEB], boot, sizes[0], 0.0), PathRecorder()
    for tick, size in enumerate(sizes):
        members.follow(size, tick * STEP)
        recorder.tick(len(members.members), members.serving(tick * STEP), members.left)
    return recorder.path()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.integers(0, 4))
def test_both_are_the_same_fleet_where_no_member_leaves_while_it_boots(steps: list[int], boot: int) -> None:
    """Which of several members that boot leaves first differs: it is the group's choice, which sizes do not show."""
    sizes = [size for size in steps for _ in range(boot + 2)]
    taken, derived = followed(sizes, always(boot * STEP)), path_of(np.array(sizes), boot)

    assert taken.ordered.tolist() == derived.ordered.tolist()
    assert taken.serving.tolist() == derived.serving.tolist()
    assert taken.paid(2).tolist() == derived.paid(2).tolist()


def test_members_take_all_boot_times_evenly_and_always_alike() -> None:
    boots = BootTimes((240.0, 30.0, 60.0, 60.0))
    taken = [boots.of(number) for number in range(400)]

    assert taken == [boots.of(number) for number in range(400)]
    assert [taken.count(each) for each in (30.0, 60.0, 240.0)] == pytest.approx([100, 200, 100], abs=3)
    assert boots.mean == 97.5


def test_a_slow_member_serves_later_than_a_quick_one() -> None:
    assert followed([0, *[2] * 6], BootTimes((30.0, 120.0))).serving.tolist() == [0, 0, 1, 1, 1, 2, 2]


def test_a_fleet_is_at_other_instants_as_it_was_at_the_tick_before() -> None:
    path = followed([2, 3, 1, 1], always(0.0))
    ticks = np.array([0.0, 30.0, 60.0, 120.0])

    there = path.at(ticks, np.array([0.0, 30.0, 60.0, 90.0, 120.0]))

    assert there.serving.tolist() == [2, 3, 1, 1, 1]
    assert there.left.tolist() == [0, 0, 2, 0, 0]


def test_members_that_drain_longer_than_the_fleet_was_seen_are_paid_for_to_the_end() -> None:
    path = followed([3, 3, 1, 1, 1], always(0.0))

    assert [path.paid(drain).tolist() for drain in (4, 6, 9, 20)] == [[3, 3, 3, 3, 3]] * 4
