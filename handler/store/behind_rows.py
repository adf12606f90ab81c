"""The part of the SQLite store that remembers behind which balancers groups are, and which were made for them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from config.units import BalancerId, GroupId
from handler.planning.attachments import Attachment
from handler.planning.desired import Definition
from handler.planning.provisioning import Binding
from handler.planning.world import Record
from handler.ports.stored import Event
from handler.store import rows
from handler.store.schema import bindings
from handler.store.session import Session, write_note
from handler.store.upserts import insert_or_update

_BIND = insert_or_update(bindings)


class BehindRows(Session):
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

    def bindings(self, group: GroupId) -> tuple[Binding, ...]:
        """What was made for a group, sorted by balancer."""
        found = select(bindings.c.binding).where(bindings.c.group == group).order_by(bindings.c.balancer)
        with self._snapshot() as connection:
            return tuple(connection.execute(found).scalars())

    def bind(self, group: GroupId, binding: Binding) -> None:
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
