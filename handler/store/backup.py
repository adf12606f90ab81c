"""One file that holds a whole store, taken while the daemon runs or not, and the way back.

A backup is a store in SQLite's rollback journal mode (one file, no companions), with one table more: ``beside`` has the
small files of the state directory without which the store is of little use. It is written under another name and
renamed, so that what has the name is whole.

A store that is put back may be older than the fleet. Every group of it that has a size says so
(`trigger.guards.outdated_requests`), until a listing agrees with it or a person confirms it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from config.errors import StoreError
from config.units import Instant
from handler.store.codec import to_text
from handler.store.database import explained
from handler.store.revisions import create_file, refuse_newer, to_head
from trigger.requests import OlderStore

_BUSY_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a backup holds."""

    installation: str
    schema: str
    groups: int
    beside: Mapping[str, bytes]
    """Small files of the state directory, by name."""


def write_backup(store: Path, target: Path, beside: Mapping[str, bytes]) -> Content:
    """Copy a store as it is at one instant, with what only its write-ahead log holds; an older file is replaced whole.

    Raises:
        StoreError: there is no store, or it cannot be read, or the copy cannot be written or is damaged.
    """
    if not store.exists():
        raise StoreError(f"store {store} does not exist: nothing to copy")
    draft = target.with_name(f".{target.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        create_file(draft)
        with _opened(store) as source, _opened(draft) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
            with copy:
                copy.execute("CREATE TABLE beside (name TEXT PRIMARY KEY, content BLOB NOT NULL)")
                copy.executemany("INSERT INTO beside VALUES (?, ?)", beside.items())
        content = read_backup(draft)
        _durable(draft)
        draft.replace(target)
        _durable(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise explained(error, target) from error
    finally:
        draft.unlink(missing_ok=True)
    return content


def read_backup(path: Path) -> Content:
    """Say what a backup holds, once all of it has been checked. A plain copy of a store is one, too.

    Raises:
        Refused: it was written by a newer release.
        StoreError: it cannot be read, is damaged, or is no store.
    """
    if not path.is_file():
        raise StoreError(f"backup {path} does not exist")
    try:
        with _opened(path) as backup:
            answer = backup.execute("PRAGMA quick_check").fetchone()[0]
            if answer != "ok":
                raise StoreError(f"backup {path} is damaged: {answer}; take another one")
            tables = {row[0] for row in backup.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {"alembic_version", "meta", "groups"} <= tables:
                raise StoreError(f"{path} is no store of Trimtab: expected a file that `trimtab backup` wrote")
            schema = str(backup.execute("SELECT version_num FROM alembic_version").fetchone()[0])
            owner = backup.execute("SELECT value FROM meta WHERE name = 'installation'").fetchone()
            groups = int(backup.execute("SELECT count(*) FROM groups").fetchone()[0])
            files = backup.execute("SELECT name, content FROM beside") if "beside" in tables else ()
            beside = {str(name): bytes(content) for name, content in files}
    except sqlite3.Error as error:
        raise explained(error, path) from error
    if owner is None:
        raise StoreError(f"backup {path} does not say whose store it is: take another one")
    refuse_newer(schema, path)
    return Content(installation=str(owner[0]), schema=schema, groups=groups, beside=beside)


def put_back(backup: Path, store: Path, now: Instant) -> Path | None:
    """Make a backup the store. No process may have the store open.

    The store that was there is kept beside it, together with its log; where it can be read, no launch sequence that it
    gave out is given out again.

    Returns:
        Where the store that was there is now; ``None``: there was none.

    Raises:
        Refused, StoreError: as `read_backup`; or the disk refuses. The store that was there is still in its place.
    """
    read_backup(backup)
    draft = store.with_name(f"{store.name}.restoring")
    try:
        _discard(draft)
        create_file(draft)
        with _opened(backup) as source, _opened(draft) as copy:
            source.backup(copy)
            with copy:
                copy.execute("DROP TABLE IF EXISTS beside")
            copy.execute("PRAGMA journal_mode=WAL")
        to_head(draft, keeps_copy=False)
        with _opened(draft) as copy:
            _doubt(copy, _sequences(store), now)
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _durable(draft)
        aside = _set_aside(store, now)
        draft.replace(store)
        _durable(store.parent)
    except (sqlite3.Error, OSError) as error:
        raise explained(error, store) from error
    finally:
        _discard(draft)
    return aside


def _doubt(copy: sqlite3.Connection, newer: Mapping[str, int], now: Instant) -> None:
    """Have every group that has a size wait for a listing that agrees, or for a person."""
    sized = copy.execute("SELECT id, desired FROM groups WHERE desired IS NOT NULL").fetchall()
    with copy:
        for group, desired in sized:
            older = OlderStore(since=now, stored=desired, sequence=newer.get(group, 0))
            copy.execute("UPDATE groups SET older = ? WHERE id = ?", (to_text(older, OlderStore), group))


def _sequences(store: Path) -> Mapping[str, int]:
    """The last launch sequence of every group in a store that is being replaced; none, if it cannot be read."""
    if not store.exists():
        return {}
    try:
        with _opened(store) as replaced:
            return {str(group): int(last) for group, last in replaced.execute("SELECT group_id, last FROM sequences")}
    except sqlite3.Error:
        return {}


def _set_aside(store: Path, now: Instant) -> Path | None:
    """Move a store away under a name of its own, its log with it."""
    if not store.exists():
        return None
    number, stamp = 0, int(now)
    while (aside := store.with_name(f"{store.name}.replaced-{stamp + number}")).exists():
        number += 1
    for suffix in ("-wal", "-shm", ""):  # the store itself last: until then it is still in its place
        part = store.with_name(f"{store.name}{suffix}")
        if part.exists():
            part.rename(aside.with_name(f"{aside.name}{suffix}"))
    return aside


def _discard(draft: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        draft.with_name(f"{draft.name}{suffix}").unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path, timeout=_BUSY_S)) as connection:
        yield connection


def _durable(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
