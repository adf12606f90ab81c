"""The lease of workers on one store, in PostgreSQL: one row, changed by compare-and-set.

Every call is one short transaction in a session of its own, so that a long write of the store delays no renewal. The
transaction that takes the lease also ends the former holder's sessions and writes the first mark of the new epoch, so
that a worker that was stopped in the middle of a write neither keeps its locks nor commits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, delete, select, update

from config.errors import StoreError
from config.units import Seconds
from handler.leasing.lease import LeaseRow
from handler.leasing.workers import Looked, Presence, SeenWorker
from handler.ports.declarations import AppliedFile
from handler.store.applied_rows import STAMP_IN_FORCE, read_applied
from handler.store.lease_rows import NAME, begin_lease
from handler.store.postgresql_database import LeaseTerm, first_mark
from handler.store.postgresql_sessions import END_WRITERS
from handler.store.postgresql_short import CLOCK, ShortTransactions
from handler.store.revisions import found_revision, upgrade
from handler.store.upserts import insert_or_update
from handler.store.worker_schema import lease, workers

_FIRST_WITH_WORKERS = "0038"
_FIRST_WITH_APPLIED_FILES = "0050"
_FIRST_WITH_PRIORITIES = "0056"
"""A worker of this release stands by over an older store, until it takes the lease and migrates it."""
_OF_LEASE = "trimtab lease"
_ALONE = "SELECT pg_advisory_xact_lock(1414679918, current_schema()::regnamespace::oid::integer)"
"""One worker at a time makes the tables."""
_UNSYNCED = "SET LOCAL synchronous_commit = off"
"""For what is lost without harm: that a worker was seen."""
_ROW = (lease.c.epoch, lease.c.process, lease.c.renewals, lease.c.span)
_OF_OLDER = ("process", "url", "version", "started_at", "seen_at", "problem")
_SEEN, _SEEN_IN_OLDER = insert_or_update(workers), insert_or_update(workers, only=_OF_OLDER)


class PostgresqlLease:
    """The lease in one database. Calls block; one at a time."""

    def __init__(self, url: str, password: Callable[[], str | None], now: Callable[[], Seconds]) -> None:
        """Prepare; nothing is connected before the first use. ``now`` is a clock that is never set."""
        self._short = ShortTransactions(url, password, now, _OF_LEASE, idles=False)

    def prepare(self) -> None:
        """Make the tables of a new store, and those of workers in an older one; a store of workers stays as it is.

        Raises:
            StoreError: the database cannot be reached, a daemon that is no worker holds it, or it is another program's.
        """
        with self._short.begun() as connection:
            connection.exec_driver_sql(_ALONE)
            found = found_revision(connection, self._short.url)
            if found is None or found < _FIRST_WITH_WORKERS:
                upgrade(connection)
            begin_lease(connection)

    def look(self, own: Presence) -> Looked:
        """Write that this worker is there, and read the lease. Raises `StoreError`."""
        with self._short.begun() as connection:
            connection.exec_driver_sql(_UNSYNCED)
            _see(connection, own, has_priorities=_schema(connection) >= _FIRST_WITH_PRIORITIES)
            return _looked(connection)

    def read(self) -> Looked:
        """Read the lease and the workers. Raises `StoreError`."""
        with self._short.begun() as connection:
            return _looked(connection)

    def applied_file(self) -> AppliedFile | None:
        """Read the file that all go by; ``None``: each goes by its own. Raises `StoreError`."""
        with self._short.begun() as connection:
            return read_applied(connection)

    def take(self, row: LeaseRow, own: Presence, span: Seconds) -> LeaseTerm | None:
        """Take the lease from this very row; ``None``: it has changed meanwhile. Raises `StoreError`."""
        same = (lease.c.epoch == row.epoch) & (lease.c.process == row.process) & (lease.c.renewals == row.renewals)
        taken = {"epoch": row.epoch + 1, "process": own.process, "worker": own.name, "renewals": 0, "span": span}
        with self._short.begun() as connection:
            if not self._change(connection, same, {**taken, "expires_at": CLOCK + span}):
                return None
            connection.exec_driver_sql(END_WRITERS)
            return first_mark(connection, row.epoch + 1)

    def renew(self, epoch: int, own: Presence, span: Seconds, declaration: str) -> bool:
        """Renew the lease; whether it is still this process's. Raises `StoreError`."""
        mine = (lease.c.epoch == epoch) & (lease.c.process == own.process)
        renewed = {"renewals": lease.c.renewals + 1, "span": span, "expires_at": CLOCK + span}
        taken = {} if not declaration else {"declaration": declaration}
        with self._short.begun() as connection:
            _see(connection, own, has_priorities=_schema(connection) >= _FIRST_WITH_PRIORITIES)
            return self._change(connection, mine, {**renewed, **taken})

    def release(self, epoch: int, own: Presence) -> None:
        """Give the lease back, if it is still this process's. Raises `StoreError`."""
        mine = (lease.c.epoch == epoch) & (lease.c.process == own.process)
        with self._short.begun() as connection:
            _see(connection, own, has_priorities=_schema(connection) >= _FIRST_WITH_PRIORITIES)
            self._change(connection, mine, {"process": "", "expires_at": CLOCK})

    def leave(self, own: Presence) -> None:
        """Take a worker that ends off the list. Raises `StoreError`."""
        mine = (workers.c.name == own.name) & (workers.c.process == own.process)
        with self._short.begun() as connection:
            connection.execute(delete(workers).where(mine))

    def close(self) -> None:
        """Close the session."""
        self._short.close()

    @staticmethod
    def _change(connection: Connection, where: Any, values: dict[str, Any]) -> bool:  # noqa: ANN401 - a condition
        return connection.execute(update(lease).where(lease.c.name == NAME, where).values(values)).rowcount == 1


