"""The store on SQLite: one file, which only its owner can read (mode 0600).

The daemon's lock on the state directory decides which process opens it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from handler.store.sql_store import SqlStore
from handler.store.sqlite_file import SqliteFile, translated
from handler.store.sqlite_revisions import create_file, to_head


class SqliteStore(SqlStore):
    """The store over one file; `open` makes one."""

    @classmethod
    def open(cls, path: Path, *, installation: str) -> Self:
        """Open the store at ``path``; create it, or migrate an older release's (a copy is made first).

        Args:
            path: the file; its directory must exist.
            installation: the id of its installation, which is part of every launch id.

        Raises:
            Refused: a newer release wrote it, or it belongs to another installation.
            StoreError: it is damaged, not a store, or cannot be opened.
        """
        with translated(path):
            create_file(path)
            to_head(path, installation=installation)
        file = SqliteFile(path)
        try:
            return cls.over(file, installation)
        except BaseException:
            file.close()
            raise
