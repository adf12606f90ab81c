"""Turn the frames of a log into columns, a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from collector.samples import Bools, Codes, Floats, Reply
from config.units import GroupId, Moment
from handler.recording.frames import Frame, MissedTick, Named, RecordedScrape
from handler.recording.rows import MISSED, NONE_ASKED, Ints, SampleRows, Text, nothing, same

CHUNK = 1 << 18
"""Rows held at a time; a tick is never split."""


class _Words:
    """Gives each word a code, once."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def code(self, word: str | None) -> int:
        return -1 if word is None else self.places.setdefault(word, len(self.places))

    def text(self, codes: Ints) -> Text:
        return Text(codes=codes, words=tuple(self.places))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Layout:
    """The columns that every tick of one layout shares; groups without series are rows at the end."""

    group: Ints
    member: Ints
    counter: Ints
    counted: Bools
    polled: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tick:
    layout: _Layout
    at: Moment
    value: Floats
    replied_at: Floats
    uptime: Floats
    reply: Codes


class Chunker:
    """Collects frames of one log and returns them as rows, sorted by group, member, counter and then time.

    This order keeps the values of one response together, which halves the file.
    """

    def __init__(self) -> None:
        self._groups, self._members, self._counters = _Words(), _Words(), _Words()
        self._layouts: dict[int, _Layout] = {}
        self._ticks: list[_Tick] = []
        self._rows = 0
        self.orphans = 0
        """Ticks whose layout was damaged."""

    def chunks(self, frames: Iterable[Frame], at_most: int = CHUNK) -> Iterator[SampleRows]:
        """Turn frames into rows. No chunk is empty, and none has more than ``at_most`` rows but for a single tick."""
        for frame in frames:
            tick = self._tick(frame)
            if tick is None:
                continue
            if self._ticks and self._rows + len(tick.value) > at_most:
                yield self._drain()
            self._ticks.append(tick)
            self._rows += len(tick.value)
        if self._rows:
            yield self._drain()

    def _tick(self, frame: Frame) -> _Tick | None:
        match frame:
            case Named():
                self._layouts[frame.number] = self._layout(frame)
                return None
            case MissedTick():
                return self._missed(frame)
            case RecordedScrape():
                layout = self._layouts.get(frame.layout)
                if layout is None or layout.polled != len(frame.value):
                    self.orphans += 1
                    return None
                return _polled(layout, frame)
            case _:
                assert_never(frame)

    def _layout(self, frame: Named) -> _Layout:
        lengths = [len(members) for _, _, members in frame.runs]
        groups = [self._groups.code(group) for group, _, _ in frame.runs]
        counters = [self._counters.code(counter) for _, counter, _ in frame.runs]
        members = [self._members.code(member) for _, _, run in frame.runs for member in run]
        idle = self._idle(frame.idle)
        return _Layout(
            group=np.concatenate([np.repeat(np.array(groups, dtype=np.int32), lengths), idle.group]),
            member=np.concatenate([np.array(members, dtype=np.int32), idle.member]),
            counter=np.concatenate([np.repeat(np.array(counters, dtype=np.int32), lengths), idle.counter]),
            counted=np.concatenate([frame.counted, idle.counted]),
            polled=len(frame.counted),
        )

    def _idle(self, groups: Sequence[GroupId]) -> _Layout:
        none = np.full(len(groups), -1, dtype=np.int32)
        return _Layout(
            group=np.array([self._groups.code(group) for group in groups], dtype=np.int32),
            member=none,
            counter=none,
            counted=np.ones(len(groups), dtype=np.bool_),
            polled=0,
        )

    def _missed(self, frame: MissedTick) -> _Tick:
        count = len(frame.groups)
        return _Tick(
            layout=self._idle(frame.groups),
            at=frame.at,
            value=nothing(count),
            replied_at=nothing(count),
            uptime=nothing(count),
            reply=np.full(count, MISSED, dtype=np.uint8),
        )

    def _drain(self) -> SampleRows:
        ticks, self._ticks, self._rows = self._ticks, [], 0
        layouts = [tick.layout for tick in ticks]
        group, member, counter = (
            np.concatenate([getattr(each, name) for each in layouts]) for name in ("group", "member", "counter")
        )
        # The clock is the last key, since a stable sort keeps order, and ticks of a chunk are nearly always in order.
        lengths = [len(tick.value) for tick in ticks]
        timestamp = np.repeat([tick.at.wall for tick in ticks], lengths)
        count = len(group)
        rows = SampleRows(
            group=self._groups.text(group),
            member=self._members.text(member),
            counter=self._counters.text(counter),
            timestamp=timestamp,
            value=np.concatenate([tick.value for tick in ticks]),
            reply=np.concatenate([tick.reply for tick in ticks]),
            counted=np.concatenate([each.counted for each in layouts]),
            steady=np.repeat([tick.at.steady for tick in ticks], lengths),
            replied_at=np.concatenate([tick.replied_at for tick in ticks]),
            uptime=np.concatenate([tick.uptime for tick in ticks]),
            resolution=same(0.0, count),
            asked=nothing(count),
            count=nothing(count),
            minimum=nothing(count),
            maximum=nothing(count),
        )
        return rows.take(np.lexsort((timestamp, counter, member, group)))


def _polled(layout: _Layout, frame: RecordedScrape) -> _Tick:
    """Return the columns of a scrape; groups without series have rows without values."""
    idle = len(layout.group) - layout.polled
    heard = frame.reply == Reply.OK
    return _Tick(
        layout=layout,
        at=frame.at,
        value=_padded(np.where(heard, frame.value, np.nan), idle),
        replied_at=_padded(np.where(heard, frame.replied_at, np.nan), idle),
        uptime=_padded(np.where(heard, frame.uptime, np.nan), idle),
        reply=np.concatenate([frame.reply, np.full(idle, NONE_ASKED, dtype=np.uint8)]),
    )


def _padded(column: Floats, idle: int) -> Floats:
    return np.concatenate([column, nothing(idle)])
