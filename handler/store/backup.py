"""Back up a store into one file, whether or not the daemon runs, and restore it.

A backup is a store in SQLite's rollback journal mode (one file, no companions), with one table more: ``beside`` has the
small files of the state directory without which the store is of little use. It is written under another name and
renamed, so that a file with the final name is complete.

A restored store may be older than the fleet. Every group of it that has a size is marked so
(`trigger.guards.outdated_requests`), until a listing agrees with it or a person confirms it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from config.errors import StoreError
from config.units import Instant
from handler.store.codec import from_text, to_text
from handler.store.revisions import refuse_newer
from handler.store.sqlite_file import explained
from handler.store.sqlite_revisions import create_file, earlier_copy, to_head
from trigger.requests import OlderStore

_BUSY_S = 30.0
_LOG = ("-wal", "-shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of a backup."""

    installation: str
    schema: str
    groups: int
    beside: Mapping[str, bytes]
    """Small files of the state directory, by name."""
    sealed: tuple[str, ...] = ()
    """The secrets that it holds, each sealed under a key that it does not hold."""


def write_backup(store: Path, target: Path, beside: Mapping[str, bytes]) -> Content:
    """Copy a store as of one instant, with its write-ahead log; replaces an older file at once.

    Raises:
        StoreError: there is no store, it cannot be read, or the copy cannot be written or is damaged; or another
            process is writing it.
    """
    if not store.exists():
        raise StoreError(f"store {store} does not exist: nothing to copy")
    with _reserved(target):
        return _written(store, target, beside)


