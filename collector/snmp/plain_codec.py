"""What messages of v1 and v2c say, and how they are written: bytes in, values out, and nothing of sockets.

An answer counts if it has the version and the request id of the question, and its objects in their order; everything
else is thrown away, or is a failure with a reason. See ADR 0018 for why this is not left to gufo-snmp.

Source: RFC 3416 (messages), RFC 1157 (v1), X.690 (BER).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from collector.samples import Reply
from collector.snmp.engine import FAULT, STATUSES, Cure, Raw, Trouble, Varbinds
from collector.snmp.messages import NO_VALUES, Binding, Plain, bindings, dotted, encoded, read_plain
from collector.snmp.varbinds import Pairs, of_get, valueless

GET, NEXT, BULK = 0xA0, 0xA1, 0xA5
_INTEGER, _OCTETS, _NULL, _OBJECT, _SEQUENCE = 0x02, 0x04, 0x05, 0x06, 0x30
_ADDRESS, _OPAQUE = 0x40, 0x44
_UNSIGNED = frozenset({0x41, 0x42, 0x43, 0x46, 0x47})
"""Counter32, Gauge32, TimeTicks, Counter64, and the Unsigned32 of old."""
_NUMBERS = _UNSIGNED | {_INTEGER}
_STRINGS = frozenset({_OCTETS, _OPAQUE})
_WIDEST = 9
"""Octets of a whole number of 64 bits without a sign."""
_SHORT = 128
"""Lengths below this take one octet, which with the tag before it makes a head of two."""
_SHORT_HEAD = 2
_NUMBERED = 0x40000000
"""Request ids have this bit and none above it: all are as long, and so are answers that differ in nothing else."""
_KEPT_SHAPES = 64

GARBAGE = Trouble(reply=Reply.MALFORMED, detail="the answer cannot be read", cure=Cure.SPLIT)


class _Shape(NamedTuple):
    """What surrounds the objects in answers of one length; what says the same is not read a second time."""

    before: bytes
    """All before the number."""
    number: slice
    after: bytes
    """All between the number and the objects."""
    objects: int
    """Where the objects begin; they end with the datagram."""


class QueryTemplate:
    """A question for the same objects under the same community, which is asked again and again.

    Args:
        version: 0 or 1.
        community: under which to ask.
        oids: what to ask for, each once.
    """

    def __init__(self, version: int, community: str, oids: tuple[str, ...]) -> None:
        self._version = version
        self._oids = oids
        names = [_tlv(_OBJECT, encoded(oid)) for oid in oids]
        self._names = [
            (name, _SHORT_HEAD + len(name), [_beginning(name, length) for length in range(_WIDEST + 1)])
            for name in names
        ]
        whole = request(head(version, community), GET, number_of(0), 0, oids)
        self._after = b"\x02\x01\x00\x02\x01\x00" + _objects(oids)
        self._before = whole[: -len(self._after) - 4]
        self._shapes: dict[tuple[int, bytes], _Shape] = {}

    def request(self, number: int) -> bytes:
        """Write the question.

        Args:
            number: of `number_of`.
        """
        return self._before + number.to_bytes(4) + self._after

    def read(self, datagram: bytes, number: int) -> Sequence[Raw] | Trouble | None:
        """Read what a datagram answers; ``None``: it answers another request.

        Args:
            datagram: as it came.
            number: with which the question was asked.

        Returns:
            The value of every object, in the order of the question.
        """
        values = self._read_alike(datagram, number)
        return self._read_whole(datagram, number) if values is None else values

    def _read_alike(self, datagram: bytes, number: int) -> Sequence[Raw] | None:
        """Read an answer that is like one before it, a third of the work; ``None``: it must be read as a whole."""
        shape = self._shapes.get(_key(datagram))
        if (
            shape is None
            or not datagram.startswith(shape.before)
            or not datagram.startswith(shape.after, shape.number.stop)
            or int.from_bytes(datagram[shape.number], signed=True) != number
        ):
            return None
        values: list[Raw] = []
        at = shape.objects
        try:
            for name, octets, beginnings in self._names:
                tag = at + octets
                length = datagram[tag + 1]
                value = tag + _SHORT_HEAD
                end = value + length
                if datagram[at:tag] != (beginnings[length] if length <= _WIDEST else _beginning(name, length)):
                    return None
                kind, contents = datagram[tag], datagram[value:end]
                if kind in _NUMBERS and 0 < length <= _WIDEST:  # as `_value`: a call for each is felt here
                    values.append(int.from_bytes(contents, signed=kind == _INTEGER))
                else:
                    raw = _value(kind, contents)
                    if isinstance(raw, Trouble):
                        return None
                    values.append(raw)
                at = end
        except IndexError:
            return None
        return values if at == len(datagram) else None

    def _read_whole(self, datagram: bytes, number: int) -> Sequence[Raw] | Trouble | None:
        answer = read_plain(datagram)
        if answer is None:
            return GARBAGE
        if (answer.version, answer.number) != (self._version, number):
            return None
        pairs = pairs_of(answer)
        found: Varbinds | Trouble = pairs if isinstance(pairs, Trouble) else of_get(self._oids, pairs)
        if isinstance(found, Trouble):
            return found
        self._learn(answer)
        return list(found.values())

    def _learn(self, answer: Plain) -> None:
        datagram, numbered, objects = answer.datagram, answer.numbered, answer.objects
        if objects.stop != len(datagram):
            return
        if len(self._shapes) >= _KEPT_SHAPES:
            self._shapes.clear()
        self._shapes[_key(datagram)] = _Shape(
            datagram[: numbered.start], numbered, datagram[numbered.stop : objects.start], objects.start
        )


def _key(datagram: bytes) -> tuple[int, bytes]:
    """What shapes are kept by: the length, and how it is written there, in which agents of several makes differ."""
    return len(datagram), datagram[1:2]


@lru_cache(maxsize=256)
def question(version: int, community: str, oids: tuple[str, ...]) -> QueryTemplate:
    """Make a question; all agents that are asked the same share it, and what it has learned of answers."""
    return QueryTemplate(version, community, oids)


def number_of(count: int) -> int:
    """Make a request id of a number that counts up; it comes again after 2³⁰ others."""
    return count & _NUMBERED - 1 | _NUMBERED


def pairs_of(answer: Plain) -> Pairs | Trouble:
    """Read the objects of an answer to our question, and their values."""
    if answer.status:
        return STATUSES.get(answer.status, FAULT)
    found = bindings(answer.datagram, answer.objects)
    return GARBAGE if found is None else values_of(found)


def values_of(found: Iterable[Binding]) -> Pairs | Trouble:
    """Read the value of every object."""
    pairs: list[tuple[str, Raw]] = []
    for oid, tag, contents in found:
        name = dotted(oid)
        if not name:
            return GARBAGE
        if tag == _NULL:
            return valueless(name)
        value = _value(tag, contents)
        if isinstance(value, Trouble):
            return value
        pairs.append((name, value))
    return pairs


def _value(tag: int, contents: bytes) -> Raw | Trouble:
    r"""Read one value.

    >>> _value(0x02, b"\xff"), _value(0x41, b"\xff"), _value(0x46, b"\x00" + b"\xff" * 8)
    (-1, 255, 18446744073709551615)
    >>> _value(0x04, b"0.42"), _value(0x06, encoded("1.3.6.1")), _value(0x40, bytes([192, 0, 2, 1]))
    (b'0.42', '1.3.6.1', '192.0.2.1')
    >>> _value(0x80, b""), _value(0x02, b"").detail
    (None, 'the answer cannot be read')
    """
    if tag in _NUMBERS:
        return int.from_bytes(contents, signed=tag == _INTEGER) if 0 < len(contents) <= _WIDEST else GARBAGE
    if tag in NO_VALUES:
        return None
    if tag in _STRINGS:
        return contents
    if tag == _ADDRESS:
        return ".".join(map(str, contents))
    return dotted(contents) if tag == _OBJECT else GARBAGE


def head(version: int, community: str) -> bytes:
    """Write what every message begins with."""
    return _tlv(_INTEGER, bytes([version])) + _tlv(_OCTETS, community.encode())


def request(begun: bytes, kind: int, number: int, most: int, oids: tuple[str, ...]) -> bytes:
    """Write a question.

    Args:
        begun: by `head`.
        kind: GET, NEXT or BULK.
        number: of `number_of`.
        most: repetitions of BULK, in whose place others have a status.
        oids: what to ask for.
    """
    body = _tlv(_INTEGER, number.to_bytes(4)) + b"\x02\x01\x00" + _tlv(_INTEGER, _whole(most)) + _objects(oids)
    return _tlv(_SEQUENCE, begun + _tlv(kind, body))


@lru_cache(maxsize=1024)
def _objects(oids: tuple[str, ...]) -> bytes:
    return _tlv(_SEQUENCE, b"".join(_tlv(_SEQUENCE, _tlv(_OBJECT, encoded(oid)) + b"\x05\x00") for oid in oids))


def _beginning(name: bytes, length: int) -> bytes:
    """What stands before a value that has so many octets, less than 128; empty if that takes a longer head."""
    octets = len(name) + _SHORT_HEAD + length
    return bytes((_SEQUENCE, octets)) + name if octets < _SHORT else b""


def _whole(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1)


def _tlv(tag: int, contents: bytes) -> bytes:
    """Tag, length, contents. Source: X.690, 8.1.

    >>> _tlv(4, bytes(300))[:4].hex()
    '0482012c'
    """
    length = len(contents)
    if length < _SHORT:
        return bytes((tag, length)) + contents
    octets = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, _SHORT | len(octets))) + octets + contents
