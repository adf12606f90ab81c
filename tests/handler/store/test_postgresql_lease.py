"""The lease in a real PostgreSQL: one worker writes, whatever the one before it still wants to do."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Connection, RootTransaction, insert, select, update

from config.document.statement import Statement
from config.errors import StoreError
from config.model.daemon import PostgresqlPlace
from handler.leasing.workers import Presence
from handler.ports.store import FileChange
from handler.runtime.store_place import database_of, lease_of
from handler.store.checkpoint_codec import SavedSlot
from handler.store.checkpoint_rows import StoredCheckpoints
from handler.store.database import CommitOutcome
from handler.store.postgresql import PostgresqlStore, prepare
from handler.store.postgresql_database import PostgresqlDatabase
from handler.store.postgresql_lease import PostgresqlLease
from handler.store.schema import meta
from handler.store.worker_schema import lease as lease_rows
from handler.store.writer import StoreWriter
from tests.handler.store.test_checkpoints import _HOLDS, _Life
from tests.support.postgresql import broken
from tests.support.store import INSTALLATION, NOW
from tests.support.waiting import until

pytestmark = pytest.mark.real("postgres")
A = Presence(name="a", process="p1", url="http://a:8460", version="1.0", problem="")
B = replace(A, name="b", process="p2", url="http://b:8460")
SPAN = 10.0
WRITE = insert(meta).values(name="written", value="late")


@pytest.fixture
def lease(place: PostgresqlPlace):
    lease = lease_of(place)
    lease.prepare()
    yield lease
    lease.close()


def taken(lease: PostgresqlLease, place: PostgresqlPlace, own: Presence) -> PostgresqlStore:
    """Take the lease, and open the store under it."""
    term = lease.take(lease.look(own).row, own, SPAN)
    assert term is not None
    return PostgresqlStore.open(database_of(place, term), installation=INSTALLATION)


def session_of(store: PostgresqlStore) -> int:
    """Return the server's number of the session that writes."""
    return store._writer.do(lambda connection: connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())


def written(store: PostgresqlStore) -> str | None:
    with store._snapshot() as connection:
        value: str | None = connection.execute(select(meta.c.value).where(meta.c.name == "written")).scalar()
        return value


def test_one_of_two_that_saw_the_same_row_takes_the_lease_and_epochs_rise(lease):
    row = lease.look(A).row
    term = lease.take(row, A, SPAN)
    assert (row.epoch, term.epoch) == (0, 1)
    assert lease.take(row, B, SPAN) is None
    seen = lease.look(B)
    assert (seen.row.process, seen.worker, seen.row.renewals) == ("p1", "a", 0)
    assert 9.0 < seen.left <= SPAN
    assert lease.take(seen.row, B, SPAN).epoch == 2


def shown(lease: PostgresqlLease) -> list[tuple[str, int]]:
    return [(each.presence.name, each.presence.priority) for each in lease.look(A).workers]


def test_workers_see_each_other_with_their_priorities_and_over_an_older_store_without(lease, server, place):
    lease.look(replace(B, priority=2))
    assert shown(lease) == [("a", 0), ("b", 2)]
    server.execute("ALTER TABLE workers DROP COLUMN priority", place)
    server.execute("UPDATE alembic_version SET version_num = '0055'", place)
    of_older = lease_of(place)
    of_older.look(replace(B, priority=2))
    assert shown(of_older) == [("a", 0), ("b", 0)]
    of_older.close()


def test_a_worker_goes_by_the_tables_that_it_finds_once_another_one_migrated_the_store(lease, server, place):
    server.execute("ALTER TABLE workers DROP COLUMN priority", place)
    server.execute("UPDATE alembic_version SET version_num = '0055'", place)
    lease.look(replace(B, priority=2))
    server.execute("ALTER TABLE workers ADD COLUMN priority integer NOT NULL DEFAULT 0", place)
    server.execute("UPDATE alembic_version SET version_num = '0056'", place)
    lease.look(replace(B, priority=2))
    lease.look(replace(B, priority=2))
    assert shown(lease) == [("a", 0), ("b", 2)]


def test_a_worker_goes_on_after_one_failed_look_over_a_store_that_was_put_back_to_an_older_release(
    lease, server, place
):
    lease.look(replace(B, priority=2))
    server.execute("ALTER TABLE workers DROP COLUMN priority", place)
    server.execute("UPDATE alembic_version SET version_num = '0055'", place)
    with pytest.raises(StoreError, match="priority"):
        lease.look(A)
    assert shown(lease) == [("a", 0), ("b", 0)]


