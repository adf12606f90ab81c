"""Files beside the store from which forecasts go on: weeks of load, and what was learned from it.

# Note [Files of forecasts]

Each forecast of a group has two files. ``GROUP+POLICY.loads`` is a ring of days: after a head, which has the newest
step, each day has its number and 2,880 loads as float32; NaN: no data, or none yet. A day is reset, and the disk waited
for, before its first load is written, and its number comes last: so neither a load of an older day nor what a full disk
took in part is ever taken for a load of today.
``GROUP+POLICY.learned`` is everything that was learned up to one step, with a checksum. It is written once an hour
under another name and then put in place. After a start, the steps since then are learned again from the loads: the
state is the same to the last bit, since only numbers that are kept were ever learned (`trigger.policies.forecasting`).

Loads of before can be put in from elsewhere (`ForecastFolder.fill`): a step that was measured keeps its own load.

A file that is missing or damaged, or of another counter, begins anew. What was learned by other terms (boot, drain,
promise, what a member carries) is left out; the loads stay, and are learned again by the new ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from config.units import Seconds
from handler.store.file_writes import private, put_in_place, write_at
from trigger.forecast import lanes as columns
from trigger.forecast.carrying import no_profiles
from trigger.forecast.cohorts import ForecastCohort, Lane, Terms
from trigger.forecast.horizons import DAY, STEP
from trigger.forecast.memory import LoadMemory
from trigger.policies.forecasting import Loads, StepRow

_HEAD = struct.Struct("<8s16sq")
"""Form, digest of what is measured, number of the newest step."""
_FORM = b"loads 1\n"
_DAY_HEAD = struct.Struct("<q")
_DAY_BYTES = _DAY_HEAD.size + 4 * DAY
_LEARNED_FORM = 2
_BEFORE_PROFILES = 1
"""The form of releases that kept nothing of what members of earlier profiles carry: its numbers end before that."""
_LENGTH = struct.Struct("<II")
"""Checksum of all that follows, and length of the JSON that comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLane:
    """One forecast of a group, and what decides whether its files are of it."""

    lane: Lane
    terms: Terms
    each: float | None
    """What one member carries, in the unit of the counter; ``None``: that is learned."""
    measures: str
    """The counter, as it is declared: loads of another one do not count."""
    history: Seconds

    @property
    def days(self) -> int:
        """Days of the ring."""
        return math.ceil(self.history / (DAY * STEP))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """Loads of successive steps, the newest last."""

    first: int
    loads: Loads

    def since(self, number: int) -> Loads:
        """Return the loads from a step on."""
        return self.loads[max(number - self.first, 0) :]

    @property
    def end(self) -> int:
        """The number of the step after the newest."""
        return self.first + len(self.loads)


_NONE = History(first=0, loads=np.zeros(0, dtype=np.float32))


