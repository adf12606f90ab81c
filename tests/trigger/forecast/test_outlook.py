from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from collector.samples import Floats
from tests.support.loads import TWO_MINUTES, a_wave, begun, outlooks, sizes_of
from trigger.forecast.features import features_of, usual_rise
from trigger.forecast.horizons import DAY
from trigger.forecast.memory import LoadMemory
from trigger.forecast.outlook import step
from trigger.forecast.shadows import BALANCED, Preference

HOUR = DAY // 24
EVERY_DAY = np.ones(7, dtype=np.bool_)
_ANY = st.one_of(
    st.just(float("nan")), st.just(0.0), st.floats(0, 100), st.floats(0, 1e9), st.sampled_from([1e12, 1e-12])
)
"""Members, as a broken counter may say."""


def only(load: Floats) -> Floats:
    return load[:, None]


@given(loads=st.lists(_ANY, min_size=40, max_size=90), others=st.lists(_ANY, min_size=5, max_size=5))
@settings(max_examples=6, deadline=None)
def test_sizes_are_finite_whole_and_ordered_whatever_a_counter_says(loads: list[float], others: list[float]) -> None:
    needed, low = sizes_of(only(np.array(loads + others)))

    assert np.isfinite(needed).all()
    assert np.isfinite(low).all()
    assert (needed == np.round(needed)).all()
    assert (needed >= 0).all()


@given(cut=st.integers(45, 80), future=st.lists(_ANY, min_size=40, max_size=40))
@settings(max_examples=5, deadline=None)
def test_another_future_changes_no_size_of_the_past(cut: int, future: list[float]) -> None:
    load = a_wave(120)
    other = np.concatenate((load[:cut], np.array(future)))

    same, changed = sizes_of(only(load[:cut])), sizes_of(only(other))

    for before, after in zip(same, changed, strict=True):
        assert (before == after[:cut]).all()


def test_a_group_alone_decides_as_it_does_among_others() -> None:
    load, others = a_wave(400), a_wave(400, low=1.0, high=80.0, seed=2)

    alone, among = sizes_of(only(load)), sizes_of(np.stack((others, load, others), axis=1))

    for one, many in zip(alone, among, strict=True):
        assert (one[:, 0] == many[:, 1]).all()


def test_what_is_measured_now_is_always_needed() -> None:
    load = a_wave(300)
    load[200:] *= 3.0

    needed, low = sizes_of(only(load))

    assert (needed[:, 0] >= load).all()
    assert (low >= needed).all()


def test_without_history_a_quarter_is_added() -> None:
    needed, _ = sizes_of(only(np.full(30, 10.0)))

    assert (needed >= 13.0).all()


def test_a_cap_limits_the_forecast_and_never_the_load_of_now() -> None:
    load = a_wave(300, noise=0.3)

    needed, _ = sizes_of(only(load), Preference(cap=1.0))

    assert (needed[:, 0] <= np.ceil(1.25 * load)).all()
    assert (needed[:, 0] >= load).all()


def test_without_data_a_group_never_shrinks_and_after_two_hours_it_only_holds() -> None:
    load = a_wave(700)
    load[400:] = np.nan

    found = list(outlooks(only(load)))

    assert not any(outlook.heard[0] for outlook in found[400:])
    assert found[405].needed[0] > 0
    assert found[-1].needed[0] == 0


def test_a_false_zero_is_no_load() -> None:
    load = a_wave(600)
    load[400:420] = 0.0

    found = list(outlooks(only(load)))

    assert not any(outlook.heard[0] for outlook in found[400:420])
    assert found[425].heard[0]
    assert found[425].needed[0] >= load[425]


def test_a_state_is_not_changed_by_the_step_that_follows_it() -> None:
    state, memory = begun()
    for load in a_wave(60):
        state = step(state, memory, np.array([load]), BALANCED)
    kept = state.outlook, state.shadows.cost.copy(), state.heads.mean.weights.copy()

    step(state, memory, np.array([500.0]), BALANCED)

    assert state.outlook is kept[0]
    assert (state.shadows.cost == kept[1]).all()
    assert (state.heads.mean.weights == kept[2]).all()


def test_a_group_takes_less_than_a_megabyte() -> None:
    assert LoadMemory(10, TWO_MINUTES).bytes < 10 * 1e6


def test_a_rise_at_this_time_on_other_days_is_seen_before_it_comes() -> None:
    day = np.full(DAY, np.log(10.0))
    day[12 * HOUR :] = np.log(20.0)
    memory = LoadMemory(1, TWO_MINUTES)
    for level in np.tile(day, 3)[: 2 * DAY + 12 * HOUR - 1]:
        memory.append(np.array([level]))

    growing, shrinking = features_of(memory, np.zeros(1), EVERY_DAY)[8, :, 0]

    assert growing > 0.5
    assert shrinking > 0.5
    assert usual_rise(memory, np.zeros(1), EVERY_DAY) > 0.0


def test_on_a_holiday_the_load_is_forecast_from_the_days_that_are_like_it() -> None:
    usual, quiet = np.full(DAY, np.log(10.0)), np.full(DAY, np.log(10.0))
    usual[12 * HOUR :] = np.log(20.0)
    memory = LoadMemory(1, TWO_MINUTES)
    days = [usual] * 3 + [quiet] + [usual] * 4  # five days ago was quiet
    for level in np.concatenate(days)[: 7 * DAY + 12 * HOUR - 1].tolist():
        memory.append(np.array([level]))
    like_quiet = np.arange(1, 8) == 4

    usually = features_of(memory, np.zeros(1), ~like_quiet)
    quietly = features_of(memory, np.zeros(1), like_quiet)

    assert usually[8, 0, 0] > 0.5
    assert quietly[[8, 9, 11, 12], 0, 0].tolist() == [0.0] * 4  # yesterday and a week ago are not like it
    assert usual_rise(memory, np.zeros(1), like_quiet) == 0.0
