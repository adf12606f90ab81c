"""What people have told Trimtab to forget though it bears its mark: never taken up again, and never touched."""

from __future__ import annotations

from dataclasses import fields

from sqlalchemy import Connection, bindparam, select

from config.units import GroupId, MemberName
from handler.planning.garbage import Abandoned
from handler.store.schema import abandoned
from handler.store.upserts import insert_or_ignore

_FIELDS = tuple(field.name for field in fields(Abandoned))
_ALL = select(*(abandoned.c[name] for name in _FIELDS)).order_by(abandoned.c.name)
_OF_GROUP = select(abandoned.c.name).where(abandoned.c.group == bindparam("of"))
_WRITE = insert_or_ignore(abandoned)


def read_abandoned(connection: Connection) -> tuple[Abandoned, ...]:
    """Everything, by name."""
    return tuple(Abandoned(**dict(zip(_FIELDS, row, strict=True))) for row in connection.execute(_ALL))


def read_names(connection: Connection, group: GroupId) -> frozenset[MemberName]:
    """Who of one group."""
    return frozenset(MemberName(name) for name in connection.execute(_OF_GROUP, {"of": group}).scalars())


def write_abandoned(connection: Connection, what: Abandoned) -> None:
    """Write it once: the first time holds."""
    _WRITE.write(connection, {name: getattr(what, name) for name in _FIELDS})
