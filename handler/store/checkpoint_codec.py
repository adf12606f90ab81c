"""Windows and holds of a slot ↔ bytes: one head, and one record for each ring and tick."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
KEY = 24
"""Characters of a slot's key."""


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


def slot_key(groups: Sequence[GroupId]) -> str:
    """Return the name of a slot, by its groups."""
    return hashlib.blake2b("\n".join(groups).encode(), digest_size=KEY // 2).hexdigest()


def record_of(tick: int, row: TickRows) -> bytes:
    """Return the record of a ring's row at a tick; all records of one ring are of one length."""
    columns = np.stack([np.asarray(column, dtype=np.float64) for column in row]).tobytes()
    return _RECORD.pack(zlib.crc32(columns, tick & 0xFFFFFFFF), 0, tick) + columns


def records_in(data: bytes, size: int) -> Iterator[bytes]:
    """Yield the records of a file that has one after the other."""
    return (data[start : start + size] for start in range(0, len(data) - size + 1, size))


def _rows_in(records: Iterable[bytes], ring: RingCheckpoint, newest: int) -> SavedRows:
    """Return the rows of a ring; a record of another length is of other tracks, from before a reload."""
    found = {}
    for record in records:
        if len(record) != _size_of(ring):
            continue
        checksum, _, tick = _RECORD.unpack_from(record)
        columns = record[_RECORD.size :]
        if newest - ring.length < tick <= newest and checksum == zlib.crc32(columns, tick & 0xFFFFFFFF):
            low, value, high, valid, share, latest = np.frombuffer(columns).reshape(_COLUMNS, -1)
            found[tick] = TickRows(low, value, high, valid > 0, share, latest)
    return found


def _size_of(ring: RingCheckpoint) -> int:
    return _RECORD.size + _COLUMNS * 8 * len(ring.tracks)


def head_in(data: bytes) -> Mapping[str, Any] | None:
    """Read a head; ``None``: it is damaged, or of another format."""
    if len(data) < _RECORD.size:
        return None
    checksum, _, length = _RECORD.unpack_from(data)
    payload = data[_RECORD.size : _RECORD.size + length]
    if not payload or checksum != zlib.crc32(payload):
        return None
    head: Mapping[str, Any] = json.loads(payload)
    return head if head.get("format") == _FORMAT else None


def head_bytes(slot: SavedSlot) -> bytes:
    """Return what a checkpoint holds besides the rows of its rings."""
    payload = json.dumps(_head(slot), separators=(",", ":")).encode()
    return _RECORD.pack(zlib.crc32(payload), 0, len(payload)) + payload


def slot_of(head: Mapping[str, Any], records: Callable[[int, int], Iterable[bytes]]) -> SavedSlot:
    """Put a checkpoint together from its head and the records of each ring.

    Args:
        head: as `head_in` returns it.
        records: returns those of a ring of this length; such a record has so many bytes.

    Raises:
        ValueError, KeyError, TypeError, IndexError: it is of another release, or not complete.
    """
    windows = _windows(head)
    rows = tuple(_rows_in(records(ring.length, _size_of(ring)), ring, windows.tick) for ring in windows.rings)
    if any(windows.tick not in each for each in rows):
        raise ValueError("the rows of the newest tick are missing")
    return SavedSlot(boot=str(head["boot"]), windows=windows, rows=rows, holds=_holds(head["holds"]))


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
