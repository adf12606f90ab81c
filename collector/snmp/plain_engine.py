"""Sessions of v1 and v2c, with a codec of our own: a whole answer is looked at before a value of it is believed.

An answer counts if it has the version and the request id of the question, and its objects in their order; everything
else is thrown away, or is a failure with a reason. See ADR 0018 for why this is not left to gufo-snmp.

Source: RFC 3416 (messages), RFC 1157 (v1), X.690 (BER).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache

from collector.samples import Reply
from collector.snmp.agents import Agent, Community
from collector.snmp.conversation import Talk
from collector.snmp.engine import FAULT, NO_SUCH_NAME, STATUSES, Cure, Raw, Trouble, Varbinds, silence
from collector.snmp.messages import NO_VALUES, Binding, Plain, bindings, dotted, encoded, read_plain
from collector.snmp.varbinds import Pairs, of_get, of_walk, valueless
from config.model.access import SnmpVersion
from config.units import Seconds

_INTEGER, _OCTETS, _NULL, _OBJECT, _SEQUENCE = 0x02, 0x04, 0x05, 0x06, 0x30
_GET, _NEXT, _BULK = 0xA0, 0xA1, 0xA5
_ADDRESS, _OPAQUE = 0x40, 0x44
_UNSIGNED = frozenset({0x41, 0x42, 0x43, 0x46, 0x47})
"""Counter32, Gauge32, TimeTicks, Counter64, and the Unsigned32 of old."""
_STRINGS = frozenset({_OCTETS, _OPAQUE})
_WIDEST = 9
"""Octets of a whole number of 64 bits without a sign."""
_SHORT = 128
_VERSIONS = {SnmpVersion.V1: 0, SnmpVersion.V2C: 1}

GARBAGE = Trouble(reply=Reply.MALFORMED, said="the answer cannot be read", cure=Cure.SPLIT)


class PlainSession:
    """A conversation with one agent under a community.

    Args:
        agent: the agent to ask.
        community: the agent's community.
        talk: with it.
    """

    def __init__(self, agent: Agent, community: Community, talk: Talk) -> None:
        self._talk = talk
        self._silence = silence(agent)
        self._version = _VERSIONS[community.version]
        self._head = _tlv(_INTEGER, bytes([self._version])) + _tlv(_OCTETS, community.name.encode())
        self._numbers = itertools.count(int.from_bytes(os.urandom(4)))

    async def get(self, oids: Sequence[str], patience: Seconds) -> Varbinds | Trouble:
        """Ask for these objects in one request."""
        found = await self._answer(_GET, 0, oids, patience)
        return found if isinstance(found, Trouble) else of_get(oids, found)

    async def after(self, oid: str, most: int, patience: Seconds) -> Varbinds | Trouble:
        """Ask for up to ``most`` objects that follow an OID; v1 has no way to ask for more than one."""
        most = most if self._version else 1
        found = await self._answer(_BULK if self._version else _NEXT, most, [oid], patience)
        if isinstance(found, Trouble):
            return {} if found is STATUSES[NO_SUCH_NAME] else found
        return of_walk(most, [pair for pair in found if pair[1] is not None])  # the end bears the last one's name

    def close(self) -> None:
        """Give back the socket."""
        self._talk.close()

    async def _answer(self, kind: int, most: int, oids: Sequence[str], patience: Seconds) -> Pairs | Trouble:
        number = next(self._numbers) & 0x7FFFFFFF
        found: list[Pairs] = []

        def understand(datagram: bytes) -> Varbinds | Trouble | None:
            answer = read_plain(datagram)
            if answer is None:
                return GARBAGE
            if (answer.version, answer.number) != (self._version, number):
                return None
            said = _said(answer)
            if isinstance(said, Trouble):
                return said
            found.append(said)
            return {}

        trouble = await self._talk.ask(
            _request(self._head, kind, number, most, tuple(oids)), understand, patience, self._silence
        )
        return trouble if isinstance(trouble, Trouble) else found[0]


def _said(answer: Plain) -> Pairs | Trouble:
    """Read what an answer to our question says."""
    if answer.status:
        return STATUSES.get(answer.status, FAULT)
    said = bindings(answer.datagram, answer.objects)
    return GARBAGE if said is None else values_of(said)


def values_of(said: Iterable[Binding]) -> Pairs | Trouble:
    """Read the value of every object."""
    pairs: list[tuple[str, Raw]] = []
    for oid, tag, contents in said:
        name = dotted(oid)
        if tag == _NULL:
            return valueless(name)
        value = value_of(tag, contents)
        if isinstance(value, Trouble):
            return value
        pairs.append((name, value))
    return pairs


def value_of(tag: int, contents: bytes) -> Raw | Trouble:
    r"""Read one value.

    >>> value_of(0x02, b"\xff"), value_of(0x41, b"\xff"), value_of(0x46, b"\x00" + b"\xff" * 8)
    (-1, 255, 18446744073709551615)
    >>> value_of(0x04, b"0.42"), value_of(0x06, encoded("1.3.6.1")), value_of(0x40, bytes([192, 0, 2, 1]))
    (b'0.42', '1.3.6.1', '192.0.2.1')
    >>> value_of(0x80, b""), value_of(0x02, b"").said
    (None, 'the answer cannot be read')
    """
    if tag == _INTEGER or tag in _UNSIGNED:
        return int.from_bytes(contents, signed=tag == _INTEGER) if 0 < len(contents) <= _WIDEST else GARBAGE
    if tag in NO_VALUES:
        return None
    if tag in _STRINGS:
        return contents
    if tag == _ADDRESS:
        return ".".join(map(str, contents))
    return dotted(contents) if tag == _OBJECT else GARBAGE


def _request(head: bytes, kind: int, number: int, most: int, oids: tuple[str, ...]) -> bytes:
    """Write a question; ``most``: repetitions of GETBULK, whose place others have a status in."""
    body = _tlv(_INTEGER, number.to_bytes(4)) + b"\x02\x01\x00" + _tlv(_INTEGER, _whole(most)) + _objects(oids)
    return _tlv(_SEQUENCE, head + _tlv(kind, body))


@lru_cache(maxsize=1024)
def _objects(oids: tuple[str, ...]) -> bytes:
    return _tlv(_SEQUENCE, b"".join(_tlv(_SEQUENCE, _tlv(_OBJECT, encoded(oid)) + b"\x05\x00") for oid in oids))


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
