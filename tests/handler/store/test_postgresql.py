"""What only a store on PostgreSQL has: sessions, the lock, and commits whose answer was lost."""

from __future__ import annotations

from random import Random

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.exc import OperationalError

from config.errors import Refused, StoreError
from config.model.access import SecretRef
from config.model.daemon import PostgresqlPlace
from handler.runtime.store_place import database_of, lease_of
from handler.store.columns import METADATA
from handler.store.database import CommitOutcome
from handler.store.postgresql import PostgresqlStore, owner, prepare
from handler.store.postgresql_sessions import PostgresqlSessions, explained
from tests.support.postgresql import broken
from tests.support.store import INSTALLATION, WEB, a_definition, at

pytestmark = pytest.mark.real("postgres")


def opened(place: PostgresqlPlace, installation: str = INSTALLATION) -> PostgresqlStore:
    return PostgresqlStore.open(database_of(place), installation=installation)


@pytest.fixture
def database(place):
    """A database that this process has taken over."""
    database = database_of(place)
    prepare(database)
    yield database
    database.close()


OTHER_MARK = "UPDATE meta SET value = 'other-1' WHERE name = 'commit'"


# Opening


def test_the_migrations_lead_to_the_tables_that_the_code_uses(database):
    with database.reading.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        narrow = (
            "SELECT column_name FROM information_schema.columns WHERE data_type = 'real' AND table_schema = 'public'"
        )
        assert connection.exec_driver_sql(narrow).all() == []


def test_of_several_hosts_the_one_that_writes_is_found_for_reading_and_for_writing(place):
    several = place.url.replace("?host=", "?target_session_attrs=read-write&host=/nowhere,")
    store = opened(PostgresqlPlace(url=several))
    store.declare((a_definition("web"),), at(1))
    assert [group.id for group in store.groups()] == [WEB]
    store.close()


def test_a_second_daemon_is_refused_with_the_holder_of_the_store(place):
    first = opened(place)
    with pytest.raises(StoreError, match=r"held by another daemon \(this machine, session \d+\): one daemon at a time"):
        opened(place)
    first.close()
    opened(place).close()


def test_the_holder_of_a_store_is_not_looked_for_in_other_databases(place, other_place):
    lease = lease_of(other_place)  # its session shares the lock of its own database, as workers do
    lease.prepare()
    first = opened(place)
    with pytest.raises(StoreError, match=r"held by another daemon .*one daemon at a time"):
        opened(place)
    first.close()
    lease.close()


def test_a_store_belongs_to_one_installation(place):
    database = database_of(place)
    assert owner(database) == INSTALLATION
    database.close()
    with pytest.raises(Refused, match="belongs to installation k3f9ab, not zzzzzz"):
        opened(place, "zzzzzz")


def test_an_empty_database_belongs_to_no_installation(server):
    place = server.create("bare")
    database = database_of(place)
    assert owner(database) is None
    database.close()
    server.drop("bare")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", "written by a newer release .*restore a dump"),
        ("DROP TABLE alembic_version", "database of another program"),
    ],
    ids=["newer", "foreign"],
)
def test_a_database_that_is_no_store_of_this_release_is_refused(server, place, statement, message):
    server.execute(statement, place)
    with pytest.raises((Refused, StoreError), match=message):
        opened(place)


def test_a_database_that_sorts_by_a_language_is_refused(server):
    server.execute("CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'")
    with pytest.raises(Refused, match=r"sort texts byte by byte: CREATE DATABASE .* LOCALE 'C'"):
        opened(server.place("sorted"))
    server.drop("sorted")


# Sessions


def test_after_a_failure_nothing_is_tried_until_the_pause_is_over():
    attempts, now = [], [0.0]
    sessions = PostgresqlSessions(
        "postgresql:///trimtab?host=/nowhere", lambda: attempts.append(now[0]) or None, lambda: now[0]
    )
    for instant in (0.0, 0.05, 0.11, 0.2, 0.32, 100.0, 104.0):
        now[0] = instant
        with pytest.raises(psycopg.OperationalError, match="/nowhere"):
            sessions.reading()
    assert attempts == [0.0, 0.11, 0.32, 100.0, 104.0]


