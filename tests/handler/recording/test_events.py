from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path

import pytest

from config.errors import Refused
from config.units import GroupId
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Leaving, Phase
from handler.recording.events import COLUMNS, RecordingSelection, write_events
from handler.store.timeline import read_timeline
from tests.support.store import (
    LOCAL,
    WEB,
    a_definition,
    a_record,
    a_state,
    a_tick,
    an_answer,
    an_explanation,
    at,
    opened,
)
from trigger.reasons import Reason
from trigger.requests import Pause


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A group with one member that came, a resize by a person, a pause, and the member's leaving."""
    path = tmp_path / "trimtab.sqlite"
    store = opened(path)
    store.declare([a_definition("web"), a_definition("api")], at(0))
    made = dataclasses.replace(
        a_record(1, phase=Phase.IN_SERVICE), intended_at=at(1), made_at=at(2), in_service_at=at(3)
    )
    store.save((made,), LOCAL)
    step = store.begin_step(WEB, "create", made.name, at(1), (), LOCAL)
    store.end_step(step, StepResult.DONE, "made, at once", at(2), (), LOCAL)
    store.note(WEB, "pause", "ann", "decisions only", at(10), dataclasses.replace(a_state(2), pause=Pause.DECISIONS))
    resized = an_explanation(at(20), reason=Reason.FORCED, sizes=(2, 4), answers=(an_answer(),))
    store.record([a_tick(resized, state=a_state(4))])
    gone = dataclasses.replace(made, phase=Phase.GONE, leaving=Leaving.SURPLUS, leaving_at=at(30), gone_at=at(40))
    store.save((gone,), LOCAL)
    store.close()
    return path


def lines(store: Path, wanted: RecordingSelection | None = None) -> list[dict[str, str]]:
    file = io.StringIO()
    write_events(file, read_timeline(store), wanted or RecordingSelection())
    return list(csv.DictReader(io.StringIO(file.getvalue())))


def test_events_come_in_the_order_of_time_with_the_documented_columns(store: Path) -> None:
    found = lines(store)

    assert tuple(found[0]) == COLUMNS
    times = [float(line["timestamp"]) for line in found]
    assert times == sorted(times)


def test_members_in_service_are_counted(store: Path) -> None:
    members = [line for line in lines(store) if line["kind"] == "member"]

    assert [(line["name"], line["in_service"], line["by"]) for line in members] == [
        ("intended", "0", ""),
        ("made", "0", ""),
        ("in_service", "1", ""),
        ("leaving", "0", "surplus"),
        ("gone", "0", ""),
    ]


def test_operations_of_people_and_decisions_are_exported(store: Path) -> None:
    found = {(line["kind"], line["name"]): line for line in lines(store)}

    pause = found["note", "pause"]
    assert (pause["by"], pause["message"], pause["timestamp"]) == ("ann", "decisions only", repr(float(at(10))))
    forced = next(line for (kind, _), line in found.items() if kind == "decision" and line["desired_to"] == "4")
    assert (forced["desired_from"], forced["timestamp"]) == ("2", repr(float(at(20))))
    created = found["step", "create"]
    assert (created["result"], created["message"]) == ("done", "made, at once")


def test_members_in_service_are_known_also_in_the_middle(store: Path) -> None:
    (line, *_) = lines(store, RecordingSelection(since=at(5), until=at(15)))

    assert (line["name"], line["in_service"]) == ("pause", "1")


def test_other_groups_are_left_out(store: Path) -> None:
    assert {line["group"] for line in lines(store, RecordingSelection(groups=frozenset({GroupId("api")})))} == {"api"}


def test_reading_changes_nothing_and_needs_no_daemon(store: Path) -> None:
    before = store.read_bytes()

    lines(store)

    assert store.read_bytes() == before


def test_where_there_is_no_store_that_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no store"):
        list(read_timeline(tmp_path / "trimtab.sqlite"))


def test_a_store_of_another_release_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "trimtab.sqlite"
    old.write_bytes((Path(__file__).parents[1] / "store" / "fixtures" / "0001.sqlite").read_bytes())
    with pytest.raises(Refused, match="revision 0001"):
        list(read_timeline(old))


def test_a_cause_and_the_actor_are_different_columns(store: Path) -> None:
    (line,) = [line for line in lines(store) if line["kind"] == "decision" and line["cause"]]

    assert (line["cause"], line["by"]) == (an_answer().cause.value, an_answer().by)
