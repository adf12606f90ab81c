"""What a worker asks of the lease again and again: one statement each, in a transaction of its own, in SQL.

A standby looks each second, for as long as it lives. So a look is one round trip, which the server has prepared, and
nothing is put together for it (`handler.store.postgresql_short`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from handler.ports.declarations import SEALING

FIRST_WITH_WORKERS = "0038"
_FIRST_WITH_APPLIED_FILES = "0050"
_FIRST_WITH_PRIORITIES = "0056"
"""A worker of this release stands by over an older store, until it takes the lease and migrates it."""
SCHEMA = "SELECT version_num FROM alembic_version"
_CLOCK = "date_part('epoch', clock_timestamp())"
_UNSYNCED = ", set_config('synchronous_commit', 'off', true)"
"""Until the end of this transaction: for what is lost without harm, that a worker was seen."""
_CHANGED = ("process", "url", "version", "problem", "seen_at")
_MINE = "WHERE name = 'fleet' AND epoch = %(epoch)s AND process = %(process)s RETURNING epoch"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseStatements:
    """The statements for stores of one revision. Times are by the database's clock."""

    read: str
    """The lease, the revision of the tables, the file that was applied, the time, and a row for each worker."""
    see: str
    """Write that a worker is there."""
    renew: str
    """Write it, and renew the lease; one row, if it is still this process's."""
    release: str
    """Write it, and give the lease back, if it is still this process's."""


@functools.cache
def lease_statements(schema: str) -> LeaseStatements:
    """Return the statements for stores of this revision."""
    with_priority = schema >= _FIRST_WITH_PRIORITIES
    seen_and = f"WITH seen AS ({_see(with_priority)}) UPDATE lease SET"
    return LeaseStatements(
        read=_read(with_priority, with_applied=schema >= _FIRST_WITH_APPLIED_FILES),
        see=f"{_see(with_priority, _UNSYNCED)} RETURNING name",
        renew=f"{seen_and} renewals = renewals + 1, span = %(span)s, expires_at = {_CLOCK} + %(span)s, "
        f"declaration = coalesce(nullif(%(declaration)s, ''), declaration) {_MINE}",
        release=f"{seen_and} process = '', expires_at = {_CLOCK} {_MINE}",
    )


def _read(with_priority: bool, *, with_applied: bool) -> str:
    stamp, joined = "0, ''", ""
    if with_applied:
        stamp = f"coalesce(applied_files.revision, 0), coalesce(substr(applied_files.sealed, 1, {SEALING}), '')"
        joined = "LEFT JOIN applied_files ON applied_files.name = 'fleet' AND applied_files.sealed IS NOT NULL "
    return (
        "SELECT lease.epoch, lease.process, lease.renewals, lease.span, lease.worker, lease.expires_at, "  # noqa: S608  # constants
        f"lease.declaration, {stamp}, ({SCHEMA}), now.at, "
        "workers.name, workers.process, workers.url, workers.version, workers.problem, "
        f"{'workers.priority' if with_priority else '0'}, workers.started_at, workers.seen_at "
        f"FROM lease CROSS JOIN (SELECT {_CLOCK} AS at) AS now "
        f"{joined}LEFT JOIN workers ON true WHERE lease.name = 'fleet' ORDER BY workers.name"
    )


def _see(with_priority: bool, unsynced: str = "") -> str:
    """Return what writes a worker's row; while its process is the same one, the row keeps when that started."""
    changed = (*_CHANGED, "priority") if with_priority else _CHANGED
    updated = ", ".join(f"{each} = excluded.{each}" for each in changed)
    return (
        f"INSERT INTO workers (name, process, url, version, problem{', priority' if with_priority else ''}, "  # noqa: S608  # constants
        "started_at, seen_at) SELECT %(name)s, %(process)s, %(url)s, %(version)s, %(problem)s, "
        f"{'%(priority)s, ' if with_priority else ''}now.at, now.at FROM (SELECT {_CLOCK} AS at{unsynced}) AS now "
        f"ON CONFLICT (name) DO UPDATE SET {updated}, started_at = "
        "CASE WHEN workers.process = excluded.process THEN workers.started_at ELSE excluded.started_at END"
    )
