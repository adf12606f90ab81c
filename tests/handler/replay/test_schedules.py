"""Schedules on a virtual clock."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from config.model.catalogue import Catalogue
from config.units import CounterId
from handler.replay.load import Feed, SyntheticLoad, replay_load
from handler.replay.members import always
from tests.support.replay import START, WEB, decided, declared, flat, happened, moves, run_of, written

LIST = "policies: [out, in]"
HOUR = 3600.0


def scheduled(**policies: str) -> Catalogue:
    text = "".join(f"  {name}: {entry}\n" for name, entry in policies.items())
    return declared(("clouds:", f"{text}clouds:"), (LIST, f"policies: [{', '.join(('out', 'in', *policies))}]"))


def steady_load(hours: float) -> SyntheticLoad:
    at = np.array([START, START + hours * HOUR])
    return SyntheticLoad(
        at=at,
        rate=np.array([100.0, 100.0]),
        capacity=100.0,
        boot=always(60.0),
        feeds={CounterId("cpu"): Feed.UTILISATION},
    )


def test_a_floor_stands_and_what_it_left_stays_while_no_policy_wants_less() -> None:
    catalogue = scheduled(days='{schedule: "0 1 * * *", until: "0 2 * * *", floor: 4}')

    run = replay_load(catalogue, WEB, steady_load(3))

    assert moves(run.lines) == [(0, 2), (HOUR, 4)]


def test_a_change_is_made_once_at_each_of_its_times() -> None:
    catalogue = scheduled(hourly='{schedule: "0 * * * *", add: 1, quiet_time: 0s}')

    run = replay_load(catalogue, WEB, steady_load(2.5))

    assert moves(run.lines) == [(0, 2), (HOUR, 3), (2 * HOUR, 4)]
    assert [line.policy for line in run.lines if line.desired_from is not None] == ["hourly", "hourly"]


def test_a_recording_of_a_group_at_rest_is_woken_by_its_schedules(tmp_path: Path) -> None:
    series = written(tmp_path / "s.csv", flat(50, 130))
    sizes = [
        happened(-60, name="first_listing", desired_to=2),
        happened(HOUR, name="schedule", desired_from=2, desired_to=3),
    ]
    catalogue = scheduled(days='{schedule: "0 1 * * *", until: 1h, floor: 3}')

    assert decided(run_of(series, catalogue, sizes)) == [(HOUR, "out", "schedule", 3)]


def test_what_a_schedule_did_while_it_was_recorded_it_does_again(tmp_path: Path) -> None:
    series = written(tmp_path / "s.csv", flat(50, 130))
    sizes = [
        happened(-60, name="first_listing", desired_to=2),
        happened(HOUR, cause="schedule", by="hourly", desired_from=2, desired_to=3),
    ]
    catalogue = scheduled(hourly='{schedule: "0 * * * *", add: 1, quiet_time: 0s}')

    run = run_of(series, catalogue, sizes)

    assert decided(run) == [(HOUR, "out", "scaled_out", 3)]
    assert run.parted is None


def test_the_quiet_time_of_a_schedule_that_fired_before_the_series_is_known(tmp_path: Path) -> None:
    series = written(tmp_path / "s.csv", flat(95, 12))
    sizes = [happened(-60, cause="schedule", by="hourly", desired_from=1, desired_to=2)]
    catalogue = scheduled(hourly='{schedule: "0 * * * *", add: 1, quiet_time: 4m}')

    assert decided(run_of(series, catalogue, sizes)) == [
        *((float(at), "refused", "quiet", 2) for at in (60, 90, 120, 150)),
        (180.0, "out", "scaled_out", 3),
    ]
