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


class Problem(enum.Enum):
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
class ProblemType:
    """One row of the table."""

    status: int
    title: str


TYPES: Mapping[Problem, ProblemType] = MappingProxyType(
    {
        Problem.MALFORMED: ProblemType(400, "The request cannot be read"),
        Problem.BAD_CURSOR: ProblemType(400, "This cursor is not of this list"),
        Problem.UNAUTHENTICATED: ProblemType(401, "A credential is missing or not accepted"),
        Problem.FORBIDDEN: ProblemType(403, "The caller lacks the right"),
        Problem.NO_CHANGE: ProblemType(403, "The size stays as it is; the reason is in the answer"),
        Problem.NOT_FOUND: ProblemType(404, "There is no such thing, or it is not the caller's"),
        Problem.WRONG_METHOD: ProblemType(405, "This address does not take this method"),
        Problem.TOO_SLOW: ProblemType(408, "The request did not arrive in time"),
        Problem.REFUSED: ProblemType(409, "The daemon will not do it, and nothing has changed"),
        Problem.FILE_REFUSED: ProblemType(409, "The file has problems, so the one before stays in force"),
        Problem.DECLARATION_REFUSED: ProblemType(409, "The declaration has problems, and nothing has changed"),
        Problem.STILL_RUNNING: ProblemType(409, "The first request with this idempotency key is being carried out"),
        Problem.OUTCOME_UNKNOWN: ProblemType(409, "It is not known whether the first request with this key was done"),
        Problem.ANSWER_NOT_KEPT: ProblemType(409, "The request with this key was done, and its answer is not kept"),
        Problem.CHANGED: ProblemType(412, "What the caller has read has changed since, and nothing was done"),
        Problem.TOO_LONG: ProblemType(413, "The body is too long"),
        Problem.WRONG_CONTENT: ProblemType(415, "The body has another content type"),
        Problem.MISDIRECTED: ProblemType(421, "The Host header does not name this machine"),
        Problem.INVALID: ProblemType(422, "A field of the request is missing or wrong"),
        Problem.KEY_REUSED: ProblemType(422, "This idempotency key belongs to another request"),
        Problem.TOO_MANY: ProblemType(429, "Too many requests or streams"),
        Problem.INTERNAL: ProblemType(500, "The daemon failed; its log has the reason"),
        Problem.STORE: ProblemType(503, "The store cannot be read or written"),
        Problem.UNKNOWN_YET: ProblemType(503, "The answer is not known yet"),
        Problem.BUSY: ProblemType(503, "Too much is asked for at once"),
        Problem.STANDBY: ProblemType(503, "This worker is a standby, and no holder of the lease is known"),
    }
)

_OF_STATUS = MappingProxyType({404: Problem.NOT_FOUND, 405: Problem.WRONG_METHOD, 422: Problem.INVALID})
RETRY: Mapping[Problem, int] = MappingProxyType(
    {
        Problem.TOO_MANY: 1,
        Problem.STILL_RUNNING: 1,
        Problem.STORE: 5,
        Problem.UNKNOWN_YET: 5,
        Problem.BUSY: 2,
        Problem.STANDBY: 2,
    }
)
"""After how many seconds a request may be tried again, unless the answer knows better."""


def uri_of(problem: Problem) -> str:
    """Return the URI of a type, relative to the daemon; it leads to the table.

    >>> uri_of(Problem.NOT_FOUND)
    '/api/v1/problems#not-found'
    """
    return f"{BASE}{PATH}#{problem.value}"


def details(problem: Problem, detail: str) -> dict[str, Any]:
    """Return the members of RFC 9457, for an answer that has members of its own."""
    found = TYPES[problem]
    return {"type": uri_of(problem), "title": found.title, "status": found.status, "detail": detail}


def problem_of_status(status: int) -> Problem:
    """Return the problem of an error that the web framework raises."""
    return _OF_STATUS.get(status, Problem.MALFORMED)


_ERRORS: tuple[tuple[type[Exception], Problem], ...] = (
    (NoSuch, Problem.NOT_FOUND),
    (ChangedSince, Problem.CHANGED),
    (Refused, Problem.REFUSED),
    (StoreError, Problem.STORE),
    (BadCursor, Problem.BAD_CURSOR),
)
"""What each exception of an operation is answered as; the first that fits."""


def problem_of_error(error: Exception) -> Problem:
    """Return the problem of what an operation raises."""
    return next((problem for kind, problem in _ERRORS if isinstance(error, kind)), Problem.INTERNAL)


def headers_of(problem: Problem) -> dict[str, str]:
    """Return the headers that every answer with this problem has."""
    if problem is Problem.UNAUTHENTICATED:
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": str(RETRY[problem])} if problem in RETRY else {}


def problem_response(problem: Problem, detail: str, headers: Mapping[str, str] = MappingProxyType({})) -> JSONResponse:
    """Return the answer of a request that was not carried out."""
    return JSONResponse(
        {"error": detail, **details(problem, detail)},
        TYPES[problem].status,
        {**headers_of(problem), **headers},
        MEDIA,
    )


async def send_problem(
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]], problem: Problem, detail: str, *headers: Header
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
