"""How far ahead a forecast looks follows from how long members took."""

from __future__ import annotations

import pytest

from config.units import Seconds
from trigger.forecast.leads import FIRST_BOOT, LearnedTime, Took, lead_of, learned_time


def took(*spans: float, profile: str | None = "web") -> list[Took]:
    return [Took(profile, span) for span in spans]


def learned(most: Seconds, *, members: int = 10) -> LearnedTime:
    return LearnedTime(half=most / 2.0, most=most, members=members, of_profile=True)


def test_half_and_nine_of_ten_members_are_within_the_times() -> None:
    spans = [float(span) for span in range(10, 110, 10)]

    assert learned_time(took(*spans), "web") == LearnedTime(half=50.0, most=90.0, members=10, of_profile=True)


def test_members_of_the_present_profile_count_alone_once_there_are_five() -> None:
    before = took(*[300.0] * 20, profile="old")

    four = learned_time([*took(*[60.0] * 4), *before], "web")
    five = learned_time([*took(*[60.0] * 5), *before], "web")

    assert four is not None
    assert (four.most, four.members, four.of_profile) == (300.0, 24, False)
    assert five is not None
    assert (five.most, five.members, five.of_profile) == (60.0, 5, True)


def test_members_of_an_unknown_profile_are_of_no_profile_that_is_known() -> None:
    found = learned_time(took(*[60.0] * 9, profile=None), None)

    assert found is not None
    assert not found.of_profile


def test_no_member_teaches_nothing() -> None:
    assert learned_time([], "web") is None


@pytest.mark.parametrize(
    ("most", "before", "lead"),
    [
        pytest.param(95.0, None, FIRST_BOOT, id="the first assumption stands while members take about as long"),
        pytest.param(40.0, None, 60.0, id="fast members shorten it, to whole steps"),
        pytest.param(121.0, 120.0, 150.0, id="a step longer counts at once"),
        pytest.param(76.0, 120.0, 120.0, id="a step shorter does not count yet"),
        pytest.param(75.0, 120.0, 90.0, id="one and a half steps shorter do"),
        pytest.param(2.0, 60.0, 30.0, id="it is one step at least"),
        pytest.param(9999.0, 120.0, 3600.0, id="it is an hour at most"),
        pytest.param(9999.0, 3600.0, 3600.0, id="and stays an hour"),
    ],
)
def test_a_forecast_looks_as_far_ahead_as_members_take(most: float, before: float | None, lead: float) -> None:
    assert lead_of(learned(most), before) == lead


@pytest.mark.parametrize("evidence", [None, learned(600.0, members=4)])
def test_fewer_than_five_members_change_nothing(evidence: LearnedTime | None) -> None:
    assert lead_of(evidence, None) == FIRST_BOOT
    assert lead_of(evidence, 300.0) == 300.0
