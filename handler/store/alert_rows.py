"""The store's rows of webhooks, of their deliveries, and of notices to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from sqlalchemy import Connection, bindparam, select, update

from config.model.observability import NotifyTarget
from config.units import AlertId, GroupId, HookId, Instant
from handler.ports.alerts import Delivery, StoredHook
from handler.ports.notices import Filed, Notice, Tried
from handler.store import outbox
from handler.store.access_schema import hooks
from handler.store.rows import named
from handler.store.schema import deliveries, every
from handler.store.session import StoreSession
from handler.store.upserts import greater, insert_or_update

_HOOK = tuple(field.name for field in fields(StoredHook))
_DELIVERY = tuple(field.name for field in fields(Delivery))
_DELIVERY_COLUMNS = tuple(deliveries.c[name].label(name) for name in _DELIVERY)
_WRITE_HOOK = insert_or_update(hooks, rising=("last_used_at",))
_USED = (
    update(hooks)
    .where(hooks.c.id == bindparam("row"))
    .values(last_used_at=greater(hooks.c.last_used_at, bindparam("used_at", type_=hooks.c.last_used_at.type)))
)
_WRITE_DELIVERIES = insert_or_update(deliveries, only=("last_at",), rising=("last_at",))


def read_hooks(connection: Connection) -> tuple[StoredHook, ...]:
    """Read every webhook, sorted by name."""
    rows = connection.execute(every(hooks).order_by(hooks.c.name)).mappings()
    return tuple(StoredHook(**named(row)) for row in rows)


def write_hook(connection: Connection, hook: StoredHook) -> None:
    """Insert or replace a webhook; its last use only ever moves forward."""
    _WRITE_HOOK.write(connection, {name: getattr(hook, name) for name in _HOOK})


def write_uses(connection: Connection, used: Mapping[HookId, Instant]) -> None:
    """Move the last uses of webhooks forward."""
    if not used:
        return
    connection.execute(_USED, [{"row": hook, "used_at": at} for hook, at in used.items()])


def write_deliveries(connection: Connection, delivered: Sequence[Delivery]) -> None:
    """Insert new deliveries.

    Repeated deliveries are noted for retention, so that an alert that goes on firing is not forgotten.
    """
    rows = [{name: getattr(each, name) for name in _DELIVERY} | {"last_at": each.at} for each in delivered]
    if rows:
        _WRITE_DELIVERIES.write(connection, rows)


def read_deliveries(connection: Connection, group: GroupId, alert: AlertId, fingerprint: str) -> tuple[Delivery, ...]:
    """Read the deliveries of one alert, the latest start first, FIRING before RESOLVED."""
    wanted = select(*_DELIVERY_COLUMNS).where(
        deliveries.c.group == group, deliveries.c.alert == alert, deliveries.c.fingerprint == fingerprint
    )
    rows = connection.execute(wanted.order_by(deliveries.c.starts_at.desc(), deliveries.c.status)).mappings()
    return tuple(Delivery(**named(row)) for row in rows)


class AlertRows(StoreSession):
    """Webhooks and their deliveries, and notices to send."""

    def hooks(self) -> tuple[StoredHook, ...]:
        """Return every webhook ever made, revoked ones too, sorted by name."""
        with self._snapshot() as connection:
            return read_hooks(connection)

    def save_hook(self, hook: StoredHook) -> None:
        """Insert or replace a webhook; its last use only moves forward."""
        self._writer.do(lambda connection: write_hook(connection, hook))

    def use_hooks(self, used: Mapping[HookId, Instant]) -> None:
        """Write the last uses of webhooks, in one transaction; unknown webhooks are left out."""
        self._writer.do(lambda connection: write_uses(connection, used))

    def deliver(self, deliveries: Sequence[Delivery]) -> None:
        """Write deliveries, in one transaction; a repeated delivery keeps its first decision."""
        self._writer.do(lambda connection: write_deliveries(connection, deliveries))

    def delivered(self, group: GroupId, alert: AlertId, fingerprint: str) -> tuple[Delivery, ...]:
        """Return the deliveries of one alert, until retention; the latest start first, FIRING before RESOLVED."""
        with self._snapshot() as connection:
            return read_deliveries(connection, group, alert, fingerprint)

    # Notices

    def file_notices(self, filed: Sequence[Filed]) -> None:
        """Write notices, due at once, in one transaction: from then on they count as sent."""
        self._writer.do(lambda connection: outbox.write_notices(connection, filed))

    def last_notices(self) -> tuple[Notice, ...]:
        """Return the last notice of each existing group, sorted by group; retention keeps it."""
        with self._snapshot() as connection:
            return outbox.read_last(connection)

    def last_decision_notices(self) -> Mapping[GroupId, Instant]:
        """Return when each existing group made the decision of its last notice of one."""
        with self._snapshot() as connection:
            return outbox.read_last_decided(connection)

    def waiting_targets(self) -> Sequence[tuple[GroupId, NotifyTarget]]:
        """Return where notices that wait to be sent would go: each target of each group once."""
        with self._snapshot() as connection:
            return outbox.read_waiting_targets(connection)

    def redirect_notices(self, targets: Mapping[GroupId, NotifyTarget]) -> None:
        """Have the notices of these groups that wait go to other targets, in one transaction."""
        self._writer.do(lambda connection: outbox.write_targets(connection, targets))

    def end_decision_notices(self, groups: Sequence[GroupId]) -> None:
        """Let go of the last decisions of groups that send them no longer; those that wait are still sent."""
        self._writer.do(lambda connection: outbox.end_decisions(connection, groups))

    def due_notices(self, now: Instant, limit: int, *, besides: Sequence[NotifyTarget] = ()) -> tuple[Filed, ...]:
        """Return the oldest due notices, in the order of writing; none for the targets in ``besides``."""
        with self._snapshot() as connection:
            return outbox.read_due(connection, now, limit, besides)

    def notice_tried(self, id: str, tried: Tried) -> None:
        """Write an attempt, and in the same transaction, if it is the last, a line of history."""
        self._writer.do(lambda connection: outbox.write_tried(connection, id, tried))
