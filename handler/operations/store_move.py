"""Move the store of a state directory into PostgreSQL, or back into its file: `trimtab store move`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from config.errors import Refused
from config.load import load
from config.model.daemon import PostgresqlPlace
from handler.runtime import clock
from handler.runtime.directory import StateDirectory
from handler.runtime.store_place import StorePlace, database_of, store_place, write_store_place
from handler.store.backup import discard, durable, set_aside
from handler.store.database import translated
from handler.store.moving import CopiedTable, Tell, copy_rows, mark_moved
from handler.store.sqlite_file import SqliteFile
from handler.store.sqlite_revisions import create_file, to_head


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedStore:
    """A store that was moved."""

    before: str
    after: str
    tables: Mapping[str, CopiedTable]
    aside: Path | None
    """What became of the file that held the store; ``None``: a database held it."""


def move(state: Path, file: Path, tell: Tell) -> MovedStore:
    """Move the store to where the file declares it. Nothing is moved unless every table arrives as it was.

    Raises:
        Refused: a daemon runs, the store is there already, there is none, or the target is not empty.
        DeclarationError: the file is refused.
        StoreError: a store cannot be read or written, or another daemon holds it.
    """
    directory = StateDirectory(state)
    declared = load(file).store
    directory.hold()
    try:
        before = store_place(directory)
        after: StorePlace = directory.store if declared is None else declared
        _refuse_same(before, after)
        with _source(before) as source, _target(after) as target:
            tables = copy_rows(source, target, tell)
        write_store_place(directory, after)
        durable(directory.path)  # before the old place says that the store is here
        aside = _give_up(before, after)
    finally:
        directory.release()
    return MovedStore(before=_named(before), after=_named(after), tables=tables, aside=aside)


def _refuse_same(before: StorePlace, after: StorePlace) -> None:
    if isinstance(before, Path):
        if isinstance(after, Path):
            raise Refused(f"the file declares no store, and it is in {before} already: write the new place under store")
        if not before.exists():
            raise Refused(f"there is no store at {before}: name the state directory with --state")
    elif isinstance(after, Path) and after.exists():
        raise Refused(f"the target {after} exists already: move it away first")
    elif isinstance(after, PostgresqlPlace):
        raise Refused(
            f"the store is on PostgreSQL already, at {before.url}: between servers, move it with pg_dump and pg_restore"
        )


@contextlib.contextmanager
def _source(place: StorePlace) -> Iterator[Connection]:
    """Read one state of the store, at this release's schema."""
    match place:
        case Path() as path:
            to_head(path)
            file = SqliteFile(path)
            with contextlib.closing(file), translated(file), file.reading.connect() as connection:
                yield connection
        case PostgresqlPlace() as server:
            database = database_of(server)
            from handler.store.postgresql import prepare  # its driver is there

            with contextlib.closing(database), translated(database):
                prepare(database)
                with database.reading.connect() as connection:
                    yield connection


@contextlib.contextmanager
def _target(place: StorePlace) -> Iterator[Connection]:
    """Write an empty store in one transaction."""
    match place:
        case Path() as path:
            draft = path.with_name(f"{path.name}.moving")
            try:
                discard(draft)
                create_file(draft)
                to_head(draft)
                file = SqliteFile(draft)
                with contextlib.closing(file), translated(file):
                    with file.writing.begin() as connection:
                        yield connection
                    file.compact()
                draft.replace(path)
            finally:
                discard(draft)
        case PostgresqlPlace() as server:
            database = database_of(server)
            from handler.store.postgresql import owner, prepare  # its driver is there

            with contextlib.closing(database), translated(database):
                owned = owner(database)
                if owned is not None:
                    raise Refused(f"database {server.url} holds the store of installation {owned}: name an empty one")
                prepare(database)
                with database.writing.begin() as connection:
                    yield connection


def _give_up(before: StorePlace, after: StorePlace) -> Path | None:
    """Have no daemon find the store at its old place."""
    match before:
        case Path() as path:
            return set_aside(path, clock.wall(), "moved")
        case PostgresqlPlace() as server:
            database = database_of(server)
            with contextlib.closing(database), translated(database), database.writing.begin() as connection:
                mark_moved(connection, _named(after))
            return None


def _named(place: StorePlace) -> str:
    return str(place) if isinstance(place, Path) else place.url
