"""Checkpoints of workers: in the store, so that another machine goes on with windows and holds.

A slot has one row for its head and one for each ring and tick, in turn as in the files (`checkpoints`). All of a tick
are in one transaction, so a worker that has lost the lease leaves nothing of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from config.units import GroupId
from handler.store.checkpoint_codec import SavedSlot, head_bytes, head_in, record_of, slot_key, slot_of
from handler.store.session import StoreSession
from handler.store.upserts import insert_or_update
from handler.store.worker_schema import checkpoints

_HEAD = 0
"""Instead of a ring's length, which is at least 1."""
_WRITE = insert_or_update(checkpoints)
_COLUMNS = (checkpoints.c.slot, checkpoints.c.ring, checkpoints.c.place, checkpoints.c.body)


class CheckpointRows(StoreSession):
    """The rows of checkpoints."""

    def save_checkpoint(self, slot: SavedSlot) -> None:
        """Write a slot after a tick; rows of earlier ticks that it lacks must have been written before."""
        key = slot_key(slot.windows.groups)
        written: list[dict[str, object]] = [
            {"slot": key, "ring": ring.length, "place": tick % (ring.length + 1), "body": record_of(tick, row)}
            for ring, rows in zip(slot.windows.rings, slot.rows, strict=True)
            for tick, row in rows.items()
        ]
        written.append({"slot": key, "ring": _HEAD, "place": 0, "body": head_bytes(slot)})
        self._writer.do(lambda connection: _WRITE.write(connection, written))

    def checkpoints(self) -> tuple[SavedSlot, ...]:
        """Return every slot that is complete; what another release wrote is left out."""
        slots: dict[str, dict[int, list[bytes]]] = {}
        with self._snapshot() as connection:
            for slot, ring, _, body in connection.execute(select(*_COLUMNS).order_by(*_COLUMNS[:3])):
                slots.setdefault(slot, {}).setdefault(ring, []).append(body)
        return tuple(slot for rings in slots.values() for slot in _read(rings))

    def keep_checkpoints(self, slots: Sequence[Sequence[GroupId]]) -> None:
        """Delete those of other slots than these."""
        kept = [slot_key(groups) for groups in slots]

        def write(connection: Connection) -> None:
            connection.execute(delete(checkpoints).where(checkpoints.c.slot.not_in(kept)))

        self._writer.do(write)


@dataclass(frozen=True, slots=True)
class StoredCheckpoints:
    """The checkpoints of one store; as `handler.store.checkpoints.CheckpointFolder`, but `StoreError` is raised."""

    store: CheckpointRows

    def write(self, slot: SavedSlot) -> None:
        """Save a slot after a tick."""
        self.store.save_checkpoint(slot)

    def read(self) -> Sequence[SavedSlot]:
        """Read every slot that is complete."""
        return self.store.checkpoints()

    def keep_only(self, slots: Sequence[Sequence[GroupId]]) -> None:
        """Delete the checkpoints of slots other than these."""
        self.store.keep_checkpoints(slots)


def _read(rings: dict[int, list[bytes]]) -> Sequence[SavedSlot]:
    with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):  # of another release
        head = head_in(rings[_HEAD][0])
        if head is not None:
            return (slot_of(head, lambda length, _: rings.get(length, ())),)
    return ()
