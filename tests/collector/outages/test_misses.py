"""Values that were not heard become failures of the scrape, with a reason."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from collector.outages.misses import without, words
from collector.samples import Reply
from tests.support.collector import a_catalogue, a_moment, a_scrape, an_object

CPU = replace(an_object("1.3.1", id="cpu"), unit="percent", range=(0.0, 100.0))
OF_A, OF_B = ("web", "a", "cpu"), ("web", "b", "cpu")


def test_a_value_that_was_not_heard_is_a_failure_with_a_reason_and_the_others_stay() -> None:
    polled = a_scrape({OF_A: Reply.OK, OF_B: Reply.OK}, at=a_moment(10.0))

    scrape = without(polled, {1: -1.0}, a_catalogue([CPU]).counters)

    assert scrape.layout is polled.layout
    assert scrape.reply.tolist() == [Reply.OK, Reply.OUTSIDE_RANGE]
    assert scrape.details == {1: "-1 is outside range 0..100 percent"}
    assert polled.reply.tolist() == [Reply.OK, Reply.OK]


def test_a_scrape_without_such_values_is_the_very_same() -> None:
    polled = a_scrape({OF_A: Reply.OK}, at=a_moment(10.0))
    assert without(polled, {}, {}) is polled


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (130.5, "130.5 is outside range 0..100 percent"),
        (1e12, "1e+12 is outside range 0..100 percent"),
        (math.nan, "nan is not a finite number"),
        (-math.inf, "-inf is not a finite number"),
    ],
)
def test_the_reason_names_the_value_and_the_range(value: float, detail: str) -> None:
    assert words(CPU, value) == detail