class ForecastFolder:
    """One folder of the state directory. The files of a lane are saved by one thread at a time."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._changing = threading.Lock()
        """A slot's thread adds loads while another one fills or forgets."""

    def append(self, rows: Iterable[StepRow], kept: Iterable[KeptLane]) -> None:
        """Add steps to the loads of their lanes.

        Raises:
            OSError: the disk refuses.
        """
        known = {each.lane: each for each in kept}
        self._place.mkdir(mode=0o700, exist_ok=True)
        series: dict[Lane, list[tuple[int, float]]] = {}
        for row in rows:
            for lane, load in zip(row.lanes, row.loads.tolist(), strict=True):
                if lane in known:
                    series.setdefault(lane, []).append((row.number, load))
        for lane, steps in series.items():
            with self._changing, _opened(self._loads(lane)) as file:
                _write_loads(file, known[lane], steps)

    def fill(self, kept: KeptLane, given: History, now: int) -> int:
        """Put loads into the steps of which a lane has none, and return how many steps that were.

        What was learned stays as it is.

        Args:
            kept: the lane.
            given: loads of steps that are over; those older than the lane's history are left out.
            now: the present step.

        Raises:
            OSError: the disk refuses; then nothing was put in.
        """
        path = self._loads(kept.lane)
        self._place.mkdir(mode=0o700, exist_ok=True)
        with self._changing:
            known = self.history(kept)
            joined, filled = _filled(known, given, (now // DAY - kept.days + 1) * DAY)
            if filled:
                put_in_place(path, _ring_of(joined, kept))
        return filled

    def forget(self, kept: KeptLane) -> None:
        """Remove what was learned of a lane; its loads stay.

        Raises:
            OSError: the disk refuses.
        """
        self._learned(kept.lane).unlink(missing_ok=True)

    def history(self, kept: KeptLane) -> History:
        """Return the loads of a lane; none: there are none of this counter.

        Raises:
            OSError: the disk refuses.
        """
        path = self._loads(kept.lane)
        data = path.read_bytes() if path.exists() else b""
        if len(data) < _HEAD.size or _HEAD.unpack_from(data)[:2] != (_FORM, _digest(kept.measures)):
            return _NONE
        newest = int(_HEAD.unpack_from(data)[2])
        return _history_in(data, newest, kept.days)

    def save(self, cohort: ForecastCohort, kept: Iterable[KeptLane]) -> None:
        """Save what was learned of the lanes of a cohort.

        Raises:
            OSError: the disk refuses.
        """
        self._place.mkdir(mode=0o700, exist_ok=True)
        for each in kept:
            if each.lane not in cohort.lanes:
                continue
            put_in_place(self._learned(each.lane), _learned(cohort.only([each.lane]), each))
            with _opened(self._loads(each.lane)) as loads:
                os.fsync(loads)

    def learned(self, kept: KeptLane) -> ForecastCohort | None:
        """Return what was learned of a lane; ``None``: nothing, or by other terms.

        Raises:
            OSError: the disk refuses.
        """
        try:
            return _cohort_of(self._read(kept), kept)
        except (ValueError, KeyError, TypeError, zlib.error):  # of another release
            return None

    def boot(self, kept: KeptLane) -> Seconds | None:
        """Return the boot time by which what is kept of a lane was learned; ``None``: nothing is kept.

        Raises:
            OSError: the disk refuses.
        """
        head = _head_of(self._read(kept))
        return None if head is None else STEP * head["terms"]["horizons"]["boot"]

    def _read(self, kept: KeptLane) -> bytes:
        """Return what was learned of a lane; empty: nothing, or it is damaged."""
        path = self._learned(kept.lane)
        data = path.read_bytes() if path.exists() else b""
        return b"" if len(data) < _LENGTH.size or _LENGTH.unpack_from(data)[0] != zlib.crc32(data[4:]) else data

    @property
    def bytes(self) -> int:
        """What all files take on the disk."""
        return sum(path.stat().st_size for path in self._place.glob("*.*"))

    def _loads(self, lane: Lane) -> Path:
        return self._place / f"{_name(lane)}.loads"

    def _learned(self, lane: Lane) -> Path:
        return self._place / f"{_name(lane)}.learned"


def _name(lane: Lane) -> str:
    """Return the name of a lane's files; neither name has a dot."""
    return f"{lane.group}+{lane.policy}"


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = private(str(path), os.O_RDWR | os.O_CREAT)
    try:
        yield file
    finally:
        os.close(file)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


# Loads


def _write_loads(file: int, kept: KeptLane, steps: Sequence[tuple[int, float]]) -> None:
    head = os.pread(file, _HEAD.size, 0)
    size = _HEAD.size + kept.days * _DAY_BYTES
    if len(head) < _HEAD.size or _HEAD.unpack(head)[:2] != (_FORM, _digest(kept.measures)):
        os.ftruncate(file, 0)
    if os.fstat(file).st_size != size:
        _laid_anew(file, kept)
    for number, load in steps:
        day, place = divmod(number, DAY)
        start = _HEAD.size + day % kept.days * _DAY_BYTES
        if _DAY_HEAD.unpack(os.pread(file, _DAY_HEAD.size, start))[0] != day:
            _reset(file, start, day)
        write_at(file, struct.pack("<f", load), start + _DAY_HEAD.size + 4 * place)
    write_at(file, _HEAD.pack(_FORM, _digest(kept.measures), steps[-1][0]), 0)


def _laid_anew(file: int, kept: KeptLane) -> None:
    """Make a ring of so many days, with those days of the ring before that still count."""
    data = os.pread(file, os.fstat(file).st_size, 0)
    days = {day: loads for day, loads in _days_in(data) if day >= 0}
    os.ftruncate(file, 0)
    os.ftruncate(file, _HEAD.size + kept.days * _DAY_BYTES)
    for place in range(kept.days):
        write_at(file, _DAY_HEAD.pack(-1), _HEAD.size + place * _DAY_BYTES)
    for day in sorted(days)[-kept.days :]:
        start = _HEAD.size + day % kept.days * _DAY_BYTES
        write_at(file, days[day].tobytes(), start + _DAY_HEAD.size)
        write_at(file, _DAY_HEAD.pack(day), start)


def _reset(file: int, start: int, day: int) -> None:
    write_at(file, np.full(DAY, np.nan, dtype=np.float32).tobytes(), start + _DAY_HEAD.size)
    os.fdatasync(file)
    write_at(file, _DAY_HEAD.pack(day), start)
    os.fdatasync(file)


def _days_in(data: bytes) -> Iterator[tuple[int, Loads]]:
    for start in range(_HEAD.size, len(data) - _DAY_BYTES + 1, _DAY_BYTES):
        (day,) = _DAY_HEAD.unpack_from(data, start)
        yield day, np.frombuffer(data, np.float32, DAY, start + _DAY_HEAD.size)


def _filled(known: History, given: History, oldest: int) -> tuple[History, int]:
    """Put loads where none are known, from a step on; return all of them, and how many were put in."""
    end = max(known.end, given.end, oldest)
    first = max(min(known.first, given.first) if len(known.loads) else given.first, oldest)
    both = [History(first=first, loads=_spread(each, first, end)) for each in (known, given)]
    loads = np.where(np.isnan(both[0].loads), both[1].loads, both[0].loads)
    filled = np.count_nonzero(np.isnan(both[0].loads) & ~np.isnan(loads))
    return History(first=first, loads=loads), int(filled)


def _spread(history: History, first: int, end: int) -> Loads:
    """Return the loads of a span of steps; NaN where there is none."""
    found = np.full(end - first, np.nan, dtype=np.float32)
    loads = history.since(first)
    start = max(history.first - first, 0)
    found[start : start + len(loads)] = loads
    return found


def _ring_of(history: History, kept: KeptLane) -> bytes:
    """Return the bytes of a ring with these loads, which fit in it."""
    begun, end = history.first // DAY, -(-history.end // DAY)
    loads = _spread(history, begun * DAY, end * DAY).reshape(-1, DAY)
    days = {day % kept.days: _DAY_HEAD.pack(day) + loads[day - begun].tobytes() for day in range(begun, end)}
    none = _DAY_HEAD.pack(-1) + bytes(4 * DAY)
    head = _HEAD.pack(_FORM, _digest(kept.measures), history.end - 1)
    return head + b"".join(days.get(place, none) for place in range(kept.days))


def _history_in(data: bytes, newest: int, most: int) -> History:
    """Return the loads of the last so many days: older ones are of a wrong clock, or of before a long stop."""
    last = newest // DAY
    days = {day: loads for day, loads in _days_in(data) if max(last - most, -1) < day <= last}
    if not days:
        return _NONE
    first = min(days)
    missing = np.full(DAY, np.nan, dtype=np.float32)
    loads = np.concatenate([days.get(day, missing) for day in range(first, last + 1)])[: newest + 1 - first * DAY]
    known = np.flatnonzero(~np.isnan(loads))
    if not known.size:
        return _NONE
    return History(first=first * DAY + int(known[0]), loads=loads[known[0] :].copy())


# What was learned


def _learned(cohort: ForecastCohort, kept: KeptLane) -> bytes:
    memory = cohort.memory
    numbers = columns.numbers_of(cohort.state)
    parts = [_packed(ring) for ring in memory.stored] + [zlib.compress(numbers.tobytes(), 1)]
    head = {
        "format": _LEARNED_FORM,
        "terms": asdict(cohort.terms),
        "each": kept.each,
        "measures": _digest(kept.measures).hex(),
        "first": memory.first,
        "step": memory.step,
        "parts": [len(part) for part in parts],
    }
    text = json.dumps(head).encode()
    body = struct.pack("<I", len(text)) + text + b"".join(parts)
    return struct.pack("<I", zlib.crc32(body)) + body


def _head_of(data: bytes) -> dict[str, Any] | None:
    """Return the head of what was learned; ``None``: there is none, or it is of another release."""
    if not data:
        return None
    head: dict[str, Any] = json.loads(data[_LENGTH.size : _LENGTH.size + _LENGTH.unpack_from(data)[1]])
    return head if head["format"] in {_LEARNED_FORM, _BEFORE_PROFILES} else None


def _cohort_of(data: bytes, kept: KeptLane) -> ForecastCohort | None:
    head = _head_of(data)
    if head is None:
        return None
    same = head["terms"] == json.loads(json.dumps(asdict(kept.terms))) and head["each"] == kept.each
    if not same or head["measures"] != _digest(kept.measures).hex():
        return None
    parts, start = [], _LENGTH.size + _LENGTH.unpack_from(data)[1]
    for size in head["parts"]:
        parts.append(data[start : start + size])
        start += size
    horizons = kept.terms.horizons
    blank = LoadMemory(1, horizons, head["first"])
    rings = [_unpacked(part, like) for part, like in zip(parts, blank.stored, strict=False)]
    memory = LoadMemory.restored(rings, horizons, head["first"], head["step"])
    numbers = np.frombuffer(zlib.decompress(parts[-1]))
    if head["format"] == _BEFORE_PROFILES:
        numbers = np.concatenate((numbers, no_profiles()))
    state = columns.state_of(numbers, horizons)
    return ForecastCohort([kept.lane], kept.terms, memory, state)


def _packed(ring: npt.NDArray[Any]) -> bytes:
    """Compress a ring, without loss: neighbours are nearly the same, so their differences have few bytes."""
    words = np.ascontiguousarray(np.moveaxis(ring, ring.shape.index(max(ring.shape)), -1)).view(f"u{ring.itemsize}")
    changes = np.diff(words, axis=-1, prepend=words.dtype.type(0))
    return zlib.compress(changes.reshape(-1).view(np.uint8).reshape(-1, ring.itemsize).T.tobytes(), 1)


def _unpacked(data: bytes, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the ring that `_packed` compressed, in the shape of another one."""
    axis = like.shape.index(max(like.shape))
    shape = np.moveaxis(like, axis, -1).shape
    plain = np.frombuffer(zlib.decompress(data), np.uint8).reshape(like.itemsize, -1).T
    changes = np.ascontiguousarray(plain).reshape(-1).view(f"u{like.itemsize}").reshape(shape)
    words = np.add.accumulate(changes, axis=-1, dtype=changes.dtype)
    return np.ascontiguousarray(np.moveaxis(words.view(like.dtype), -1, axis))
