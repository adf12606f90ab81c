"""Open the store that the file names, and make sure that it is the one of this state directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from config.errors import Refused
from config.model.daemon import PostgresqlPlace
from handler.runtime.directory import StateDirectory
from handler.runtime.store_place import database_of, store_place, write_store_place
from handler.store.sql_store import SqlStore
from handler.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from handler.store.postgresql_database import LeaseTerm


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedStore:
    """The store of a daemon."""

    store: SqlStore
    installation: str
    lost: bool
    """An earlier store of this state directory is not there any more."""
    on_server: bool
    """Workers may go on with it later."""


def open_store(
    directory: StateDirectory, declared: PostgresqlPlace | None, term: LeaseTerm | None = None
) -> OpenedStore:
    """Open the declared store (``None``: the file of the state directory), over a held state directory.

    A state directory without an installation id, on a new machine, takes that of the database. ``term`` is that of a
    worker, which has the lease.

    Raises:
        Refused: the state directory has its store elsewhere, or as `SqliteStore.open` and `PostgresqlStore.open`.
        StoreError: the store cannot be opened.
    """
    known = directory.known_installation()
    if declared is not None:
        return _on_server(directory, declared, known, term)
    where = store_place(directory)
    if not isinstance(where, Path):
        raise Refused(
            f"the store of {directory.path} is {where.url}, and the file declares none: write it under store, or move "
            "it back with: trimtab store move FILE"
        )
    lost = known is not None and not directory.store.exists()
    installation = directory.installation()
    store = SqliteStore.open(directory.store, installation=installation)
    return OpenedStore(store=store, installation=installation, lost=lost, on_server=False)


def _on_server(
    directory: StateDirectory, declared: PostgresqlPlace, known: str | None, term: LeaseTerm | None
) -> OpenedStore:
    if directory.store.exists():
        raise Refused(
            f"the file declares the store {declared.url}, and {directory.path} has one in {directory.store.name}: move "
            "it with: trimtab store move FILE"
        )
    database = database_of(declared, term)
    from handler.store.postgresql import PostgresqlStore, owner  # its driver is there

    try:
        owned = owner(database)
        if owned is not None:
            directory.become(owned)
        installation = directory.installation()
    except BaseException:
        database.close()
        raise
    store = PostgresqlStore.open(database, installation=installation)
    write_store_place(directory, declared)
    lost = known is not None and owned is None
    return OpenedStore(store=store, installation=installation, lost=lost, on_server=True)
