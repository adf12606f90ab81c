from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Engine, event, insert, select
from sqlalchemy.exc import OperationalError

from config.errors import StoreError
from handler.store.schema import meta
from handler.store.sqlite_file import SqliteFile
from handler.store.writer import StoreWriter
from tests.support.waiting import PATIENT, until


@pytest.fixture
def writer(file):
    database = SqliteFile(file)
    writer = StoreWriter(database)
    writer.start()
    yield writer
    writer.close()
    database.close()


def adding(name: str):
    return lambda connection: connection.execute(insert(meta).values(name=name, value="")) and name


def names(connection: Connection) -> set[str]:
    return set(connection.execute(select(meta.c.name)).scalars()) - {"installation"}


def together(writer: StoreWriter, functions) -> list[object]:
    """Run functions of as many threads, so that all of them wait while the first one is under way."""
    begun, go = threading.Event(), threading.Event()

    def block(_: Connection) -> None:
        begun.set()
        go.wait(PATIENT)

    def attempt(function):
        try:
            return writer.do(function)
        except (StoreError, LookupError) as error:
            return error

    with ThreadPoolExecutor(len(functions) + 1) as pool:
        blocked = pool.submit(attempt, block)
        assert begun.wait(PATIENT)
        calls = []
        for function in functions:
            waiting = writer._queue.qsize()
            calls.append(pool.submit(attempt, function))
            until(lambda waiting=waiting: writer._queue.qsize() > waiting)
        go.set()
        blocked.result()
        return [call.result() for call in calls]


def test_a_write_returns_its_result(writer):
    assert writer.do(adding("a")) == "a"
    assert writer.do(names) == {"a"}


def test_writes_that_wait_at_the_same_time_share_one_commit(writer):
    before = writer.commits
    together(writer, [adding(str(number)) for number in range(20)])
    assert writer.commits - before == 2
    assert writer.do(names) == {str(number) for number in range(20)}


def test_sixty_four_threads_need_far_fewer_commits_than_writes(writer):
    def write(thread: int) -> None:
        for number in range(4):
            writer.do(adding(f"{thread}.{number}"))

    before = writer.commits
    with ThreadPoolExecutor(64) as pool:
        list(pool.map(write, range(64)))
    assert len(writer.do(names)) == 256
    assert writer.commits - before < 64


def test_one_that_fails_is_undone_alone(writer):
    def fail(connection: Connection) -> None:
        adding("half")(connection)
        raise LookupError("mine")

    before = writer.commits
    one, failed, *others = together(writer, [adding("one"), fail, *(adding(str(number)) for number in range(20))])
    assert (one, *others) == ("one", *(str(number) for number in range(20)))
    assert isinstance(failed, LookupError)
    assert writer.commits - before == 2
    assert writer.do(names) == {"one", *(str(number) for number in range(20))}


def test_no_write_has_a_savepoint_while_none_fails(writer):
    statements: list[str] = []
    event.listen(Engine, "before_cursor_execute", lambda *args: statements.append(args[2]))

    together(writer, [adding(str(number)) for number in range(5)])

    assert not any("SAVEPOINT" in each for each in statements)
    assert sum("INSERT" in each for each in statements) == 5


def test_an_error_of_the_database_is_a_store_error_without_what_was_written(writer):
    writer.do(adding("s3cret"))
    with pytest.raises(StoreError, match="UNIQUE constraint failed") as refused:
        writer.do(adding("s3cret"))
    assert "s3cret" not in str(refused.value) + str(refused.value.__cause__)


def test_a_lost_transaction_is_tried_again_one_by_one(writer):
    def lose(connection: Connection) -> None:
        connection.exec_driver_sql("ROLLBACK")
        raise OperationalError("lost", None, LookupError("lost"))

    one, lost, other = together(writer, [adding("one"), lose, adding("other")])
    assert (one, other) == ("one", "other")
    assert isinstance(lost, StoreError)
    assert writer.do(names) == {"one", "other"}


def test_a_failing_write_does_not_end_the_thread(writer):
    def fail(_: Connection) -> None:
        raise LookupError("a defect")

    for _ in range(3):
        with pytest.raises(LookupError):
            writer.do(fail)
    assert writer.do(adding("a")) == "a"


def test_closing_finishes_what_waits_and_refuses_what_comes(writer, file):
    together(writer, [adding("a"), adding("b")])
    writer.close()
    writer.close()
    with pytest.raises(StoreError, match="is closed"):
        writer.do(adding("c"))
