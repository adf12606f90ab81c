from __future__ import annotations

import re

import pytest

from config.errors import Refused
from config.units import Instant
from handler.web.pages.group import window_choice
from handler.web.pages.windows import Window, window_of

NOON = Instant(1772366400.0)


@pytest.mark.parametrize(
    ("asked", "begin", "end", "moves"),
    [
        ({}, NOON - 1800, NOON, True),
        ({"span": "6h"}, NOON - 21600, NOON, True),
        ({"span": "1h30m"}, NOON - 5400, NOON, True),
        ({"begin": "2026-03-01T11:00"}, NOON - 3600, NOON, False),
        ({"begin": "2026-03-01T11:00:00", "end": "2026-03-01T11:30:00"}, NOON - 3600, NOON - 1800, False),
        ({"begin": "2026-03-01T13:00:00+02:00"}, NOON - 3600, NOON, False),
        ({"begin": str(NOON - 60), "end": str(NOON - 30)}, NOON - 60, NOON - 30, False),
    ],
    ids=["nothing", "span", "two units", "from", "from and to", "with a zone", "seconds"],
)
def test_an_address_asks_for_a_span_until_now_or_a_time_that_stays(
    asked: dict[str, str], begin: float, end: float, moves: bool
) -> None:
    window = window_of(NOON, **asked)
    assert (window.begin, window.end, window.span is not None) == (begin, end, moves)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"span": "6 hours"}, "span=6 hours"),
        ({"span": "0s"}, "ten seconds to 400 days"),
        ({"span": "1h", "begin": "2026-03-01T11:00"}, "either"),
        ({"end": "2026-03-01T11:00"}, "either"),
        ({"begin": "yesterday"}, "from=yesterday is not a time: write"),
        ({"begin": "2026-03-01T11:00", "end": "2026-03-01T10:00"}, "is not a time of"),
        ({"begin": "nan"}, "is not a time of"),
        ({"begin": "1e15", "end": "1000000000000100"}, "is not a time between 1970 and 2200"),
        ({"begin": "9999-12-31T23:00", "end": "9999-12-31T23:59"}, "is not a time between 1970 and 2200"),
        ({"begin": "0001-01-01T00:00", "end": "0001-01-01T01:00"}, "is not a time between 1970 and 2200"),
    ],
    ids=[
        "words",
        "empty",
        "both",
        "only to",
        "not a time",
        "backwards",
        "not a number",
        "in seconds of no calendar",
        "the last year",
        "the first year",
    ],
)
def test_what_is_not_a_time_is_refused_with_what_to_write(asked: dict[str, str], why: str) -> None:
    with pytest.raises(Refused, match=re.escape(why)):
        window_of(NOON, **asked)


@pytest.mark.parametrize("day", ["1970-01-01", "2199-12-31"])
def test_the_links_of_the_first_and_the_last_day_are_times(day: str) -> None:
    choice = window_choice(window_of(NOON, begin=f"{day}T00:00", end=f"{day}T23:59"))
    assert (choice.begin, choice.end) == (f"{day}T00:00:00", f"{day}T23:59:00")


def test_the_address_of_a_window_asks_for_it_again() -> None:
    assert window_of(NOON).query == ""
    assert window_of(NOON, span="6h").query == "span=6h"
    fixed = window_of(NOON, begin="2026-03-01T11:00")
    assert fixed.query == "from=2026-03-01T11:00:00&to=2026-03-01T12:00:00"


def test_a_window_moves_by_its_length_and_widens_around_its_middle() -> None:
    hour = window_of(NOON, span="1h")
    assert hour.moved(-0.5) == Window(begin=Instant(NOON - 5400), end=Instant(NOON - 1800), span=None)
    assert hour.wider(2.0) == Window(begin=Instant(NOON - 5400), end=Instant(NOON + 1800), span=None)
