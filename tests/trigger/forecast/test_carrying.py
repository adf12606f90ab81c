"""What a member carries is learned from its load and from how hard it works, never beyond what was seen."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest

from trigger.forecast.carrying import FIRST_STEPS, Carried, LevelToKeep, carried_on, nothing_carried

AT_70 = LevelToKeep(at=70.0, top=100.0, least=0.0, most=math.inf)
USUAL = (80.0, 70.0)
"""A member that carries 80 at the level, under that load: the load, and what its counter shows."""


def carried(
    steps: Iterable[tuple[float, float]], *, level: LevelToKeep = AT_70, before: Carried | None = None
) -> Carried:
    """Learn from steps of (load of a member, what it shows)."""
    found = nothing_carried(1) if before is None else before
    for load, shown in steps:
        found = carried_on(found, np.array([load]), np.array([shown]), level)
    return found


def each(steps: Iterable[tuple[float, float]], *, level: LevelToKeep = AT_70, before: Carried | None = None) -> float:
    return float(carried(steps, level=level, before=before).each[0])


SETTLED = carried([USUAL] * 200)
NO_ANSWER = (math.nan, math.nan)
HALVED = (80.0, 100.0)
"""The same load after a deploy that halves what a member carries: 140 % would be shown."""


def test_too_few_steps_teach_nothing() -> None:
    assert math.isnan(each([USUAL] * (FIRST_STEPS - 1)))
    assert each([USUAL] * FIRST_STEPS) == pytest.approx(80.0)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([NO_ANSWER] * 50, 80.0, id="steps without an answer change nothing"),
        pytest.param([(0.0, 3.0)] * 50, 80.0, id="without load nothing is carried"),
        pytest.param([(8.0, 14.0)] * 50, 80.0, id="idle members tell nothing of the level"),
        pytest.param([(80.0, 68.0), (80.0, 72.0)] * 25, 80.0, id="noise averages out"),
        pytest.param([(80.0, 95.0), USUAL, USUAL, USUAL], 80.0, id="a single step that is off counts little"),
        pytest.param([(40.0, 70.0)] * 2, 40.0, id="two steps that are off below count at once"),
        pytest.param([(40.0, 70.0)] * 4, 40.0, id="and four begin anew"),
        pytest.param([HALVED], 80.0 * 0.7 / 1.5, id="one step is enough with a full counter, which hides how much"),
        pytest.param([(115.0, 100.0)], 80.0, id="but not under as much more load"),
        pytest.param([HALVED, USUAL], 80.0, id="nor after it"),
        pytest.param([HALVED] * 2, 80.0 * 0.7 / 1.5, id="a full counter hides how much is too much"),
        pytest.param([(80.0, 35.0)] * 10, 80.0, id="estimates that are off above have to last"),
        pytest.param([(80.0, 35.0)] * 40, 106.7, id="and count up to a third beyond what was carried"),
        pytest.param([(80.0, 35.0)] * 40 + [(100.0, 44.0)] * 40, 133.3, id="which grows as more is carried"),
    ],
)
def test_what_a_member_carries_follows_what_it_shows(steps: list[tuple[float, float]], expected: float) -> None:
    assert each(steps, before=SETTLED) == pytest.approx(expected, rel=0.03)


def test_members_that_carry_half_are_known_within_a_minute_and_exactly_once_there_are_enough() -> None:
    first = carried([HALVED] * 2, before=SETTLED)
    after = each([HALVED] * 6 + [(34.0, 59.5)] * 200, before=SETTLED)

    assert first.each[0] <= 40.0
    assert after == pytest.approx(40.0, rel=0.03)


def test_a_latency_that_rises_ever_steeper_is_not_believed_beyond_what_was_carried() -> None:
    at_200 = LevelToKeep(at=200.0, top=math.inf, least=0.0, most=math.inf)

    def shows(load: float) -> float:
        return 50.0 / (1.0 - load / 100.0)  # 75 are carried within 200 ms

    found, loads = carried([(40.0, shows(40.0))] * 20, level=at_200), []
    for _ in range(10):
        loads.append(float(found.each[0]) / 1.1)
        found = carried([(loads[-1], shows(loads[-1]))] * 40, level=at_200, before=found)

    assert max(shows(load) for load in loads) < 1.2 * at_200.at
    assert shows(loads[-1]) > 0.7 * at_200.at


def test_bounds_of_a_person_hold() -> None:
    bounded = LevelToKeep(at=70.0, top=100.0, least=50.0, most=60.0)

    assert each([USUAL] * 20, level=bounded) == 60.0
    assert each([(20.0, 70.0)] * 20, level=bounded) == 50.0


def test_the_unit_of_the_load_stays_what_was_carried_first() -> None:
    assert carried([(40.0, 70.0)] * 50, before=SETTLED).unit[0] == pytest.approx(80.0)


def test_groups_side_by_side_learn_what_each_would_alone() -> None:
    rng = np.random.default_rng(1)
    load = rng.uniform(20.0, 90.0, (300, 3))
    shown = np.minimum(load * np.where(np.arange(300)[:, None] < 150, 0.9, 1.6), 100.0)
    shown[rng.uniform(size=shown.shape) < 0.1] = np.nan
    together = nothing_carried(3)
    for step in range(300):
        together = carried_on(together, load[step], shown[step], AT_70)

    alone = [each(zip(load[:, group], shown[:, group], strict=True)) for group in range(3)]

    assert together.each.tolist() == alone
