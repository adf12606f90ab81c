"""Builders for recordings: scrapes, a writer that is run to its end, and what a reader then finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from collector.samples import Layout, Reply, Scrape, Series
from config.model.observability import Recording
from config.units import CounterId, GroupId, Instant, MemberName, Moment, Monotonic
from handler.recording.intake import RecordingIntake
from handler.recording.reading import hours_in, read_hour
from handler.recording.rows import REPLIES, SampleRows, Text
from handler.recording.writer import RecordingWriter

NINE = 1_772_355_600.0
"""2026-03-01 09:00:00 UTC."""
WEB = GroupId("web")
AMPLE = Recording(budget=1 << 30, whole=365 * 86400.0)

Row = tuple[object, ...]


def at(seconds: float, *, since: float = NINE) -> Moment:
    """So long after nine; the steady clock began a thousand seconds before."""
    return Moment(wall=Instant(since + seconds), steady=Monotonic(1000.0 + seconds))


def a_layout(*names: tuple[str, str, str | None], counted: Sequence[bool] | None = None) -> Layout:
    """Series by (group, counter, member)."""
    series = tuple(
        Series(GroupId(group), CounterId(counter), None if member is None else MemberName(member))
        for group, counter, member in (names or (("web", "cpu", "m-1"), ("web", "cpu", "m-2")))
    )
    return Layout(series=series, counted=np.array([True] * len(series) if counted is None else counted, dtype=np.bool_))


def a_scrape(
    when: Moment,
    layout: Layout,
    values: Sequence[float | None] | None = None,
    *,
    uptime: float = math.nan,
    after: float = 0.25,
    silence: Reply = Reply.TIMEOUT,
) -> Scrape:
    """Readings in the order of the layout; ``None``: no answer."""
    read = [50.0] * len(layout.series) if values is None else list(values)
    heard = np.array([value is not None for value in read], dtype=np.bool_)
    return Scrape(
        layout=layout,
        at=when,
        value=np.array([0.0 if value is None else value for value in read]),
        replied_at=np.where(heard, when.steady + after, 0.0),
        uptime=np.where(heard, uptime, np.nan),
        reply=np.where(heard, Reply.OK, silence).astype(np.uint8),
    )


@dataclass
class Recorded:
    """A folder, and writers that come one after the other."""

    folder: Path
    settings: Recording = AMPLE
    clock: Callable[[], Moment] = lambda: at(0)
    logged: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    writer: RecordingWriter | None = None

    def write(self, *ticks: tuple[tuple[GroupId, ...], Scrape], finish: bool = True) -> RecordingWriter:
        """Start a writer, hand over ticks, and let it end."""
        intake = RecordingIntake()
        for groups, scrape in ticks:
            intake.put(groups, scrape)
        return self.drain(intake, finish=finish)

    def drain(self, intake: RecordingIntake, *, finish: bool = True) -> RecordingWriter:
        intake.close()
        self.writer = RecordingWriter(self.folder, intake, self.settings, clock=self.clock, say=self.say)
        self.writer.finish = finish
        self.writer.run()
        return self.writer

    def say(self, event: str, **fields: object) -> None:
        self.logged.append((event, fields))

    @property
    def events(self) -> list[str]:
        return [event for event, _ in self.logged]

    @property
    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.glob("*/*"))

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.glob("*/*"))

    def rows(self, report: Callable[[str], None] | None = None) -> list[Row]:
        """Everything that a reader finds."""
        return rows_of(read(self.folder, report))


def read(folder: Path, report: Callable[[str], None] | None = None) -> list[SampleRows]:
    damages: list[str] = []
    pieces = [
        piece
        for run, hour in hours_in(folder, -math.inf, math.inf)
        for piece in read_hour(folder, run, hour, report or damages.append)
    ]
    assert damages == []
    return pieces


def rows_of(pieces: Iterable[SampleRows]) -> list[Row]:
    """(timestamp, group, member, counter, value, reply, counted, steady, replied_at, uptime); ``None``: not there."""
    return [row for piece in pieces for row in zip(*_columns(piece), strict=True)]


def _columns(rows: SampleRows) -> list[list[object]]:
    numbers = (rows.value, rows.steady, rows.replied_at, rows.uptime)
    value, *others = ([None if math.isnan(each) else each for each in column.tolist()] for column in numbers)
    replies = [REPLIES.get(code) for code in rows.reply.tolist()]
    words = [_words(text) for text in (rows.group, rows.member, rows.counter)]
    return [rows.timestamp.tolist(), *words, value, replies, rows.counted.tolist(), *others]


def _words(text: Text) -> list[object]:
    return [None if code < 0 else text.words[code] for code in text.codes.tolist()]


def expected_of(groups: Sequence[GroupId], scrape: Scrape) -> list[Row]:
    """What must be read of a tick, worked out row by row."""
    rows: list[Row] = []
    for index, series in enumerate(scrape.layout.series):
        heard = scrape.reply[index] == Reply.OK
        uptime = float(scrape.uptime[index])
        rows.append(
            (
                scrape.at.wall,
                series.group,
                series.member,
                series.counter,
                float(scrape.value[index]) if heard else None,
                Reply(scrape.reply[index]).name.lower(),
                bool(scrape.layout.counted[index]),
                scrape.at.steady,
                float(scrape.replied_at[index]) if heard else None,
                None if math.isnan(uptime) or not heard else uptime,
            )
        )
    polled = {series.group for series in scrape.layout.series}
    idle = (group for group in groups if group not in polled)
    rows.extend(
        (scrape.at.wall, group, None, None, None, "nobody", True, scrape.at.steady, None, None) for group in idle
    )
    return rows


def in_order(rows: Iterable[Row]) -> list[Row]:
    """By time, then group, counter and member; nothing before any word."""

    def key(row: Row) -> tuple[object, ...]:
        timestamp, group, member, counter, *_ = row
        return timestamp, group, "" if counter is None else f"1{counter}", "" if member is None else f"1{member}"

    return sorted(rows, key=key)  # type: ignore[type-var]
