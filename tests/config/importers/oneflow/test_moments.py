"""What Ruby 3's ``Time.parse`` answers to the same texts, recorded with the zone of the server at UTC+13:45."""

from __future__ import annotations

import pytest

from config.importers.oneflow.moments import read_start_time


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2nd oct 2017 15:45", "2017-10-02 15:45:00"),
        ("2017-10-02 15:45", "2017-10-02 15:45:00"),
        ("2017-10-02, 15:45", "2017-10-02 15:45:00"),
        ("2017-1-2 5:06", "2017-01-02 05:06:00"),
        ("2017-10-02", "2017-10-02 00:00:00"),
        ("2017-10-02T15:45:30Z", "2017-10-02 15:45:30+00:00"),
        ("2017-10-02T15:45:30+02:00", "2017-10-02 15:45:30+02:00"),
        ("2017-10-02 15:45:30 -0530", "2017-10-02 15:45:30-05:30"),
        ("2017-10-02 15:45 UTC", "2017-10-02 15:45:00+00:00"),
        ("2017-10-02 15:45:30.25", "2017-10-02 15:45:30"),
        ("2017/10/02 15:45", "2017-10-02 15:45:00"),
        ("02/10/2017 15:45", "2017-10-02 15:45:00"),
        ("Mon, 02 Oct 2017 15:45:00 +0200", "2017-10-02 15:45:00+02:00"),
        ("Mon Oct 2 2017 15:45", "2017-10-02 15:45:00"),
        ("Oct 2 2017 3:45pm", "2017-10-02 15:45:00"),
        ("Oct 2, 2017 3:45 PM", "2017-10-02 15:45:00"),
        ("October 2nd, 2017 15:45", "2017-10-02 15:45:00"),
        ("2017-10-02 12:30am", "2017-10-02 00:30:00"),
        ("2017-10-02 12:30 pm", "2017-10-02 12:30:00"),
        ("2 October 2017", "2017-10-02 00:00:00"),
        ("2-Oct-2017 15:45", "2017-10-02 15:45:00"),
        ("1st sept 2017 9:00", "2017-09-01 09:00:00"),
        ("20171002T154500", "2017-10-02 15:45:00"),
        ("20171002T154500Z", "2017-10-02 15:45:00+00:00"),
        (" 2017-10-02 15:45 ", "2017-10-02 15:45:00"),
    ],
)
def test_a_moment_is_read_as_ruby_reads_it(text: str, moment: str) -> None:
    assert str(read_start_time(text)) == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1506959100", "2017-10-02 15:45:00+00:00"),
        ("2017", "1970-01-01 00:33:37+00:00"),
        ("0", "1970-01-01 00:00:00+00:00"),
    ],
)
def test_nothing_but_digits_are_seconds(text: str, moment: str) -> None:
    assert str(read_start_time(text)) == moment


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("15:45", id="today, whenever that was"),
        pytest.param("tomorrow", id="refused by Ruby, too"),
        pytest.param("10/25/2017 15:45", id="no such month; refused by Ruby, too"),
        pytest.param("30 feb 2017 10:00", id="no such day; Ruby takes it for the 2nd of March"),
        pytest.param("2017-10-02 15:45 pm", id="two ways to say the hour"),
        pytest.param("2017-10-02 24:00", id="no such hour"),
        pytest.param("2017-10-02 15:45 CET", id="a zone that Ruby does not look at"),
        pytest.param("2017-10-02 15:45 +99:99", id="no such offset"),
        pytest.param("9999999999", id="another century"),
        pytest.param("0000-00-00", id="noughts"),
        pytest.param("", id="nothing"),
        pytest.param("٢٠١٧-10-02", id="other digits"),
        pytest.param("1" * 100_000, id="many"),
        pytest.param(" " * 100_000 + "x", id="blanks"),
    ],
)
def test_what_both_would_not_read_alike_is_none(text: str) -> None:
    assert read_start_time(text) is None
