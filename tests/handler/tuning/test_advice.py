"""What a forecast and the optimum would have come to over a recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from handler.tuning.advice import Advice, AdvisedFleet, advice_of
from handler.tuning.drawing import Label
from handler.tuning.drawing import Path as Line
from handler.tuning.pictures import advice_picture
from tests.support.replay import flat, written
from tests.support.tuning import a_load, ground, recorded


def fleets(advice: Advice) -> dict[str, AdvisedFleet]:
    return {fleet.name: fleet for fleet in advice.fleets}


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Advice:
    return advice_of(ground(recorded(tmp_path_factory.mktemp("day"), a_load(3))))


def test_the_policies_that_made_the_recording_come_to_the_recording(day: Advice) -> None:
    found = fleets(day)

    # A member is paid from its order on, and a recording has only those in service.
    assert found["present"].hours == pytest.approx(found["recorded"].hours, rel=0.02)
    assert found["present"].minutes == pytest.approx(found["recorded"].minutes, abs=1.0)


def test_nothing_costs_less_than_the_optimum_without_missing_load(day: Advice) -> None:
    found = fleets(day)

    assert list(found) == ["recorded", "present", "forecast", "optimum"]
    assert (found["optimum"].score.quality, found["optimum"].minutes) == (0.0, 0.0)
    for fleet in day.fleets:
        assert fleet.score.cost == pytest.approx(fleet.hours / found["optimum"].hours)
        assert fleet.score.cost >= 1.0 or fleet.minutes > 0.0


def test_a_forecast_does_not_wait_for_the_threshold(day: Advice) -> None:
    found = fleets(day)

    assert found["forecast"].minutes < found["present"].minutes


def test_load_that_is_not_known_stays_as_it_was(tmp_path: Path) -> None:
    rows = [*flat(90, 10), *flat(None, 10, since=10), *flat(30, 10, since=20)]

    optimum = fleets(advice_of(ground(written(tmp_path / "s.csv", rows))))["optimum"]

    assert optimum.sizes.tolist() == [3] * 20 + [2] * 10


def test_the_picture_has_a_line_and_a_figure_for_each_fleet(day: Advice) -> None:
    shapes = advice_picture(day).shapes
    words = [shape.text for shape in shapes if isinstance(shape, Label)]

    for fleet in day.fleets:
        assert any(word.startswith(f"{fleet.name}: {fleet.hours:,.1f} member-hours") for word in words)
    assert sum(isinstance(shape, Line) and len(shape.points) > 100 for shape in shapes) == len(day.fleets)
    assert np.isfinite(
        [place for shape in shapes if isinstance(shape, Line) for each in shape.points for place in each]
    ).all()