def test_a_worker_writes_that_it_is_there_when_that_changes_and_four_times_in_each_span(lease, server, place):
    lease.take(lease.look(A).row, A, SPAN)
    now = [100.0]
    own = PostgresqlLease(place.url, lambda: None, lambda: now[0])

    def writes(after: float, presence: Presence = B) -> bool:
        server.execute("UPDATE workers SET seen_at = 0, started_at = -60 WHERE name = 'b'", place)
        now[0] += after
        seen = next(each for each in own.look(presence).workers if each.presence.name == "b")
        return seen.age < SPAN and seen.presence == presence

    assert [writes(1.0) for _ in range(5)] == [True, False, False, True, False]
    assert writes(0.0, replace(B, problem="its file differs"))
    assert lease.read().workers[-1].up > 60, "its process is the same one"
    lease.take(lease.read().row, A, 2.0)
    assert [writes(1.0), writes(0.4), writes(0.1), writes(0.4), writes(0.1)] == [True, False, True, False, True]
    own.close()


def test_taking_a_lease_ends_no_session_of_an_installation_in_another_database(lease, place, other_place):
    other_lease = lease_of(other_place)
    other_lease.prepare()
    other = taken(other_lease, other_place, A)
    before = session_of(other)

    taken(lease, place, B).close()

    assert session_of(other) == before
    other.close()
    other_lease.close()


def test_a_lease_is_renewed_by_its_holder_alone(lease):
    lease.take(lease.look(A).row, A, SPAN)
    assert lease.renew(1, A, SPAN, "d1")
    assert not lease.renew(1, B, SPAN, "d2")
    assert not lease.renew(0, A, SPAN, "d2")
    seen = lease.look(B)
    assert (seen.row.renewals, seen.declaration) == (1, "d1")
    lease.take(seen.row, B, SPAN)
    assert not lease.renew(1, A, SPAN, "d1")
    assert not lease.renew(2, A, SPAN, "d1")


def test_a_worker_that_is_stopped_while_it_takes_the_lease_keeps_no_other_one_from_taking_it(lease, place):
    seen, other, terms = lease.look(A), lease_of(place), []

    def stop_while_it_takes_it() -> None:
        with lease._short.begun() as connection:
            connection.execute(update(lease_rows).values(epoch=1, process="p1"))
            terms.append(other.take(seen.row, B, SPAN))

    with pytest.raises(StoreError, match="this machine was too slow: it was stopped"):
        stop_while_it_takes_it()
    assert [term.epoch for term in terms] == [1]
    assert lease.look(A).row.process == "p2"
    other.close()


def test_a_lease_that_is_given_back_is_free_at_once_and_only_its_holder_gives_it_back(lease):
    lease.take(lease.look(A).row, A, SPAN)
    lease.release(1, B)
    assert lease.look(B).row.process == "p1"
    lease.release(1, A)
    seen = lease.look(B)
    assert (seen.row.process, seen.worker) == ("", "a")
    assert seen.left <= 0


def test_every_worker_shows_where_it_is_and_why_it_cannot_take_over(lease):
    lease.look(A)
    lease.look(replace(B, problem="its file differs"))
    workers = lease.read().workers
    assert [each.presence for each in workers] == [A, replace(B, problem="its file differs")]
    assert all(0 <= each.age < 60 for each in workers)


def test_a_worker_that_lost_the_lease_writes_nothing_more(place, lease):
    old = taken(lease, place, A)
    new = taken(lease, place, B)
    with pytest.raises(StoreError, match=r"another worker has taken the lease \(this one had epoch 1\)"):
        old._writer.do(lambda connection: connection.execute(WRITE))
    assert written(new) is None
    new._writer.do(lambda connection: connection.execute(WRITE))
    assert written(new) == "late"
    old.close()
    new.close()


def test_a_worker_that_stopped_in_the_middle_of_a_write_holds_up_no_other_and_its_write_is_undone(place, lease):
    stopped = database_of(place, lease.take(lease.look(A).row, A, SPAN))
    with stopped.writing.connect() as connection:
        stopped.take_over(connection)
        connection.execute(WRITE)  # and nothing more: the process is stopped here
        new = taken(lease, place, B)
        assert written(new) is None
        connection.invalidate()
    stopped.close()
    new.close()


def still_commits(connection: Connection, database: PostgresqlDatabase) -> RootTransaction:
    """Begin a transaction in a session that the server keeps though its connection broke; return it."""
    connection.detach()
    transaction = connection.begin()
    database.begun(connection)
    return transaction