def refuse_leased(connection: Connection, url: str) -> None:
    """Refuse a store that a worker may be acting on, though none is connected now.

    Raises:
        StoreError: the lease has not ended yet.
    """
    found = connection.execute(select(lease.c.worker, lease.c.process, lease.c.expires_at - CLOCK)).first()
    if found is not None and found[1] and found[2] > 0:
        raise StoreError(
            f"store {url}: worker {found[0]} holds the lease for {found[2]:.0f} s more, or until it gives it back; "
            "then a daemon without --worker may start, if no worker runs"
        )


def _schema(connection: Connection) -> str:
    """Return the revision of the store's tables."""
    return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one())


def _see(connection: Connection, own: Presence, *, has_priorities: bool) -> None:
    now = connection.execute(select(CLOCK)).scalar_one()
    kept = connection.execute(
        select(workers.c.started_at).where(workers.c.name == own.name, workers.c.process == own.process)
    ).scalar()
    row: dict[str, object] = {
        "name": own.name,
        "process": own.process,
        "url": own.url,
        "version": own.version,
        "started_at": now if kept is None else kept,
        "seen_at": now,
        "problem": own.problem,
    }
    if has_priorities:
        _SEEN.write(connection, {**row, "priority": own.priority})
    else:
        _SEEN_IN_OLDER.write(connection, row)


def _looked(connection: Connection) -> Looked:
    columns = (*_ROW, lease.c.worker, lease.c.declaration, lease.c.expires_at, CLOCK)
    epoch, process, renewals, span, worker, declaration, expires_at, clock = connection.execute(select(*columns)).one()
    schema = _schema(connection)
    stamp = connection.execute(STAMP_IN_FORCE).first() if schema >= _FIRST_WITH_APPLIED_FILES else None
    applied, sealing = (0, "") if stamp is None else stamp
    return Looked(
        row=LeaseRow(epoch=epoch, process=process, renewals=renewals, span=span),
        worker=worker,
        left=expires_at - clock,
        declaration=declaration,
        applied=applied,
        sealing=sealing,
        schema=schema,
        workers=tuple(_workers(connection, clock, has_priorities=schema >= _FIRST_WITH_PRIORITIES)),
        clock=clock,
    )


def _workers(connection: Connection, clock: Seconds, *, has_priorities: bool) -> Iterator[SeenWorker]:
    columns = [column for column in workers.c if has_priorities or column.key != "priority"]
    for each in connection.execute(select(*columns).order_by(workers.c.name)):
        presence = Presence(
            name=each.name,
            process=each.process,
            url=each.url,
            version=each.version,
            problem=each.problem,
            priority=each.priority if has_priorities else 0,
        )
        yield SeenWorker(presence=presence, age=clock - each.seen_at, up=each.seen_at - each.started_at)
