"""The files that forecasts go on from: what is read is what was written, or nothing."""

from __future__ import annotations

import errno
import os
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from config.units import GroupId, PolicyId
from handler.store.forecast_files import ForecastFolder, History, KeptLane
from tests.support.loads import TWO_MINUTES, a_wave
from trigger.forecast.carrying import LevelToKeep
from trigger.forecast.cohorts import ForecastCohort, Lane, MemberReadings, Terms
from trigger.forecast.horizons import DAY
from trigger.forecast.profiles import UNKNOWN, kept_of
from trigger.forecast.shadows import BALANCED
from trigger.policies.forecasting import StepRow

WEB = Lane(GroupId("web"), PolicyId("ahead"))
KEPT = KeptLane(
    lane=WEB,
    terms=Terms(horizons=TWO_MINUTES, preference=BALANCED),
    each=10.0,
    measures="requests",
    history=21 * 86400.0,
)
FIRST = 20_000 * DAY + 2_870
BEFORE_PROFILES = Path(__file__).with_name("fixtures") / "forecast-1.learned"
"""Written by the release that kept nothing of earlier profiles, after the 20 steps of `carrying`."""


def rows(first: int, loads: list[float]) -> list[StepRow]:
    return [
        StepRow(number=first + place, lanes=(WEB,), loads=np.array([load], dtype=np.float32))
        for place, load in enumerate(loads)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> ForecastFolder:
    return ForecastFolder(tmp_path / "forecasts")


def read(folder: ForecastFolder, kept: KeptLane = KEPT) -> list[float]:
    return [float(load) for load in folder.history(kept).loads]


def test_loads_are_read_as_they_were_written_over_midnight(folder: ForecastFolder) -> None:
    loads = [float(load) for load in range(1, 31)]
    folder.append(rows(FIRST, loads[:12]), [KEPT])
    folder.append(rows(FIRST + 12, loads[12:]), [KEPT])

    history = folder.history(KEPT)

    assert (history.first, history.end) == (FIRST, FIRST + 30)
    assert read(folder) == loads


def test_a_step_that_was_never_written_has_no_data(folder: ForecastFolder) -> None:
    folder.append([*rows(FIRST, [1.0]), *rows(FIRST + 2, [3.0])], [KEPT])

    assert np.isnan(read(folder)[1])


def test_only_the_newest_days_are_kept(folder: ForecastFolder) -> None:
    for day in range(25):
        folder.append(rows(FIRST + day * DAY, [float(day)]), [KEPT])

    history = folder.history(KEPT)

    assert history.first == FIRST + 4 * DAY
    assert history.end == FIRST + 24 * DAY + 1


def test_days_are_kept_when_the_history_is_declared_longer(folder: ForecastFolder) -> None:
    folder.append(rows(FIRST, [1.0, 2.0]), [KEPT])
    longer = replace(KEPT, history=28 * 86400.0)
    folder.append(rows(FIRST + 2, [3.0]), [longer])

    assert read(folder, longer) == [1.0, 2.0, 3.0]


def test_loads_of_another_counter_do_not_count(folder: ForecastFolder) -> None:
    folder.append(rows(FIRST, [1.0]), [KEPT])
    other = replace(KEPT, measures="sessions")

    assert read(folder, other) == []
    folder.append(rows(FIRST + 1, [9.0]), [other])
    assert read(folder, other) == [9.0]


def learned(steps: int) -> ForecastCohort:
    cohort = ForecastCohort.begin([WEB], KEPT.terms, FIRST)
    for load in a_wave(steps):
        cohort.take(np.array([load]))
    return cohort


@pytest.mark.parametrize("steps", [3, 150])
def test_what_was_learned_goes_on_to_the_last_bit(folder: ForecastFolder, steps: int) -> None:
    cohort = learned(steps)
    folder.save(cohort, [KEPT])
    again = folder.learned(KEPT)

    assert again is not None
    for load in a_wave(80, seed=3):
        for each in (cohort, again):
            each.take(np.array([load]))
        assert cohort.state.outlook is not None
        assert again.state.outlook is not None
        assert (again.state.outlook.middle == cohort.state.outlook.middle).all()
        assert (again.state.outlook.spread == cohort.state.outlook.spread).all()
        assert (again.state.outlook.needed == cohort.state.outlook.needed).all()


@pytest.mark.parametrize(
    "other",
    [
        replace(KEPT, each=20.0),
        replace(KEPT, measures="sessions"),
        replace(KEPT, terms=Terms(horizons=TWO_MINUTES, preference=replace(BALANCED, promise=0.1))),
    ],
    ids=["each", "counter", "promise"],
)
def test_what_was_learned_by_other_terms_is_left_out(folder: ForecastFolder, other: KeptLane) -> None:
    folder.save(learned(3), [KEPT])

    assert folder.learned(other) is None


@pytest.mark.parametrize("damage", [b"", b"x", b"y" * 4000])
def test_damaged_files_are_as_missing_ones(folder: ForecastFolder, tmp_path: Path, damage: bytes) -> None:
    folder.append(rows(FIRST, [1.0]), [KEPT])
    folder.save(learned(3), [KEPT])
    for path in (tmp_path / "forecasts").iterdir():
        path.write_bytes(damage)

    assert folder.learned(KEPT) is None
    assert read(folder) == []
    folder.append(rows(FIRST, [2.0]), [KEPT])
    assert read(folder) == [2.0]


def test_a_group_takes_less_than_the_budget(folder: ForecastFolder) -> None:
    folder.append(rows(FIRST, [1.0]), [KEPT])
    cohort = learned(150)
    rng = np.random.default_rng(1)
    for ring in cohort.memory.rings:  # as after a week
        ring[...] = rng.normal(2.0, 0.5, ring.shape)
    folder.save(cohort, [KEPT])

    assert folder.bytes <= 600_000


# Loads from elsewhere

NOW = FIRST + 3


def given(first: int, *loads: float) -> History:
    return History(first=first, loads=np.array(loads, dtype=np.float32))


def test_loads_of_before_are_put_in_and_a_measured_step_keeps_its_own(folder: ForecastFolder) -> None:
    folder.append(rows(FIRST, [1.0, 2.0]), [KEPT])

    filled = folder.fill(KEPT, given(FIRST - DAY - 1, *[7.0] * (DAY + 4)), NOW)

    history = folder.history(KEPT)
    assert filled == DAY + 2
    assert (history.first, history.end) == (FIRST - DAY - 1, FIRST + 3)
    assert read(folder)[-5:] == [7.0, 7.0, 1.0, 2.0, 7.0]


def test_a_gap_that_is_filled_is_measured_on(folder: ForecastFolder) -> None:
    folder.append([*rows(FIRST, [1.0]), *rows(FIRST + 2, [3.0])], [KEPT])

    folder.fill(KEPT, given(FIRST, 8.0, 2.0), NOW)
    folder.append(rows(FIRST + 3, [4.0]), [KEPT])

    assert read(folder) == [1.0, 2.0, 3.0, 4.0]


def test_an_empty_lane_can_be_filled(folder: ForecastFolder) -> None:
    assert folder.fill(KEPT, given(FIRST, 1.0, float("nan"), 3.0), NOW) == 2
    assert (folder.history(KEPT).first, folder.history(KEPT).end) == (FIRST, FIRST + 3)


def test_loads_older_than_the_history_are_left_out(folder: ForecastFolder) -> None:
    short = replace(KEPT, history=2 * 86400.0)
    folder.append(rows(FIRST, [1.0]), [short])

    assert folder.fill(short, given(FIRST - 9 * DAY, *[5.0] * DAY), NOW) == 0
    assert folder.fill(short, given(FIRST - 2 * DAY, *[5.0] * 2 * DAY), NOW) == FIRST % DAY + DAY
    assert folder.history(short).first == (FIRST // DAY - 1) * DAY


def test_loads_of_another_counter_are_replaced_by_those_put_in(folder: ForecastFolder) -> None:
    folder.append(rows(FIRST, [1.0, 2.0]), [KEPT])
    other = replace(KEPT, measures="sessions")

    folder.fill(other, given(FIRST, 9.0), NOW)

    assert read(folder, other) == [9.0]
    assert read(folder) == []


LEARNING = replace(
    KEPT, terms=replace(KEPT.terms, level=LevelToKeep(at=70.0, top=100.0, least=0.0, most=np.inf)), each=None
)


def carrying(*profiles: float) -> ForecastCohort:
    """Learn for 20 steps of each profile that a member carries 10."""
    cohort = ForecastCohort.begin([WEB], LEARNING.terms, FIRST)
    for profile in profiles:
        for _ in range(20):
            cohort.take(np.array([120.0]), MemberReadings(np.array([8.0]), np.array([56.0]), np.array([profile])))
    return cohort


def test_what_members_carry_is_read_as_it_was_written_for_each_profile(folder: ForecastFolder) -> None:
    cohort = carrying(3.0, 5.0, 7.0)
    folder.save(cohort, [LEARNING])

    found = folder.learned(LEARNING)

    assert found is not None
    assert found.state.carried.each.tolist() == cohort.state.carried.each.tolist()
    assert [kept.profile for kept in kept_of(found.state.carried, 0)] == [5.0, 3.0]
    assert kept_of(found.state.carried, 0) == kept_of(cohort.state.carried, 0)
    assert folder.learned(KEPT) is None


def test_what_a_release_before_learned_of_members_still_counts(folder: ForecastFolder, tmp_path: Path) -> None:
    (tmp_path / "forecasts").mkdir()
    (tmp_path / "forecasts" / "web+ahead.learned").write_bytes(BEFORE_PROFILES.read_bytes())

    found = folder.learned(LEARNING)

    assert found is not None
    assert found.number == FIRST + 19
    expected = carrying(UNKNOWN).state.carried
    for each in fields(expected):
        assert np.array_equal(getattr(found.state.carried, each.name), getattr(expected, each.name), equal_nan=True)


@pytest.mark.parametrize("before", [30, FIRST - 400 * DAY], ids=["a wrong clock", "a year without a daemon"])
def test_days_that_the_ring_is_too_short_for_are_no_history(folder: ForecastFolder, before: int) -> None:
    folder.append(rows(before, [1.0]), [KEPT])
    folder.append(rows(FIRST, [2.0, 3.0]), [KEPT])

    history = folder.history(KEPT)

    assert (history.first, read(folder)) == (FIRST, [2.0, 3.0])


def test_what_a_full_disk_takes_of_a_day_in_part_is_no_load(
    folder: ForecastFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.append(rows(FIRST, [1.0] * 10), [KEPT])
    write, full = os.pwrite, False

    def in_part(file: int, data: bytes, place: int) -> int:
        nonlocal full
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        full = len(data) > 1000
        return write(file, data[:1000], place)

    monkeypatch.setattr(os, "pwrite", in_part)
    with pytest.raises(OSError, match="No space left"):
        folder.append(rows(FIRST + 10, [1.0]), [KEPT])
    monkeypatch.undo()
    folder.append(rows(FIRST + 400, [2.0]), [KEPT])

    loads = read(folder)
    assert (loads[:10], loads[-1]) == ([1.0] * 10, 2.0)
    assert np.isnan(loads[10:-1]).all()
