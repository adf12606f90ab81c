"""Stores of both kinds: made once in each process, and copied for each test."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.model.daemon import PostgresqlPlace
from handler.runtime.store_place import database_of
from handler.store.postgresql import PostgresqlStore
from handler.store.sql_store import SqlStore
from handler.store.sqlite import SqliteStore
from tests.support.postgresql import Server, running
from tests.support.store import INSTALLATION, NOW, a_definition, opened

_EMPTY = "empty"
_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with a store without groups, to copy."""
    with running() as server:
        served(server.create(_EMPTY)).close()
        yield server


def served(place: PostgresqlPlace) -> PostgresqlStore:
    """Open the store in a database of a server."""
    return PostgresqlStore.open(database_of(place), installation=INSTALLATION)


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "empty.sqlite"
    opened(path).close()
    return path


@pytest.fixture
def file(empty_file: Path, tmp_path: Path) -> Path:
    """A store without groups, closed."""
    return Path(shutil.copy(empty_file, tmp_path / "trimtab.sqlite"))


@pytest.fixture
def in_file(file: Path) -> Iterator[SqliteStore]:
    """A store without groups in a file."""
    store = opened(file)
    yield store
    store.close()


@pytest.fixture
def place(server: Server) -> Iterator[PostgresqlPlace]:
    """A store without groups in a database, closed."""
    name = f"store{next(_NUMBERS)}"
    yield server.create(name, _EMPTY)
    server.drop(name)


@pytest.fixture
def other_place(server: Server) -> Iterator[PostgresqlPlace]:
    """The store of another installation, in another database of the same server, closed."""
    name = f"store{next(_NUMBERS)}"
    yield server.create(name, _EMPTY)
    server.drop(name)


@pytest.fixture
def on_server(place: PostgresqlPlace) -> Iterator[PostgresqlStore]:
    """A store without groups in a database."""
    store = served(place)
    yield store
    store.close()


@pytest.fixture(params=["in_file", pytest.param("on_server", id="on_server@", marks=pytest.mark.real("postgres"))])
def empty(request: pytest.FixtureRequest) -> SqlStore:
    """A store without groups, of either kind."""
    store: SqlStore = request.getfixturevalue(request.param)
    return store


@pytest.fixture
def store(empty: SqlStore) -> SqlStore:
    """A store with the groups ``web`` and ``worker``, without a desired size."""
    empty.declare((a_definition("web"), a_definition("worker")), NOW)
    return empty


@pytest.fixture
def file_store(in_file: SqliteStore) -> SqliteStore:
    """A store in a file, with the groups ``web`` and ``worker``."""
    in_file.declare((a_definition("web"), a_definition("worker")), NOW)
    return in_file


@pytest.fixture
def server_store(on_server: PostgresqlStore) -> PostgresqlStore:
    """A store in a database, with the groups ``web`` and ``worker``."""
    on_server.declare((a_definition("web"), a_definition("worker")), NOW)
    return on_server


@pytest.fixture
def reopened(request: pytest.FixtureRequest, empty: SqlStore) -> Iterator[Callable[[], SqlStore]]:
    """Closes the store and opens it again, as a restart does."""
    with contextlib.ExitStack() as undo:

        def reopen() -> SqlStore:
            empty.close()
            fixture, open_again = ("file", opened) if isinstance(empty, SqliteStore) else ("place", served)
            again: SqlStore = open_again(request.getfixturevalue(fixture))
            undo.callback(again.close)
            return again

        yield reopen
