"""The parts of the SQLite store that remember what was declared for groups: edits, rollbacks, rolls, and balancers."""

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
    """Attachments by a person's word, and what was made for groups."""

    def attach(
        self, act: Event, definition: Definition, attachments: Sequence[Attachment], records: Sequence[Record]
    ) -> None:
        """Write behind what a group's members are and will be, and why, in one transaction."""

        def write(connection: Connection) -> None:
            rows.write_attachments(connection, definition, attachments)
            rows.write_members(connection, records, definition.cloud.id)
            write_note(connection, act, None)

        self._writer.do(write)

    def bindings(self, group: GroupId) -> tuple[BalancerProvision, ...]:
        """What was made for a group, sorted by balancer."""
        found = select(bindings.c.binding).where(bindings.c.group == group).order_by(bindings.c.balancer)
        with self._snapshot() as connection:
            return tuple(connection.execute(found).scalars())

    def bind(self, group: GroupId, binding: BalancerProvision) -> None:
        """Write down what was made for a group, or is about to be; insert or replace."""

        def written(connection: Connection) -> None:
            rows.require(connection, group)
            _BIND.write(connection, {"group": group, "balancer": binding.balancer, "binding": binding})

        self._writer.do(written)

    def unbind(self, group: GroupId, balancer: BalancerId) -> None:
        """Forget what was made for a group, once it is gone."""
        gone = (bindings.c.group == group) & (bindings.c.balancer == balancer)

        def forget(connection: Connection) -> None:
            connection.execute(delete(bindings).where(gone))

        self._writer.do(forget)


class EditRows(StoreSession):
    """The file as it was taken last, and what was edited for each group."""

    def statement(self) -> Statement | None:
        """What the file said that was taken last."""
        with self._snapshot() as connection:
            return read_statement(connection)

    def edits(self, group: GroupId, limit: int) -> tuple[GroupEdit, ...]:
        """The newest edits of the file that touched a group, newest first."""
        with self._snapshot() as connection:
            return read_edits(connection, group, limit)


class RollingRows(StoreSession):
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
