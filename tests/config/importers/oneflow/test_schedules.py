from __future__ import annotations

import pytest

from config.errors import DeclarationError
from config.importers.oneflow.schedules import read_start_time, refusal
from config.importers.oneflow.template import NoteKind
from tests.support.oneflow import Object, a_role, a_service, catalogue_of, elastic, imported_from, notes


def scheduled(type: str = "CARDINALITY", adjust: object = 6, **more: object) -> Object:
    """A scheduled policy."""
    return {"type": type, "adjust": adjust, **more}


def entry_of(policy: Object, **options: object) -> Object:
    made = imported_from(a_service(a_role(scheduled_policies=[policy])), **options)
    return dict(made.document["policies"]["web-schedule"])


@pytest.mark.parametrize(
    ("policy", "entry"),
    [
        pytest.param(
            scheduled(recurrence="0 9 * * mon,tue"), {"schedule": "0 9 * * mon,tue", "set": 6}, id="a calendar"
        ),
        pytest.param(scheduled(recurrence="@daily"), {"schedule": "0 0 * * *", "set": 6}, id="a word"),
        pytest.param(scheduled(recurrence="0  9 * * 7 *"), {"schedule": "0 9 * * 7", "set": 6}, id="a sixth field"),
        pytest.param(
            scheduled("PERCENTAGE_CHANGE", 10, start_time="2nd oct 2027 15:45"),
            {"at": "2027-10-02T15:45:00Z", "add": "10%", "rounding": "truncate"},
            id="a moment",
        ),
        pytest.param(
            scheduled("CHANGE", -1, start_time="2027-10-02 15:45 +0200", cooldown=60),
            {"at": "2027-10-02T15:45:00+02:00", "remove": 1, "quiet_time": "1m"},
            id="a moment with an offset, and a cooldown",
        ),
    ],
)
def test_when_and_what_are_carried_over_and_a_missed_time_is_met_late(policy: Object, entry: Object) -> None:
    assert entry_of(policy) == {"missed": "once", **entry}


@pytest.mark.parametrize(
    ("policy", "entry"),
    [
        (scheduled(recurrence="0 9 * * *"), {"schedule": "0 9 * * *", "timezone": "Europe/Paris"}),
        (scheduled(start_time="2027-10-02 15:45"), {"at": "2027-10-02T15:45:00", "timezone": "Europe/Paris"}),
        (scheduled(start_time="1822491900"), {"at": "2027-10-02T15:45:00+00:00"}),
    ],
)
def test_a_time_without_a_zone_is_read_in_that_of_the_server(policy: Object, entry: Object) -> None:
    assert entry_of(policy, timezone="Europe/Paris") == {"missed": "once", "set": 6, **entry}


def test_the_note_that_times_are_utc_appears_only_where_it_matters() -> None:
    def assumes_utc(policy: Object, **options: object) -> bool:
        made = imported_from(a_service(a_role(scheduled_policies=[policy])), **options)
        return any(line.startswith("times are UTC") for line in notes(made, NoteKind.DIFFERS))

    local, with_offset = scheduled(recurrence="0 9 * * *"), scheduled(start_time="2027-10-02 15:45Z")
    assert (assumes_utc(local), assumes_utc(local, timezone="UTC"), assumes_utc(with_offset)) == (True, False, False)


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        pytest.param(scheduled(recurrence="0 9 * * fri-mon"), "'0 9 * * fri-mon' is not a calendar", id="backwards"),
        pytest.param(scheduled(recurrence="0 9 30 2 *"), "'0 9 30 2 *' is not a calendar that ever", id="never"),
        pytest.param(scheduled(start_time="15:45"), "'15:45' names no day and hour", id="today"),
        pytest.param(scheduled("CHANGE", 0, recurrence="0 9 * * *"), "adjust is 0", id="no change"),
    ],
)
def test_a_schedule_that_cannot_be_expressed_is_left_out_and_reported(policy: Object, why: str) -> None:
    made = imported_from(a_service(a_role(scheduled_policies=[policy])))

    assert not made.document["policies"]
    (line,) = notes(made, NoteKind.UNMAPPED)
    assert line.startswith(why)


@pytest.mark.parametrize(
    ("policy", "surprise"),
    [
        (scheduled(recurrence="0 9 * * * *"), "OneFlow looks at the first five fields only, so that '*' means nothing"),
        (scheduled(recurrence=" 0 9 * * *"), "OneFlow takes the blank at its beginning for a field"),
        (scheduled(start_time="20271002"), "nothing but digits are seconds since 1970: 1970-08-23T14:50:02+00:00"),
    ],
)
def test_a_schedule_that_oneflow_reads_unexpectedly_is_reported_at_its_place(policy: Object, surprise: str) -> None:
    made = imported_from(a_service(a_role(scheduled_policies=[policy])))

    (note,) = [note for note in made.of(NoteKind.KEPT) if note.where]
    assert note.text.startswith(surprise)


def test_schedules_come_before_conditions_as_oneflow_looks_at_them() -> None:
    service = a_service(
        a_role(elastic(), scheduled_policies=[scheduled(recurrence="@daily"), scheduled(start_time="0")])
    )

    names = ["web-schedule", "web-schedule-2", "web-out"]
    assert imported_from(service).document["groups"]["web"]["policies"] == names
    assert {*catalogue_of(service).schedules} == {*names[:2]}


def recurring(recurrence: str) -> Object:
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
def test_a_recurrence_that_oneflow_does_not_read_is_a_problem_of_the_template(recurrence: str, unread: str) -> None:
    assert refusal(recurrence) == unread
    with pytest.raises(DeclarationError) as refused:
        imported_from(recurring(recurrence))
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
def test_a_recurrence_that_oneflow_reads_is_taken(recurrence: str) -> None:
    assert refusal(recurrence) == ""
    assert imported_from(recurring(recurrence)).document["policies"]


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
def test_a_text_that_both_would_read_differently_is_no_time(text: str) -> None:
    assert read_start_time(text) is None