def _written(store: Path, target: Path, beside: Mapping[str, bytes]) -> Content:
    draft = target.with_name(f".{target.name}.draft")
    try:
        discard(draft)
        create_file(draft)
        with _opened(store) as source, _opened(draft) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
            with copy:
                copy.execute("CREATE TABLE beside (name TEXT PRIMARY KEY, content BLOB NOT NULL)")
                copy.executemany("INSERT INTO beside VALUES (?, ?)", beside.items())
        content = read_backup(draft)
        durable(draft)
        draft.replace(target)
        durable(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise explained(error, target) from error
    finally:
        discard(draft)
    return content


@contextlib.contextmanager
def _reserved(target: Path) -> Iterator[None]:
    """Have no other process write this backup while the block does: both would write one draft.

    The lock is on a file of its own, since on network file systems a lock on the draft would keep SQLite out. It goes
    with the lock, so one that was opened before and locked after is no longer the one of that name.
    """
    path = target.with_name(f".{target.name}.lock")
    try:
        lock = _locked(path)
        while lock is None:
            lock = _locked(path)
    except BlockingIOError:
        raise StoreError(
            f"another process is writing {target} now: wait until it has ended, or name another file"
        ) from None
    except OSError as error:
        raise explained(error, target) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(lock)


def _locked(path: Path) -> int | None:
    """Open a file and lock it; ``None``: it has lost its name meanwhile. Raises `OSError`."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), path.stat()):
                return lock
    except OSError:
        os.close(lock)
        raise
    os.close(lock)
    return None


def read_backup(path: Path) -> Content:
    """Check all of a backup, and return its content. A plain copy of a store is a backup, too.

    Raises:
        Refused: it was written by a newer release.
        StoreError: it cannot be read, is damaged, or is not a store.
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
                raise StoreError(f"{path} is not a store of Trimtab: expected a file that `trimtab backup` wrote")
            schema = str(backup.execute("SELECT version_num FROM alembic_version").fetchone()[0])
            owner = backup.execute("SELECT value FROM meta WHERE name = 'installation'").fetchone()
            groups = int(backup.execute("SELECT count(*) FROM groups").fetchone()[0])
            files = backup.execute("SELECT name, content FROM beside") if "beside" in tables else ()
            beside = {str(name): bytes(content) for name, content in files}
            sealed = tuple(_sealed(backup)) if "key_pairs" in tables else ()
    except sqlite3.Error as error:
        raise explained(error, path) from error
    if owner is None:
        raise StoreError(f"backup {path} has no installation id: take another one")
    refuse_newer(schema, str(path), earlier_copy(schema, path))
    return Content(installation=str(owner[0]), schema=schema, groups=groups, beside=beside, sealed=sealed)


def _sealed(backup: sqlite3.Connection) -> Iterator[str]:
    for row in backup.execute("SELECT secret, old_secret FROM key_pairs"):
        yield from (str(each) for each in row if each is not None)


def put_back(backup: Path, store: Path, now: Instant) -> Path | None:
    """Make a backup the store. No process may have the store open.

    The replaced store is kept beside it, together with its log; if it can be read, its launch sequences are not used
    again, and what was abandoned stays so. At every instant one of the two is the store.

    Returns:
        The new path of the replaced store; ``None``: there was none.

    Raises:
        Refused, StoreError: as `read_backup`, or a file cannot be written. The earlier store is still in its place.
    """
    read_backup(backup)
    draft = store.with_name(f"{store.name}.restoring")
    try:
        discard(draft)
        create_file(draft)
        with _opened(backup) as source, _opened(draft) as copy:
            source.backup(copy)
            with copy:
                copy.execute("DROP TABLE IF EXISTS beside")
            copy.execute("PRAGMA journal_mode=WAL")
        to_head(draft, keeps_copy=False)
        with _opened(draft) as copy:
            _doubt(copy, _remembered(store), now)
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        durable(draft)
        with _kept(store, now) as aside:
            draft.replace(store)
        durable(store.parent)
    except (sqlite3.Error, OSError) as error:
        raise explained(error, store) from error
    finally:
        discard(draft)
    return aside


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remembered:
    """What a replaced store knows, and the one in its place must not forget."""

    sequences: Mapping[str, int]
    """The last launch sequence of every group."""
    abandoned: Sequence[Sequence[object]]
    """Rows of what is never to be taken up again."""


_ABANDONED = 'SELECT name, group_id, cloud, server_id, at, "by" FROM abandoned'
_ABANDON = 'INSERT OR IGNORE INTO abandoned (name, group_id, cloud, server_id, at, "by") VALUES (?, ?, ?, ?, ?, ?)'
_RAISE = (
    "INSERT INTO sequences (group_id, last) VALUES (?, ?) "
    "ON CONFLICT (group_id) DO UPDATE SET last = max(last, excluded.last)"
)


def _doubt(copy: sqlite3.Connection, newer: _Remembered, now: Instant) -> None:
    """Mark every group that has a size: it waits for a listing that agrees, or for a person.

    Such a group goes on above the newer sequences once it is believed, every other one at once.
    """
    sized = copy.execute("SELECT id, desired, older FROM groups WHERE desired IS NOT NULL").fetchall()
    others = newer.sequences.keys() - {group for group, _, _ in sized}
    with copy:
        for group, desired, doubted in sized:
            sequence = max(newer.sequences.get(group, 0), _sequence_in(doubted))
            older = OlderStore(since=now, stored=desired, sequence=sequence)
            copy.execute("UPDATE groups SET older = ? WHERE id = ?", (to_text(older, OlderStore), group))
        copy.executemany(_RAISE, [(group, last) for group in others if (last := newer.sequences[group])])
        copy.executemany(_ABANDON, newer.abandoned)


def _remembered(store: Path) -> _Remembered:
    """Read what must not be forgotten of the store that is replaced, as far as it can be read."""
    sequences: dict[str, int] = {}
    abandoned: list[Sequence[object]] = []
    if store.exists():
        with contextlib.suppress(sqlite3.Error, StoreError), _opened(store) as replaced:
            sequences.update(replaced.execute("SELECT group_id, last FROM sequences"))
            abandoned.extend(replaced.execute(_ABANDONED))
            for group, doubted in replaced.execute("SELECT id, older FROM groups"):
                sequences[group] = max(sequences.get(group, 0), _sequence_in(doubted))
    return _Remembered(sequences=sequences, abandoned=abandoned)


def _sequence_in(doubted: str | None) -> int:
    """Return the highest launch sequence that is known of a group in doubt; 0: it is in none."""
    return 0 if doubted is None else from_text(doubted, OlderStore).sequence


@contextlib.contextmanager
def _kept(store: Path, now: Instant) -> Iterator[Path | None]:
    """Keep a store under another name, in whose place the block puts another one; if that fails, it is as before.

    It has both names meanwhile, unless the file system has no links.
    """
    if not store.exists():
        yield None
        return
    aside = _free(store, now, "replaced")
    _move_log(store, aside)
    try:
        os.link(store, aside)
    except OSError:
        store.rename(aside)
    try:
        yield aside
    except BaseException:
        _move_log(aside, store)
        if store.exists():
            aside.unlink()
        else:
            aside.rename(store)
        raise


def set_aside(store: Path, now: Instant, why: str) -> Path | None:
    """Move a store and its log away, under another name."""
    if not store.exists():
        return None
    aside = _free(store, now, why)
    _move_log(store, aside)
    store.rename(aside)  # last, so that it is in its place until then
    return aside


def _free(store: Path, now: Instant, why: str) -> Path:
    """Return a name that is not in use."""
    number, stamp = 0, int(now)
    while (aside := store.with_name(f"{store.name}.{why}-{stamp + number}")).exists():
        number += 1
    return aside


def _move_log(store: Path, to: Path) -> None:
    for suffix in _LOG:
        part = store.with_name(f"{store.name}{suffix}")
        if part.exists():
            part.rename(to.with_name(f"{to.name}{suffix}"))


def discard(draft: Path) -> None:
    """Delete a draft and its log, as far as they can be: what failed before is what is reported."""
    for suffix in ("", *_LOG):
        with contextlib.suppress(OSError):
            draft.with_name(f"{draft.name}{suffix}").unlink()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path, timeout=_BUSY_S)) as connection:
        yield connection


def durable(path: Path) -> None:
    """Have a file, or the names in a directory, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
