"""Create a store's file, and migrate an older release's; before that, a copy is made beside it.

The copy of a store that is migrated to revision 0002 is ``trimtab.sqlite.before-0002``.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from sqlalchemy import Connection

from config.errors import StoreError
from handler.store.revisions import MIGRATIONS, found_revision, refuse_newer, refuse_other, upgrade
from handler.store.schema import HEAD
from handler.store.sqlite_file import RECOVERY, migrating_engine

_STATE = frozenset({"meta", "groups", "sequences", "quiets", "signals", "members", "hooks"})


def create_file(path: Path) -> None:
    """Create an empty file that only its owner reads, durably; SQLite gives its -wal and -shm the same mode.

    Raises:
        OSError: it cannot be made.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _sync(path.parent)
    path.chmod(0o600)  # never opened here: closing a file drops the locks that SQLite holds on it


def to_head(
    path: Path,
    *,
    scripts: Path = MIGRATIONS,
    head: str = HEAD,
    keeps_copy: bool = True,
    installation: str | None = None,
) -> None:
    """Create the tables, or migrate those of an older release.

    A copy of the older store is made beside it, unless the caller has one (``keeps_copy``).

    Raises:
        Refused: a newer release wrote it, or it is not this installation's; the message says what to do.
        StoreError: it is damaged, or a database of another program.
    """
    if path.stat().st_size == 0:
        _lay_out(path)
    engine = migrating_engine(path)
    try:
        with engine.begin() as connection:
            found = _found(connection, path)
        if found == head:
            return
        if found is not None:
            refuse_newer(found, str(path), earlier_copy(found, path), scripts=scripts, head=head)
            if installation is not None:
                with engine.begin() as connection:
                    refuse_other(connection, str(path), installation)
            if keeps_copy:
                _copy(path, path.with_name(f"{path.name}.before-{head}"))
        with engine.begin() as connection:
            _upgrade(connection, scripts, head)
    finally:
        engine.dispose()


def _lay_out(path: Path) -> None:
    """Set the file's own settings, some of which are possible only before the first table."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")


def earlier_copy(found: str, path: Path) -> str:
    """Return what to do about a file of a newer release, for people."""
    return f"restore the copy that it made before its migration ({path.name}.before-{found})"


def _found(connection: Connection, path: Path) -> str | None:
    """Return the revision of an undamaged store; ``None`` for an empty file."""
    found = found_revision(connection, str(path))
    known = {str(row[0]) for row in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in sorted(_STATE & known):  # decisions depend on these; damaged history shows when it is read
        answer = connection.exec_driver_sql(f"PRAGMA quick_check({table})").scalar()
        if answer != "ok":
            raise StoreError(f"store {path} is damaged ({table}: {answer}); {RECOVERY}")
    return found


def _upgrade(connection: Connection, scripts: Path, head: str) -> None:
    upgrade(connection, scripts=scripts, head=head)
    if connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
        raise StoreError("the migration would leave rows without their group: nothing was changed; report this")


def _copy(path: Path, copy: Path) -> None:
    """Copy the store, with the content of its write-ahead log."""
    draft = copy.with_name(f"{copy.name}.draft")
    draft.unlink(missing_ok=True)
    create_file(draft)
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(draft)) as target:
        source.backup(target)
    draft.replace(copy)
    _sync(copy.parent)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
