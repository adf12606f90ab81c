"""The store's rows of declarations: edits, rollbacks, rolls and balancers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from config.document.statement import Statement
from config.units import BalancerId, GroupId
from handler.planning.attachments import Attachment
from handler.planning.declared import Converged, Pinned, Revision
from handler.planning.desired import Definition
from handler.planning.provisioning import BalancerProvision
from handler.planning.rolls import Roll
from handler.planning.world import Record
from handler.ports.store import GroupEdit
from handler.ports.stored import Event
from handler.store import declared, rows
from handler.store.editing import read_edits, read_statement
from handler.store.schema import bindings
from handler.store.session import StoreSession, write_note
from handler.store.upserts import insert_or_update

_BIND = insert_or_update(bindings)


class BehindRows(StoreSession):
    """Attachments by people, and balancers that were made for groups."""

    def attach(
        self, act: Event, definition: Definition, attachments: Sequence[Attachment], records: Sequence[Record]
    ) -> None:
        """Write a group's attachments, its members' records and a line of history, in one transaction."""

        def write(connection: Connection) -> None:
            rows.write_attachments(connection, definition, attachments)
            rows.write_members(connection, records, definition.cloud.id)
            write_note(connection, act, None)

        self._writer.do(write)

    def bindings(self, group: GroupId) -> tuple[BalancerProvision, ...]:
        """Return the balancers made for a group, sorted by name."""
        found = select(bindings.c.binding).where(bindings.c.group == group).order_by(bindings.c.balancer)
        with self._snapshot() as connection:
            return tuple(connection.execute(found).scalars())

    def bind(self, group: GroupId, binding: BalancerProvision) -> None:
        """Insert or replace a balancer that was made for a group, or is about to be."""

        def written(connection: Connection) -> None:
            rows.require(connection, group)
            _BIND.write(connection, {"group": group, "balancer": binding.balancer, "binding": binding})

        self._writer.do(written)

    def unbind(self, group: GroupId, balancer: BalancerId) -> None:
        """Forget a balancer that was made for a group, once it is deleted."""
        gone = (bindings.c.group == group) & (bindings.c.balancer == balancer)

        def forget(connection: Connection) -> None:
            connection.execute(delete(bindings).where(gone))

        self._writer.do(forget)


class EditRows(StoreSession):
    """The file as it was last loaded, and the edits of each group."""

    def statement(self) -> Statement | None:
        """Return the content of the file that was last loaded."""
        with self._snapshot() as connection:
            return read_statement(connection)

    def edits(self, group: GroupId, limit: int) -> tuple[GroupEdit, ...]:
        """The newest edits of the file that touched a group, newest first."""
        with self._snapshot() as connection:
            return read_edits(connection, group, limit)


class RollingRows(StoreSession):
    """Revisions of definitions, the one in force, and the roll of each group."""

    def revisions(self, group: GroupId) -> tuple[Revision, ...]:
        """Return a group's revisions, newest first."""
        with self._snapshot() as connection:
            return declared.read_revisions(connection, group)

    def steer(self, act: Event, pinned: Pinned | None, roll: Roll | None) -> None:
        """Write the pinned revision, the roll's state and a line of history, in one transaction."""

        def write(connection: Connection) -> None:
            rows.require(connection, act.group)
            declared.write_overrides(connection, act.group, pinned, roll)
            write_note(connection, act, None)

        self._writer.do(write)

    def save_roll(self, group: GroupId, roll: Roll, act: Event | None = None) -> None:
        """Write a roll's state, and a line of history if there is one, in one transaction."""

        def write(connection: Connection) -> None:
            rows.require(connection, group)
            declared.write_roll(connection, group, roll)
            if act is not None:
                write_note(connection, act, None)

        self._writer.do(write)

    def save_converged(self, group: GroupId, converged: Converged, *, wholly: bool) -> None:
        """Write that a group converged; with ``wholly`` also that every member was made from that revision."""

        def write(connection: Connection) -> None:
            rows.require(connection, group)
            declared.write_converged(connection, group, converged, wholly=wholly)

        self._writer.do(write)
