from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handler.cli.time_format import TimeRange, moment_text, written

NOON = 1772366400.0
"""2026-03-01 12:00:00 UTC"""


@given(st.floats(min_value=0.0, max_value=4e9))
@example(1772366400.5319998)
@example(1772366400.532)
@example(1772366399.9999998)
def test_the_text_of_an_instant_is_read_as_the_millisecond_that_holds_it(at: float) -> None:
    found = written(moment_text(at), NOON)
    assert found.at <= at < found.until
    assert found.until - found.at < 0.00101


@given(st.floats(min_value=0.0, max_value=4e9))
def test_the_exact_number_of_json_is_read_as_exactly_that_instant(at: float) -> None:
    assert written(f"{at:.7f}".rstrip("0"), NOON).at == pytest.approx(at, abs=1e-6)
    assert written("1772366400.531247", NOON).at == 1772366400.531247


@pytest.mark.parametrize(
    ("text", "at", "width"),
    [
        ("2026-03-01", NOON - 43200, 86400),
        ("2026-03-01T12", NOON, 3600),
        ("2026-03-01 12:00", NOON, 60),
        ("2026-03-01T12:00:00Z", NOON, 1),
        ("2026-03-01T14:00:00+02:00", NOON, 1),
        ("20260301T120000", NOON, 1),
        ("2026-03-01T12:00:00.5-00:30", NOON + 1800.5, 0.1),
        ("1772366400", NOON, 1),
        ("1772366400.25", NOON + 0.25, 0.01),
        ("12:00:00", NOON, 1),
        ("12:31", NOON + 1860 - 86400, 60),
        ("-5m", NOON + 1500, 0.001),
        ("-1h30m", NOON - 3600, 0.001),
        ("now", NOON + 1800, 0.001),
    ],
)
def test_an_instant_is_as_wide_as_it_is_written(text: str, at: float, width: float) -> None:
    """The clock shows half past twelve: a later time of day is yesterday's."""
    found = written(text, NOON + 1800)
    assert (found.at, found.until - found.at) == (at, pytest.approx(width, rel=1e-3))


@pytest.mark.parametrize(
    "text",
    ["yesterday", "-5", "-", "--5m", "-5y", "-9999999d", "nan", "inf", "1e9", "9" * 400, "25:00", "2026-02-30", ""],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        written(text, NOON)


def test_the_last_digits_are_not_rounded_up_into_the_next_millisecond() -> None:
    assert moment_text(NOON + 0.9999998) == "2026-03-01 12:00:00.999"
    assert written("2026-03-01 12:00:00.999", NOON) == TimeRange(at=NOON + 0.999, until=NOON + 1)
