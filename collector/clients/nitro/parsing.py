"""Decode NITRO's answers: the envelope around every answer, and the objects in it. Pure.

Every body has an ``errorcode`` beside the HTTP status: a status of success may come with an error, and the other way
round. Numbers are text (counters, gauges) or numbers (rates, ports), by version and by field. What stands alone may be
an object or a list of one.

Source: NITRO REST API reference, "Error handling" and "Retrieving statistics"; the numbers of errors are those of the
vendor's clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from types import MappingProxyType

from collector.clients.http.failures import of_server, refused
from collector.clients.quoting import shown
from collector.parsing import loads
from collector.samples import Reply

Thing = Mapping[str, object]
"""One object of NITRO, unchanged."""

NO_SUCH_RESOURCE = 258
MISSING = frozenset({NO_SUCH_RESOURCE, 344})
"""There is no such object; 344, "No Service", concerns services and their groups."""
ALREADY_THERE = 273
NOT_PRIMARY = 1028
WRONG_PASSWORD = frozenset({354, 355})
"""Wrong password, or no such user."""
FORBIDDEN = frozenset({257, 2138})
"""The user's command policy does not allow it."""

_EXPIRED = frozenset({444, 1027})
_NO_SUCH_VIRTUAL_SERVER = 461
_TOO_MANY = (445, 446, 447)
"""Limits of sessions, of connections, and of connections of one session."""
_REPLIES: Mapping[int, Reply] = MappingProxyType(
    dict.fromkeys(FORBIDDEN | WRONG_PASSWORD, Reply.AUTH)
    | dict.fromkeys(MISSING | {_NO_SUCH_VIRTUAL_SERVER}, Reply.REFUSED)
    | dict.fromkeys(_TOO_MANY, Reply.RATE_LIMITED)
    | dict.fromkeys(_EXPIRED | {NOT_PRIMARY}, Reply.UNREACHABLE)
)
_PARTIAL_CODE = 1243
_PARTIAL = frozenset({207, 209})
"""Multi-Status, and NITRO's own X-NITRO-WARNING."""
_OK, _BEYOND_OK, _UNAUTHORIZED = 200, 300, 401
_DIGITS = 18
"""Digits of a 64-bit number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NitroAnswer:
    """A successful answer."""

    document: Thing
    doubt: str = ""
    """Why the answer may be incomplete, in the appliance's own words; empty: it is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NitroFailure:
    """A failed call."""

    code: int = 0
    """NITRO's error; 0: there is only the HTTP status."""
    status: int = 0
    """The HTTP status; 0: nothing was sent."""
    detail: str
    reply: Reply
    """What counters call it."""

    @property
    def expired(self) -> bool:
        """Return whether the session has ended: logging in again may help."""
        return self.code in _EXPIRED or (self.code == 0 and self.status == _UNAUTHORIZED)


def decode(status: int, body: bytes) -> NitroAnswer | NitroFailure:
    """Unwrap an answer.

    >>> text = b'{"errorcode": 0, "message": "Done", "lbvserver": [{"name": "web", "tothits": "7"}]}'
    >>> [thing["tothits"] for thing in things(decode(200, text).document, "lbvserver")], decode(201, b"")
    (['7'], NitroAnswer(document={}, doubt=''))
    >>> decode(409, b'{"errorcode": 273, "message": "Resource already exists", "severity": "ERROR"}').detail
    'error 273: Resource already exists'
    >>> decode(200, b'{"errorcode": 444, "message": "Session expired"}').expired
    True
    >>> decode(401, b'{"errorcode": 354, "message": "Invalid username"}').reply
    <Reply.AUTH: 3>
    """
    ok = _OK <= status < _BEYOND_OK
    if not body.strip() and ok:
        return NitroAnswer(document={})
    document = _document(body)
    if document is None and not ok:
        return NitroFailure(status=status, detail=refused(status).detail, reply=_by_status(status))
    code = None if document is None else whole(document.get("errorcode", 0))
    if document is None or code is None:
        return NitroFailure(
            status=status, detail=f"HTTP {status}, and the answer is not NITRO's", reply=Reply.MALFORMED
        )
    message = shown(str(document.get("message", "")))
    detail = f"error {code}: {message}" if code else message or f"HTTP {status}"
    found = NitroFailure(code=code, status=status, detail=detail, reply=_REPLIES.get(code) or _by_status(status))
    if found.expired:
        return found
    if code == _PARTIAL_CODE or status in _PARTIAL or (ok and document.get("severity") == "WARNING"):
        return NitroAnswer(document=document, doubt=detail)
    return NitroAnswer(document=document) if ok and not code else found


def _by_status(status: int) -> Reply:
    return of_server(refused(status)).reply if status >= _BEYOND_OK else Reply.MALFORMED


def things(document: Thing, kind: str) -> Iterator[Thing]:
    """Yield the objects of a kind: from a list, a single object, or the separate answers of a bulk request."""
    found = document.get(kind)
    for thing in found if isinstance(found, list) else [found]:
        if isinstance(thing, dict):
            yield thing
    parts = document.get("response")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict):
            yield from things(part, kind)


def is_legible(document: Thing, kind: str) -> bool:
    """Return whether everything that an answer gives of a kind is an object. `things` leaves the rest out.

    >>> [is_legible(document, "server") for document in ({"server": [{"name": "a"}]}, {}, {"server": "a"})]
    [True, True, False]
    """
    found = document.get(kind, [])
    return isinstance(found, dict) or (isinstance(found, list) and all(isinstance(thing, dict) for thing in found))


def text(thing: Thing, key: str) -> str:
    """Return a name or an address; empty: there is none."""
    found = thing.get(key)
    return found if isinstance(found, str) else ""


def whole(found: object) -> int | None:
    """Return a non-negative integer, which may arrive as text; ``None``: there is none."""
    if isinstance(found, str) and found.isascii() and found.isdecimal() and len(found) <= _DIGITS:
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def plain(address: str) -> str:
    """Return the canonical form of an address; any other text unchanged."""
    try:
        return ip_address(address).compressed
    except ValueError:
        return address


def _document(body: bytes) -> Thing | None:
    try:
        document = loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
