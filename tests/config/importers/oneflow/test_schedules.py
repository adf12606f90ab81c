from __future__ import annotations

import pytest

from config.importers.oneflow.template import Fate
from tests.support.oneflow import Object, a_role, a_service, catalogue_of, elastic, imported_from, said


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
def test_what_says_no_zone_is_read_in_that_of_the_server(policy: Object, entry: Object) -> None:
    assert entry_of(policy, timezone="Europe/Paris") == {"missed": "once", "set": 6, **entry}


def test_that_times_are_utc_is_told_only_where_it_matters() -> None:
    def told(policy: Object, **options: object) -> bool:
        made = imported_from(a_service(a_role(scheduled_policies=[policy])), **options)
        return any(line.startswith("times are UTC") for line in said(made, Fate.DIFFERS))

    local, with_offset = scheduled(recurrence="0 9 * * *"), scheduled(start_time="2027-10-02 15:45Z")
    assert (told(local), told(local, timezone="UTC"), told(with_offset)) == (True, False, False)


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        pytest.param(scheduled(recurrence="0 9 * * fri-mon"), "'0 9 * * fri-mon' is not a calendar", id="backwards"),
        pytest.param(scheduled(recurrence="0 9 30 2 *"), "'0 9 30 2 *' is not a calendar that ever", id="never"),
        pytest.param(scheduled(start_time="15:45"), "'15:45' names no day and hour", id="today"),
        pytest.param(scheduled("CHANGE", 0, recurrence="0 9 * * *"), "adjust is 0", id="no change"),
    ],
)
def test_what_cannot_be_said_is_left_out_and_told(policy: Object, why: str) -> None:
    made = imported_from(a_service(a_role(scheduled_policies=[policy])))

    assert not made.document["policies"]
    (line,) = said(made, Fate.UNMAPPED)
    assert line.startswith(why)


@pytest.mark.parametrize(
    ("policy", "surprise"),
    [
        (scheduled(recurrence="0 9 * * * *"), "OneFlow looks at the first five fields only, so that '*' means nothing"),
        (scheduled(recurrence=" 0 9 * * *"), "OneFlow takes the blank at its beginning for a field"),
        (scheduled(start_time="20271002"), "nothing but digits are seconds since 1970: 1970-08-23T14:50:02+00:00"),
    ],
)
def test_what_oneflow_reads_otherwise_than_people_do_is_told_at_its_place(policy: Object, surprise: str) -> None:
    made = imported_from(a_service(a_role(scheduled_policies=[policy])))

    (note,) = [note for note in made.of(Fate.KEPT) if note.where]
    assert note.said.startswith(surprise)


def test_schedules_come_before_conditions_as_oneflow_looks_at_them() -> None:
    service = a_service(
        a_role(elastic(), scheduled_policies=[scheduled(recurrence="@daily"), scheduled(start_time="0")])
    )

    names = ["web-schedule", "web-schedule-2", "web-out"]
    assert imported_from(service).document["groups"]["web"]["policies"] == names
    assert {*catalogue_of(service).schedules} == {*names[:2]}
