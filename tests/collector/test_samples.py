from __future__ import annotations

import numpy as np
import pytest

from collector.samples import Layout, Reply, Series, Sheet
from config.units import CounterId, GroupId
from tests.support.collector import a_moment


def a_sheet() -> Sheet:
    series = (Series(GroupId("web"), CounterId("load"), None),)
    return Sheet(Layout(series=series, counted=np.ones(1, dtype=np.bool_)))


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "at"),
    [(NAN, 1.0), (INF, 1.0), (-INF, 1.0), (1.0, NAN), (1.0, INF)],
    ids=["no number", "too great", "too small", "of no time", "of the end of time"],
)
def test_what_is_no_number_or_of_no_time_is_no_answer(value: float, at: float) -> None:
    sheet = a_sheet()
    sheet.put(0, value, at=at)
    scrape = sheet.close(a_moment())
    assert (scrape.reply[0], scrape.value[0], scrape.replied_at[0]) == (Reply.MALFORMED, 0.0, 0.0)
    assert scrape.details[0]


def test_an_answer_replaces_the_one_before() -> None:
    sheet = a_sheet()
    sheet.fail(0, Reply.UNREACHABLE, "no answer yet")
    sheet.put(0, 42.0, at=7.0)
    scrape = sheet.close(a_moment())
    assert (scrape.reply[0], scrape.value[0], scrape.replied_at[0]) == (Reply.OK, 42.0, 7.0)
    assert scrape.details == {}


def test_many_answers_are_written_as_each_would_be_alone() -> None:
    series = tuple(Series(GroupId("web"), CounterId(name), None) for name in "abcd")
    layout = Layout(series=series, counted=np.ones(4, dtype=np.bool_))
    rows, uptimes = [3, 0, 2], [1.0, NAN, 2.0]
    for values, at in (
        ([1.5, 2**64 - 1, -3], [7.0, 8.0, 9.0]),
        ([1.0, NAN, 3.0], [7.0] * 3),
        ([1.0, 2.0, 3.0], [7.0, INF, 7.0]),
        ([INF, 2.0, 3.0], [-INF, 7.0, 7.0]),
    ):
        together, alone = Sheet(layout), Sheet(layout)
        for sheet in (together, alone):
            sheet.fail(3, Reply.UNREACHABLE, "no answer yet")
        together.put_all(rows, values, at=at, uptimes=uptimes)
        for row, value, moment, uptime in zip(rows, values, at, uptimes, strict=True):
            alone.put(row, value, at=moment, uptime=uptime)
        for name in ("value", "replied_at", "uptime", "reply"):
            np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))
        assert together.details == alone.details
