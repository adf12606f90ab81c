"""Rows ↔ the dataclasses of the port: webhooks and deliveries. Functions run inside their caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from sqlalchemy import Connection, bindparam, select, update

from config.units import AlertId, GroupId, HookId, Instant
from handler.ports.outside import Delivery, StoredHook
from handler.store.rows import named
from handler.store.schema import deliveries, every, hooks
from handler.store.upserts import greater, insert_or_update

_HOOK = tuple(field.name for field in fields(StoredHook))
_DELIVERY = tuple(field.name for field in fields(Delivery))
_TOLD = tuple(deliveries.c[name].label(name) for name in _DELIVERY)
_WRITE_HOOK = insert_or_update(hooks, rising=("last_used_at",))
_USED = (
    update(hooks)
    .where(hooks.c.id == bindparam("row"))
    .values(last_used_at=greater(hooks.c.last_used_at, bindparam("used_at", type_=hooks.c.last_used_at.type)))
)
_WRITE_DELIVERIES = insert_or_update(deliveries, only=("last_at",), rising=("last_at",), returning=_TOLD)


def read_hooks(connection: Connection) -> tuple[StoredHook, ...]:
    """Every webhook, sorted by name."""
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


def write_deliveries(connection: Connection, told: Sequence[Delivery]) -> tuple[Delivery, ...]:
    """Insert those that are new, and say of each how it was first told.

    That it was told again is kept for retention: an alert that goes on firing is not forgotten.
    """
    if not told:
        return ()
    new: dict[object, Delivery] = {}
    for delivery in told:
        new.setdefault(_same(delivery), delivery)
    rows = [{name: getattr(each, name) for name in _DELIVERY} | {"last_at": each.at} for each in new.values()]
    written = _WRITE_DELIVERIES.write(connection, rows).mappings()
    first = {_same(delivery): delivery for delivery in (Delivery(**named(row)) for row in written)}
    return tuple(first[_same(delivery)] for delivery in told)


def read_deliveries(connection: Connection, group: GroupId, alert: AlertId, fingerprint: str) -> tuple[Delivery, ...]:
    """What was told of one alert, the latest start first, FIRING before RESOLVED."""
    wanted = select(*_TOLD).where(
        deliveries.c.group == group, deliveries.c.alert == alert, deliveries.c.fingerprint == fingerprint
    )
    rows = connection.execute(wanted.order_by(deliveries.c.starts_at.desc(), deliveries.c.status)).mappings()
    return tuple(Delivery(**named(row)) for row in rows)


def _same(delivery: Delivery) -> tuple[object, ...]:
    """What makes two deliveries one and the same."""
    return delivery.group, delivery.alert, delivery.fingerprint, delivery.starts_at, delivery.status
