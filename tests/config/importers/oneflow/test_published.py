"""The published examples of service templates, and the arithmetic that OneFlow was seen to do."""

from __future__ import annotations

import math

import pytest

from config.importers.oneflow.template import NoteKind
from config.model.adjustments import Adjustment, AdjustmentVerb, Rounding
from config.model.catalogue import InARow, OnVanish
from config.model.schedules import ScheduledChange
from tests.support.oneflow import (
    SCALABILITY,
    TIME_WINDOWS,
    a_role,
    a_service,
    catalogue_of,
    elastic,
    imported_from,
    notes,
    sizes,
)
from tests.support.trigger import a_fleet, at, missing
from trigger.decide import decide
from trigger.policies.schedules import due
from trigger.policies.sizing import resized
from trigger.requests import GroupState


def test_the_first_published_example_becomes_two_policies() -> None:
    catalogue = catalogue_of(SCALABILITY)

    group = catalogue.groups["frontend"]  # type: ignore[index]  # ids are text
    out, down = (catalogue.policies[policy] for policy in group.policies)
    assert (group.minimum, group.maximum, group.on_vanish) == (1, 5, OnVanish.SHRINK)
    assert (out.in_a_row, out.adjustment) == (
        InARow(times=3, every=10.0),
        Adjustment(verb=AdjustmentVerb.ADD, amount=2),
    )
    assert down.in_a_row is None
    assert down.adjustment == Adjustment(
        verb=AdjustmentVerb.REMOVE, amount=10, percent=True, at_least=2, rounding=Rounding.TRUNCATE
    )


def test_the_first_published_example_decides_as_its_comments_tell() -> None:
    at_50, above, below = {"ATT": 50.0}, {"ATT": 52.5}, {"ATT": 10.0}

    walked = sizes(SCALABILITY, 2, [at_50, above, above, above, above, above, above, below, below, below])

    # Three in a row: 2 → 4; three more: 4 → 5, the most; then at least 2 fewer each time: 3, 1, and never below 1.
    assert walked == [2, 2, 2, 4, 4, 4, 5, 3, 1, 1]


def test_a_value_that_falls_in_between_begins_the_count_anew() -> None:
    high, low = {"ATT": 60.0}, {"ATT": 40.0}

    assert sizes(SCALABILITY, 2, [high, high, low, high, high, high]) == [2, 2, 2, 2, 2, 4]


def test_the_second_published_example_decides_as_its_comments_tell() -> None:
    """6 from 9:00, 10 from 13:00, 2 from 22:30, and so over the weekend; noon is that of a Thursday."""
    (group,) = catalogue_of(TIME_WINDOWS).groups.values()
    hours = [0, 1, 2, 10.5, 20, 21, 25, 34.5, 45, 69, 92, 93]  # from noon on

    state, walked = GroupState(desired=6), []
    for hour in hours:
        now = at(3600 * hour + 5)
        fleet, timely = a_fleet(in_service=state.desired or 0), due(group, state, now.wall)
        state = decide(group, timely, fleet, state, now, evaluation=None).state
        walked.append(state.desired)

    assert walked == [6, 10, 10, 2, 2, 6, 10, 2, 2, 2, 2, 6]


def test_a_time_that_passed_while_oneflow_or_trimtab_was_away_is_met_once_and_late() -> None:
    (group,) = catalogue_of(TIME_WINDOWS).groups.values()

    assert {schedule.grace for schedule in group.schedules if isinstance(schedule, ScheduledChange)} == {math.inf}


