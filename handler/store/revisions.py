"""Migrate a store's tables to this release, and check its installation.

A migration is all or nothing: one transaction. A store of a newer release is refused, since this release could destroy
data in it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, inspect, select

from config.errors import Refused, StoreError
from config.units import Seconds
from handler.store.database import Database
from handler.store.schema import HEAD, meta, spans
from handler.store.upserts import insert_or_ignore

if TYPE_CHECKING:
    from alembic.config import Config

MOVED = "moved"
"""The row of ``meta`` that says where the store is now."""
MIGRATIONS = Path(__file__).with_name("migrations")
_ALONE = threading.Lock()
"""Alembic has one context in a process: of two stores at once, one would have its steps go to the other."""
_TURN_WITHIN: Seconds = 60.0
"""For how long a store waits for the migration of another one: a worker has the lease meanwhile, and does not act."""


def found_revision(connection: Connection, name: str) -> str | None:
    """Return the revision of a store; ``None``: there are no tables.

    Raises:
        StoreError: another program's tables are there.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if "alembic_version" not in tables:
        raise StoreError(f"store {name} is a database of another program: name another one")
    return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one())


def refuse_newer(found: str, name: str, remedy: str, *, scripts: Path = MIGRATIONS, head: str = HEAD) -> None:
    """Refuse a store of a schema that this release does not know.

    Raises:
        Refused: a newer release wrote it; the message says what to do.
    """
    from alembic.script import ScriptDirectory

    known = {script.revision for script in ScriptDirectory.from_config(_config(scripts)).walk_revisions()}
    if found not in known:
        raise Refused(
            f"store {name} was written by a newer release (schema {found}; this release knows up to {head}): "
            f"run that release, or {remedy}"
        )


def upgrade(connection: Connection, *, scripts: Path = MIGRATIONS, head: str = HEAD) -> None:
    """Create the tables, or migrate those that are there, in the caller's transaction; one store at a time.

    Raises:
        StoreError: another store of this process is being migrated for long.
    """
    from alembic import command

    config = _config(scripts)
    config.attributes["connection"] = connection
    if not _ALONE.acquire(timeout=_TURN_WITHIN):
        raise StoreError(
            "this store cannot be migrated now: the migration of another one in this process has not ended, since that "
            "is large, or its database hangs; this one is tried again"
        )
    try:
        command.upgrade(config, head)
    finally:
        _ALONE.release()


def _config(scripts: Path) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


_CLAIM = insert_or_ignore(meta)


def refuse_other(connection: Connection, name: str, installation: str) -> None:
    """Refuse a store that is another installation's, or somewhere else now; of any release.

    Raises:
        Refused: it is; the message says what to do.
    """
    known = {row.name: row.value for row in connection.execute(select(meta.c.name, meta.c.value))}
    if MOVED in known:
        raise Refused(f"store {name} was moved to {known[MOVED]}: declare that one, or move it back")
    owner = known.get("installation", installation)
    if owner != installation:
        raise Refused(
            f"store {name} belongs to installation {owner}, not {installation}: "
            f"write {owner} into the file 'installation' of the state directory, or move the store away"
        )


def claimed(connection: Connection, database: Database, installation: str) -> int:
    """Write the installation id, or refuse another one; return the first free id for spans.

    Under another installation's id no member would be found in its cloud, and the fleet would be made twice.
    """
    _CLAIM.write(connection, {"name": "installation", "value": installation})
    refuse_other(connection, database.name, installation)
    return int(connection.execute(select(func.max(spans.c.id))).scalar() or 0) + 1
