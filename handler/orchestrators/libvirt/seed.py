"""The volume in which cloud-init finds its user data: a small image of a compact disc. Pure.

Source: ECMA-119 (ISO 9660) and its extension Joliet, by which guests see the names; cloud-init, "NoCloud".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from config.units import MemberName

SECTOR: Final = 2048
_LABEL: Final = "cidata"
"""cloud-init looks for a disc of this name."""
_PRIMARY, _JOLIET, _END = 1, 2, 255
_TABLES: Final = 19
"""The first sector after the descriptors: four tables of paths, two directories, then the files."""
_ROOTS: Final = (23, 24)
_FIRST: Final = 25
_DATE = bytes(7)
_LONG_DATE = b"0" * 16 + b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    short: bytes
    """Its name where Joliet is not understood."""
    name: str
    content: bytes
    sector: int

    @property
    def sectors(self) -> int:
        return -(-len(self.content) // SECTOR)


def seed_image(name: MemberName, id: UUID, user_data: str) -> bytes:
    """Return the disc with the user data of one member.

    >>> image = seed_image(MemberName("web-k3f9ab-1"), UUID(int=7), "#cloud-config")
    >>> len(image) % SECTOR, image[16 * SECTOR + 40 : 16 * SECTOR + 46]
    (0, b'cidata')
    """
    meta = f"instance-id: {id}\nlocal-hostname: {name}\n"
    files: list[_File] = []
    sector = _FIRST
    for short, called, content in ((b"META_DAT.;1", "meta-data", meta), (b"USER_DAT.;1", "user-data", user_data)):
        files.append(_File(short=short, name=called, content=content.encode(), sector=sector))
        sector += files[-1].sectors
    head = bytes(16 * SECTOR) + _descriptor(_PRIMARY, sector) + _descriptor(_JOLIET, sector) + _last()
    tables = b"".join(_padded(_paths(root, order)) for root in _ROOTS for order in "<>")
    roots = _directory(_ROOTS[0], files, joliet=False) + _directory(_ROOTS[1], files, joliet=True)
    return head + tables + roots + b"".join(_padded(file.content) for file in files)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % SECTOR)


def _both16(value: int) -> bytes:
    return struct.pack("<H", value) + struct.pack(">H", value)


def _both32(value: int) -> bytes:
    return struct.pack("<I", value) + struct.pack(">I", value)


def _wide(text: str) -> bytes:
    return text.encode("utf-16-be")


def _filled(text: str, length: int, *, joliet: bool) -> bytes:
    """Return a text that fills a field: with blanks, of two bytes each in Joliet."""
    if not joliet:
        return text.encode().ljust(length)
    return (_wide(text.ljust(length // 2)) + b"\x00")[:length]


def _descriptor(kind: int, sectors: int) -> bytes:
    joliet = kind == _JOLIET
    tables = _TABLES + (2 if joliet else 0)
    fields = (
        struct.pack("B5sBB", kind, b"CD001", 1, 0),
        _filled("", 32, joliet=joliet),
        _filled(_LABEL, 32, joliet=joliet),
        bytes(8),
        _both32(sectors),
        (b"%/E" if joliet else b"").ljust(32, b"\x00"),
        *map(_both16, (1, 1, SECTOR)),
        _both32(len(_paths(0, "<"))),
        struct.pack("<II", tables, 0) + struct.pack(">II", tables + 1, 0),
        _entry(b"\x00", _ROOTS[joliet], SECTOR, directory=True),
        _filled("", 128 * 4, joliet=joliet),
        *(_filled("", 37, joliet=joliet) for _ in range(3)),
        _LONG_DATE * 4,
        b"\x01",
    )
    return _padded(b"".join(fields))


def _last() -> bytes:
    return _padded(struct.pack("B5sB", _END, b"CD001", 1))


def _paths(root: int, order: str) -> bytes:
    """Return the table of paths: of the root alone."""
    return struct.pack(f"{order}BBIHBB", 1, 0, root, 1, 0, 0)


def _entry(name: bytes, sector: int, length: int, *, directory: bool = False) -> bytes:
    size = 33 + len(name) + (len(name) + 1) % 2
    fields = (
        struct.pack("BB", size, 0) + _both32(sector) + _both32(length) + _DATE,
        struct.pack("BBB", 2 if directory else 0, 0, 0) + _both16(1) + struct.pack("B", len(name)) + name,
    )
    return b"".join(fields).ljust(size, b"\x00")


def _directory(root: int, files: Sequence[_File], *, joliet: bool) -> bytes:
    entries = [_entry(each, root, SECTOR, directory=True) for each in (b"\x00", b"\x01")]
    named = ((_wide(file.name) if joliet else file.short, file) for file in files)
    entries += [_entry(name, file.sector, len(file.content)) for name, file in named]
    return _padded(b"".join(entries))
