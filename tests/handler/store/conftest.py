"""Stores on disk: made once, copied for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from handler.store.sqlite import SqliteStore
from tests.support.store import NOW, a_definition, opened


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
def empty(file: Path) -> Iterator[SqliteStore]:
    store = opened(file)
    yield store
    store.close()


@pytest.fixture
def store(empty: SqliteStore) -> SqliteStore:
    """A store with the groups ``web`` and ``worker``, without a desired size."""
    empty.declare((a_definition("web"), a_definition("worker")), NOW)
    return empty
