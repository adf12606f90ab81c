"""Whose store it is."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, func, select

from config.errors import Refused
from handler.store.schema import meta, spans
from handler.store.upserts import insert_or_ignore

_CLAIM = insert_or_ignore(meta)


def claimed(connection: Connection, path: Path, installation: str) -> int:
    """Write down whose store it is, or refuse a stranger; returns the first free id for spans.

    Under another installation's id no member would be found again on its cloud: the fleet would be made twice.
    """
    _CLAIM.write(connection, {"name": "installation", "value": installation})
    owner = connection.execute(select(meta.c.value).where(meta.c.name == "installation")).scalar_one()
    if owner != installation:
        raise Refused(
            f"store {path} belongs to installation {owner}, not {installation}: "
            f"write {owner} into the file 'installation' beside it, or move the store away"
        )
    return int(connection.execute(select(func.max(spans.c.id))).scalar() or 0) + 1
