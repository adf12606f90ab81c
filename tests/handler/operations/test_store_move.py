"""Moving a store between SQLite and PostgreSQL: nothing is lost, and nothing is in two places."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.errors import Refused, StoreError
from config.model.daemon import PostgresqlPlace
from handler.daemon.storing import open_store
from handler.operations import store_move
from handler.operations.backups import restore, take
from handler.operations.store_move import MovedStore, move
from handler.ports.store import Store
from handler.runtime.directory import StateDirectory
from handler.runtime.store_place import store_place, store_source
from handler.store.audit_rows import read_audit
from handler.store.sqlite import SqliteStore
from handler.store.timeline import read_timeline
from tests.golden.store import fill_everything
from tests.support.daemon import typed
from tests.support.postgresql import Server, running
from tests.support.store import INSTALLATION, WEB

pytestmark = pytest.mark.real("postgres")
SECRET = "pl3ase"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def database(server: Server, request: pytest.FixtureRequest) -> Iterator[PostgresqlPlace]:
    name = f"move{abs(hash(request.node.name))}"
    yield server.create(name)
    server.drop(name)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory whose store has something in every table."""
    directory = StateDirectory(tmp_path / "state")
    directory.hold()
    directory.become(INSTALLATION)
    store = SqliteStore.open(directory.store, installation=INSTALLATION)
    fill_everything(store)
    store.close()
    directory.release()
    return directory.path


