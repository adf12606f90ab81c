"""Read a recording in the order of time, hour by hour, while it is being written or without a daemon."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

import numpy as np

from collector.samples import Bools
from config.units import CounterId, GroupId
from handler.recording import parquet
from handler.recording.chunks import Chunker
from handler.recording.files import Form, Segment
from handler.recording.folder import found_in, open_standing
from handler.recording.frames import LogReader
from handler.recording.rows import SampleRows, Text, UnreadRows, in_order, no_rows

ReportDamage = Callable[[str], None]
"""Takes a sentence for every part that could not be read."""


def hours_in(folder: Path, since: float, until: float) -> tuple[tuple[int, int], ...]:
    """Return the runs and hours that may hold rows of ``since <= timestamp < until``, in the order of recording."""
    standing = found_in(folder).standing
    keyed = groupby(standing, key=lambda each: (each.run, each.hour))
    return tuple((run, hour) for (run, hour), _ in keyed if hour * 3600 < until and (hour + 1) * 3600 > since)


def read_hour(folder: Path, run: int, hour: int, report: ReportDamage) -> Iterator[SampleRows]:
    """Yield all rows of one run and hour, sorted by time, then group, counter and member; never an empty piece."""
    with ExitStack() as files:
        opened = open_standing(folder, run, hour)
        for _, file in opened:
            files.enter_context(closing(file))
        pieces = [piece for segment, file in opened for piece in readable(segment, file, report)]
        yield from (rows for rows in in_order(pieces) if len(rows))


def counter_rows(
    folder: Path, group: GroupId, counter: CounterId, span: tuple[float, float], report: ReportDamage
) -> Iterator[SampleRows]:
    """Yield the rows of one counter of one group, hour by hour, in any order within one; a piece may be empty.

    Rows that are not wanted are never sorted: of a long time, this takes a fraction of what `read_hour` takes.

    Args:
        folder: of the recording.
        group: whose rows.
        counter: likewise.
        span: hours that may hold rows of ``since <= timestamp < until`` are read.
        report: takes a sentence for every part that could not be read.
    """
    since, until = span
    for (run, hour), segments in groupby(found_in(folder).standing, key=lambda each: (each.run, each.hour)):
        if not (hour * 3600 < until and (hour + 1) * 3600 > since):
            continue
        with ExitStack() as files:
            opened: tuple[tuple[Segment, BinaryIO], ...]
            try:
                opened = tuple((each, files.enter_context((folder / each.name).open("rb"))) for each in segments)
            except FileNotFoundError:  # another file has replaced it
                opened = open_standing(folder, run, hour)
            for segment, file in opened:
                files.enter_context(closing(file))
                for piece in readable(segment, file, report):
                    rows = piece.load()
                    yield rows.take(np.flatnonzero(_is(rows.group, group) & _is(rows.counter, counter)))


def readable(segment: Segment, file: BinaryIO, report: ReportDamage) -> Iterator[UnreadRows]:
    """Yield the readable pieces of a file."""
    if segment.form is Form.LOG:
        for rows in log_chunks(segment, file, report):
            yield UnreadRows(first=float(rows.timestamp.min()), load=lambda rows=rows: rows)  # type: ignore[misc]
        return
    try:
        yield from (_forgiving(piece, segment, report) for piece in parquet.pieces_of(file))
    except parquet.UnreadableRecording as error:
        report(f"{segment.name} {error}: left out")


def _is(text: Text, word: str) -> Bools:
    """Tell of each row whether it has this word."""
    found: Bools = text.codes == (text.words.index(word) if word in text.words else len(text.words))
    return found


def _forgiving(piece: UnreadRows, segment: Segment, report: ReportDamage) -> UnreadRows:
    def load() -> SampleRows:
        try:
            return piece.load()
        except parquet.UnreadableRecording as error:
            report(f"a part of {segment.name} {error}: left out")
            return no_rows()

    return UnreadRows(first=piece.first, load=load)


def log_chunks(segment: Segment, file: BinaryIO, report: ReportDamage) -> Iterator[SampleRows]:
    """Yield the rows of a log, a chunk at a time, up to the first incomplete tick."""
    chunker = Chunker()
    reader = LogReader(file, os.fstat(file.fileno()).st_size)
    yield from chunker.chunks(reader)
    if reader.torn:
        report(f"{segment.name} ends in the middle of a tick: its last {reader.torn} bytes are left out")
    if lost := reader.damaged + chunker.orphans:
        report(f"{segment.name} is damaged: {lost} ticks are left out")
