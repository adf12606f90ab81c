"""Where the store of a state directory is: in its file, or in a database, which ``store.json`` in the directory names.

Commands that read the store beside the daemon know it from there. The password is not in it, only where it is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from config.errors import Refused
from config.model.access import SecretRef
from config.model.daemon import PostgresqlPlace
from config.settings import read_secret
from config.units import Seconds
from handler.runtime import clock
from handler.runtime.directory import StateDirectory
from handler.runtime.ownership import read_private, write_private
from handler.store.beside import StoreSource

if TYPE_CHECKING:
    from handler.store.postgresql_database import LeaseTerm, PostgresqlDatabase
    from handler.store.postgresql_lease import PostgresqlLease
    from handler.store.postgresql_relay import PostgresqlRelay
    from handler.store.postgresql_wakes import PostgresqlWakes

_NAME = "store.json"
StorePlace = Path | PostgresqlPlace
"""A file of SQLite, or a database of PostgreSQL."""


def store_place(directory: StateDirectory) -> StorePlace:
    """Return where the store is, or will be if there is none yet.

    Raises:
        Refused: the file that says so is damaged.
    """
    path = directory.path / _NAME
    remedy = f"rm {path}, and the next start writes it anew"
    found = read_private(path, remedy)
    if found is None:
        return directory.store
    try:
        written = json.loads(found)
        password = written["password"]
        return PostgresqlPlace(url=str(written["url"]), password=None if password is None else SecretRef(**password))
    except (ValueError, TypeError, KeyError):
        raise Refused(f"{path} does not say where the store is; {remedy}") from None


def write_store_place(directory: StateDirectory, place: StorePlace) -> None:
    """Write where the store is, durably."""
    path = directory.path / _NAME
    match place:
        case Path():
            path.unlink(missing_ok=True)
        case PostgresqlPlace(url=url, password=password):
            kept = None if password is None else asdict(password)
            text = json.dumps({"url": url, "password": kept}) + "\n"
            if read_private(path, "") != text:
                write_private(path, text)


def store_source(state: Path) -> StoreSource:
    """Return the store of a state directory, to be read beside the daemon. Raises as `store_place`."""
    match store_place(StateDirectory(state)):
        case Path() as path:
            return path
        case PostgresqlPlace() as place:
            return database_of(place)


def database_of(place: PostgresqlPlace, term: LeaseTerm | None = None) -> PostgresqlDatabase:
    """Return the database of a place; nothing is connected yet. Its password is read at each connection.

    Args:
        place: where it is.
        term: of the worker that writes; ``None``: the daemon is no worker.

    Raises:
        Refused: the driver is not installed.
    """
    with _driver():
        from handler.store.postgresql_database import PostgresqlDatabase

        return PostgresqlDatabase(place.url, _password(place), _steady, term)


def lease_of(place: PostgresqlPlace) -> PostgresqlLease:
    """Return the lease of workers on the store of a place. Raises as `database_of`."""
    with _driver():
        from handler.store.postgresql_lease import PostgresqlLease

        return PostgresqlLease(place.url, _password(place), _steady)


def relay_of(place: PostgresqlPlace) -> PostgresqlRelay:
    """Return the requests that workers on the store of a place relay. Raises as `database_of`."""
    with _driver():
        from handler.store.postgresql_relay import PostgresqlRelay

        return PostgresqlRelay(place.url, _password(place), _steady)


def wakes_of(place: PostgresqlPlace) -> PostgresqlWakes:
    """Return what hears the notifications of workers on the store of a place. Raises as `database_of`."""
    with _driver():
        from handler.store.postgresql_wakes import PostgresqlWakes

        return PostgresqlWakes(place.url, _password(place), _steady)


@contextlib.contextmanager
def _driver() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise Refused("a store on PostgreSQL needs its driver: pip install 'trimtab[postgresql]'") from error


def _password(place: PostgresqlPlace) -> Callable[[], str | None]:
    password = place.password
    return lambda: None if password is None else read_secret(password, os.environ)


def _steady() -> Seconds:
    return clock.moment().steady
