"""One value as a library hands it over: the number in it, or what it is instead."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from types import MappingProxyType

from collector.parsing import number
from collector.samples import Reply
from collector.snmp.engine import Raw

_SPECIAL: Mapping[bytes, str] = MappingProxyType({b"\x9f\x78": ">f", b"\x9f\x79": ">d"})
"""Tags of what net-snmp puts into an Opaque: float (UCD-SNMP-MIB::laLoadFloat comes so) and double."""
_WHOLE: Mapping[bytes, bool] = MappingProxyType({b"\x9f\x76": False, b"\x9f\x7a": True, b"\x9f\x7b": False})
"""Integers of 64 bits in an Opaque, and whether they have a sign: Counter64, Integer64, Unsigned64."""
_WIDEST = 9
"""Octets of a whole number of 64 bits without a sign."""
_EXTENDED, _HEAD = 0x9F, 3
"""First byte, and bytes of tag and length, of what lies in such an Opaque."""
_LONGEST_QUOTE = 60


def decode(raw: Raw) -> float | Reply:
    r"""Turn one value into a number; integers stay integers, since 64 bits do not fit into a ``float``.

    Integers of every kind and times come as ``int``, strings as ``bytes`` (also those that hold a number, or the
    float of an Opaque), addresses and OIDs as ``str``: those are never numbers, though ``0.0`` looks like one.

    >>> decode(45287), decode(b"0.42"), decode(b"\x9fx\x04>\x80\x00\x00"), decode(b"\x9fy\x08?\xd0" + bytes(6))
    (45287, 0.42, 0.25, 0.25)
    >>> decode(b"\x9fv\x02\x01\x00"), decode(b"\x9fz\x01\xff")
    (256, -1)
    >>> decode(b"vm"), decode(b""), decode(b":\xc3\xe7%L{"), decode("1.3.6.1.4.1.8072.3.2.10"), decode("0.0")
    (<Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>)
    >>> decode(None), decode(b"\x9fx\x04\x7f\x80\x00\x00")
    (<Reply.NO_SUCH_COUNTER: 4>, <Reply.MALFORMED: 5>)
    """
    match raw:
        case None:
            return Reply.NO_SUCH_COUNTER
        case int():
            return raw
        case float():
            return raw if math.isfinite(raw) else Reply.MALFORMED
        case bytes() if len(raw) >= _HEAD and raw[0] == _EXTENDED and raw[2] == len(raw) - _HEAD:
            return _opaque(raw[:2], raw[3:])
        case bytes():
            return number(raw.decode("ascii", errors="replace"))
        case _:
            return Reply.MALFORMED


def described(raw: Raw) -> str:
    r"""Say what came instead of a number.

    >>> described(b"vm01"), described(b"\x00\x01")
    ("a string where a number is due: 'vm01'", 'a string where a number is due: 0001 (hex)')
    >>> described(None), described("192.0.2.1")
    ('the agent has no such object', 'an OID or an address where a number is due: 192.0.2.1')
    """
    match raw:
        case None:
            return "the agent has no such object"
        case bytes() if raw.isascii() and raw.decode("ascii").isprintable():
            return f"a string where a number is due: {raw[:_LONGEST_QUOTE].decode('ascii')!r}"
        case bytes():
            return f"a string where a number is due: {raw[:_LONGEST_QUOTE].hex()} (hex)"
        case str():
            return f"an OID or an address where a number is due: {raw[:_LONGEST_QUOTE]}"
        case _:
            return f"{raw} is not a finite number"


def _opaque(tag: bytes, body: bytes) -> float | Reply:
    if tag in _WHOLE:
        return int.from_bytes(body, signed=_WHOLE[tag]) if 0 < len(body) <= _WIDEST else Reply.MALFORMED
    shape = _SPECIAL.get(tag)
    if shape is None or struct.calcsize(shape) != len(body):
        return Reply.MALFORMED
    (value,) = struct.unpack(shape, body)
    return value if math.isfinite(value) else Reply.MALFORMED
