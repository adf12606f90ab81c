"""What gufo-snmp does not say of a message: its error-status, why it was refused, and whether its signature is true.

gufo-snmp 0.13 leaves out the error-status of answers, calls every report an authentication error, and believes
answers of v3 without looking at their signature. All three stand in a part of the message that is read here.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from collector.snmp.agents import HASHES
from config.access import AuthProtocol

_V3 = 3
_SIGNED = 0x01
_REPORT = 0xA8
_RESPONSE = 0xA2
_OCTETS = 0x04
_LONG = 0x80
_USM_STATS = bytes.fromhex("2b060106030f0101")
"""1.3.6.1.6.3.15.1.1, usmStats. Source: RFC 3414, section 5."""
_LENGTHS = {
    AuthProtocol.MD5: 12,
    AuthProtocol.SHA: 12,
    AuthProtocol.SHA224: 16,
    AuthProtocol.SHA256: 24,
    AuthProtocol.SHA384: 32,
    AuthProtocol.SHA512: 48,
}
"""Of signatures, in bytes. Source: RFC 3414, 6.3.1; RFC 7860, 4.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message from an agent."""

    status: int | None
    """The error-status of an answer; ``None``: no answer, or encrypted."""
    report: int | None
    """Of which of usmStats it is a report, 0 for another; ``None``: no report, or encrypted."""
    signature: slice | None
    """Where it stands; ``None``: not signed."""


_Element = tuple[int, int, int]
"""Tag, where its contents begin, and where they end."""


def read(datagram: bytes) -> Message | None:
    """Read what surrounds the values; ``None``: this is no message of SNMP.

    What snmpd answers to a request of v1 for an object that it does not have, and the same cut off:

    >>> answer = bytes.fromhex("302902010004067075626c6963a21c02044a5d9ff9020102020101300e300c06082b060102010163000500")
    >>> read(answer).status, read(answer[:20])
    (2, None)
    """
    try:
        _, at, end = _element(datagram, 0, len(datagram))
        _, version, at = _element(datagram, at, end)
        if datagram[version] != _V3:
            _, _, at = _element(datagram, at, end)
            return _pdu(datagram, _element(datagram, at, end), None)
        return _v3(datagram, at, end)
    except (IndexError, ValueError):
        return None


def authentic(datagram: bytes, signature: slice, protocol: AuthProtocol, key: bytes) -> bool:
    """Tell whether a message is signed with a key.

    Args:
        datagram: the whole message.
        signature: where it stands.
        protocol: that it is made with.
        key: localised for the agent's engine.

    Source: RFC 3414, 6.3.2 and 7.3.2; RFC 7860, 4.2.2.
    """
    length = _LENGTHS[protocol]
    if signature.stop - signature.start != length:
        return False
    blank = datagram[: signature.start] + bytes(length) + datagram[signature.stop :]
    return hmac.compare_digest(hmac.digest(key, blank, HASHES[protocol])[:length], datagram[signature])


def _v3(datagram: bytes, at: int, end: int) -> Message | None:
    _, header, at = _element(datagram, at, end)
    _, security, scoped = _element(datagram, at, end)
    _, _, flags = _element(datagram, header, at)
    _, _, flags = _element(datagram, flags, at)
    _, flags, _ = _element(datagram, flags, at)
    signature = _signature(datagram, security, scoped) if datagram[flags] & _SIGNED else None
    tag, at, end = _element(datagram, scoped, end)
    if tag == _OCTETS:
        return Message(status=None, report=None, signature=signature)
    for _ in ("context engine", "context name"):
        _, _, at = _element(datagram, at, end)
    return _pdu(datagram, _element(datagram, at, end), signature)


def _signature(datagram: bytes, at: int, end: int) -> slice:
    _, at, end = _element(datagram, at, end)
    for _ in ("engine", "boots", "time", "user"):
        _, _, at = _element(datagram, at, end)
    _, start, stop = _element(datagram, at, end)
    return slice(start, stop)


def _pdu(datagram: bytes, pdu: _Element, signature: slice | None) -> Message | None:
    tag, at, end = pdu
    if tag == _REPORT:
        place = datagram.find(_USM_STATS, at, end)
        return Message(status=None, report=0 if place < 0 else datagram[place + len(_USM_STATS)], signature=signature)
    if tag != _RESPONSE:
        return None
    _, _, at = _element(datagram, at, end)
    _, status, _ = _element(datagram, at, end)
    return Message(status=datagram[status], report=None, signature=signature)


def _element(datagram: bytes, at: int, end: int) -> _Element:
    """Read tag and length at a place; raises where it does not lie within its surroundings (X.690, 8.1)."""
    tag, length = datagram[at], datagram[at + 1]
    at += 2
    if length & _LONG:
        octets = length & ~_LONG
        length = int.from_bytes(datagram[at : at + octets])
        at += octets
    if not at + length <= end:
        raise ValueError("longer than what it lies in")
    return tag, at, at + length
