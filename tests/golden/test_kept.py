"""What is on disk, in digests and in answers stays as it is, byte for byte, whatever is moved or renamed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from config.model.catalogue import Catalogue
from handler.replay.tables import read_events
from handler.store.codec import from_text, to_text
from handler.store.tags import TAGS
from tests.golden.kept import FILES, KEPT, kept
from tests.golden.saved import RECORDED, rows_text
from tests.golden.store import dumped, fill_everything, loaded, reads
from tests.golden.stored import STORED
from tests.support.filled import classes_in
from tests.support.snapshots import read, text_of
from tests.support.store import WEB, opened


@pytest.mark.parametrize("name", KEPT)
def test_what_is_written_now_is_what_was_written(name: str) -> None:
    assert KEPT[name]() == kept(name)


def test_every_golden_file_is_made_by_something() -> None:
    assert {str(path.relative_to(FILES)) for path in FILES.rglob("*") if path.is_file()} == KEPT.keys()


def test_no_two_classes_have_the_same_tag_and_every_tag_is_in_use() -> None:
    assert len({*TAGS.values()}) == len(TAGS)
    assert TAGS.keys() <= classes_in((*STORED, Catalogue))


def test_every_stored_value_is_read_and_written_again_as_it_was() -> None:
    classes = {tag: kind for kind, tag in TAGS.items()}
    for line in kept("stored.jsonl").splitlines():
        kind = classes[json.loads(line)["type"]]
        assert to_text(from_text(line, kind), kind) == line


def test_a_store_is_opened_read_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with loaded(kept("store.sql"), path) as store:
        found = reads(store)
    assert dumped(path) == kept("store.sql")
    new = opened(tmp_path / "new.sqlite")
    try:
        fill_everything(new)
        assert reads(new) == found
    finally:
        new.close()


def test_no_table_of_the_kept_store_is_empty() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(kept("store.sql"))
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}  # noqa: S608
    connection.close()
    assert len(rows) > 25
    assert [name for name, count in rows.items() if not count] == []


@pytest.mark.parametrize("name", ["world-full.json", "world-busy.json"])
def test_a_saved_world_is_read_and_saved_again_as_it_was(name: str) -> None:
    assert text_of(read(kept(name))) == kept(name)


def test_a_recording_of_old_has_the_rows_that_are_recorded_now() -> None:
    assert rows_text(RECORDED) == kept("recording.csv")


def test_exported_events_are_read_with_what_decisions_were_given() -> None:
    course = read_events(FILES / "events.csv", (WEB,))[WEB]
    assert [each.given.number for each in course.events if each.given is not None] == [7]


def test_every_route_answers_and_finds_nothing_wanting_in_what_it_is_sent() -> None:
    answered = json.loads(kept("answers.json"))["answers"]
    assert {each["status"] for each in answered.values()} <= {200, 201, 202, 403, 409}
    assert {path.partition(" ")[2] for path in answered} >= {"/api/v1/groups", "/metrics", "/readyz"}
