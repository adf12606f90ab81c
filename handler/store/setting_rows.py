"""The store's rows of settings that persons applied."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Table, select

from config.units import GroupId
from handler.ports.settings import AppliedSettings
from handler.store import rows
from handler.store.columns import METADATA, JsonColumn, group_column
from handler.store.session import StoreSession
from handler.store.upserts import insert_or_update

applied_settings = Table(
    "applied_settings",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("applied", JsonColumn(AppliedSettings), nullable=False),
)

_APPLIED = insert_or_update(applied_settings)


class SettingRows(StoreSession):
    """What was applied last to each group."""

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
