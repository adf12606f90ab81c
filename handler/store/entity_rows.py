"""The store's rows of what is declared over the API: the entities as they are, and every revision."""

from __future__ import annotations

from dataclasses import fields

from sqlalchemy import Column, Connection, Integer, Table, Text, delete, insert

from config.document.entities import Entity
from config.model.sections import Section
from handler.ports.declarations import EntityChange, EntityRevision
from handler.store.cloudstack_api_rows import drop_handle
from handler.store.columns import METADATA, NUMBER, SECONDS, JsonColumn, Word
from handler.store.rows import named
from handler.store.schema import every
from handler.store.session import StoreSession
from handler.store.upserts import insert_or_update

entities = Table(
    "entities",
    METADATA,
    Column("section", Word(Section), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("account", Text, nullable=False, server_default="root"),
)

entity_revisions = Table(
    "entity_revisions",
    METADATA,
    Column("number", NUMBER, primary_key=True),
    Column("at", SECONDS, nullable=False),
    Column("by", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("restored", Integer),
    Column("changes", JsonColumn(tuple[EntityChange, ...]), nullable=False),
)

_WRITE = insert_or_update(entities)
_ENTITY = tuple(field.name for field in fields(Entity))
_REVISION = tuple(field.name for field in fields(EntityRevision))


def write_revision(connection: Connection, revision: EntityRevision) -> None:
    """Write a revision, and the entities as it leaves them: one that is made again later has another UUID."""
    connection.execute(insert(entity_revisions).values({name: getattr(revision, name) for name in _REVISION}))
    for change in revision.changes:
        section, name = change.key
        if change.after is None:
            gone = (entities.c.section == Section(section)) & (entities.c.id == name)
            connection.execute(delete(entities).where(gone))
            drop_handle(connection, Section(section), name)
        else:
            _WRITE.write(connection, {name: getattr(change.after, name) for name in _ENTITY})


class EntityRows(StoreSession):
    """What is declared over the API."""

    def entities(self) -> tuple[Entity, ...]:
        """Return everything that is declared over the API, sorted by section and id."""
        with self._snapshot() as connection:
            rows = connection.execute(every(entities).order_by(entities.c.section, entities.c.id)).mappings()
            return tuple(Entity(**named(row)) for row in rows)

    def entity_revisions(self, limit: int | None = None) -> tuple[EntityRevision, ...]:
        """Return the newest revisions, newest first; ``None``: all."""
        wanted = every(entity_revisions).order_by(entity_revisions.c.number.desc()).limit(limit)
        with self._snapshot() as connection:
            return tuple(EntityRevision(**named(row)) for row in connection.execute(wanted).mappings())
