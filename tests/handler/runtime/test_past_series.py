from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from config.units import Instant
from handler.ports.stored import Served, TickSpan
from handler.runtime.past_series import PARTS, past_picture
from handler.runtime.series import Picture, SeriesRecorder
from tests.support.store import an_explanation, at
from tests.trigger.explain.test_forecast_words import FORESEEN

FOREVER = Instant(math.inf)


def a_span(first: float, last: float, low: float = 40.0, high: float = 60.0, desired: int = 3) -> TickSpan:
    explanation = an_explanation(at(first), values=(50.0,), sizes=(desired, desired))
    return TickSpan(
        group=explanation.group,
        first_at=at(first),
        last_at=at(last),
        ticks=2,
        first=explanation,
        least=(low,),
        greatest=(high,),
    )


def pictured(
    *spans: TickSpan, served: tuple[Served, ...] = (), recent: Picture | None = None, end: float = 1000.0
) -> Picture:
    return past_picture(spans, served, recent or SeriesRecorder(10.0).picture(at(end)), at(0), at(end))


def sized(picture: Picture) -> list[tuple[float, float | None, float | None]]:
    sizes = picture.sizes
    return [(when - at(0), *row) for when, *row in zip(sizes.at, sizes.desired, sizes.in_service, strict=True)]


def test_a_span_is_its_value_at_the_first_tick_and_its_range_until_the_last() -> None:
    picture = pictured(a_span(100, 200))
    (curve,) = picture.curves
    assert [when - at(0) for when in picture.at] == [100, 200]
    assert curve.values == (50.0, None)
    assert curve.least == (40.0, 40.0)
    assert curve.greatest == (60.0, 60.0)
    assert curve.thresholds == (80.0, 80.0)
    assert picture.began == at(100)


def test_members_are_counted_from_when_they_came_into_service_until_they_left() -> None:
    served = (
        Served(begin=at(-50), end=FOREVER),
        Served(begin=at(120), end=at(180)),
        Served(begin=at(300), end=FOREVER),
    )
    assert sized(pictured(a_span(100, 200), served=served)) == [(100, 3, 1), (120, 3, 2), (180, 3, 1), (200, 3, 1)]


def test_nothing_is_known_of_the_time_between_two_lives_of_the_daemon() -> None:
    picture = pictured(a_span(100, 200, desired=3), a_span(500, 600, desired=5))
    assert sized(picture) == [(100, 3, 0), (200, 3, 0), (210, None, None), (500, 5, 0), (600, 5, 0)]
    assert picture.curves[0].greatest == (60.0, 60.0, None, 60.0, 60.0)


def test_a_span_that_began_before_counts_from_the_begin_on_and_its_first_value_does_not() -> None:
    picture = pictured(a_span(-500, 50))
    assert [when - at(0) for when in picture.at] == [0, 50]
    assert picture.curves[0].values == (None, None)


def test_the_last_half_hour_is_shown_tick_by_tick() -> None:
    series = SeriesRecorder(10.0)
    for second in (150, 160):
        series.sized(at(second), desired=4, in_service=4, minimum=2, maximum=10)
        series.judged(an_explanation(at(second), values=(70.0,)))
    picture = pictured(a_span(100, 200), recent=series.picture(at(200)), end=200)
    assert sized(picture) == [(100, 3, 0), (150, 4, 4), (160, 4, 4)]
    assert picture.curves[0].values == (50.0, 70.0, 70.0)


def test_a_size_that_was_short_is_shown_in_however_long_a_time() -> None:
    sizes = sized(pictured(a_span(100, 200), a_span(210, 212, desired=9), a_span(222, 300), end=30 * 86_400))
    assert {desired for _, desired, _ in sizes if desired is not None} == {3, 9}
    assert len(sizes) <= 5


def test_without_history_the_picture_is_empty() -> None:
    picture = pictured()
    assert (picture.began, picture.sizes.at, picture.at, picture.curves) == (None, (), (), ())


@given(st.lists(st.tuples(st.integers(1, 30), st.floats(0, 100), st.floats(0, 100)), min_size=1, max_size=2000))
def test_however_many_spans_the_rows_are_bounded_and_no_peak_is_lost(drawn: list[tuple[int, float, float]]) -> None:
    spans, second = [], 0
    for length, one, other in drawn:
        spans.append(replace(a_span(second, second + length), least=(min(one, other),), greatest=(max(one, other),)))
        second += length + 1
    picture = pictured(*spans, end=second)
    assert len(picture.at) <= PARTS + 1
    (curve,) = picture.curves
    assert max(value for value in curve.greatest if value is not None) == max(span.greatest[0] or 0.0 for span in spans)
    assert min(value for value in curve.least if value is not None) == min(span.least[0] or 0.0 for span in spans)


def test_what_a_forecast_said_is_that_of_the_first_tick_of_a_span_and_of_each_tick_of_late() -> None:
    span = a_span(100, 200)
    (policy,) = span.first.policies
    span = replace(span, first=replace(span.first, policies=(replace(policy, foreseen=FORESEEN),)))
    lately = SeriesRecorder(10.0)
    for second in (900, 910):
        lately.foresaw(at(second), {policy.policy: FORESEEN})

    (curve,) = pictured(span, recent=lately.picture(at(1000))).foreseen

    assert [when - at(0) for when in curve.at] == [100, 900, 910]
    assert curve.coming == (15.5, 15.5, 15.5)
