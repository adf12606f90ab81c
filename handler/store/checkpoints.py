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

import base64
import contextlib
import hashlib
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aggregator.checkpoint import CohortCheckpoint, RingCheckpoint
from aggregator.rates import Baseline
from aggregator.stretches import SavedRows, TickRows
from collector.samples import Floats, Series
from config.units import CounterId, GroupId, MemberName, Monotonic, PolicyId
from trigger.conditions.timers import Kept
from trigger.verdicts import Hold, PolicyStreak

_FORMAT = 1
_RECORD = struct.Struct("<Iiq")
"""Checksum, nothing, number of the tick; then the columns of `TickRows` as float64."""
_COLUMNS = len(TickRows._fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedHolds:
    """What the policies of one group hold."""

    revision: int
    """Of the group's desired size: a decision that came after the checkpoint restarted every hold."""
    kept: Mapping[PolicyId, tuple[str, Kept]]
    """Policy → a digest of the rules by which it judges, and its progress."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SavedSlot:
    """What is saved of one slot."""

    boot: str
    """Id of the boot whose steady clock it counts by."""
    windows: CohortCheckpoint
    rows: tuple[SavedRows, ...]
    """Ring by ring; of a checkpoint in the making only the rows of the newest ticks."""
    holds: Mapping[GroupId, SavedHolds]


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
        key = _key(slot.windows.groups)
        for ring, rows in zip(slot.windows.rings, slot.rows, strict=True):
            with _opened(self._place / f"{key}-{ring.length}.rows") as file:
                for tick, row in rows.items():
                    record = _record(tick, row)
                    os.pwrite(file, record, tick % (ring.length + 1) * len(record))
        payload = json.dumps(_head(slot), separators=(",", ":")).encode()
        with _opened(self._place / f"{key}.{slot.windows.tick % 2}") as file:
            os.pwrite(file, _RECORD.pack(zlib.crc32(payload), 0, len(payload)) + payload, 0)

    def read(self) -> Sequence[SavedSlot]:
        """Read every slot that is complete; what is damaged is left out."""
        slots = []
        for key in sorted({path.stem for path in self._place.glob("*.[01]")}):
            heads = [head for turn in "01" if (head := _head_in(self._place / f"{key}.{turn}")) is not None]
            if heads:
                newest = max(heads, key=lambda head: int(head["tick"]))
                with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):  # of another release
                    slots.append(self._slot(key, newest))
        return slots

    def keep_only(self, slots: Sequence[Sequence[GroupId]]) -> None:
        """Delete the files of slots other than these.

        Raises:
            OSError: the disk refuses.
        """
        kept = {_key(groups) for groups in slots}
        for path in [*self._place.glob("*.[01]"), *self._place.glob("*.rows")]:
            if path.name[:_KEY] not in kept:
                path.unlink(missing_ok=True)

    def _slot(self, key: str, head: Mapping[str, Any]) -> SavedSlot:
        windows = _windows(head)
        rows = tuple(_rows_in(self._place / f"{key}-{ring.length}.rows", ring, windows.tick) for ring in windows.rings)
        if any(windows.tick not in each for each in rows):
            raise ValueError("the rows of the newest tick are missing")
        return SavedSlot(boot=str(head["boot"]), windows=windows, rows=rows, holds=_holds(head["holds"]))


_KEY = 24


def _key(groups: Sequence[GroupId]) -> str:
    return hashlib.blake2b("\n".join(groups).encode(), digest_size=_KEY // 2).hexdigest()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _record(tick: int, row: TickRows) -> bytes:
    columns = np.stack([np.asarray(column, dtype=np.float64) for column in row]).tobytes()
    return _RECORD.pack(zlib.crc32(columns, tick & 0xFFFFFFFF), 0, tick) + columns


def _rows_in(path: Path, ring: RingCheckpoint, newest: int) -> SavedRows:
    size = _RECORD.size + _COLUMNS * 8 * len(ring.tracks)
    data = path.read_bytes() if path.exists() else b""
    found = {}
    for start in range(0, len(data) - size + 1, size):
        checksum, _, tick = _RECORD.unpack_from(data, start)
        columns = data[start + _RECORD.size : start + size]
        if newest - ring.length < tick <= newest and checksum == zlib.crc32(columns, tick & 0xFFFFFFFF):
            low, value, high, valid, share, latest = np.frombuffer(columns).reshape(_COLUMNS, -1)
            found[tick] = TickRows(low, value, high, valid > 0, share, latest)
    return found


def _head_in(path: Path) -> Mapping[str, Any] | None:
    data = path.read_bytes() if path.exists() else b""
    if len(data) < _RECORD.size:
        return None
    checksum, _, length = _RECORD.unpack_from(data)
    payload = data[_RECORD.size : _RECORD.size + length]
    if not payload or checksum != zlib.crc32(payload):
        return None
    head: Mapping[str, Any] = json.loads(payload)
    return head if head.get("format") == _FORMAT else None


def _head(slot: SavedSlot) -> Mapping[str, Any]:
    windows, baseline = slot.windows, slot.windows.baseline
    return {
        "format": _FORMAT,
        "boot": slot.boot,
        "interval": windows.interval,
        "groups": windows.groups,
        "origin": windows.origin,
        "tick": windows.tick,
        "rings": [
            {
                "length": ring.length,
                "tracks": ring.tracks,
                "since": ring.since.tolist(),
                "expected": ring.expected.tolist(),
            }
            for ring in windows.rings
        ],
        "series": baseline.series,
        "declared": windows.declared,
        "last": [_text(column) for column in (baseline.value, baseline.at, baseline.uptime)],
        "holds": {
            group: [held.revision, {policy: [rules, *_kept(kept)] for policy, (rules, kept) in held.kept.items()}]
            for group, held in slot.holds.items()
        },
    }


def _windows(head: Mapping[str, Any]) -> CohortCheckpoint:
    series = tuple(
        Series(GroupId(group), CounterId(counter), None if member is None else MemberName(member))
        for group, counter, member in head["series"]
    )
    value, at, uptime = map(_numbers, head["last"])
    return CohortCheckpoint(
        interval=float(head["interval"]),
        groups=tuple(map(GroupId, head["groups"])),
        origin=float(head["origin"]),
        tick=int(head["tick"]),
        rings=tuple(
            RingCheckpoint(
                length=int(ring["length"]),
                tracks=tuple(ring["tracks"]),
                since=np.array(ring["since"], dtype=np.intp),
                expected=np.array(ring["expected"], dtype=np.float64),
            )
            for ring in head["rings"]
        ),
        baseline=Baseline(columns=None, series=series, value=value, at=at, uptime=uptime),
        declared=tuple(head["declared"]),
    )


def _kept(kept: Kept) -> tuple[str, float, float]:
    if isinstance(kept, Hold):
        return "hold", kept.true_since, kept.last_true
    return "streak", kept.true, kept.judged_at


def _holds(saved: Mapping[str, Any]) -> Mapping[GroupId, SavedHolds]:
    found = {}
    for group, (revision, policies) in saved.items():
        kept: dict[PolicyId, tuple[str, Kept]] = {}
        for policy, (rules, kind, first, second) in policies.items():
            if kind == "hold":
                kept[PolicyId(policy)] = rules, Hold(true_since=Monotonic(first), last_true=Monotonic(second))
            else:
                kept[PolicyId(policy)] = rules, PolicyStreak(true=int(first), judged_at=Monotonic(second))
        found[GroupId(group)] = SavedHolds(revision=int(revision), kept=kept)
    return found


def _text(column: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(column, dtype=np.float64).tobytes()).decode()


def _numbers(text: str) -> Floats:
    numbers: Floats = np.frombuffer(base64.b64decode(text), dtype=np.float64)
    return numbers
