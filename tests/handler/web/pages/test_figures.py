from __future__ import annotations

import math

import pytest

from config.units import Instant
from handler.web.pages.figures import ABSENT, clock, number, quantity, span


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_not_known_is_a_dash(value: float | None) -> None:
    assert number(value) == ABSENT


def test_a_quantity_that_is_not_known_has_no_unit() -> None:
    assert quantity(None, "percent") == ABSENT


def test_zero_is_a_number_like_any_other() -> None:
    assert (number(0.0), quantity(0, "ms"), span(0.0)) == ("0", "0 ms", "0 s")


@pytest.mark.parametrize(
    ("value", "text"),
    [(71.318, "71.3"), (-2.5, "-2.5"), (1234.5, "1234"), (0.01234, "0.0123"), (1e-9, "1.00e-09"), (1e15, "1.00e+15")],
)
def test_numbers_have_three_digits_and_never_a_long_tail(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (59.9, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3601, "1 h"),
        (7260, "2 h 1 min"),
        (90_000, "1 d 1 h"),
        (-1, "0 s"),
    ],
)
def test_a_span_has_its_two_greatest_units(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_a_time_is_utc() -> None:
    assert clock(Instant(86_399.9)) == "23:59:59"
    assert (clock(None), span(None)) == (ABSENT, ABSENT)
