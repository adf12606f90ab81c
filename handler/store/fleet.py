"""Rows of ``meta`` ↔ values for all groups: the pause of all groups, and the store generation.

Functions run inside their caller's transaction.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, literal, select

from config.units import Instant
from handler.planning.launches import Claim
from handler.store.codec import from_text, to_text
from handler.store.schema import groups, meta, notes
from handler.store.upserts import insert_or_update
from trigger.requests import FleetPause

_NAME = "fleet_pause"
_GENERATION = "generation"
_CLOCK = "clock"
_WRITE = insert_or_update(meta)


def read_fleet_pause(connection: Connection) -> FleetPause | None:
    """Read the pause in force, if there is one."""
    found = connection.execute(select(meta.c.value).where(meta.c.name == _NAME)).scalar()
    return None if found is None else from_text(found, FleetPause)


def write_fleet_pause(connection: Connection, pause: FleetPause | None) -> None:
    """Replace the pause; ``None`` ends it."""
    if pause is None:
        connection.execute(delete(meta).where(meta.c.name == _NAME))
        return
    _write(connection, _NAME, to_text(pause, FleetPause))


def read_generation(connection: Connection) -> Claim | None:
    """Read the last claim of a daemon over this store, if there was one."""
    found = connection.execute(select(meta.c.value).where(meta.c.name == _GENERATION)).scalar()
    return None if found is None else Claim.parse(found)


def write_generation(connection: Connection, claim: Claim) -> None:
    """Replace it."""
    _write(connection, _GENERATION, claim.text)


def read_clock(connection: Connection) -> str | None:
    """Read by how much the clocks differed, as text."""
    return connection.execute(select(meta.c.value).where(meta.c.name == _CLOCK)).scalar()


def write_clock(connection: Connection, text: str) -> None:
    """Replace it."""
    _write(connection, _CLOCK, text)


def _write(connection: Connection, name: str, value: str) -> None:
    _WRITE.write(connection, {"name": name, "value": value})


def note_everywhere(connection: Connection, act: str, by: str, message: str, at: Instant) -> None:
    """Write an operation into the history of every group."""
    lines = select(groups.c.id, literal(at), literal(act), literal(by), literal(message))
    connection.execute(insert(notes).from_select(["group", "at", "name", "by", "message"], lines))
