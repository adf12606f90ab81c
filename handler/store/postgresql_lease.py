"""The lease of workers on one store, in PostgreSQL: one row, changed by compare-and-set.

Every call is a short transaction or two in a session of its own, so that a long write of the store delays no renewal.
The transaction that takes the lease also ends the former holder's sessions and writes the first mark of the new epoch,
so that a worker that was stopped in the middle of a write neither keeps its locks nor commits it. The server ends the
session of one that is stopped in the middle of such a transaction (`postgresql_short`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, delete, select, update

from config.errors import StoreError
from config.units import Seconds
from handler.leasing.lease import LeaseRow
from handler.leasing.workers import Looked, Presence, SeenWorker
from handler.ports.declarations import AppliedFile
from handler.store.applied_rows import read_applied
from handler.store.lease_rows import NAME, begin_lease
from handler.store.lease_statements import FIRST_WITH_WORKERS, SCHEMA, LeaseStatements, lease_statements
from handler.store.postgresql_database import LeaseTerm, first_mark
from handler.store.postgresql_sessions import END_WRITERS
from handler.store.postgresql_short import CLOCK, PATIENT, ShortTransactions
from handler.store.revisions import found_revision, upgrade
from handler.store.worker_schema import lease, workers

_OF_LEASE = "trimtab lease"
_OF_LEASE_ITSELF = 11
"""Columns of `LeaseStatements.read` before those of a worker."""
_ALONE = "SELECT pg_advisory_xact_lock(1414679918, current_schema()::regnamespace::oid::integer)"
"""One worker at a time makes the tables."""
_SEEN_EVERY: Seconds = 2.5
"""How often a standby writes that it is there, at most: as often as the holder of a lease of 10 s."""
_SEEN_IN_SPAN = 4
"""How often at least in each span of the lease: a process that starts under the name of one that was killed, or still
runs, watches for so long."""


class PostgresqlLease:
    """The lease in one database. Calls block; one at a time."""

    def __init__(self, url: str, password: Callable[[], str | None], now: Callable[[], Seconds]) -> None:
        """Prepare; nothing is connected before the first use. ``now`` is a clock that is never set."""
        self._short = ShortTransactions(url, password, now, _OF_LEASE, idles=False)
        self._now = now
        self._schema: str | None = None
        """The revision of the store's tables, as it was read last; ``None``: it is not known."""
        self._span: Seconds = 0.0
        """Of the lease, as it was read last."""
        self._written: tuple[Presence, Seconds] | None = None
        """What was written last of this worker, and when; ``None``: maybe nothing."""

    def prepare(self) -> None:
        """Make the tables of a new store, and those of workers in an older one; a store of workers stays as it is.

        Raises:
            StoreError: the database cannot be reached, a daemon that is no worker holds it, or it is another program's.
        """
        with self._short.begun() as connection:
            connection.exec_driver_sql(_ALONE)
            found = found_revision(connection, self._short.url)
            if found is None or found < FIRST_WITH_WORKERS:
                connection.exec_driver_sql(PATIENT)
                upgrade(connection)
            begin_lease(connection)

    def look(self, own: Presence) -> Looked:
        """Write that this worker is there, if that is new or a while ago, and read the lease. Raises `StoreError`."""
        now = self._now()
        if self._is_due(own, now):
            self._once(self._statements().see, asdict(own))
            self._written = own, now
        return self.read()

    def read(self) -> Looked:
        """Read the lease and the workers. Raises `StoreError`."""
        while True:
            rows = self._once(self._statements().read)
            if not rows:
                raise StoreError(f"store {self._short.url} has no lease: restart this worker, which makes one")
            seen = _looked(rows)
            self._span = seen.row.span
            if seen.schema == self._schema:
                return seen
            self._schema, self._written = seen.schema, None  # another worker has migrated the store: it says more now

    def applied_file(self) -> AppliedFile | None:
        """Read the file that all go by; ``None``: each goes by its own. Raises `StoreError`."""
        with self._short.begun() as connection:
            return read_applied(connection)

    def take(self, row: LeaseRow, own: Presence, span: Seconds) -> LeaseTerm | None:
        """Take the lease from this very row; ``None``: it has changed meanwhile. Raises `StoreError`."""
        same = (lease.c.epoch == row.epoch) & (lease.c.process == row.process) & (lease.c.renewals == row.renewals)
        taken = {"epoch": row.epoch + 1, "process": own.process, "worker": own.name, "renewals": 0, "span": span}
        with self._short.begun() as connection:
            of_row = update(lease).where(lease.c.name == NAME, same)
            if connection.execute(of_row.values(**taken, expires_at=CLOCK + span)).rowcount != 1:
                return None
            connection.exec_driver_sql(END_WRITERS)
            return first_mark(connection, row.epoch + 1)

    def renew(self, epoch: int, own: Presence, span: Seconds, declaration: str) -> bool:
        """Renew the lease; whether it is still this process's. Raises `StoreError`."""
        renewed = {**asdict(own), "epoch": epoch, "span": span, "declaration": declaration}
        return bool(self._once(self._statements().renew, renewed))

    def release(self, epoch: int, own: Presence) -> None:
        """Give the lease back, if it is still this process's. Raises `StoreError`."""
        self._once(self._statements().release, {**asdict(own), "epoch": epoch})

    def leave(self, own: Presence) -> None:
        """Take a worker that ends off the list. Raises `StoreError`."""
        mine = (workers.c.name == own.name) & (workers.c.process == own.process)
        with self._short.begun() as connection:
            connection.execute(delete(workers).where(mine))

    def close(self) -> None:
        """Close the session."""
        self._short.close()

    def _is_due(self, own: Presence, now: Seconds) -> bool:
        if self._written is None or self._written[0] != own:
            return True
        return now - self._written[1] >= min(_SEEN_EVERY, self._span / _SEEN_IN_SPAN)

    def _statements(self) -> LeaseStatements:
        if self._schema is None:
            [(self._schema,)] = self._short.once(SCHEMA)
        return lease_statements(self._schema)

    def _once(self, statement: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Run a statement of the revision that is known. After a failure, that and what was written are read anew."""
        try:
            return self._short.once(statement, values)
        except StoreError:
            self._schema = self._written = None
            raise


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


def _looked(rows: Sequence[tuple[Any, ...]]) -> Looked:
    epoch, process, renewals, span, worker, expires_at, declaration, applied, sealing, schema, clock, *_ = rows[0]
    return Looked(
        row=LeaseRow(epoch=epoch, process=process, renewals=renewals, span=span),
        worker=worker,
        left=expires_at - clock,
        declaration=declaration,
        applied=applied,
        sealing=sealing,
        schema=schema,
        workers=tuple(_seen(clock, *row[_OF_LEASE_ITSELF:]) for row in rows if row[_OF_LEASE_ITSELF] is not None),
        clock=clock,
    )


def _seen(  # noqa: PLR0913, PLR0917  # as the statement has them
    clock: Seconds,
    name: str,
    process: str,
    url: str,
    version: str,
    problem: str,
    priority: int,
    started_at: Seconds,
    seen_at: Seconds,
) -> SeenWorker:
    presence = Presence(name=name, process=process, url=url, version=version, problem=problem, priority=priority)
    return SeenWorker(presence=presence, age=clock - seen_at, up=seen_at - started_at)
