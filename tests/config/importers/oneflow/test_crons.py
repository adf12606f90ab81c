"""Recurrences that OneFlow refuses are refused by the import, with what it does not read; all others are taken."""

from __future__ import annotations

import pytest

from config.errors import DeclarationError
from config.importers.oneflow.crons import refusal
from tests.support.oneflow import Object, a_role, a_service, imported_from


def scheduled(recurrence: str) -> Object:
    return a_service(a_role(scheduled_policies=[{"type": "CARDINALITY", "adjust": 3, "recurrence": recurrence}]))


@pytest.mark.parametrize(
    ("recurrence", "unread"),
    [
        ("5/15 * * * *", "'5/15' as a minute; write '5-59/15'"),
        ("0 2/6 * * *", "'2/6' as an hour; write '2-23/6'"),
        ("0 9 L * *", "'L' as a day of the month"),
        ("0 9 LW * *", "'LW' as a day of the month"),
        ("0 9 * * 5#2", "'5#2' as a day of the week"),
        ("0 9 * * 5L", "'5L' as a day of the week"),
        ("0 9 ? * 1", "'?' as a day of the month"),
        ("0 9 * * monday", "'monday' as a day of the week"),
        ("0 9 * january *", "'january' as a month"),
        ("*/0 * * * *", "'*/0' as a minute"),
        ("1-5/0 * * * *", "'1-5/0' as a minute"),
        ("0 9 1,L * *", "'L' as a day of the month"),
        ("0 9 * *", "4 fields: it wants five"),
        ("0 9 * * * * *", "7 fields: it wants five"),
        (" 0 9 * * * *", "7 fields: it wants five"),
        ("@reboot", "one field: it wants five"),
        ("@Daily", "one field: it wants five"),
    ],
)
def test_what_oneflow_does_not_read_is_a_problem_of_the_template(recurrence: str, unread: str) -> None:
    assert refusal(recurrence) == unread
    with pytest.raises(DeclarationError) as refused:
        imported_from(scheduled(recurrence))
    (problem,) = refused.value.problems
    assert problem.message.endswith(f"OneFlow refuses the recurrence {recurrence!a}: it does not read {unread}")


@pytest.mark.parametrize(
    "recurrence",
    [
        "0 9 * * *",
        "*/15 8-18 * * MON-FRI",
        "0,30 9 1,15 jan-mar 0",
        "10-50/10 * * * 7",
        "0 9 * * 1 *",
        " 0 9 * * 1",
        "@hourly",
        "@annually",
    ],
)
def test_what_oneflow_reads_is_taken(recurrence: str) -> None:
    assert refusal(recurrence) == ""
    assert imported_from(scheduled(recurrence)).document["policies"]
