from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import OperationalError

from handler.store.schema import meta
from handler.store.sqlite_file import explained, reader_engine, writer_engine
from tests.support.store import NOW, WEB, a_definition, opened
from tests.support.waiting import PATIENT


def test_the_writer_syncs_before_a_commit_returns_and_follows_foreign_keys(file):
    engine = writer_engine(file)
    with engine.connect() as connection:
        found = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "auto_vacuum")
        ]
    engine.dispose()
    full, incremental = 2, 2
    assert found == ["wal", full, 1, 5000, incremental]


def test_a_reader_cannot_write(file):
    engine = reader_engine(file)
    with engine.connect() as connection, pytest.raises(OperationalError, match="readonly"):
        connection.execute(insert(meta).values(name="a", value=""))
    engine.dispose()


def test_reading_waits_for_no_writer_and_sees_the_last_commit(store):
    begun, go = threading.Event(), threading.Event()

    def write_slowly(connection):
        connection.exec_driver_sql("DELETE FROM groups")
        begun.set()
        go.wait(PATIENT)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(store._writer.do, write_slowly)
        assert begun.wait(PATIENT)
        seen = [stored.id for stored in store.groups()]
        go.set()
        writing.result()
    assert seen == ["web", "worker"]
    assert store.groups() == ()
    store.declare((a_definition(),), NOW)


def test_a_closed_store_is_whole_in_its_one_file_though_a_thread_still_reads(file, tmp_path):
    store = opened(file)
    store.declare((a_definition(),), NOW)
    reader = store._database.reading.raw_connection()
    reader.cursor().execute("SELECT * FROM groups").fetchall()
    store.close()
    copy = opened(Path(shutil.copy(file, tmp_path / "copy")))
    assert [stored.id for stored in copy.groups()] == ["web"]
    copy.close()
    reader.close()


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("SQLITE_FULL", "free space on it"),
        ("SQLITE_IOERR_FSYNC", "its disk fails or is full"),
        ("SQLITE_BUSY_SNAPSHOT", "end that program"),
        ("SQLITE_READONLY_DBMOVED", "check its owner and permissions"),
        ("SQLITE_CANTOPEN", "check its owner and permissions"),
        ("SQLITE_NOTADB", "not an SQLite database; restore a backup, or move it away"),
        ("SQLITE_CORRUPT_INDEX", "it is damaged; restore a backup, or move it away"),
    ],
)
def test_an_error_says_what_to_do(file, code, advice):
    cause = sqlite3.OperationalError("as SQLite says it")
    cause.sqlite_errorname = code
    message = str(explained(OperationalError("INSERT …", {"secret": "s3cret"}, cause), file))
    assert message.startswith(f"store {file}: ")
    assert advice in message
    assert message.endswith(f"({code}: as SQLite says it)")


def test_no_write_waits_for_one_that_reads_for_long_while_the_log_is_emptied(file_store):
    with file_store._database.reading.connect() as reading, ThreadPoolExecutor(1) as pool:
        reading.exec_driver_sql("SELECT * FROM groups").fetchall()
        file_store.note(WEB, "scale", "ada", "", NOW)
        emptying = pool.submit(file_store._database.compact)
        time.sleep(0.2)
        began = time.monotonic()
        file_store.note(WEB, "scale", "ada", "", NOW)
        assert time.monotonic() - began < 2.0
        emptying.result()
    timeout = "PRAGMA busy_timeout"
    with file_store._database.reading.connect() as reading:
        assert reading.exec_driver_sql(timeout).scalar() == 5000
