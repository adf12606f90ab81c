"""The folder of recordings: its files, and writing that completes a file or leaves none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from handler.recording.files import Segment, Sorted, segment_of, sort_out

DRAFT = ".draft"
"""The suffix of a file until it is complete."""


def found_in(folder: Path) -> Sorted:
    """Return our files in the folder."""
    segments = (segment_of(f"{file.parent.name}/{file.name}") for file in folder.glob("*/*"))
    return sort_out(segment for segment in segments if segment is not None)


def open_standing(folder: Path, run: int, hour: int) -> tuple[tuple[Segment, BinaryIO], ...]:
    """Open the files with one hour's samples. Once open, they stay readable whatever the daemon does.

    Another file may replace one between listing and opening: then the folder is listed again.
    """
    for _ in range(100):
        standing = [each for each in found_in(folder).standing if (each.run, each.hour) == (run, hour)]
        with contextlib.ExitStack() as undo:
            try:
                opened = [(each, undo.enter_context((folder / each.name).open("rb"))) for each in standing]
            except FileNotFoundError:
                continue
            undo.pop_all()
            return tuple(opened)
    return ()


def remove(folder: Path, segment: Segment) -> None:
    """Remove a file, and its day's folder if that is empty then."""
    path = folder / segment.name
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()  # refused while there is another file


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Write a file that is either complete and on the disk, or absent; an exception leaves no file."""
    draft = path.with_name(path.name + DRAFT)
    try:
        with _private(draft) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _private(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")


def sync_folder(folder: Path) -> None:
    """Make renames and new files there survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def clean(folder: Path) -> dict[Segment, int]:
    """Remove what a crash left unfinished; return the files' sizes in bytes. Only the writer may call this."""
    for draft in folder.glob(f"*/*{DRAFT}"):
        draft.unlink(missing_ok=True)
    there = found_in(folder)
    for segment in there.stale:
        remove(folder, segment)
    return {segment: (folder / segment.name).stat().st_size for segment in there.standing}


class Log:
    """One log that is being appended to."""

    def __init__(self, folder: Path, segment: Segment) -> None:
        self.segment = segment
        self.size = 0
        path = folder / segment.name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._handle = os.open(path, flags, 0o600)
        sync_folder(path.parent)

    def append(self, data: bytes) -> None:
        """Add bytes, which then survive the end of this process.

        Raises:
            OSError: some are not on the disk. Append nothing after that.
        """
        view = memoryview(data)
        while view:
            written = os.write(self._handle, view)
            self.size += written
            view = view[written:]

    def sync(self) -> None:
        """Make appended bytes survive a power cut, too."""
        os.fdatasync(self._handle)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)
