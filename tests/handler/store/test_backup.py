"""Backups of a store: consistent while it is written to, checked, and put back without a doubt being lost."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import threading
from collections.abc import ItemsView
from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import Refused, StoreError
from config.units import GroupId
from handler.planning.garbage import Abandoned
from handler.ports.stored import Event, EventKind
from handler.store.backup import put_back, read_backup, write_backup
from tests.support.store import INSTALLATION, LOCAL, WEB, a_definition, at, full_state, opened
from trigger.requests import OlderStore


def a_store(path: Path, size: int | None = 3) -> Path:
    store = opened(path)
    store.declare((a_definition(),), at(0))
    store.note(WEB, "scale", "ada", "", at(1), replace(full_state(), desired=size))
    store.intend(WEB, LOCAL, 2, (), at(2))
    store.close()
    return path


def alter(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_backup_is_one_file_of_its_owners_with_all_that_is_in_the_log(tmp_path: Path) -> None:
    store = opened(tmp_path / "trimtab.sqlite")
    store.declare((a_definition(),), at(0))
    content = write_backup(tmp_path / "trimtab.sqlite", tmp_path / "copy", {"member-keys": b"secret"})
    store.close()
    assert (content.installation, content.groups, content.beside) == (INSTALLATION, 1, {"member-keys": b"secret"})
    found = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir() if path.name.startswith("copy")}
    assert found == {"copy": 0o600}


@pytest.mark.parametrize("place", ["/proc/trimtab.sqlite", "/sys/trimtab.sqlite"])
def test_a_place_that_takes_no_file_is_reported_by_its_name(tmp_path: Path, place: str) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")

    with pytest.raises(StoreError, match=f"^{place} cannot be read or written: "):
        write_backup(path, Path(place), {})


def test_a_backup_taken_while_the_store_is_written_to_is_of_one_instant(tmp_path: Path) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")
    store, stop = opened(path), threading.Event()

    def write() -> None:
        while not stop.is_set():
            store.intend(WEB, LOCAL, 3, (), at(3))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            write_backup(path, tmp_path / f"copy-{number}", {})
    finally:
        stop.set()
        writer.join()
        store.close()
    for number in range(5):
        with contextlib.closing(sqlite3.connect(tmp_path / f"copy-{number}")) as copy:
            (members,) = copy.execute("SELECT count(*) FROM members").fetchone()
            (last,) = copy.execute("SELECT last FROM sequences").fetchone()
        assert (members, members % 3) == (last, 2)


def test_an_older_backup_of_the_same_name_is_replaced_whole(tmp_path: Path) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")
    write_backup(path, tmp_path / "copy", {"member-keys": b"old"})
    assert write_backup(path, tmp_path / "copy", {}).beside == {}


def test_of_two_backups_to_one_name_at_once_the_second_is_refused_and_the_first_is_whole(tmp_path: Path) -> None:
    path, target = a_store(tmp_path / "trimtab.sqlite"), tmp_path / "copy"

    class Meanwhile(dict[str, bytes]):
        def items(self) -> ItemsView[str, bytes]:
            with pytest.raises(StoreError, match=r"another process is writing .*copy now"):
                write_backup(path, target, {"member-keys": b"second"})
            write_backup(path, tmp_path / "other", {})
            return super().items()

    write_backup(path, target, Meanwhile({"member-keys": b"first"}))
    assert read_backup(target).beside == {"member-keys": b"first"}
    assert write_backup(path, target, {"member-keys": b"third"}).beside == {"member-keys": b"third"}
    assert sorted(each.name for each in tmp_path.iterdir() if "copy" in each.name) == ["copy"]


def test_what_a_killed_backup_left_keeps_no_later_one_from_the_name(tmp_path: Path) -> None:
    path, target = a_store(tmp_path / "trimtab.sqlite"), tmp_path / "copy"
    for left in (".copy.lock", ".copy.draft", ".copy.draft-wal"):
        (tmp_path / left).write_bytes(b"half")
    write_backup(path, target, {})
    assert read_backup(target).installation == INSTALLATION
    assert sorted(each.name for each in tmp_path.iterdir() if "copy" in each.name) == ["copy"]


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        pytest.param(lambda path: path.unlink(), StoreError, "does not exist", id="missing"),
        pytest.param(lambda path: path.write_text("no database\n" * 100), StoreError, "not an SQLite", id="text"),
        pytest.param(lambda path: alter(path, "DROP TABLE groups"), StoreError, "not a store of Trimtab", id="foreign"),
        pytest.param(
            lambda path: alter(path, "DELETE FROM meta"),
            StoreError,
            "has no installation id",
            id="without an installation",
        ),
        pytest.param(
            lambda path: alter(path, "UPDATE alembic_version SET version_num = '9999'"), Refused, "newer", id="newer"
        ),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:40000]), StoreError, "damaged|image", id="cut"),
    ],
)
def test_what_is_no_sound_backup_is_refused_and_the_store_stays(tmp_path: Path, spoil, error, message) -> None:
    store = a_store(tmp_path / "trimtab.sqlite")
    write_backup(store, tmp_path / "copy", {})
    spoil(tmp_path / "copy")
    before = store.read_bytes()
    with pytest.raises(error, match=message):
        put_back(tmp_path / "copy", store, at(10))
    assert store.read_bytes() == before
    assert not list(tmp_path.glob("trimtab.sqlite.*"))


def test_a_store_that_is_put_back_has_every_size_in_doubt_and_the_replaced_one_is_kept(tmp_path: Path) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")
    write_backup(path, tmp_path / "copy", {"member-keys": b"secret"})
    newer = opened(path)
    newer.note(WEB, "scale", "ada", "", at(4), replace(full_state(), desired=8))
    newer.intend(WEB, LOCAL, 6, (), at(5))
    newer.close()

    aside = put_back(tmp_path / "copy", path, at(10))

    restored = opened(path)
    (web,) = restored.groups()
    assert (web.state.desired, web.state.older) == (3, OlderStore(since=at(10), stored=3, sequence=8))
    assert restored.last_sequence(WEB) == 2
    restored.close()
    assert aside is not None
    replaced = opened(aside)
    assert (replaced.groups()[0].state.desired, replaced.last_sequence(WEB)) == (8, 8)
    replaced.close()


def test_a_group_without_a_size_has_none_to_doubt(tmp_path: Path) -> None:
    path = a_store(tmp_path / "trimtab.sqlite", None)
    write_backup(path, tmp_path / "copy", {})
    put_back(tmp_path / "copy", path, at(10))
    restored = opened(path)
    assert restored.groups()[0].state.older is None
    restored.close()


def test_a_damaged_store_is_replaced_and_kept_too(tmp_path: Path) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")
    write_backup(path, tmp_path / "copy", {})
    path.write_text("ruined\n" * 100)
    aside = put_back(tmp_path / "copy", path, at(10))
    assert aside is not None
    assert aside.read_text().startswith("ruined")
    assert opened(path).groups()[0].state.desired == 3


def test_a_backup_of_an_older_release_is_brought_up_to_date(tmp_path: Path) -> None:
    fixture = Path(__file__).with_name("fixtures") / "0017.sqlite"
    path = tmp_path / "trimtab.sqlite"
    put_back(fixture, path, at(10))
    restored = opened(path)
    web = restored.groups()[0]
    assert web.state == replace(full_state(), older=OlderStore(since=at(10), stored=5), signals=web.state.signals)
    restored.close()
    assert not list(tmp_path.glob("*.before-*"))


def test_a_second_restore_uses_no_launch_id_again_that_the_first_replaced_store_had(tmp_path: Path) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")
    write_backup(path, tmp_path / "monday", {})
    write_backup(path, tmp_path / "tuesday", {})
    newer = opened(path)
    newer.intend(WEB, LOCAL, 6, (), at(5))
    newer.close()
    put_back(tmp_path / "monday", path, at(10))

    put_back(tmp_path / "tuesday", path, at(20))

    assert the_older_of(path) == OlderStore(since=at(20), stored=3, sequence=8)


def the_older_of(path: Path) -> OlderStore | None:
    store = opened(path)
    (web,) = store.groups()
    store.close()
    return web.state.older


def test_a_backup_of_a_store_in_doubt_keeps_what_is_known_of_its_sequences(tmp_path: Path) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")
    store = opened(path)
    doubted = replace(full_state(), desired=3, older=OlderStore(since=at(3), stored=3, found=3, sequence=9))
    store.note(WEB, "older_store", "convergence", "", at(3), doubted)
    store.close()
    write_backup(path, tmp_path / "copy", {})
    path.unlink()

    put_back(tmp_path / "copy", path, at(10))

    assert the_older_of(path) == OlderStore(since=at(10), stored=3, sequence=9)


@pytest.mark.parametrize("size", [None, 3], ids=["in the backup without a size", "not in the backup"])
def test_launch_ids_of_a_group_that_is_not_marked_are_not_used_again(tmp_path: Path, size: int | None) -> None:
    group = GroupId("web" if size is None else "worker")
    path = a_store(tmp_path / "trimtab.sqlite", size)
    write_backup(path, tmp_path / "copy", {})
    newer = opened(path)
    newer.declare((a_definition("web"), a_definition("worker")), at(3))
    newer.intend(group, LOCAL, 6, (), at(5))
    last = newer.last_sequence(group)
    newer.close()

    put_back(tmp_path / "copy", path, at(10))

    restored = opened(path)
    restored.declare((a_definition("web"), a_definition("worker")), at(11))
    assert restored.intend(group, LOCAL, 1, (), at(12))[0].sequence == last + 1
    restored.close()


def test_what_was_abandoned_since_the_backup_stays_abandoned(tmp_path: Path) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")
    write_backup(path, tmp_path / "copy", {})
    newer = opened(path)
    (record, _) = newer.members(WEB)
    left = Abandoned(name=record.name, group=WEB, cloud=LOCAL, server_id="1", at=at(5), by="ada")
    act = Event(at=at(5), group=WEB, kind=EventKind.NOTE, name="abandon", by="ada", message="")
    newer.abandon(act, left, ())
    newer.close()

    put_back(tmp_path / "copy", path, at(10))

    restored = opened(path)
    assert restored.abandoned() == (left,)
    restored.close()


def test_there_is_a_store_at_every_instant_of_putting_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = a_store(tmp_path / "trimtab.sqlite")
    write_backup(path, tmp_path / "copy", {})
    before, replaced = path.read_bytes(), Path.replace

    def fails(draft: Path, target: Path) -> Path:
        if target == path:
            assert path.read_bytes() == before  # a kill at this instant leaves it
            raise OSError(errno.EIO, "Input/output error")
        return replaced(draft, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(StoreError, match="Input/output error"):
        put_back(tmp_path / "copy", path, at(10))

    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy", "trimtab.sqlite"]
