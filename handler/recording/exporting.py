"""Export a recording as CSV or Parquet, in the order of time, a piece at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from config.units import Instant
from handler.recording import parquet
from handler.recording.events import RecordingSelection
from handler.recording.reading import hours_in, read_hour
from handler.recording.rows import MISSED, SampleRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was exported."""

    rows: int = 0
    thinned: int = 0
    """How many of these rows stand for several samples."""
    missed: int = 0
    """How many of these rows stand for a lost tick."""
    first_at: Instant | None = None
    last_at: Instant | None = None
    left_out: tuple[str, ...] = field(default=(), metadata={"wire": "remarks"})
    """The parts that could not be read."""


class Sink(Protocol):
    """Takes rows."""

    def write(self, rows: SampleRows) -> None:
        """Take rows."""
        ...

    def close(self) -> None:
        """Complete the output."""
        ...


class Csv:
    """Lines of CSV; the first one names the columns."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write((",".join(parquet.COLUMNS) + "\n").encode())

    def write(self, rows: SampleRows) -> None:
        """Take rows."""
        parquet.write_csv(self._file, rows)

    def close(self) -> None:
        """Complete the output."""
        self._file.flush()


def export_series(
    folder: Path, wanted: RecordingSelection, sink: Sink, progress: Callable[[int, int], None]
) -> Exported:
    """Export the wanted rows; ``progress`` gets the number of hours done and the total after each hour.

    The sink is left open.

    Rows are sorted by time, then group, counter and member; where the clock was set back, time begins anew.
    """
    left_out: list[str] = []
    done = Exported()
    hours = hours_in(folder, wanted.since, wanted.until)
    for number, (run, hour) in enumerate(hours, start=1):
        for rows in read_hour(folder, run, hour, left_out.append):
            chosen = _chosen(rows, wanted)
            if len(chosen):
                sink.write(chosen)
                done = _counted(done, chosen)
        progress(number, len(hours))
    return Exported(
        rows=done.rows,
        thinned=done.thinned,
        missed=done.missed,
        first_at=done.first_at,
        last_at=done.last_at,
        left_out=tuple(left_out),
    )


def _chosen(rows: SampleRows, wanted: RecordingSelection) -> SampleRows:
    """Select the wanted rows; a span is wanted if any part of it is."""
    inside = (rows.timestamp >= wanted.since) | (rows.timestamp + rows.resolution > wanted.since)
    inside &= rows.timestamp < wanted.until
    if wanted.groups:
        named = np.array([word in wanted.groups for word in rows.group.words], dtype=np.bool_)
        inside &= named[rows.group.codes]
    return rows if inside.all() else rows.take(np.flatnonzero(inside))


def _counted(done: Exported, rows: SampleRows) -> Exported:
    first, last = Instant(float(rows.timestamp[0])), Instant(float(rows.timestamp[-1]))
    return Exported(
        rows=done.rows + len(rows),
        thinned=done.thinned + int(np.count_nonzero(rows.resolution)),
        missed=done.missed + int(np.count_nonzero(rows.reply == MISSED)),
        first_at=first if done.first_at is None else min(done.first_at, first),
        last_at=last if done.last_at is None else max(done.last_at, last),
    )
