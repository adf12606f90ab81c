"""What a NetScaler says over NITRO: the envelope around every answer, and the objects in it. Pure.

Every body has an ``errorcode``, beside the HTTP status: a status of success may come with an error, and the other way
round. Numbers are text (counters, gauges) or numbers (rates, ports), by version and by field. What stands alone may be
an object or a list of one.

Source: NITRO REST API reference, "Error handling" and "Retrieving statistics"; the numbers of errors are those of the
vendor's clients.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from collector.clients.http.client import Answer
from collector.clients.http.failures import Failure, of_server, refused
from collector.numbers import number
from collector.samples import Reply
from collector.sources.json_once import loads

Thing = Mapping[str, object]
"""One object of NITRO, as it came."""

_BY_CODE: Mapping[int, Reply] = MappingProxyType(
    {
        257: Reply.AUTH,  # operation not permitted
        258: Reply.REFUSED,  # no such resource
        344: Reply.REFUSED,  # no such service
        354: Reply.AUTH,  # no such user
        355: Reply.AUTH,  # wrong password
        445: Reply.RATE_LIMITED,  # too many sessions
        446: Reply.RATE_LIMITED,  # too many connections
        447: Reply.RATE_LIMITED,  # too many connections of one session
        461: Reply.REFUSED,  # no such virtual server
        1028: Reply.UNREACHABLE,  # not the primary node
        2138: Reply.AUTH,  # not authorised
    }
)
_EXPIRED = frozenset({444, 1027})
_PARTIAL_CODE = 1243
_PARTIAL = frozenset({207, 209})
"""Multi-Status, and NITRO's own X-NITRO-WARNING."""
_OK, _BEYOND_OK, _UNAUTHORIZED = 200, 300, 401


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer with objects in it."""

    document: Thing
    at: float
    """Steady seconds at which it arrived."""
    doubt: str = ""
    """Why it may not be whole, in the appliance's own words; empty: it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """The session is over: log in again."""

    code: int
    """0: only the HTTP status says so."""
    said: str


def decode(answer: Answer) -> Answered | Expired | Failure:
    """Open the envelope.

    >>> text = b'{"errorcode": 0, "message": "Done", "lbvserver": [{"name": "web", "tothits": "7", "hitsrate": 0}]}'
    >>> found = decode(Answer(status=200, headers={}, body=text, at=1.0))
    >>> [[figure(one, "tothits"), figure(one, "hitsrate")] for one in things(found.document, "lbvserver")]
    [[7.0, 0.0]]
    >>> decode(Answer(status=200, headers={}, body=b'{"errorcode": 444, "message": "Session expired"}', at=1.0))
    Expired(code=444, said='error 444: Session expired')
    >>> decode(Answer(status=401, headers={}, body=b'{"errorcode": 354, "message": "Invalid username"}', at=1.0))
    Failure(reply=<Reply.AUTH: 3>, said='error 354: Invalid username')
    """
    document = _document(answer.body)
    if document is None:
        return _without_document(answer)
    code = _code(document)
    if code is None:
        return Failure(reply=Reply.MALFORMED, said="JSON, but not NITRO's: its errorcode is no number")
    message = str(document.get("message", ""))
    said = f"error {code}: {message}" if code else message
    if code in _EXPIRED or (code == 0 and answer.status == _UNAUTHORIZED):
        return Expired(code=code, said=said or "HTTP 401")
    if code == _PARTIAL_CODE or answer.status in _PARTIAL or document.get("severity") == "WARNING":
        return Answered(document=document, at=answer.at, doubt=said or f"HTTP {answer.status}")
    if code == 0 and _OK <= answer.status < _BEYOND_OK:
        return Answered(document=document, at=answer.at)
    by_status = of_server(refused(answer.status)) if answer.status >= _BEYOND_OK else None
    kind = _BY_CODE.get(code) or (by_status.reply if by_status else Reply.MALFORMED)
    return Failure(reply=kind, said=said or f"HTTP {answer.status}")


def things(document: Thing, kind: str) -> Iterator[Thing]:
    """The objects of a kind, whether they come as a list, alone, or each in the answer of its own of a bulk."""
    found = document.get(kind)
    for thing in found if isinstance(found, list) else [found]:
        if isinstance(thing, dict):
            yield thing
    parts = document.get("response")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict):
            yield from things(part, kind)


def text(thing: Thing, key: str) -> str:
    """A name or an address; empty where there is none."""
    found = thing.get(key)
    return found if isinstance(found, str) else ""


def figure(thing: Thing, field: str) -> float | Failure:
    """One statistic, text or number; NO_SUCH_COUNTER where it is not among those of this object."""
    found = thing.get(field)
    match found:
        case None | "":
            return Failure(reply=Reply.NO_SUCH_COUNTER, said=f"no {field} in the answer")
        case str():
            value = number(found)
        case bool():
            value = Reply.MALFORMED
        case int() | float():
            value = _finite(found)
        case _:
            value = Reply.MALFORMED
    if isinstance(value, Reply):
        return Failure(reply=value, said=f"{field} is no number")
    return value


def _finite(found: float) -> float | Reply:
    try:
        value = float(found)
    except OverflowError:
        return Reply.MALFORMED
    return value if math.isfinite(value) else Reply.MALFORMED


def _document(body: bytes) -> dict[str, object] | None:
    try:
        document = loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _without_document(answer: Answer) -> Expired | Failure:
    if answer.status == _UNAUTHORIZED:
        return Expired(code=0, said="HTTP 401")
    if not _OK <= answer.status < _BEYOND_OK:
        return of_server(refused(answer.status))
    said = "no JSON object: is it a NetScaler that answers there?" if answer.body else "an empty answer"
    return Failure(reply=Reply.MALFORMED, said=said)


def _code(document: Thing) -> int | None:
    """The error's number; 0 where there is none, as in some answers of success."""
    found = document.get("errorcode", 0)
    if isinstance(found, str):
        value = number(found)
        found = None if isinstance(value, Reply) else int(value)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
