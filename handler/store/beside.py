"""Read a store beside a running daemon, or without one; nothing in it is changed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection

from handler.store.database import Database, translated
from handler.store.sqlite_file import reader_engine
from handler.store.sqlite_file import translated as of_file

StoreSource = Path | Database
"""A file of SQLite, or an open database."""


@contextlib.contextmanager
def connected(source: StoreSource) -> Iterator[Connection]:
    """Open a connection that only reads; its end closes the source.

    Raises:
        StoreError: the store cannot be read.
    """
    if isinstance(source, Path):
        engine = reader_engine(source)
        try:
            with of_file(source), engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()
    else:
        with contextlib.closing(source), translated(source), source.reading.connect() as connection:
            yield connection
