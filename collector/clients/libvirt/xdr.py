"""Values as libvirt's daemon sends them. Pure.

Source: RFC 4506 (XDR): everything is big-endian and fills whole words of four bytes; an optional value and an array
are preceded by their number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_WORD = 4


class Garbled(ValueError):
    """The bytes are not what was expected."""


def number(value: int) -> bytes:
    """Write an int or unsigned int.

    >>> number(7).hex(), number(-1).hex()
    ('00000007', 'ffffffff')
    """
    return struct.pack(">I", value & 0xFFFFFFFF)


def hyper(value: int) -> bytes:
    """Write a number of eight bytes."""
    return struct.pack(">Q", value)


def text(value: str) -> bytes:
    """Write a string.

    >>> text("web").hex()
    '0000000377656200'
    """
    encoded = value.encode()
    return number(len(encoded)) + encoded + bytes(-len(encoded) % _WORD)


def maybe(value: str | None) -> bytes:
    """Write a string that may be missing."""
    return number(0) if value is None else number(1) + text(value)


class Unpacker:
    """Reads values one after the other; each raises `Garbled` if the bytes end too early.

    >>> reader = Unpacker(text("web") + number(0) + number(-2))
    >>> reader.text(), reader.maybe(reader.text), reader.number()
    ('web', None, -2)
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def opaque(self, length: int) -> bytes:
        """Read so many bytes."""
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise Garbled(f"{length} bytes were expected, and {len(self._data) - self._at} are left")
        value = self._data[self._at : end]
        self._at = end + -length % _WORD
        return value

    def number(self) -> int:
        """Read an int."""
        return int.from_bytes(self.opaque(_WORD), signed=True)

    def hyper(self) -> int:
        """Read an unsigned number of eight bytes."""
        return int.from_bytes(self.opaque(2 * _WORD))

    def text(self) -> str:
        """Read a string; bytes that are no UTF-8 are replaced."""
        return self.opaque(self.number()).decode(errors="replace")

    def maybe(self, read: Callable[[], T]) -> T | None:
        """Read a value that may be missing."""
        return read() if self.number() else None

    def every(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Read an array.

        Raises:
            Garbled: it has more elements than bytes are left for.
        """
        count = self.number()
        if count < 0 or count > len(self._data) - self._at:
            raise Garbled(f"an array of {count}")
        return tuple(read() for _ in range(count))
