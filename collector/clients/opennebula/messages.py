"""Encode calls of OpenNebula's XML-RPC and decode their answers. Pure.

Every answer is a list: success or not; the value (often an XML document as text) or the error; a code.

Source: the XML-RPC API of OpenNebula 7.4 and its error codes; answers of a real 7.0.2.
"""

from __future__ import annotations

import enum
import re
import xmlrpc.client
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from xml.etree import ElementTree
from xml.parsers.expat import ExpatError

from collector.clients.http.failures import HttpFailure
from collector.clients.quoting import shown
from collector.samples import Reply
from config.causes import FailureCause
from config.errors import DriverError, Full, Permanent, Transient

PAGE = 100
"""Entries that one page requests: an end of ``-PAGE`` makes the start of a range an offset."""
XML: Mapping[str, str] = MappingProxyType({"Content-Type": "text/xml"})
"""Headers of a call."""
_PARTS = 3
_DIGITS = re.compile("[0-9]{1,18}", re.ASCII)
_QUOTA = re.compile(r"\blimit of\b.*\b(reached|exceeded)\b|\bquota\b", re.IGNORECASE)


class ErrorCode(enum.Enum):
    """OpenNebula's error codes."""

    AUTHENTICATION = 0x100
    AUTHORISATION = 0x200
    NO_EXISTS = 0x400
    ACTION = 0x800
    API = 0x1000
    INTERNAL = 0x2000
    OTHER = 0
    """Allocation, a lock, replication, or a code that is newer than this list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaRefused:
    """OpenNebula's refusal."""

    code: int
    detail: str
    """The unchanged text: it may hold a password."""

    @property
    def fault(self) -> ErrorCode:
        """Return the meaning of the code."""
        return next((fault for fault in ErrorCode if fault.value == self.code), ErrorCode.OTHER)


def call(session: str, method: str, *arguments: object) -> bytes:
    """Encode a call of ``one.METHOD``; a session is ``user:password``."""
    return xmlrpc.client.dumps((session, *arguments), f"one.{method}").encode(errors="xmlcharrefreplace")  # type: ignore[arg-type] # or TypeError


def opened(body: bytes) -> object | OpennebulaRefused | HttpFailure:
    """Decode an answer: a number, a text, or a document as its root.

    >>> opened(xmlrpc.client.dumps(([True, "<VM><ID>7</ID></VM>", 0],), methodresponse=True).encode()).tag
    'VM'
    >>> opened(xmlrpc.client.dumps(([False, "no such VM", 0x400],), methodresponse=True).encode()).fault
    <ErrorCode.NO_EXISTS: 1024>
    >>> opened(b"<html>")
    HttpFailure(reply=<Reply.MALFORMED: 5>, detail='the endpoint does not speak XML-RPC')
    """
    try:
        answer, _ = xmlrpc.client.loads(body)
    except xmlrpc.client.Fault as fault:
        return HttpFailure(reply=Reply.UNREACHABLE, detail=f"XML-RPC fault {fault.faultCode}")
    except (xmlrpc.client.Error, ExpatError, ValueError, TypeError, LookupError, RecursionError):
        return HttpFailure(reply=Reply.MALFORMED, detail="the endpoint does not speak XML-RPC")
    result = answer[0] if len(answer) == 1 else None
    match result:
        case [True, str(value), *rest] if len(rest) + 2 >= _PARTS and value.startswith("<"):
            return _parsed(value)
        case [True, value, *rest] if len(rest) + 2 >= _PARTS:
            return value
        case [False, why, int(code), *_]:
            return OpennebulaRefused(code=code, detail=str(why))
        case _:
            return MALFORMED


MALFORMED = HttpFailure(reply=Reply.MALFORMED, detail="the answer is not OpenNebula's listing of virtual machines")


def _parsed(document: str) -> ElementTree.Element | HttpFailure:
    try:
        return ElementTree.fromstring(document)  # noqa: S314 expat bounds the expansion of entities
    except (ElementTree.ParseError, ValueError):
        return MALFORMED


def whole(entry: object, key: str) -> int | None:
    """Return a non-negative integer; ``None``: there is none."""
    digits = text(entry, key)
    return int(digits) if _DIGITS.fullmatch(digits) else None


def text(entry: object, key: str) -> str:
    """Return a single value of an element; empty: there is none, a vector, or several of that name."""
    found = entry.findall(key) if isinstance(entry, ElementTree.Element) else []
    return (found[0].text or "") if len(found) == 1 and len(found[0]) == 0 else ""


class NotThere(Permanent):
    """OpenNebula has no such object: a definite not-found."""


class NotAllowed(Permanent):
    """The user lacks a right, or an attribute is restricted."""


class WrongState(Transient):
    """OpenNebula refuses the action in the machine's present state."""


def refusal(fault: ErrorCode, detail: str, about: str) -> DriverError:
    """Classify a refusal as permanent (a person must act) or transient. ``about`` begins the message.

    OpenNebula reports a full quota as missing authorisation; its text shows which. Unknown errors are transient.

    >>> print(refusal(ErrorCode.AUTHORISATION, "user [2] limit of 4 reached for VMS quota in VM.", "prod"))
    prod: quota: user [2] limit of 4 reached for VMS quota in VM: raise the quota, or lower max
    >>> type(refusal(ErrorCode.OTHER, "Error allocating a new virtual machine.", "prod")).__name__
    'Transient'
    """
    words = shown(detail).rstrip(".:") or "no reason is given"
    if _QUOTA.search(words):
        return Full(f"{about}: quota: {words}: raise the quota, or lower max")
    match fault:
        case ErrorCode.AUTHENTICATION:
            return Permanent(f"{about}: refused: {words}: check user and password", cause=FailureCause.CREDENTIALS)
        case ErrorCode.AUTHORISATION:
            message = f"{about}: refused: {words}: check what the user may use and manage"
            return NotAllowed(message, cause=FailureCause.CREDENTIALS)
        case ErrorCode.NO_EXISTS:
            return NotThere(f"{about}: refused: {words}")
        case ErrorCode.API:
            return Permanent(f"{about}: refused: {words}")
        case ErrorCode.ACTION | ErrorCode.INTERNAL | ErrorCode.OTHER:
            kind = WrongState if fault is ErrorCode.ACTION else Transient
            return kind(f"{about}: {words}")
