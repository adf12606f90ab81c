"""Files from which windows and holds go on after a restart: a folder of the state directory.

# Note [Files of checkpoints]

Each slot of groups has two small files, written in turn (``KEY.0`` and ``KEY.1``), and one file for each ring. In the
file of a ring, the row of a tick stands at the tick's number modulo one more than the ring's length: the row that is
being written is never one that the newest complete checkpoint needs. Everything carries a checksum, so that a daemon
that is killed while it writes loses the tick in hand and nothing else. Nothing is synced to the disk: the page cache
outlives the daemon, and after a reboot the steady clock begins anew, so that no checkpoint counts. Files are damaged or
missing: the windows start empty, as without them. Source: DESIGN.md "Time".
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from config.units import GroupId
from handler.store.checkpoint_codec import (
    KEY,
    SavedSlot,
    head_bytes,
    head_in,
    record_of,
    records_in,
    slot_key,
    slot_of,
)


class CheckpointFolder:
    """One folder of checkpoints. Files are written by one thread at a time."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def write(self, slot: SavedSlot) -> None:
        """Save a slot after a tick; rows of earlier ticks that it lacks must have been written before.

        Raises:
            OSError: the disk refuses.
        """
        self._place.mkdir(mode=0o700, exist_ok=True)
        key = slot_key(slot.windows.groups)
        for ring, rows in zip(slot.windows.rings, slot.rows, strict=True):
            with _opened(self._place / f"{key}-{ring.length}.rows") as file:
                for tick, row in rows.items():
                    record = record_of(tick, row)
                    os.pwrite(file, record, tick % (ring.length + 1) * len(record))
        with _opened(self._place / f"{key}.{slot.windows.tick % 2}") as file:
            os.pwrite(file, head_bytes(slot), 0)

    def read(self) -> Sequence[SavedSlot]:
        """Read every slot that is complete; what is damaged is left out."""
        keys = sorted({path.stem for path in self._place.glob("*.[01]")})
        return [slot for key in keys for slot in self._slot(key)]

    def keep_only(self, slots: Sequence[Sequence[GroupId]]) -> None:
        """Delete the files of slots other than these.

        Raises:
            OSError: the disk refuses.
        """
        kept = {slot_key(groups) for groups in slots}
        for path in [*self._place.glob("*.[01]"), *self._place.glob("*.rows")]:
            if path.name[:KEY] not in kept:
                path.unlink(missing_ok=True)

    def _slot(self, key: str) -> Sequence[SavedSlot]:
        heads = [head for turn in "01" if (head := head_in(self._bytes(f"{key}.{turn}"))) is not None]
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):  # none, or of another release
            newest = max(heads, key=lambda head: int(head["tick"]))
            return (slot_of(newest, lambda length, size: records_in(self._bytes(f"{key}-{length}.rows"), size)),)
        return ()

    def _bytes(self, name: str) -> bytes:
        path = self._place / name
        return path.read_bytes() if path.exists() else b""


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)
