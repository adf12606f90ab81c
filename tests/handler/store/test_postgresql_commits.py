"""Commits that go on in the server after their connection broke, and what is read meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

from config.errors import StoreError
from config.model.daemon import PostgresqlPlace
from handler.planning.world import Record
from handler.store.postgresql import PostgresqlStore
from handler.store.postgresql_database import PostgresqlDatabase
from tests.support.store import INSTALLATION, NOW, WEB, a_definition
from tests.support.waiting import until

pytestmark = pytest.mark.real("postgres")
HELD = """
CREATE SCHEMA held;
CREATE FUNCTION held.held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1); RETURN NEW; END $$;
CREATE CONSTRAINT TRIGGER held AFTER UPDATE ON meta DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.name = 'commit') EXECUTE FUNCTION held.held();
"""
"""Each commit waits for the lock 1, as it does for a synchronous standby."""
WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def opened(place: PostgresqlPlace, now: Callable[[], float]) -> PostgresqlStore:
    """Open a store with the group ``web``, each of whose commits can be held up."""
    store = PostgresqlStore.open(PostgresqlDatabase(place.url, lambda: None, now), installation=INSTALLATION)
    store.declare((a_definition("web"),), NOW)
    store._writer.do(lambda connection: connection.exec_driver_sql(HELD))
    return store


@contextlib.contextmanager
def broken_while_committing(place: PostgresqlPlace, store: PostgresqlStore) -> Iterator[Future[tuple[Record, ...]]]:
    """Write an intent; its commit goes on in the server until the block ends, and its connection broke before."""
    cloud = store.groups()[0].definition.cloud.id
    session = store._writer.do(lambda connection: connection.connection.dbapi_connection.pgconn.socket)  # type: ignore[union-attr]
    with psycopg.connect(place.url, autocommit=True) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("SELECT pg_advisory_lock(1)")
        written = pool.submit(store.intend, WEB, cloud, 1, (), NOW)
        until(lambda: len(holder.execute(WAITING).fetchall()) == 1)
        with socket.socket(fileno=os.dup(session)) as connection:
            connection.shutdown(socket.SHUT_RDWR)
        until(lambda: written.done() or len(holder.execute(WAITING).fetchall()) == 2)
        yield written
        holder.execute("SELECT pg_advisory_unlock(1)")
        written.exception()


def test_members_that_are_read_before_a_commit_is_found_durable_are_read_anew(place):
    store = opened(place, lambda: 0.0)
    with broken_while_committing(place, store) as written:
        assert store.members(WEB) == ()
    assert store.members(WEB) == written.result() != ()
    store.close()


def test_members_that_are_read_while_an_outcome_is_unknown_are_read_anew_once_it_is_known(place):
    store = opened(place, itertools.count(0.0, 60.0).__next__)
    with broken_while_committing(place, store) as written:
        with pytest.raises(StoreError, match="whether the last change was written is not known until then"):
            written.result()
        assert store.members(WEB) == ()
    store.note(WEB, "pause", "ada", "", NOW)
    assert [record.sequence for record in store.members(WEB)] == [1]
    store.close()
