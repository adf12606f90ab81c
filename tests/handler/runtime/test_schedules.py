"""Schedules in a complete engine: passing times during a restart, a crash and a reload."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from config.errors import Refused
from config.units import PolicyId
from handler.operations.lookup import NoSuch
from handler.ports.stored import EventKind
from tests.support.engines import MODEL, WEB, EngineBed, Up, hurry
from trigger.reasons import Reason

YEARLY = """\
  year: {schedule: "@yearly", add: 1, missed: once, quiet_time: 0s}
  low_tide: {schedule: "@yearly", until: 10d, ceiling: 3}
"""
"""Times that no test meets by chance."""
SCHEDULED = MODEL.replace("clouds:", f"{YEARLY}clouds:").replace("[out, in]", "[out, in, year, low_tide]")
YEAR = PolicyId("year")


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path, text=SCHEDULED)


async def seen(up: Up) -> None:
    await up.grown(2)
    await up.until(lambda: up.runtime.state.watched)


def passed_a_year_ago(bed: EngineBed) -> None:
    """The daemon was down when the year began: the last time that was answered is that of the year before."""
    with contextlib.closing(sqlite3.connect(bed.path)) as connection, connection:
        ((text,),) = connection.execute("SELECT watched FROM groups")
        (watched,) = json.loads(text)
        older = json.dumps([watched | {"until": watched["until"] - 366 * 86400}])
        connection.execute("UPDATE groups SET watched = ?", (older,))


def answers(bed: EngineBed) -> list[str]:
    with contextlib.closing(sqlite3.connect(bed.path)) as connection:
        found = connection.execute("SELECT name FROM decisions WHERE \"by\" = 'schedule year' ORDER BY at")
        return [name for (name,) in found]


def last_words(bed: EngineBed) -> list[str]:
    """Answers after which a time is not asked for again: after a restart it may first have to wait for the fleet."""
    return [name for name in answers(bed) if name != Reason.CATCHING_UP.value]


def test_nothing_that_passed_before_the_first_start_is_carried_out(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await seen(up)
        await up.ticked(3)
        assert up.status.desired == 2

    bed.run(scene)
    assert answers(bed) == []


def test_a_time_that_passed_while_the_daemon_was_down_is_carried_out_once(bed: EngineBed) -> None:
    bed.run(seen)
    passed_a_year_ago(bed)

    async def late(up: Up) -> None:
        await up.grown(3)
        await up.ticked(3)
        assert up.status.desired == 3

    bed.run(late)
    bed.run(late)  # and not again after another restart
    assert last_words(bed) == ["scaled_out"]


def test_a_scheduled_time_without_a_stored_decision_is_neither_lost_nor_repeated(bed: EngineBed) -> None:
    bed.run(seen)
    with contextlib.closing(sqlite3.connect(bed.path)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE UPDATE OF desired ON groups WHEN NEW.desired = 3 "
            "BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    passed_a_year_ago(bed)

    async def full(up: Up) -> None:
        await up.until(lambda: up.runtime.unrecorded)
        assert up.status.desired == 2

    bed.run(full)
    assert last_words(bed) == []
    with contextlib.closing(sqlite3.connect(bed.path)) as connection, connection:
        connection.execute("DROP TRIGGER full")

    async def again(up: Up) -> None:
        await up.grown(3)
        await up.ticked(3)

    bed.run(again)
    assert last_words(bed) == ["scaled_out"]


def test_a_group_that_was_away_begins_its_schedules_anew(bed: EngineBed) -> None:
    bed.run(seen)
    passed_a_year_ago(bed)

    bed.declare(SCHEDULED.replace("  web:\n    profile", "  other:\n    profile"))

    async def orphaned(up: Up) -> None:
        assert up.status.desired == 2
        bed.declare(SCHEDULED)
        await up.operations.reload()
        await up.ticked(3)
        assert up.status.desired == 2

    bed.run(orphaned)
    assert answers(bed) == []


def test_a_floor_is_known_after_a_restart_and_without_anything_remembered(bed: EngineBed) -> None:
    bed.declare(
        SCHEDULED.replace(
            'low_tide: {schedule: "@yearly", until: 10d, ceiling: 3}',
            "low_tide: {at: 2020-01-01T00:00Z, until: 2190-01-01T00:00Z, floor: 3}",
        )
    )

    async def raised(up: Up) -> None:
        await up.grown(3)
        assert up.runtime.explanation is not None
        assert up.runtime.explanation.minimum == 3

    bed.run(raised)
    bed.run(raised)


def test_a_scheduled_change_can_be_carried_out_at_once_and_a_limit_cannot(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await seen(up)
        asked = await up.operations.alarm(WEB, YEAR, id="a1", by="ada")
        assert (asked.reason, asked.desired_to) == (Reason.SCALED_OUT, 3)
        with pytest.raises(Refused, match="low_tide is a ceiling by schedule"):
            await up.operations.alarm(WEB, PolicyId("low_tide"), id="a2", by="ada")
        with pytest.raises(NoSuch, match="did you mean year"):
            await up.operations.alarm(WEB, PolicyId("yaer"), id="a3", by="ada")

    bed.run(scene)


def test_a_reload_that_changes_a_schedule_changes_its_group(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await seen(up)
        bed.declare(SCHEDULED.replace("missed: once", "missed: skip"))
        assert (await up.operations.reload()).changed == (WEB,)

    bed.run(scene)


def test_what_a_schedule_did_is_an_event_of_its_own(bed: EngineBed) -> None:
    bed.run(seen)
    passed_a_year_ago(bed)

    async def scene(up: Up) -> None:
        await up.grown(3)
        events = await up.operations.history(WEB, before=None, limit=5, kinds=(EventKind.DECISION,))
        assert (events[0].name, events[0].by, events[0].desired_from, events[0].desired_to) == (
            "scaled_out",
            "schedule year",
            2,
            3,
        )

    bed.run(scene)
