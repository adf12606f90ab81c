"""The store's rows of CloudStack's query API: the ids of entities there, and the jobs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields

from sqlalchemy import JSON, Column, Connection, Index, Integer, Table, Text, delete, insert

from config.model.sections import Section
from config.units import GroupId, Instant
from handler.ports.cloudstack_api import StoredHandle, StoredJob
from handler.ports.stored import Event
from handler.store.columns import METADATA, SECONDS, Word
from handler.store.history import read_size_changes
from handler.store.rows import named
from handler.store.schema import every
from handler.store.session import StoreSession
from handler.store.upserts import insert_or_update

cloudstack_handles = Table(
    "cloudstack_handles",
    METADATA,
    Column("section", Word(Section), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("uuid", Text, nullable=False, unique=True),
    Column("made_at", SECONDS, nullable=False),
    Column("details", JSON, nullable=False),
)

cloudstack_jobs = Table(
    "cloudstack_jobs",
    METADATA,
    Column("uuid", Text, primary_key=True),
    Column("command", Text, nullable=False),
    Column("user_name", Text, key="user", nullable=False),
    Column("account", Text, nullable=False),
    Column("made_at", SECONDS, nullable=False),
    Column("ended_at", SECONDS, nullable=False),
    Column("code", Integer, nullable=False),
    Column("result", Text, nullable=False),
    Column("section", Word(Section)),
    Column("subject", Text, nullable=False),
    Column("name", Text, nullable=False),
    Index(None, "ended_at"),
)

_WRITE = insert_or_update(cloudstack_handles)
_HANDLE = tuple(field.name for field in fields(StoredHandle))
_JOB = tuple(field.name for field in fields(StoredJob))
_ENDED = cloudstack_jobs.c.ended_at


def drop_handle(connection: Connection, section: Section, id: str) -> None:
    """Delete the handle of an entity that is deleted, in the transaction that does it."""
    gone = (cloudstack_handles.c.section == section) & (cloudstack_handles.c.id == id)
    connection.execute(delete(cloudstack_handles).where(gone))


class CloudstackApiRows(StoreSession):
    """What CloudStack's query API keeps."""

    def handles(self) -> tuple[StoredHandle, ...]:
        """Return every handle, sorted by section and id."""
        wanted = every(cloudstack_handles).order_by(cloudstack_handles.c.section, cloudstack_handles.c.id)
        with self._snapshot() as connection:
            return tuple(StoredHandle(**named(row)) for row in connection.execute(wanted).mappings())

    def save_handles(self, handles: Collection[StoredHandle]) -> None:
        """Insert or replace handles, in one transaction."""

        def write(connection: Connection) -> None:
            for handle in handles:
                _WRITE.write(
                    connection, {name: getattr(handle, name) for name in _HANDLE} | {"details": dict(handle.details)}
                )

        self._writer.do(write)

    def save_job(self, job: StoredJob, since: Instant) -> None:
        """Write a job, and delete those that ended before ``since``."""

        def write(connection: Connection) -> None:
            connection.execute(delete(cloudstack_jobs).where(since > _ENDED))
            connection.execute(insert(cloudstack_jobs).values({name: getattr(job, name) for name in _JOB}))

        self._writer.do(write)

    def job(self, uuid: str) -> StoredJob | None:
        """Return one job; ``None``: there is none."""
        wanted = every(cloudstack_jobs).where(cloudstack_jobs.c.uuid == uuid)
        with self._snapshot() as connection:
            row = connection.execute(wanted).mappings().first()
        return None if row is None else StoredJob(**named(row))

    def size_changes(self, since: Instant, limit: int, groups: Collection[GroupId] | None = None) -> tuple[Event, ...]:
        """Return the newest decisions that changed a desired size, newest first; ``None``: those of all groups."""
        with self._snapshot() as connection:
            return read_size_changes(connection, since, limit, groups)

    def jobs(self, since: Instant, limit: int, accounts: Collection[str] | None = None) -> tuple[StoredJob, ...]:
        """Return the newest jobs that ended at ``since`` or later, newest first; ``None``: those of all accounts."""
        wanted = every(cloudstack_jobs).where(since <= _ENDED).order_by(_ENDED.desc(), cloudstack_jobs.c.uuid)
        if accounts is not None:
            wanted = wanted.where(cloudstack_jobs.c.account.in_(accounts))
        with self._snapshot() as connection:
            return tuple(StoredJob(**named(row)) for row in connection.execute(wanted.limit(limit)).mappings())
