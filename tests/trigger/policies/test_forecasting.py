from __future__ import annotations

import math
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from aggregator.aggregate import Aggregator
from collector.samples import Sheet
from collector.targets import MemberTarget, Roster, layout_for
from config.load import parse
from config.units import Instant, MemberName, Moment, Monotonic
from tests.support.forecasting import AHEAD, MONDAY, WEB, a_forecast, fed
from tests.support.loads import a_wave
from trigger.forecast.cohorts import ForecastCohort, Lane, MemberReadings
from trigger.forecast.shadows import CALM
from trigger.policies.forecasting import Forecasting, step_of
from trigger.verdicts import Foreseen

NAN = math.nan
_ANY = st.one_of(st.just(NAN), st.just(0.0), st.floats(0, 100), st.sampled_from([1e9, 1e-9]))


def needed(found: list[Foreseen | None]) -> list[int | None]:
    return [None if foreseen is None else foreseen.needed for foreseen in found]


def test_nothing_is_foreseen_before_the_first_load() -> None:
    assert fed().ticks([NAN, NAN]) == [None, None]


def test_what_is_measured_is_needed() -> None:
    foreseen = fed().ticks([12.0] * 5)[-1]

    assert foreseen is not None
    assert foreseen.needed >= 12
    assert foreseen.load == pytest.approx(12.0)
    assert foreseen.may_shrink_to is not None
    assert foreseen.may_shrink_to >= foreseen.needed


def test_without_data_it_keeps_what_is_needed_and_does_not_shrink() -> None:
    foreseen = fed().ticks([12.0] * 30 + [NAN] * 10)[-1]

    assert foreseen is not None
    assert foreseen.needed >= 12
    assert foreseen.may_shrink_to is None
    assert foreseen.load is None


@given(cut=st.integers(3, 50), future=st.lists(_ANY, min_size=20, max_size=20))
@settings(max_examples=6, deadline=None)
def test_another_future_changes_nothing_of_the_past(cut: int, future: list[float]) -> None:
    load = [*a_wave(60)]

    assert fed().ticks(load[:cut]) == fed().ticks([*load[:cut], *future])[:cut]


@given(loads=st.lists(_ANY, min_size=1, max_size=60))
@settings(max_examples=6, deadline=None)
def test_equal_ticks_foresee_the_same(loads: list[float]) -> None:
    assert fed().ticks(loads) == fed().ticks(loads)


def test_the_size_is_within_the_cap_whatever_is_forecast() -> None:
    loads = [*a_wave(200, noise=0.3)]

    found = fed(", cap: 1x").ticks(loads)

    for foreseen in found:
        assert foreseen is None or foreseen.load is None or foreseen.needed <= math.ceil(1.25 * foreseen.load + 1e-6)


def test_two_ticks_in_one_step_count_once() -> None:
    often = fed(group=", interval: 10s")
    often.ticks([12.0] * 30)

    assert sum(len(row.lanes) for row in often.forecasting.rows) <= 1
    assert often.forecasting.cohorts[0].number == step_of(often.now - 10.0)  # type: ignore[arg-type]
    assert often.forecasting.cohorts[0].number - often.forecasting.cohorts[0].memory.first == 9


def test_a_long_interval_fills_all_its_steps() -> None:
    seldom = fed(group=", interval: 60s")
    seldom.ticks([12.0] * 3)

    assert [row.number for row in seldom.forecasting.rows] == [step_of(MONDAY) + 3, step_of(MONDAY) + 4]  # type: ignore[arg-type]
    assert all(not math.isnan(row.loads[0]) for row in seldom.forecasting.rows)


def test_a_gap_has_no_data() -> None:
    group = fed()
    group.ticks([12.0] * 5)
    group.now += 300.0
    group.tick(12.0)

    assert [math.isnan(row.loads[0]) for row in group.forecasting.rows] == [True] * 10 + [False]


def test_a_clock_that_was_set_back_foresees_nothing_until_it_has_caught_up() -> None:
    group = fed()
    group.ticks([12.0] * 5)
    set_back = fed(since=group.now - 90.0)
    set_back.forecasting.go_on(group.forecasting.cohorts)

    assert set_back.tick(12.0) == {}
    set_back.ticks([12.0] * 3)
    assert AHEAD in set_back.tick(12.0)


def test_it_goes_on_after_a_reload_as_it_would_have() -> None:
    load = [*a_wave(90)]
    through, before = fed(), fed()
    expected = through.ticks(load)
    before.ticks(load[:60])
    after = fed(since=before.now)
    after.aggregator.succeed(before.aggregator)
    after.forecasting.go_on(before.forecasting.cohorts)

    assert after.ticks(load[60:]) == expected[60:]