@pytest.mark.parametrize(
    ("policy", "size", "becomes"),
    [
        pytest.param(elastic(adjust=2), 3, 5, id="change up"),
        pytest.param(elastic(adjust="2"), 3, 5, id="change up, the number written as text"),
        pytest.param(elastic(adjust=-1), 3, 2, id="change down"),
        pytest.param(elastic(adjust=-9), 3, 1, id="change down, at most to min_vms"),
        pytest.param(elastic(adjust=500), 3, 100, id="change up, at most to max_vms"),
        pytest.param(elastic(type="CARDINALITY", adjust=6), 3, 6, id="cardinality"),
        pytest.param(elastic(type="CARDINALITY", adjust=2), 3, 2, id="a smaller cardinality"),
        pytest.param(elastic(type="CARDINALITY", adjust=999), 3, 100, id="cardinality, at most max_vms"),
        pytest.param(elastic(type="PERCENTAGE_CHANGE", adjust=50), 5, 7, id="half of 5 is 2.5, and 2 join"),
        pytest.param(elastic(type="PERCENTAGE_CHANGE", adjust=-50), 5, 3, id="half of 5 is 2.5, and 2 leave"),
        pytest.param(elastic(type="PERCENTAGE_CHANGE", adjust=10), 5, 6, id="a tenth of 5 is one at least"),
        pytest.param(elastic(type="PERCENTAGE_CHANGE", adjust=-10), 5, 4, id="a tenth of 5 less is one at least"),
        pytest.param(
            elastic(type="PERCENTAGE_CHANGE", adjust=-10, min_adjust_step=2), 5, 3, id="two at least, as the step says"
        ),
        pytest.param(
            elastic(type="PERCENTAGE_CHANGE", adjust=-10, min_adjust_step=-2), 5, 3, id="the step is a magnitude"
        ),
        pytest.param(
            elastic(type="PERCENTAGE_CHANGE", adjust=50, min_adjust_step=2), 20, 30, id="more than the step stays more"
        ),
        pytest.param(elastic(type="PERCENTAGE_CHANGE", adjust=-300), 20, 1, id="more than all, at most to min_vms"),
        pytest.param(elastic(adjust=2, min_adjust_step=9), 3, 5, id="a step means nothing to a change"),
    ],
)
def test_the_arithmetic_is_that_of_oneflow(policy: dict[str, object], size: int, becomes: int) -> None:
    """Source: OneFlow 7.0.2, as seen live: adjust, then the clamp to min_vms and max_vms."""
    assert sizes(a_service(a_role(policy)), size, [{"ATT": 60.0}]) == [becomes]


@pytest.mark.parametrize(
    ("adjust", "amounts"),
    [(50, [1, 2, 4, 12]), (10, [1, 1, 1, 2]), (-10, [-1, -1, -1, -2]), (-100, [-1, -5, -9, -25])],
)
def test_percentages_of_many_sizes_are_those_of_ruby(adjust: int, amounts: list[int]) -> None:
    """Source: OneFlow's rule: toward zero, at least 1, with the sign of the product."""
    catalogue = catalogue_of(a_service(a_role(elastic(type="PERCENTAGE_CHANGE", adjust=adjust))))
    (policy,) = catalogue.policies.values()

    assert isinstance(policy.adjustment, Adjustment)
    assert [resized(size, policy.adjustment) - size for size in (1, 5, 9, 25)] == amounts


@pytest.mark.parametrize(
    ("expression", "values", "fires"),
    [
        ("ATT > 33.33", {"ATT": 100.0 / 3}, False),
        ("(ATT > 50) && !(OTHER_ATT = 5.5 || ABC <= 30)", {"ATT": 60.0, "OTHER_ATT": 1.0, "ABC": 40.0}, True),
        ("(ATT > 50) && !(OTHER_ATT = 5.5 || ABC <= 30)", {"ATT": 60.0, "OTHER_ATT": 5.5, "ABC": 40.0}, False),
        ("(ATT > 50) && !(OTHER_ATT = 5.5 || ABC <= 30)", {"ATT": 60.0}, True),
        ("A = 1 && B = 1 || C = 1", {"A": 0.0, "B": 0.0, "C": 1.0}, False),
        ("!A = 1 || B = 1", {"A": 0.0, "B": 1.0}, False),
        ("CPU > 80 & ATT < 2", {"CPU": 90.0, "ATT": 1.0}, True),
    ],
)
def test_expressions_are_judged_as_oneflow_judges_them(expression: str, values: dict[str, float], fires: bool) -> None:
    service = a_service(a_role(elastic(expression)))

    assert sizes(service, 3, [values]) == [4 if fires else 3]


def test_no_member_is_removed_because_a_value_is_absent() -> None:
    """Here Trimtab is stricter than OneFlow, and the report says so."""
    service = a_service(a_role(elastic("!(ATT > 5)", adjust=-1)))

    assert sizes(service, 3, [{"ATT": missing()}, {"ATT": 1.0}]) == [3, 2]
    assert any("absent" in line for line in notes(imported_from(service), NoteKind.DIFFERS))
