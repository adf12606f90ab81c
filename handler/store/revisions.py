"""Create the tables, migrate an older store to this release, and check its installation.

A migration is all or nothing: one transaction, and before it a copy of the file beside it
(``trimtab.sqlite.before-0002``). A store of a newer release is refused, since this release could destroy data in it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, inspect, select

from config.errors import Refused, StoreError
from handler.store.database import RECOVERY, migrating_engine
from handler.store.schema import HEAD, meta, spans
from handler.store.upserts import insert_or_ignore

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).with_name("migrations")

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


def to_head(path: Path, *, scripts: Path = MIGRATIONS, head: str = HEAD, keeps_copy: bool = True) -> None:
    """Create the tables, or migrate those of an older release.

    A copy of the older store is made beside it, unless the caller has one (``keeps_copy``).

    Raises:
        Refused: a newer release wrote it; the message says what to do.
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
            refuse_newer(found, path, scripts=scripts, head=head)
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


def _found(connection: Connection, path: Path) -> str | None:
    """Return the revision of an undamaged store; ``None`` for an empty file."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if "alembic_version" not in tables:
        raise StoreError(f"store {path} is a database of another program: name another state directory")
    for table in sorted(_STATE & set(tables)):  # decisions depend on these; damaged history shows when it is read
        answer = connection.exec_driver_sql(f"PRAGMA quick_check({table})").scalar()
        if answer != "ok":
            raise StoreError(f"store {path} is damaged ({table}: {answer}); {RECOVERY}")
    return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one())


def refuse_newer(found: str, path: Path, *, scripts: Path = MIGRATIONS, head: str = HEAD) -> None:
    """Refuse a store of a schema that this release does not know.

    Raises:
        Refused: a newer release wrote it; the message says what to do.
    """
    from alembic.script import ScriptDirectory

    known = {script.revision for script in ScriptDirectory.from_config(_config(scripts)).walk_revisions()}
    if found not in known:
        raise Refused(
            f"store {path} was written by a newer release (schema {found}; this release knows up to {head}): "
            f"run that release, or restore the copy that it made before its migration ({path.name}.before-{found})"
        )


def _copy(path: Path, copy: Path) -> None:
    """Copy the store, with the content of its write-ahead log."""
    draft = copy.with_name(f"{copy.name}.draft")
    draft.unlink(missing_ok=True)
    create_file(draft)
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(draft)) as target:
        source.backup(target)
    draft.replace(copy)
    _sync(copy.parent)


def _upgrade(connection: Connection, scripts: Path, head: str) -> None:
    from alembic import command

    config = _config(scripts)
    config.attributes["connection"] = connection
    command.upgrade(config, head)
    if connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
        raise StoreError("the migration would leave rows without their group: nothing was changed; report this")


def _config(scripts: Path) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_CLAIM = insert_or_ignore(meta)


def claimed(connection: Connection, path: Path, installation: str) -> int:
    """Write the installation id, or refuse another one; return the first free id for spans.

    Under another installation's id no member would be found in its cloud, and the fleet would be made twice.
    """
    _CLAIM.write(connection, {"name": "installation", "value": installation})
    owner = connection.execute(select(meta.c.value).where(meta.c.name == "installation")).scalar_one()
    if owner != installation:
        raise Refused(
            f"store {path} belongs to installation {owner}, not {installation}: "
            f"write {owner} into the file 'installation' beside it, or move the store away"
        )
    return int(connection.execute(select(func.max(spans.c.id))).scalar() or 0) + 1
