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
    assert scrape.said[0]


def test_an_answer_takes_the_place_of_what_was_said_before() -> None:
    sheet = a_sheet()
    sheet.fail(0, Reply.UNREACHABLE, "no answer yet")
    sheet.put(0, 42.0, at=7.0)
    scrape = sheet.close(a_moment())
    assert (scrape.reply[0], scrape.value[0], scrape.replied_at[0]) == (Reply.OK, 42.0, 7.0)
    assert scrape.said == {}
