"""The part of the SQLite store that remembers webhooks, what was told through them, and what is to be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from config.model.observability import NotifyTarget
from config.units import AlertId, GroupId, HookId, Instant
from handler.ports.notices import Filed, Notice, Tried
from handler.ports.outside import Delivery, StoredHook
from handler.store import alerts, outbox
from handler.store.session import Session


class AlertRows(Session):
    """What comes in from outside, and what goes out."""

    def hooks(self) -> tuple[StoredHook, ...]:
        """Every webhook ever made, revoked ones too, sorted by name."""
        with self._snapshot() as connection:
            return alerts.read_hooks(connection)

    def save_hook(self, hook: StoredHook) -> None:
        """Write a webhook whole (insert or replace); its last use only ever moves forward."""
        self._writer.do(lambda connection: alerts.write_hook(connection, hook))

    def use_hooks(self, used: Mapping[HookId, Instant]) -> None:
        """Write down when webhooks were last used, in one transaction; those that are not there are left out."""
        self._writer.do(lambda connection: alerts.write_uses(connection, used))

    def deliver(self, deliveries: Sequence[Delivery]) -> tuple[Delivery, ...]:
        """Write down what was told, in one transaction; what was told before keeps its first decision."""
        return self._writer.do(lambda connection: alerts.write_deliveries(connection, deliveries))

    def delivered(self, group: GroupId, alert: AlertId, fingerprint: str) -> tuple[Delivery, ...]:
        """What was ever told of one alert, until retention; the latest start first, FIRING before RESOLVED."""
        with self._snapshot() as connection:
            return alerts.read_deliveries(connection, group, alert, fingerprint)

    # Notices

    def file_notices(self, filed: Sequence[Filed]) -> None:
        """Write down what is to be told, due at once, in one transaction: from then on it counts as told."""
        self._writer.do(lambda connection: outbox.write_notices(connection, filed))

    def last_notices(self) -> tuple[Notice, ...]:
        """What was written down last of each group that is there, sorted by group; retention keeps it."""
        with self._snapshot() as connection:
            return outbox.read_last(connection)

    def due_notices(self, now: Instant, limit: int, *, besides: Sequence[NotifyTarget] = ()) -> tuple[Filed, ...]:
        """The oldest that are due, in the order in which they were written; none for the targets in ``besides``."""
        with self._snapshot() as connection:
            return outbox.read_due(connection, now, limit, besides)

    def notice_tried(self, id: str, tried: Tried) -> None:
        """Write down an attempt, and in the same transaction, if there will be no other, a line of history."""
        self._writer.do(lambda connection: outbox.write_tried(connection, id, tried))
