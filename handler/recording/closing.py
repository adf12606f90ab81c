"""Turn a log into columns, and the files of an hour into a thinned one, piece by piece, within the free space."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from config.units import Seconds
from handler.recording.files import HOUR, Form, Segment
from handler.recording.folder import written_whole
from handler.recording.rows import SampleRows, UnreadRows, in_order
from handler.recording.thinning import thinned

if TYPE_CHECKING:
    from handler.recording.reading import ReportDamage

Made = tuple[Segment, int] | None
"""A file and its size in bytes; ``None``: there was nothing to write."""
Work = Generator[int, None, Made]
"""Yields the draft's size in bytes after every piece."""


_ROW = 48
_FRAME = 64 << 10


class NoRoom(Exception):
    """The draft would exceed the budget; it has been removed."""


def close_log(folder: Path, log: Segment, report: ReportDamage, spare: Callable[[], int]) -> Work:
    """Write a log's rows as columns. The log itself stays.

    Raises:
        NoRoom: the draft would take more bytes than ``spare`` allows.
    """
    from handler.recording.reading import log_chunks

    with (folder / log.name).open("rb") as file:
        made = Segment(run=log.run, first=log.first, number=log.number, form=Form.WHOLE)
        return (yield from _written(folder, made, log_chunks(log, file, report), spare))


def thin_hour(
    folder: Path, segments: tuple[Segment, ...], resolution: Seconds, report: ReportDamage, spare: Callable[[], int]
) -> Work:
    """Write one row for each series and span of an hour. The files themselves stay.

    Raises:
        NoRoom: as `close_log`.
    """
    from handler.recording.reading import readable

    last = segments[-1]
    made = Segment(run=last.run, first=last.hour * HOUR, number=last.number, form=Form.THIN, resolution=resolution)
    with ExitStack() as files:
        pieces: list[UnreadRows] = []
        for segment in segments:
            file = files.enter_context(closing((folder / segment.name).open("rb")))
            pieces.extend(readable(segment, file, report))
        return (yield from _written(folder, made, thinned(in_order(pieces), resolution), spare))


def _written(folder: Path, made: Segment, rows: Iterator[SampleRows], spare: Callable[[], int]) -> Work:
    from handler.recording.parquet import Sheets, settle

    part = next(rows, None)
    if part is None:
        return None
    with written_whole(folder / made.name) as file:
        with closing(Sheets(file, made.resolution)) as sheets:
            while part is not None:
                if file.tell() + _at_most(part) > spare():
                    raise NoRoom
                sheets.write(part)
                yield file.tell()
                part = next(rows, None)
        size = file.tell()
    settle()
    return made, size


def _at_most(rows: SampleRows) -> int:
    """Return the most bytes that these rows can take, without any compression."""
    words = sum(len(word.encode()) for text in (rows.group, rows.member, rows.counter) for word in text.words)
    return _ROW * len(rows) + 2 * words + _FRAME