@pytest.fixture
def database(place, lease):
    """The database under a worker's store, which that has taken over."""
    database = database_of(place, lease.take(lease.look(A).row, A, SPAN))
    prepare(database)
    yield database
    database.close()


@pytest.mark.parametrize(("ends", "outcome"), [("commit", CommitOutcome.DURABLE), ("rollback", CommitOutcome.LOST)])
def test_a_commit_that_the_server_still_has_in_hand_is_waited_for(server, place, database, ends, outcome):
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with database.writing.connect() as connection, ThreadPoolExecutor(1) as pool:
        transaction = still_commits(connection, database)
        found = pool.submit(database.outcome_of, broken())
        until(lambda: found.done() or server.execute(waiting, place) != [])
        getattr(transaction, ends)()
        assert found.result() is outcome


def test_while_the_server_has_a_commit_in_hand_for_long_no_write_is_taken_for_done_or_undone(
    place, lease, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("handler.store.postgresql_database._LOCK_WAIT", "50ms")
    minutes = itertools.count(0.0, 60.0)
    term = lease.take(lease.look(A).row, A, SPAN)
    database = PostgresqlDatabase(place.url, lambda: None, minutes.__next__, term)
    prepare(database)
    writer = StoreWriter(database)
    writer.start()
    with database.writing.connect() as connection:
        transaction = still_commits(connection, database)
        with pytest.raises(
            StoreError, match=r"has the last commit in hand.*\(whether the last change was written is not"
        ):
            database.outcome_of(broken())
        with pytest.raises(StoreError, match=r"has the last commit in hand.*\(nothing of this change is written"):
            writer.do(lambda each: each.execute(WRITE))
        transaction.commit()
    writer.do(lambda each: each.execute(WRITE))
    writer.close()
    database.close()


def test_a_store_that_opens_after_another_worker_took_the_lease_is_refused(place, lease):
    term = lease.take(lease.look(A).row, A, SPAN)
    lease.take(lease.look(B).row, B, SPAN)
    with pytest.raises(StoreError, match="another worker has taken the lease"):
        PostgresqlStore.open(database_of(place, term), installation=INSTALLATION)


def test_a_daemon_that_is_no_worker_and_workers_keep_each_other_off(place, lease):
    lease.take(lease.look(A).row, A, SPAN)
    with pytest.raises(StoreError, match=r"held by a worker \(.*\): start this daemon with --worker NAME, too"):
        PostgresqlStore.open(database_of(place), installation=INSTALLATION)
    lease.close()
    with pytest.raises(StoreError, match=r"worker a holds the lease for \d+ s more, or until it gives it back"):
        PostgresqlStore.open(database_of(place), installation=INSTALLATION)
    lease.release(1, A)
    lease.close()
    alone = PostgresqlStore.open(database_of(place), installation=INSTALLATION)
    with pytest.raises(StoreError, match="held by another daemon"):
        lease.look(A)
    alone.close()


def test_the_file_of_a_daemon_that_is_no_worker_is_in_force_for_workers_after_it(place, lease):
    lease.take(lease.look(A).row, A, SPAN)
    lease.renew(1, A, SPAN, "of the file before")
    lease.release(1, A)
    lease.close()
    alone = PostgresqlStore.open(database_of(place), installation=INSTALLATION)

    alone.declare(
        (), NOW, FileChange(by="start", statement=Statement(values={}, used={}), edits=(), digest="of its file")
    )

    alone.close()
    assert lease.read().declaration == "of its file"


def test_windows_go_from_one_worker_to_the_next_bit_for_bit(place, lease, tmp_path):
    life = _Life(tmp_path)
    for number in range(9):
        life.tick(number)
    old = taken(lease, place, A)
    for saved in life.saved:
        StoredCheckpoints(old).write(saved)
    new = taken(lease, place, B)
    (found,), (expected,) = StoredCheckpoints(new).read(), life.folder.read()
    assert isinstance(found, SavedSlot)
    assert (found.boot, found.holds, found.windows.tick) == ("a-boot", _HOLDS, 8)
    assert {tick: row.value.tolist() for tick, row in found.rows[0].items()} == {
        tick: row.value.tolist() for tick, row in expected.rows[0].items()
    }
    with pytest.raises(StoreError, match="another worker"):
        StoredCheckpoints(old).write(life.saved[-1])
    StoredCheckpoints(new).keep_only([])
    assert StoredCheckpoints(new).read() == ()
    old.close()
    new.close()
