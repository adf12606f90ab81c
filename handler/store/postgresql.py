"""The store on PostgreSQL: a database of a server, which one daemon at a time writes."""

from __future__ import annotations

from typing import Self

from sqlalchemy import Connection, select

from config.errors import Refused, StoreError
from handler.store.database import translated
from handler.store.postgresql_database import PostgresqlDatabase
from handler.store.postgresql_lease import refuse_leased
from handler.store.revisions import found_revision, refuse_newer, refuse_other, upgrade
from handler.store.schema import HEAD, meta
from handler.store.sql_store import SqlStore

_EARLIER_DUMP = "restore a dump from before its migration"
_AS_SQLITE_DOES = "SELECT current_setting('server_encoding'), 'B' < 'a'"
_CREATE = "CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"


class PostgresqlStore(SqlStore):
    """The store over one database; `open` makes one."""

    @classmethod
    def open(cls, database: PostgresqlDatabase, *, installation: str) -> Self:
        """Open the store; create its tables, or migrate an older release's. `close` closes the database.

        Raises:
            Refused: a newer release wrote it, it belongs to another installation, or the database sorts otherwise than
                byte by byte.
            StoreError: it cannot be reached, another daemon holds it, or the database is another program's.
        """
        try:
            prepare(database, installation)
            return cls.over(database, installation)
        except BaseException:
            database.close()
            raise


def prepare(database: PostgresqlDatabase, installation: str | None = None) -> None:
    """Bring the tables to this release in one transaction, and take it over. Raises as `PostgresqlStore.open`.

    ``installation``: whose store it must be, if it is there already.
    """
    with translated(database), database.writing.begin() as connection:
        _require_bytes(connection, database.name)
        found = found_revision(connection, database.name)
        if found is not None and found != HEAD:
            refuse_newer(found, database.name, _EARLIER_DUMP)
            if installation is not None:
                refuse_other(connection, database.name, installation)
        if found != HEAD:
            upgrade(connection)
        if not database.is_workers:
            refuse_leased(connection, database.name)
        database.take_over(connection)


def owner(database: PostgresqlDatabase) -> str | None:
    """Return the installation that the store belongs to; ``None``: there is no store yet.

    Raises:
        StoreError: the database cannot be reached, or is another program's.
    """
    with translated(database), database.reading.connect() as connection:
        if found_revision(connection, database.name) is None:
            return None
        return connection.execute(select(meta.c.value).where(meta.c.name == "installation")).scalar()


def _require_bytes(connection: Connection, name: str) -> None:
    """Refuse a database whose texts sort otherwise than on SQLite."""
    encoding, bytewise = connection.exec_driver_sql(_AS_SQLITE_DOES).one()
    if encoding != "UTF8" or not bytewise:
        raise Refused(f"database {name} must be in UTF-8 and sort texts byte by byte: {_CREATE}")
    if connection.exec_driver_sql("SELECT current_schema()").scalar() is None:
        raise StoreError(f"database {name} has no schema that this user may use: GRANT ALL ON SCHEMA public TO …")
