"""How large an answer over HTTP may be, as it is written."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator

from config.document.record import size_of
from config.document.worded import SIZE_PATTERN, worded

_LEAST, _MOST = 1 << 10, 64 << 20


def read_body_limit(value: object) -> int:
    """Read a size in bytes.

    Raises:
        ValueError: says what was expected.

    >>> read_body_limit("4MiB")
    4194304
    """
    size = size_of(value)
    if not _LEAST <= size <= _MOST:
        raise ValueError("a size from 1KiB to 64MiB, such as 4MiB")
    return size


BodyLimit = Annotated[
    int,
    PlainValidator(read_body_limit),
    worded("size with a unit", "1KiB to 64MiB", type="string", pattern=SIZE_PATTERN),
]
