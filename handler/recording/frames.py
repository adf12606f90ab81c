r"""The log of ticks, as bytes: after a crash it holds what was appended before.

A log begins with `MAGIC`. After it come frames: the payload's length and CRC-32 (little-endian, 32 bits each; the sum
begins with the kind), a byte for the kind, the payload. A *layout* names series; a *tick* refers to one by number and
has its columns; a *missed* names the groups whose ticks were lost. Reading stops at the first frame that is cut off,
and leaves out frames with a wrong sum.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import numpy as np

from collector.samples import Bools, Codes, Floats, Layout, Scrape
from config.units import CounterId, GroupId, Instant, MemberName, Moment, Monotonic

MAGIC = b"trimtab recording 1\n"

_HEAD = struct.Struct("<IIB")
_LAYOUT, _TICK, _MISSED = 1, 2, 3
_LAYOUT_HEAD = struct.Struct("<II")
_TICK_HEAD = struct.Struct("<Idd")
_AT_ONCE = 2000
"""Members for each line: writing JSON holds up every other thread, also the event loop's."""


Run = tuple[GroupId, CounterId, tuple[MemberName | None, ...]]
"""A counter of a group, and its members: a layout is a sequence of these."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Named:
    """A layout, under the number by which ticks refer to it."""

    number: int
    runs: tuple[Run, ...]
    counted: Bools
    """One for each member of each run."""
    idle: tuple[GroupId, ...]
    """Groups of the same ticks that have no series."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedScrape:
    """One scrape: a row of readings in the order of its layout."""

    layout: int
    at: Moment
    value: Floats
    replied_at: Floats
    uptime: Floats
    reply: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedTick:
    """A tick whose samples were lost before they reached the writer."""

    at: Moment
    groups: tuple[GroupId, ...]


Frame = Named | RecordedScrape | MissedTick


def name_layout(number: int, layout: Layout, idle: Sequence[GroupId]) -> bytes:
    """Encode a layout."""
    lines = [json.dumps(["", *idle])] if idle else []
    for (group, counter), run in groupby(layout.series, key=lambda each: (each.group, each.counter)):
        members = [each.member for each in run]
        starts = range(0, len(members), _AT_ONCE)
        lines.extend(json.dumps([group, counter, *members[start : start + _AT_ONCE]]) for start in starts)
    text = zlib.compress("\n".join(lines).encode(), level=1)
    head = _LAYOUT_HEAD.pack(number, len(layout.series))
    return _framed(_LAYOUT, (head, np.packbits(layout.counted).tobytes(), text))


def take_down(number: int, scrape: Scrape) -> bytes:
    """Encode a scrape; its layout must have been named."""
    columns = (scrape.value, scrape.replied_at, scrape.uptime)
    parts = [column.astype("<f8", copy=False).tobytes() for column in columns]
    head = _TICK_HEAD.pack(number, scrape.at.wall, scrape.at.steady)
    return _framed(_TICK, (head, *parts, scrape.reply.tobytes()))


def note_missed(at: Moment, groups: Sequence[GroupId]) -> bytes:
    """Encode that a tick was lost."""
    return _framed(_MISSED, (json.dumps([at.wall, at.steady, *groups]).encode(),))


def _framed(kind: int, parts: Iterable[bytes]) -> bytes:
    payload = b"".join(parts)
    return _HEAD.pack(len(payload), zlib.crc32(payload, kind), kind) + payload


class Readable(Protocol):
    """A file that is open for reading bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; fewer at the end."""
        ...


class LogReader:
    """Iterates over the frames of a log, and counts what it leaves out."""

    def __init__(self, file: Readable, size: int) -> None:
        self._file = file
        self._left = size
        self.torn = 0
        """Bytes at the end that are not a complete frame."""
        self.damaged = 0
        """Frames whose sum is wrong."""

    def __iter__(self) -> Iterator[Frame]:
        magic = self._read(len(MAGIC))
        if magic != MAGIC:
            self.torn = self._left + len(magic)
            return
        while self._left:
            before = self._left
            head = self._read(_HEAD.size)
            length, checksum, kind = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 0, 0)
            payload = self._read(length) if length <= self._left else b""
            if kind not in _READERS or len(payload) < length:
                self.torn = before
                return
            frame = _understood(kind, payload) if zlib.crc32(payload, kind) == checksum else None
            if frame is None:
                self.damaged += 1
            else:
                yield frame

    def _read(self, size: int) -> bytes:
        wanted = min(size, self._left)
        found = self._file.read(wanted)
        self._left = self._left - wanted if len(found) == wanted else 0
        return found


def _understood(kind: int, payload: bytes) -> Frame | None:
    try:
        return _READERS[kind](payload)
    except (ValueError, TypeError, struct.error, zlib.error):
        return None


def _named(payload: bytes) -> Named:
    number, count = _LAYOUT_HEAD.unpack_from(payload)
    bits = payload[_LAYOUT_HEAD.size : _LAYOUT_HEAD.size + (count + 7) // 8]
    runs: list[Run] = []
    idle: list[GroupId] = []
    text = zlib.decompress(payload[_LAYOUT_HEAD.size + len(bits) :]).decode()
    for line in text.splitlines():
        group, *rest = json.loads(line)
        if group == "":
            idle.extend(rest)
            continue
        counter, *members = rest
        runs.append((GroupId(group), CounterId(counter), tuple(members)))
    counted = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=count).astype(np.bool_)
    return Named(number=number, runs=tuple(runs), counted=counted, idle=tuple(idle))


def _taken(payload: bytes) -> RecordedScrape:
    layout, wall, steady = _TICK_HEAD.unpack_from(payload)
    count = (len(payload) - _TICK_HEAD.size) // 25
    value, replied_at, uptime = (
        np.frombuffer(payload, dtype="<f8", count=count, offset=_TICK_HEAD.size + place * 8 * count)
        for place in range(3)
    )
    reply = np.frombuffer(payload, dtype=np.uint8, offset=_TICK_HEAD.size + 24 * count)
    at = Moment(wall=Instant(wall), steady=Monotonic(steady))
    return RecordedScrape(layout=layout, at=at, value=value, replied_at=replied_at, uptime=uptime, reply=reply)


def _missed(payload: bytes) -> MissedTick:
    wall, steady, *groups = json.loads(payload)
    return MissedTick(at=Moment(wall=Instant(wall), steady=Monotonic(steady)), groups=tuple(groups))


_READERS: Mapping[int, Callable[[bytes], Frame]] = {_LAYOUT: _named, _TICK: _taken, _MISSED: _missed}
