"""The store's rows of settings: those that persons applied, and those that are tried beside the declared ones."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Column, Connection, Table, delete, select

from config.units import GroupId
from handler.ports.canaries import Canary
from handler.ports.settings import AppliedSettings
from handler.store import rows
from handler.store.columns import METADATA, JsonColumn, group_column
from handler.store.schema import every
from handler.store.session import StoreSession
from handler.store.upserts import insert_or_update

applied_settings = Table(
    "applied_settings",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("applied", JsonColumn(AppliedSettings), nullable=False),
)

canaries = Table(
    "canaries",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("canary", JsonColumn(Canary), nullable=False),
)

_APPLIED = insert_or_update(applied_settings)
_CANARY = insert_or_update(canaries)


class SettingRows(StoreSession):
    """What was applied last to each group, and its canary."""

    def applied_settings(self, group: GroupId) -> AppliedSettings | None:
        """Return what was applied last; ``None``: nothing was."""
        found = select(applied_settings.c.applied).where(applied_settings.c.group == group)
        with self._snapshot() as connection:
            return connection.execute(found).scalar()

    def save_applied_settings(self, group: GroupId, applied: AppliedSettings) -> None:
        """Insert or replace what was applied last."""

        def write(connection: Connection) -> None:
            rows.require(connection, group)
            _APPLIED.write(connection, {"group": group, "applied": applied})

        self._writer.do(write)

    def canaries(self) -> Mapping[GroupId, Canary]:
        """Return every canary, sorted by group."""
        with self._snapshot() as connection:
            found = connection.execute(every(canaries).order_by(canaries.c.group))
            return {row.group: row.canary for row in found}

    def save_canary(self, group: GroupId, canary: Canary | None) -> None:
        """Insert, replace or delete a group's canary."""

        def write(connection: Connection) -> None:
            rows.require(connection, group)
            if canary is None:
                connection.execute(delete(canaries).where(canaries.c.group == group))
            else:
                _CANARY.write(connection, {"group": group, "canary": canary})

        self._writer.do(write)
