"""Statistics of NITRO: every way of writing a number, and of having none."""

from __future__ import annotations

import pytest

from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from collector.sources.netscaler.parsing import figure


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [
        ("8", 8.0),
        (8, 8.0),
        (0.25, 0.25),
        (" 7 ", 7.0),
        ("", Reply.NO_SUCH_COUNTER),
        (None, Reply.NO_SUCH_COUNTER),
        ("UP", Reply.MALFORMED),
        ("nan", Reply.MALFORMED),
        (float("inf"), Reply.MALFORMED),
        (10**400, Reply.MALFORMED),
        (True, Reply.MALFORMED),
        ([1], Reply.MALFORMED),
        ({}, Reply.MALFORMED),
    ],
)
def test_a_statistic_is_a_number_or_text_of_one(given_as: object, expected: float | Reply) -> None:
    found = figure({"tothits": given_as}, "tothits")

    assert (found.reply if isinstance(found, HttpFailure) else found) == expected