def test_a_server_that_is_away_is_reported(monkeypatch):
    monkeypatch.setenv("PASSWORD", "s3cret")
    away = PostgresqlPlace(url="postgresql:///trimtab?host=/nowhere", password=SecretRef(env="PASSWORD"))
    with pytest.raises(StoreError, match=r"store postgresql:///trimtab\?host=/nowhere cannot be reached: ") as caught:
        PostgresqlStore.open(database_of(away), installation=INSTALLATION)
    assert "s3cret" not in str(caught.value)


def test_an_error_tells_no_stored_value(on_server):
    def twice(connection):
        connection.exec_driver_sql("INSERT INTO meta (name, value) VALUES ('installation', 's3cret')")

    with pytest.raises(StoreError, match="duplicate key value") as caught:
        on_server._writer.do(twice)
    assert "s3cret" not in str(caught.value)
    assert "Key (name)" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (psycopg.errors.DiskFull, "free space on it"),
        (psycopg.errors.TooManyConnections, "raise max_connections"),
        (psycopg.errors.InvalidPassword, "check the user, the password"),
        (psycopg.errors.InvalidCatalogName, "LOCALE 'C'"),
        (psycopg.errors.ReadOnlySqlTransaction, "target_session_attrs=read-write"),
        (psycopg.errors.AdminShutdown, "goes on by itself"),
    ],
)
def test_an_error_says_what_to_do(error, advice):
    assert advice in str(explained(OperationalError("INSERT …", {}, error("as the server says it")), "postgresql:///t"))


def test_a_reader_cannot_write(database):
    with database.reading.connect() as connection, pytest.raises(Exception, match="read-only transaction"):
        connection.exec_driver_sql("DELETE FROM meta")


def test_a_text_with_a_nul_is_kept_without_it(on_server):
    on_server.declare((a_definition("web"),), at(0))
    on_server.note(WEB, "create", "cloud", "no\0answer", at(1))
    assert on_server.history(WEB, before=None, limit=1)[0].message == "no\ufffdanswer"


# Connections that break


def test_reads_and_writes_go_on_when_all_sessions_were_ended(server, on_server):
    on_server.declare((a_definition("web"),), at(0))
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'trimtab'")
    assert [group.id for group in on_server.groups()] == ["web"]
    on_server.note(WEB, "pause", "ada", "", at(1))
    assert [event.name for event in on_server.history(WEB, before=None, limit=9)] == ["pause", "declared"]


@pytest.mark.parametrize(("ends", "outcome"), [("commit", CommitOutcome.DURABLE), ("rollback", CommitOutcome.LOST)])
def test_what_became_of_a_transaction_is_known_after_its_connection_broke(database, ends, outcome):
    with database.writing.connect() as connection:
        transaction = connection.begin()
        database.begun(connection)
        getattr(transaction, ends)()
    assert database.outcome_of(broken()) is outcome
    with database.writing.begin() as connection:
        database.begun(connection)
    database.committed()


def test_nothing_is_written_over_what_another_daemon_wrote(server, place, database):
    server.execute(OTHER_MARK, place)
    with pytest.raises(StoreError, match="not as this daemon left it"), database.writing.begin() as connection:
        database.begun(connection)


def test_a_transaction_that_may_have_been_overtaken_is_not_repeated(server, place, database):
    with database.writing.connect() as connection:
        transaction = connection.begin()
        database.begun(connection)
        transaction.rollback()
    server.execute(OTHER_MARK, place)
    with pytest.raises(StoreError, match="not as this daemon left it"):
        database.outcome_of(broken())


# The disk budget


def test_beyond_the_budget_the_oldest_history_goes_first(on_server):
    on_server.declare((a_definition("web"),), at(0))
    draw = Random(7)  # noqa: S311 - text that cannot be compressed
    for number in range(30):
        on_server.note(WEB, "observe", "ada", draw.randbytes(5_000).hex(), at(number + 1))
    assert on_server.prune(before=at(-1), bytes_at_most=20_000) > 0
    assert on_server.prune(before=at(-1), bytes_at_most=1 << 30) == 0
