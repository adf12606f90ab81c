"""Write files beside the store: all that is given, or an error. They are their owner's alone."""

from __future__ import annotations

import os
from pathlib import Path


def private(path: str, flags: int) -> int:
    """Open a file of mode 0600; an opener for `open`."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def put_in_place(path: Path, data: bytes) -> None:
    """Write a file anew: after a crash it is the old one or the new one."""
    new = path.with_suffix(".new")
    with open(new, "wb", opener=private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def write_at(file: int, data: bytes, place: int) -> None:
    """Write all of the data at a place: of what a full disk has no room for, the system takes a part without an error.

    Raises:
        OSError: the rest was refused.
    """
    while data:
        written = os.pwrite(file, data, place)
        data, place = data[written:], place + written