def test_what_was_learned_by_other_terms_is_left_out() -> None:
    before, after = fed(), fed(", boot: 5m")
    before.ticks([12.0] * 3)
    after.forecasting.go_on(before.forecasting.cohorts)

    assert not after.forecasting.cohorts
    assert after.catalogue.groups[WEB].policies == (AHEAD,)


LANE = Lane(WEB, AHEAD)
LEARNED = parse(
    a_forecast()
    .replace("each: 10", "each: learned, from: {counter: cpu, at: 70, at_least: 5}")
    .replace("counters:\n", "counters:\n  cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0, unit: percent, range: [0, 100]}\n"),
    "model.yaml",
)


def learner() -> Forecasting:
    """Return forecasts that learned that a member carries 10."""
    forecasting = Forecasting(LEARNED, [WEB])
    cohort = ForecastCohort.begin([LANE], forecasting.terms(LANE), 100)
    for _ in range(30):
        cohort.take(np.array([120.0]), MemberReadings(np.array([8.0]), np.array([56.0])))
    forecasting.go_on([cohort])
    return forecasting


def carries(forecasting: Forecasting) -> float | None:
    carried = forecasting.carried(LANE)
    return None if carried is None else float(carried.each[0])


def test_the_load_counts_once_it_is_known_what_a_member_carries() -> None:
    (cohort,) = learner().cohorts

    assert cohort.state.outlook is not None
    assert cohort.state.outlook.needed[0] >= 12  # 120 of 10 each


def test_members_that_carry_half_need_twice_as_many_of_them_for_the_same_load() -> None:
    (cohort,) = learner().cohorts
    for _ in range(4):
        cohort.take(np.array([120.0]), MemberReadings(np.array([8.0]), np.array([100.0])))

    assert cohort.state.outlook is not None
    assert cohort.state.outlook.needed[0] >= 24
    assert cohort.memory.ago(0)[0] == pytest.approx(math.log(12.25))  # the habits of the load are those of before


def test_what_a_member_carries_outlives_another_promise() -> None:
    before = learner()
    terms = replace(before.terms(LANE), preference=CALM)

    before.go_by(LANE, terms)

    assert carries(before) == pytest.approx(10.0)
    begun = before.begun(LANE, terms, 100)
    assert begun is not None
    assert begun.state.carried.unit[0] == pytest.approx(10.0)


def test_loads_cannot_be_learned_before_it_is_known_what_a_member_carries() -> None:
    forecasting = Forecasting(LEARNED, [WEB])

    assert carries(forecasting) is None
    assert forecasting.begun(LANE, forecasting.terms(LANE), 100) is None


def test_a_forecast_that_was_learned_again_goes_on_with_what_members_carry_now() -> None:
    forecasting = learner()
    again = forecasting.begun(LANE, forecasting.terms(LANE), 100)
    assert again is not None
    (cohort,) = forecasting.cohorts
    for _ in range(4):
        cohort.take(np.array([120.0]), MemberReadings(np.array([4.0]), np.array([56.0])))

    forecasting.go_on([again], instead=True)

    assert carries(forecasting) == pytest.approx(5.0, rel=0.02)
    assert forecasting.cohorts[0].state.carried.unit[0] == pytest.approx(10.0)


OLD, NEW = "0a" * 32, "0b" * 32


def rolled(*spans: tuple[str | None, int, float]) -> list[float | None]:
    """Show a group of ten members under a load of 1,000, and return what each is taken to carry, tick by tick.

    Args:
        spans: the profile of the members in service, for how many ticks, and what a member shows.
    """
    forecasting, aggregator, now = Forecasting(LEARNED, [WEB]), Aggregator(LEARNED, [WEB]), MONDAY
    members = tuple(MemberTarget(name=MemberName(f"web-{place}"), address="", counted=True) for place in range(10))
    sheets, found = layout_for(LEARNED, [Roster(group=WEB, members=members)]), []
    for profile, ticks, level in spans:
        for _ in range(ticks):
            at = Moment(wall=Instant(now), steady=Monotonic(now))
            sheet = Sheet(sheets)
            for row, series in enumerate(sheets.series):
                sheet.put(row, level if series.counter == "cpu" else 1000.0, at=at.steady)
            forecasting.take(aggregator.take(sheet.close(at)), at.wall, {WEB: profile})
            found.append(carries(forecasting))
            now += 30.0
    return found


def test_what_members_of_a_profile_carried_counts_again_once_only_they_were_there_for_its_window_and_four_steps() -> (
    None
):
    found = rolled((OLD, 30, 70.0), ("", 20, 90.0), (NEW, 30, 90.0), ("", 2, 80.0), (OLD, 8, 70.0))

    assert found[29] == pytest.approx(100.0)
    assert found[81] == pytest.approx(77.8, rel=0.02)
    assert [each is not None and each > 99.0 for each in found[-8:]] == [False] * 6 + [True] * 2
