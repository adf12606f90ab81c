"""The closed table of problems that the HTTP interfaces answer, as RFC 9457 has them: type, status and title.

An answer keeps ``error``, which it had before; ``type``, ``title``, ``status`` and ``detail`` stand beside it. Programs
tell problems apart by ``type``; ``detail`` is for people and may change.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fastapi.responses import JSONResponse

from config.errors import Refused, StoreError
from handler.operations.address import BASE
from handler.operations.lookup import NoSuch
from handler.operations.size_tags import ChangedSince
from handler.web.paging import BadCursor

MEDIA = "application/problem+json"
PATH = "/problems"
"""Below `BASE`: the table itself."""
Header = tuple[bytes, bytes]


class ProblemType(enum.Enum):
    """Why a request was not carried out. The value ends the type's URI."""

    MALFORMED = "malformed"
    BAD_CURSOR = "bad-cursor"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NO_CHANGE = "no-change"
    NOT_FOUND = "not-found"
    WRONG_METHOD = "wrong-method"
    TOO_SLOW = "too-slow"
    REFUSED = "refused"
    FILE_REFUSED = "file-refused"
    DECLARATION_REFUSED = "declaration-refused"
    STILL_RUNNING = "still-running"
    OUTCOME_UNKNOWN = "outcome-unknown"
    ANSWER_NOT_KEPT = "answer-not-kept"
    CHANGED = "changed"
    TOO_LONG = "too-long"
    WRONG_CONTENT = "wrong-content"
    MISDIRECTED = "misdirected"
    INVALID = "invalid"
    KEY_REUSED = "key-reused"
    TOO_MANY = "too-many"
    INTERNAL = "internal"
    STORE = "store"
    UNKNOWN_YET = "unknown-yet"
    BUSY = "busy"
    STANDBY = "standby"


@dataclass(frozen=True, slots=True)
class StatusAndTitle:
    """Of one type of problem (RFC 9457)."""

    status: int
    title: str


TYPES: Mapping[ProblemType, StatusAndTitle] = MappingProxyType(
    {
        ProblemType.MALFORMED: StatusAndTitle(400, "The request cannot be read"),
        ProblemType.BAD_CURSOR: StatusAndTitle(400, "This cursor is not of this list"),
        ProblemType.UNAUTHENTICATED: StatusAndTitle(401, "A credential is missing or not accepted"),
        ProblemType.FORBIDDEN: StatusAndTitle(403, "The caller lacks the right"),
        ProblemType.NO_CHANGE: StatusAndTitle(403, "The size stays as it is; the reason is in the answer"),
        ProblemType.NOT_FOUND: StatusAndTitle(404, "There is no such thing, or it is not the caller's"),
        ProblemType.WRONG_METHOD: StatusAndTitle(405, "This address does not take this method"),
        ProblemType.TOO_SLOW: StatusAndTitle(408, "The request did not arrive in time"),
        ProblemType.REFUSED: StatusAndTitle(409, "The daemon will not do it, and nothing has changed"),
        ProblemType.FILE_REFUSED: StatusAndTitle(409, "The file has problems, so the one before stays in force"),
        ProblemType.DECLARATION_REFUSED: StatusAndTitle(409, "The declaration has problems, and nothing has changed"),
        ProblemType.STILL_RUNNING: StatusAndTitle(
            409, "The first request with this idempotency key is being carried out"
        ),
        ProblemType.OUTCOME_UNKNOWN: StatusAndTitle(
            409, "It is not known whether the first request with this key was done"
        ),
        ProblemType.ANSWER_NOT_KEPT: StatusAndTitle(
            409, "The request with this key was done, and its answer is not kept"
        ),
        ProblemType.CHANGED: StatusAndTitle(412, "What the caller has read has changed since, and nothing was done"),
        ProblemType.TOO_LONG: StatusAndTitle(413, "The body is too long"),
        ProblemType.WRONG_CONTENT: StatusAndTitle(415, "The body has another content type"),
        ProblemType.MISDIRECTED: StatusAndTitle(421, "The Host header does not name this machine"),
        ProblemType.INVALID: StatusAndTitle(422, "A field of the request is missing or wrong"),
        ProblemType.KEY_REUSED: StatusAndTitle(422, "This idempotency key belongs to another request"),
        ProblemType.TOO_MANY: StatusAndTitle(429, "Too many requests or streams"),
        ProblemType.INTERNAL: StatusAndTitle(500, "The daemon failed; its log has the reason"),
        ProblemType.STORE: StatusAndTitle(503, "The store cannot be read or written"),
        ProblemType.UNKNOWN_YET: StatusAndTitle(503, "The answer is not known yet"),
        ProblemType.BUSY: StatusAndTitle(503, "Too much is asked for at once"),
        ProblemType.STANDBY: StatusAndTitle(503, "This worker is a standby, and no holder of the lease is known"),
    }
)

