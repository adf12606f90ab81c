"""The part of the SQLite store that remembers what groups declared, rollbacks and rolls."""

from __future__ import annotations

from sqlalchemy import Connection

from config.units import GroupId
from handler.planning.declared import Converged, Pinned, Revision
from handler.planning.rolls import Roll
from handler.ports.stored import Event
from handler.store import declared, rows
from handler.store.session import Session, write_note


class RollingRows(Session):
    """Revisions of definitions, which one is in force, and the roll of each group."""

    def revisions(self, group: GroupId) -> tuple[Revision, ...]:
        """What a group declared, the newest first."""
        with self._snapshot() as connection:
            return declared.read_revisions(connection, group)

    def steer(self, act: Event, pinned: Pinned | None, roll: Roll | None) -> None:
        """Write down which revision is pinned and how the roll stands, and why, in one transaction."""

        def write(connection: Connection) -> None:
            rows.require(connection, act.group)
            declared.write_overrides(connection, act.group, pinned, roll)
            write_note(connection, act, None)

        self._writer.do(write)

    def save_roll(self, group: GroupId, roll: Roll) -> None:
        """Write down how a roll stands; no line of history."""

        def write(connection: Connection) -> None:
            rows.require(connection, group)
            declared.write_roll(connection, group, roll)

        self._writer.do(write)

    def save_converged(self, group: GroupId, converged: Converged, *, wholly: bool) -> None:
        """Write down that nothing was left to do; with ``wholly`` also that every member is made of that revision."""

        def write(connection: Connection) -> None:
            rows.require(connection, group)
            declared.write_converged(connection, group, converged, wholly=wholly)

        self._writer.do(write)
