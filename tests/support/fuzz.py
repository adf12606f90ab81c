"""Bytes that no honest program sends: at random, and real ones, damaged as wires, disks and people damage them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hypothesis import strategies as st

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
ODDITIES = (
    b"9" * 400,
    b"1e999",
    b"-1e-999",
    b"NaN",
    b"nan",
    b"Infinity",
    b"-inf",
    b"null",
    b"true",
    b'""',
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b"\x00",
    b"\xff\xfe",
    "٤٢".encode(),
    b"1_000",
    b"0x10",
    b"\r\n\r\n",
    b'"',
    b",",
    b"#",
)


class Change(NamedTuple):
    """One damage; places are shares of the length."""

    kind: str
    start: float
    length: float
    put: bytes

    def made_to(self, body: bytes) -> bytes:
        start = int(self.start * len(body))
        end = min(start + int(self.length * len(body)), len(body))
        match self.kind:
            case "cut off":
                return body[:start]
            case "drop":
                return body[:start] + body[end:]
            case "twice":
                return body[:end] + body[start:]
            case "flip" if body:
                place = min(start, len(body) - 1)
                return body[:place] + bytes([body[place] ^ (1 << int(self.length * 7))]) + body[place + 1 :]
            case "number":
                return _instead_of_a_number(body, start, self.put)
            case _:
                return body[:start] + self.put + body[start:]


def _instead_of_a_number(body: bytes, start: int, put: bytes) -> bytes:
    found = _NUMBER.search(body, start)
    return body if found is None else body[: found.start()] + put + body[found.end() :]


_SHARE = st.floats(0.0, 1.0)
_PUT = st.sampled_from(ODDITIES) | st.binary(max_size=20)
CHANGES = st.lists(
    st.builds(Change, st.sampled_from(["cut off", "drop", "twice", "flip", "number", "insert"]), _SHARE, _SHARE, _PUT),
    min_size=1,
    max_size=4,
)


def damaged(body: bytes, changes: list[Change]) -> bytes:
    for change in changes:
        body = change.made_to(body)[:1_000_000]
    return body


SPOILS: st.SearchStrategy[Callable[[bytes], bytes]] = st.one_of(
    CHANGES.map(lambda changes: lambda body: damaged(body, changes)),
    st.binary(max_size=300).map(lambda noise: lambda body: noise),
)


def with_odd_numbers(body: bytes, odd: bytes) -> Iterator[bytes]:
    """The same with something odd in the place of each of its numbers in turn."""
    for found in _NUMBER.finditer(body):
        yield body[: found.start()] + odd + body[found.end() :]


def numbers_in(body: bytes) -> set[float]:
    """Every number that is written there, whatever it is the number of."""
    return {float(found) for found in _NUMBER.findall(body)}
