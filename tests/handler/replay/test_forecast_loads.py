"""The loads of a recording are those that a forecast would have measured."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from config.errors import Refused
from config.load import parse
from config.model.catalogue import Catalogue
from handler.replay.forecast_loads import DayOfLoads, days_of_loads, forecast_of
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.scrapes import ticks_by_group
from tests.support.forecasting import AHEAD, WEB, a_forecast, fed
from tests.support.replay import START, STEP, Row, written


def days(place: Path, rows: list[Row], file: str = "") -> tuple[DayOfLoads, ...]:
    catalogue = parse(file or a_forecast(), "model.yaml")
    series = written(place / "series.csv", rows, counter="requests")
    samples, _ = read_series(series, catalogue, [WEB], ReplaySpan())
    return days_of_loads(catalogue, forecast_of(catalogue, WEB, None), ticks_by_group(catalogue, samples)[WEB])


def of_the_group(loads: list[float | None], *, since: int = 0) -> list[Row]:
    return [(STEP * (since + tick), None, load) for tick, load in enumerate(loads)]


def test_a_recording_is_measured_as_the_daemon_measures(tmp_path: Path) -> None:
    loads = [120.0, 130.0, None, 90.0, 95.0, 100.0]
    live = fed(since=float(START))
    expected = []
    for load in loads:
        live.tick(math.nan if load is None else load / 10.0)
        expected += [float(row.loads[0]) for row in live.forecasting.rows]

    ((since, found),) = days(tmp_path, of_the_group(loads))

    expected = expected[1:]  # a window is full at the second tick
    assert since == START + STEP
    assert [math.nan if load is None else load for load in found] == pytest.approx(expected, nan_ok=True)


def test_a_recording_over_midnight_comes_in_days_of_utc_without_those_that_are_empty(tmp_path: Path) -> None:
    found = days(tmp_path, [*of_the_group([10.0] * 4, since=2878), *of_the_group([20.0], since=4 * 2880)])

    assert [(since, len(loads)) for since, loads in found] == [
        (START + 2879 * STEP, 1),  # a window is full at the second tick
        (START + 86400, 2),
        (START + 4 * 86400, 1),
    ]


def test_a_counter_of_each_member_counts_for_all_of_them(tmp_path: Path) -> None:
    rows: list[Row] = [(STEP * tick, name, 30.0) for tick in range(3) for name in ("a", "b")]

    ((_, loads),) = days(tmp_path, rows, a_forecast(counter="label: member"))

    assert loads == (60.0, 60.0)


def several() -> Catalogue:
    more = "  calm: {forecast: {load: {counter: requests, each: 10}, prefer: calm}}"
    return parse(a_forecast(more=more, policies="ahead, calm"), "model.yaml")


def test_a_person_chooses_among_several_forecasts() -> None:
    assert forecast_of(several(), WEB, "ahead").policy == AHEAD
    with pytest.raises(Refused, match="several forecasts: name one of ahead, calm"):
        forecast_of(several(), WEB, None)
    with pytest.raises(Refused, match="group web has no forecast behind"):
        forecast_of(several(), WEB, "behind")
    with pytest.raises(Refused, match="no policy of group web has a forecast"):
        forecast_of(parse(a_forecast(policies=""), "model.yaml"), WEB, None)
