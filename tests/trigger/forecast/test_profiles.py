"""What members of a profile carried counts again once a group goes back to it, with its evidence and no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from trigger.forecast.carrying import FIRST_STEPS, MEAN_STEPS, Carried, LevelToKeep, carried_on, nothing_carried
from trigger.forecast.profiles import SETTLED, SEVERAL, UNKNOWN, kept_of, with_profile

AT_70 = LevelToKeep(at=70.0, top=100.0, least=0.0, most=math.inf)
OLD, NEW = 11.0, 22.0
DAY = 2880
Span = tuple[float, int, float]
"""The profile of the members in service, for how many steps, and what a member carries."""


def after(*spans: Span) -> Carried:
    """Learn from members that work at 70 %, span by span."""
    return _after(spans)[0]


@cache
def _after(spans: tuple[Span, ...]) -> tuple[Carried, int]:
    """Return what is known, and the number of the last step."""
    if not spans:
        return nothing_carried(1), 0
    carried, step = _after(spans[:-1])
    profile, steps, each = spans[-1]
    for _ in range(steps):
        step += 1
        carried = with_profile(carried, np.array([profile]), step)
        carried = carried_on(carried, np.array([each]), np.array([70.0]), AT_70)
    return carried, step


def known(*spans: Span) -> tuple[float, int]:
    """Return what a member is taken to carry, and the steps of evidence."""
    found = after(*spans)
    return round(float(found.each[0]), 1), int(found.steps[0])


LEARNED: Span = (OLD, 800, 80.0)
BACK: Span = (SEVERAL, SETTLED, 80.0)
"""As the caller gives them: members of one profile alone, before they are taken to be."""
ROLLED: Sequence[Span] = (LEARNED, (SEVERAL, 8, 55.0), (NEW, 40, 40.0))


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        pytest.param(
            [*ROLLED, BACK, (OLD, 1, 80.0)], (80.0, 801), id="after a rollback all of it counts again at once"
        ),
        pytest.param([LEARNED, (SEVERAL, 30, 60.0), BACK, (OLD, 1, 80.0)], (80.0, 801), id="so it does after a canary"),
        pytest.param([*ROLLED, BACK, (OLD, 1, 80.0), (NEW, 1, 40.0)], (40.0, 41), id="of the new one its own steps do"),
        pytest.param([*ROLLED, (OLD, 1, 40.0)], (40.0, 47), id="members that show less begin with what they show"),
        pytest.param([LEARNED, (NEW, 9, 40.0), BACK, (OLD, 1, 80.0), BACK, (NEW, 1, 80.0)], (80.0, 806), id="ten are"),
        pytest.param([LEARNED, (NEW, 2, 80.0)], (80.0, 802), id="a new profile begins with what was known"),
        pytest.param([LEARNED, (UNKNOWN, 20, 40.0), (OLD, 1, 40.0)], (40.0, 27), id="no news changes nothing"),
    ],
)
def test_what_was_known_of_a_profile_counts_again_with_its_evidence(
    spans: list[Span], expected: tuple[float, int]
) -> None:
    assert known(*spans) == expected


def test_without_going_back_all_is_as_if_profiles_were_not_known() -> None:
    with_them = after(*ROLLED)
    without = after(LEARNED, *((UNKNOWN, steps, each) for _, steps, each in ROLLED[1:]))

    for name in ("each", "mean", "spread", "steps", "seen", "recent"):
        assert np.array_equal(getattr(with_them, name), getattr(without, name), equal_nan=True)


def test_the_last_four_profiles_are_kept_and_the_newest_comes_first() -> None:
    carried = after(*((float(profile), 12, 80.0) for profile in range(1, 8)))

    assert [kept.profile for kept in kept_of(carried, 0)] == [6.0, 5.0, 4.0, 3.0]
    assert [kept.left for kept in kept_of(carried, 0)] == [73.0, 61.0, 49.0, 37.0]


def test_a_profile_that_counts_is_not_listed_beside_itself() -> None:
    carried = after(*ROLLED, BACK, (OLD, 3, 80.0))

    (kept,) = kept_of(carried, 0)
    assert (kept.profile, kept.steps, math.exp(kept.mean)) == (NEW, 40.0, pytest.approx(40.0))


def test_the_most_that_was_carried_is_forgotten_while_other_profiles_serve() -> None:
    away = with_profile(after(LEARNED), NEW, 801)

    assert with_profile(away, OLD, 801 + 7 * DAY).seen[0] == pytest.approx(math.log(80.0 / 2.0))


@given(
    spans=st.lists(
        st.tuples(
            st.sampled_from([OLD, NEW, SEVERAL, UNKNOWN]),
            st.integers(1, 30),
            st.sampled_from([40.0, 60.0, 80.0, 120.0]),
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=12, deadline=None)
def test_nothing_is_trusted_beyond_its_evidence(spans: list[Span]) -> None:
    carried, own, step = nothing_carried(1), {OLD: 0, NEW: 0}, 0
    now, most = UNKNOWN, 0.0
    for profile, steps, each in spans:
        now = now if profile == UNKNOWN else profile
        for _ in range(steps):
            step, most = step + 1, max(most, each)
            own[now] = own.get(now, 0) + 1
            carried = with_profile(carried, np.array([profile]), step)
            carried = carried_on(carried, np.array([each]), np.array([70.0]), AT_70)
            assert np.isnan(carried.each[0]) or carried.each[0] <= most * 4 / 3 + 1e-9
            assert carried.steps[0] <= step
            assert carried.own[0] <= own[now]
            for kept in kept_of(carried, 0):
                assert FIRST_STEPS <= kept.steps <= own[kept.profile]
    assert carried.steps[0] < MEAN_STEPS  # a few minutes: there is a reserve in all of these stories


def test_groups_side_by_side_keep_what_each_would_alone() -> None:
    profiles = [[OLD] * 3, [OLD, SEVERAL, NEW], [NEW, NEW, OLD], [OLD, OLD, NEW]]
    each = [80.0, 40.0, 60.0, 75.0]
    together, alone = nothing_carried(3), [nothing_carried(1) for _ in range(3)]
    for step in range(4 * 15):
        profile, load = np.array(profiles[step // 15]), np.full(3, each[step // 15])
        together = carried_on(with_profile(together, profile, step), load, np.full(3, 70.0), AT_70)
        alone = [
            carried_on(with_profile(one, profile[[place]], step), load[:1], np.full(1, 70.0), AT_70)
            for place, one in enumerate(alone)
        ]

    assert together.each.tolist() == [float(one.each[0]) for one in alone]
    assert np.array_equal(together.kept, np.concatenate([one.kept for one in alone], axis=-1))