_OF_STATUS = MappingProxyType({404: ProblemType.NOT_FOUND, 405: ProblemType.WRONG_METHOD, 422: ProblemType.INVALID})
RETRY: Mapping[ProblemType, int] = MappingProxyType(
    {
        ProblemType.TOO_MANY: 1,
        ProblemType.STILL_RUNNING: 1,
        ProblemType.STORE: 5,
        ProblemType.UNKNOWN_YET: 5,
        ProblemType.BUSY: 2,
        ProblemType.STANDBY: 2,
    }
)
"""After how many seconds a request may be tried again, unless the answer knows better."""


def uri_of(problem: ProblemType) -> str:
    """Return the URI of a type, relative to the daemon; it leads to the table.

    >>> uri_of(ProblemType.NOT_FOUND)
    '/api/v1/problems#not-found'
    """
    return f"{BASE}{PATH}#{problem.value}"


def details(problem: ProblemType, detail: str) -> dict[str, Any]:
    """Return the members of RFC 9457, for an answer that has members of its own."""
    found = TYPES[problem]
    return {"type": uri_of(problem), "title": found.title, "status": found.status, "detail": detail}


def problem_of_status(status: int) -> ProblemType:
    """Return the problem of an error that the web framework raises."""
    return _OF_STATUS.get(status, ProblemType.MALFORMED)


_ERRORS: tuple[tuple[type[Exception], ProblemType], ...] = (
    (NoSuch, ProblemType.NOT_FOUND),
    (ChangedSince, ProblemType.CHANGED),
    (Refused, ProblemType.REFUSED),
    (StoreError, ProblemType.STORE),
    (BadCursor, ProblemType.BAD_CURSOR),
)
"""What each exception of an operation is answered as; the first that fits."""


def problem_of_error(error: Exception) -> ProblemType:
    """Return the problem of what an operation raises."""
    return next((problem for kind, problem in _ERRORS if isinstance(error, kind)), ProblemType.INTERNAL)


def headers_of(problem: ProblemType) -> dict[str, str]:
    """Return the headers that every answer with this problem has."""
    if problem is ProblemType.UNAUTHENTICATED:
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": str(RETRY[problem])} if problem in RETRY else {}


def problem_response(
    problem: ProblemType, detail: str, headers: Mapping[str, str] = MappingProxyType({})
) -> JSONResponse:
    """Return the answer of a request that was not carried out; half of a character that it held is spelt out."""
    detail = detail.encode("utf-8", "backslashreplace").decode()
    return JSONResponse(
        {"error": detail, **details(problem, detail)},
        TYPES[problem].status,
        {**headers_of(problem), **headers},
        MEDIA,
    )


async def send_problem(
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]], problem: ProblemType, detail: str, *headers: Header
) -> None:
    """Send such an answer from before the application."""
    body = json.dumps({"error": detail, **details(problem, detail)}).encode()
    given = {name for name, _ in headers}
    own = ((name.lower().encode(), value.encode()) for name, value in headers_of(problem).items())
    fields = [
        (b"content-type", MEDIA.encode()),
        (b"content-length", str(len(body)).encode()),
        *(pair for pair in own if pair[0] not in given),
        *headers,
    ]
    await send({"type": "http.response.start", "status": TYPES[problem].status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


def table() -> list[dict[str, Any]]:
    """Return the whole table."""
    return [{"type": uri_of(problem), "status": found.status, "title": found.title} for problem, found in TYPES.items()]
