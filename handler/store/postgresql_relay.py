"""Requests that standbys put down for the holder, in PostgreSQL: each is taken up once, under the epoch of its holder.

Every call is one short transaction in a session of its own, beside the store's writer: what a request changes goes
through that, and is fenced there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlalchemy import delete, func, insert, literal, select, update

from config.units import Seconds
from handler.leasing.relaying import (
    A_REQUEST,
    ANY_EPOCH,
    AT_ONCE,
    KEPT_AT_MOST,
    KEPT_BYTES,
    STALE_AFTER,
    PutDown,
    RelayProgress,
)
from handler.ports.alerts import StoredHook
from handler.store.alert_rows import read_hooks
from handler.store.postgresql_short import CLOCK, ShortTransactions
from handler.store.postgresql_wakes import notification
from handler.store.worker_schema import lease, relayed

_OF_RELAY = "trimtab relay"
_KEPT: Seconds = 3600.0
"""How long a row is kept whose worker has died before it read the answer, or that no holder has taken up."""
_IS_KEPT = relayed.c.epoch == ANY_EPOCH
_IS_FRESH = relayed.c.at >= CLOCK - _KEPT
_KEPT_COLUMNS = ["id", "worker", "epoch", "request", "at"]


class PostgresqlRelay:
    """The requests in one database. Calls block, and may come from any thread."""

    def __init__(self, url: str, password: Callable[[], str | None], now: Callable[[], Seconds]) -> None:
        """Prepare; nothing is connected before the first use. ``now`` is a clock that is never set."""
        self._short = ShortTransactions(url, password, now, _OF_RELAY, idles=True)

    def epoch(self) -> int:
        """Read the epoch of the lease. Raises `StoreError`."""
        with self._short.begun() as connection:
            return int(connection.execute(select(lease.c.epoch)).scalar_one())

    def hooks(self) -> tuple[StoredHook, ...]:
        """Read every webhook, as the holder wrote them. Raises `StoreError`."""
        with self._short.begun() as connection:
            return read_hooks(connection)

    def put_down(self, request: PutDown) -> None:
        """Write a request for the holder, durably, and wake the holder. Raises `StoreError`."""
        row = {"id": request.id, "worker": request.worker, "epoch": request.epoch, "request": request.request}
        with self._short.begun() as connection:
            connection.execute(delete(relayed).where(~_IS_FRESH))
            connection.execute(insert(relayed).values(**row, at=CLOCK))
            connection.execute(notification(A_REQUEST))

    def keep(self, request: PutDown) -> bool:
        """Write a request of `ANY_EPOCH`, durably, and wake a holder; whether there was room. Raises `StoreError`."""
        held = (
            select(func.count(), func.coalesce(func.sum(func.length(relayed.c.request)), 0)).where(_IS_KEPT).subquery()
        )
        count, size = held.c
        row = (literal(request.id), literal(request.worker), literal(request.epoch), literal(request.request), CLOCK)
        room = select(*row).where(count < KEPT_AT_MOST, size + len(request.request) <= KEPT_BYTES)
        with self._short.begun() as connection:
            written = connection.execute(insert(relayed).from_select(_KEPT_COLUMNS, room).returning(relayed.c.id)).all()
            connection.execute(notification(A_REQUEST))
        return bool(written)

    def take_up(self, epoch: int, *, kept: bool = True) -> tuple[PutDown, ...]:
        """Take up the oldest requests of this epoch that wait, if it is the lease's; each is taken up once.

        Args:
            epoch: of the holder.
            kept: also requests of `ANY_EPOCH`.

        Raises:
            StoreError: none was taken up, or that is not known.
        """
        holds = select(lease.c.epoch).where(lease.c.epoch == epoch, lease.c.process != "").exists()
        mine = (relayed.c.epoch == epoch) & (relayed.c.at > CLOCK - STALE_AFTER)
        waiting = (
            select(relayed.c.id)
            .where(relayed.c.taken_up.is_(None), mine | (_IS_KEPT & _IS_FRESH) if kept else mine, holds)
            .order_by(relayed.c.at)
            .limit(AT_ONCE)
            .with_for_update(skip_locked=True)
        )
        taken = (
            update(relayed)
            .where(relayed.c.id.in_(waiting.scalar_subquery()))
            .values(taken_up=epoch)
            .returning(relayed.c.id, relayed.c.worker, relayed.c.epoch, relayed.c.request)
        )
        with self._short.begun() as connection:
            rows = connection.execute(taken).all()
        return tuple(PutDown(id=row.id, worker=row.worker, epoch=row.epoch, request=row.request) for row in rows)

    def put_back(self, epoch: int, *, but: Collection[str]) -> None:
        """Have requests of `ANY_EPOCH` that a holder has taken up taken up again; those of ``but`` stay taken up.

        Raises `StoreError`.
        """
        mine = _IS_KEPT & (relayed.c.taken_up == epoch) & relayed.c.id.not_in(but)
        with self._short.begun() as connection:
            connection.execute(update(relayed).where(mine).values(taken_up=None))

    def answer(self, id: str, answer: str) -> None:
        """Write what became of a request, and wake the worker that waits for it. Raises `StoreError`."""
        with self._short.begun() as connection:
            connection.execute(update(relayed).where(relayed.c.id == id).values(answer=answer))
            connection.execute(notification(id))

    def progress(self, id: str) -> RelayProgress:
        """Read how far a request has come. Raises `StoreError`."""
        of_lease = select(lease.c.epoch).scalar_subquery()
        wanted = select(relayed.c.taken_up, relayed.c.answer, of_lease).where(relayed.c.id == id)
        with self._short.begun() as connection:
            taken_up, answer, epoch = connection.execute(wanted).one()
        return RelayProgress(taken_up=taken_up, answer=answer, epoch=epoch)

    def withdraw(self, id: str) -> bool:
        """Delete a request that no holder has taken up; whether none had. Raises `StoreError`."""
        with self._short.begun() as connection:
            mine = (relayed.c.id == id) & relayed.c.taken_up.is_(None)
            return connection.execute(delete(relayed).where(mine)).rowcount == 1

    def forget(self, id: str) -> None:
        """Delete a request that nothing waits for any more. Raises `StoreError`."""
        with self._short.begun() as connection:
            connection.execute(delete(relayed).where(relayed.c.id == id))

    def close(self) -> None:
        """Close the session."""
        self._short.close()