@pytest.fixture
def file(tmp_path: Path, database: PostgresqlPlace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that declares the database."""
    monkeypatch.setenv("DATABASE_PASSWORD", SECRET)
    file = tmp_path / "model.yaml"
    file.write_text(f"store: {{url: '{database.url}', password: {{env: DATABASE_PASSWORD}}}}\n")
    return file


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A file that declares no store."""
    file = tmp_path / "bare.yaml"
    file.write_text("groups: {}\n")
    return file


def moved(state: Path, file: Path) -> MovedStore:
    return move(state, file, lambda done, total: None)


def opened(state: Path, declared: PostgresqlPlace | None) -> Store:
    return open_store(StateDirectory(state), declared).store


def all_of(state: Path) -> tuple[object, ...]:
    return tuple(read_timeline(store_source(state))), tuple(read_audit(store_source(state)))


def test_a_store_that_went_to_postgresql_and_back_has_the_same_rows(state, file, bare):
    before = all_of(state)
    there = moved(state, file)
    assert all_of(state) == before
    back = moved(state, bare)
    assert all_of(state) == before
    without_marks = [{name: each for name, each in one.tables.items() if name != "meta"} for one in (there, back)]
    assert without_marks[0] == without_marks[1]
    assert all(copied.rows for copied in there.tables.values())
    assert there.aside is not None
    assert there.aside.exists()


def test_a_daemon_goes_on_where_the_other_ended(state, file, database):
    groups = _groups_of(state)
    moved(state, file)
    store = opened(state, database)
    assert store.groups() == groups
    sequence = store.last_sequence(WEB)
    assert [record.sequence for record in store.intend(WEB, groups[0].definition.cloud.id, 1, (), 0.0)] == [
        sequence + 1
    ]
    step = store.begin_step(WEB, "create", None, 0.0, (), groups[0].definition.cloud.id)
    assert step > max(each.line for each in store.open_steps(WEB)[:-1])
    store.close()


def _groups_of(state: Path) -> object:
    store = SqliteStore.open(state / "trimtab.sqlite", installation=INSTALLATION)
    try:
        return store.groups()
    finally:
        store.close()


def test_a_target_that_holds_a_store_is_refused_and_nothing_moves(state, file, database, tmp_path):
    other = StateDirectory(tmp_path / "other")
    other.hold()
    open_store(other, database).store.close()
    other.release()
    with pytest.raises(Refused, match=r"holds the store of installation .*: name an empty one"):
        moved(state, file)
    assert _groups_of(state)
    assert store_place(StateDirectory(state)) == state / "trimtab.sqlite"


def test_a_move_waits_for_no_daemon(state, file):
    directory = StateDirectory(state)
    directory.hold()
    with pytest.raises(Refused, match="is held by process"):
        moved(state, file)
    directory.release()


def test_a_store_is_opened_at_one_place_only(state, file, bare, database):
    with pytest.raises(Refused, match=r"has one in trimtab.sqlite: move it with: trimtab store move FILE"):
        opened(state, database)
    moved(state, file)
    with pytest.raises(Refused, match="and the file declares none: write it under store"):
        opened(state, None)
    moved(state, bare)
    (state / "trimtab.sqlite").unlink()
    with pytest.raises(Refused, match=r"was moved to .*trimtab.sqlite: declare that one"):
        opened(state, database)


def test_moving_to_where_it_is_is_refused(state, file, bare):
    with pytest.raises(Refused, match=r"it is in .*trimtab.sqlite already"):
        moved(state, bare)
    moved(state, file)
    with pytest.raises(Refused, match="is on PostgreSQL already"):
        moved(state, file)


def test_a_state_directory_on_a_new_machine_takes_the_installation_of_the_database(state, file, database, tmp_path):
    moved(state, file)
    standby = StateDirectory(tmp_path / "standby")
    standby.hold()
    found = open_store(standby, database)
    assert (found.installation, found.lost) == (INSTALLATION, False)
    assert standby.known_installation() == INSTALLATION
    found.store.close()
    standby.release()


def test_a_database_that_is_empty_again_is_a_lost_store(state, file, database, server):
    moved(state, file)
    server.execute("DROP SCHEMA public CASCADE", database)
    server.execute("CREATE SCHEMA public", database)
    found = open_store(StateDirectory(state), database)
    assert found.lost
    found.store.close()


def test_copies_are_left_to_the_tools_of_postgresql(state, file, tmp_path):
    take(state, tmp_path / "copy")
    moved(state, file)
    with pytest.raises(Refused, match=r"pg_dump --format=custom --file=FILE --dbname='postgresql://.*member-keys"):
        take(state, tmp_path / "other")
    with pytest.raises(Refused, match="pg_restore --clean"):
        restore(state, tmp_path / "copy")


def test_the_command_says_what_it_moved_and_no_password_is_written(state, file):
    result = typed("store", "move", str(file), "--state", str(state), "--json")
    assert result.code == 0, result
    answer = json.loads(result.out)
    assert answer["before"] == str(state / "trimtab.sqlite")
    assert answer["rows"]["groups"] > 0
    assert SECRET not in result.out
    assert SECRET not in (state / "store.json").read_text()
    assert len(json.loads(typed("audit", "list", "--state", str(state), "--json").out)) > 0


def test_a_database_that_is_away_moves_nothing(state, file):
    file.write_text("store: {url: 'postgresql:///trimtab?host=/nowhere'}\n")
    with pytest.raises(StoreError, match="cannot be reached"):
        moved(state, file)
    assert _groups_of(state)


def test_a_move_that_fails_leaves_no_draft(state, file, bare, monkeypatch):
    moved(state, file)

    def fails(source: object, target: object, tell: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store_move, "copy_rows", fails)
    with pytest.raises(StoreError, match="the disk is full"):
        moved(state, bare)
    assert not list(state.glob("trimtab.sqlite.moving*"))


def test_a_move_back_is_on_the_disk_before_the_database_says_so(state, file, bare, monkeypatch):
    moved(state, file)
    synced, sync = list[bool](), os.fsync
    give_up = store_move._give_up

    def noted(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink() == state and not (state / "store.json").exists())
        sync(handle)

    def gives_up(before: object, after: object) -> object:
        assert any(synced)
        return give_up(before, after)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(store_move, "_give_up", gives_up)
    moved(state, bare)


def test_the_store_itself_is_no_place_for_its_backup(state):
    link = state.parent / "link"
    link.symlink_to(state / "trimtab.sqlite")
    for target in (state / "trimtab.sqlite", link):
        with pytest.raises(Refused, match="is the store itself"):
            take(state, target)
    assert _groups_of(state)
