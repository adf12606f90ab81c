"""What the OpenAPI document says of every route: statuses, problems, headers, and what a caller must show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.params import Depends

from handler.operations.address import BASE, Address
from handler.operations.registry import Operation
from handler.web.needs import ANYONE, BEARER
from handler.web.problems import MEDIA, RETRY, TYPES, ProblemType, uri_of
from handler.web.repeating import is_keyed

Responses = dict[int | str, dict[str, Any]]
_SCHEMA = "Problem"
_ALWAYS = (
    ProblemType.MALFORMED,
    ProblemType.UNAUTHENTICATED,
    ProblemType.FORBIDDEN,
    ProblemType.TOO_SLOW,
    ProblemType.TOO_LONG,
    ProblemType.WRONG_CONTENT,
    ProblemType.MISDIRECTED,
    ProblemType.INVALID,
    ProblemType.TOO_MANY,
    ProblemType.INTERNAL,
    ProblemType.STORE,
    ProblemType.BUSY,
    ProblemType.STANDBY,
)
"""What any request may be answered: by the edge, the gate, and the application."""
_READING = (*_ALWAYS, ProblemType.NOT_FOUND, ProblemType.BAD_CURSOR, ProblemType.REFUSED, ProblemType.UNKNOWN_YET)
_ACTING = (*_ALWAYS, ProblemType.NOT_FOUND, ProblemType.REFUSED, ProblemType.CHANGED)
_KEYED = (ProblemType.STILL_RUNNING, ProblemType.OUTCOME_UNKNOWN, ProblemType.ANSWER_NOT_KEPT, ProblemType.KEY_REUSED)
_ETAG = {"ETag": {"description": "The entity tag of the answer.", "schema": {"type": "string"}}}
_LINK = {"Link": {"description": "The next page, as rel=next; missing on the last.", "schema": {"type": "string"}}}
_REPLAYED = {
    "Idempotency-Replayed": {"description": "The answer of an earlier request.", "schema": {"const": "true"}},
}


def reading() -> Responses:
    """Return what a route that reads may answer, besides 200."""
    return {
        200: {"headers": {**_ETAG, **_LINK}},
        304: {"description": "The caller has this answer already.", "headers": _ETAG},
        **_refusals(_READING),
    }


def api_router(*, tags: list[str | Enum] | None = None, dependencies: Sequence[Depends] = ()) -> APIRouter:
    """Return a router for what reads below `/api/v1`."""
    return APIRouter(prefix=BASE, responses=reading(), tags=tags, dependencies=dependencies)


def measuring() -> Responses:
    """Return what a route outside `/api/v1` may answer, besides 200."""
    return _refusals(_READING)


def acting(kind: type[Operation], address: Address) -> Responses:
    """Return what the route of an operation may answer."""
    outcome = str(kind.perform.__annotations__["return"])
    statuses, more = _OUTCOMES.get(outcome, ((), ()))
    problems = (*_ACTING, *more, *(_KEYED if is_keyed(address) else ()))
    headers = {**(_ETAG if outcome == "Decision" else {}), **(_REPLAYED if is_keyed(address) else {})}
    done: Responses = {status: {"description": "Done.", "headers": headers} for status in {address.status, *statuses}}
    return {**done, **_refusals(problems)}


_OUTCOMES: Mapping[str, tuple[tuple[int, ...], tuple[ProblemType, ...]]] = {
    "Decision": ((200, 202), (ProblemType.NO_CHANGE,)),
    "RequestReply": ((202,), (ProblemType.NO_CHANGE,)),
    "Reloaded": ((200,), (ProblemType.FILE_REFUSED,)),
    "Redeclared": ((200,), (ProblemType.DECLARATION_REFUSED,)),
}
"""Statuses and problems of outcomes that have their own."""


def _refusals(problems: Collection[ProblemType]) -> Responses:
    return {status: _refusal([each for each in TYPES if each in problems and TYPES[each].status == status])
            for status in sorted({TYPES[problem].status for problem in problems})}  # fmt: skip


def _refusal(problems: list[ProblemType]) -> dict[str, Any]:
    kinds = {"type": "object", "properties": {"type": {"enum": [uri_of(problem) for problem in problems]}}}
    schema = {"allOf": [{"$ref": f"#/components/schemas/{_SCHEMA}"}, kinds]}
    described = {
        "description": "; ".join(TYPES[each].title for each in problems),
        "content": {MEDIA: {"schema": schema}},
    }
    headers = dict(_headers(problems))
    return {**described, "headers": headers} if headers else described


def _headers(problems: list[ProblemType]) -> Iterator[tuple[str, Any]]:
    if ProblemType.UNAUTHENTICATED in problems:
        yield "WWW-Authenticate", {"description": "Bearer", "schema": {"type": "string"}}
    if any(problem in RETRY for problem in problems):
        yield "Retry-After", {"description": "Seconds until the next try.", "schema": {"type": "integer", "minimum": 1}}


def describe(app: FastAPI) -> None:
    """Have the application describe itself with all of this."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, routes=app.routes)
            components = document.setdefault("components", {})
            components.setdefault("schemas", {})[_SCHEMA] = _problem()
            components["securitySchemes"] = _schemes()
            for path in document["paths"].values():
                for operation in path.values():
                    _secure(operation)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _problem() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "title": _SCHEMA,
        "description": "RFC 9457. Some problems keep the members that they always had beside these.",
        "properties": {
            "type": {"type": "string", "enum": [uri_of(problem) for problem in TYPES]},
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "error": {"type": "string", "description": "The same as detail, as it always was."},
        },
        "required": ["type", "title", "status", "detail"],
    }


def _schemes() -> dict[str, Any]:
    return {
        BEARER: {
            "type": "http",
            "scheme": "bearer",
            "description": "A user's token; until users exist, that of the state directory; none over the unix socket.",
        }
    }


def _secure(operation: dict[str, Any]) -> None:
    """Turn the marks of `handler.web.needs` into what OpenAPI says."""
    names = {name for each in operation.get("security", ()) for name in each}
    if ANYONE in names:
        operation["security"] = [{}, {BEARER: []}]
    elif names:
        operation["security"] = [{BEARER: []}]
    else:
        operation["security"] = []
