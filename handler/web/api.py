"""``/api/v1``, ``/metrics``, ``/healthz`` and ``/readyz``: thin routes over the `Daemon` port."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from config.errors import Refused, StoreError
from config.units import CounterId, GroupId, Instant, PolicyId
from handler.operations.interface import Asked, Daemon, NoSuch
from handler.ports.stored import EVERY_KIND, EventKind, Span
from handler.snapshots.writing import written
from handler.web.asking import By, NeedsToken, decided
from handler.web.balancers import balancer_routes
from handler.web.discovery import build_discovery
from handler.web.fleet import fleet_routes
from handler.web.garbage import garbage_routes
from handler.web.hooks import hook_routes
from handler.web.members import member_routes
from handler.web.pages.routes import build_pages
from handler.web.probing import probed_plain
from handler.web.recent import build_recent
from handler.web.recording import recording_routes
from handler.web.render import Json, plain, planned, text_of
from handler.web.rolling import rolling_routes
from handler.web.stores import store_routes
from trigger.explain.explanation import Explanation
from trigger.explain.measure_words import say_range
from trigger.explain.words import say, sentence_of
from trigger.reasons import Reason
from trigger.verdicts import Direction

Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, description="The same again does nothing.")]
_UNTIL = Query(description="With at: show the decision that was taken from at until just before this instant.")
_MOVED = frozenset({Reason.SCALED_OUT, Reason.SCALED_IN, Reason.FORCED, Reason.ADVISED, Reason.WAITING_TURN})


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Size(_Body):
    """A size that a person sets."""

    size: int = Field(ge=0, le=1_000_000)
    force: bool = False


class PauseBody(_Body):
    """What to pause."""

    decisions_only: bool = False
    direction: Direction | None = None
    """Only changes in this direction; all else goes on."""


class ResumeBody(_Body):
    """What to go on with."""

    direction: Direction | None = None
    """Only this direction, where directions are paused; ``null``: all."""


class ConvergeBody(_Body):
    """How to converge."""

    dry_run: bool = False


class AlarmBody(_Body):
    """An alarm of an outside trigger: carry out ``policy``. The same ``id`` again does nothing and gets the answer."""

    id: str = Field(min_length=1, max_length=200)
    policy: str = Field(min_length=1, max_length=200)
    by: str = Field(default="alarm", max_length=64)


def build(daemon: Daemon) -> FastAPI:
    """Make the application; the gate is put before it by whoever listens."""
    app = FastAPI(title="Trimtab", version="1", openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None)
    app.include_router(_reading(daemon), prefix="/api/v1")
    app.include_router(_looking(daemon), prefix="/api/v1")
    app.include_router(_sizes(daemon), prefix="/api/v1")
    app.include_router(_acts(daemon), prefix="/api/v1")
    app.include_router(fleet_routes(daemon), prefix="/api/v1")
    app.include_router(member_routes(daemon), prefix="/api/v1")
    app.include_router(balancer_routes(daemon), prefix="/api/v1")
    app.include_router(store_routes(daemon), prefix="/api/v1")
    app.include_router(garbage_routes(daemon), prefix="/api/v1")
    app.include_router(hook_routes(daemon), prefix="/api/v1")
    app.include_router(recording_routes(daemon), prefix="/api/v1")
    app.include_router(rolling_routes(daemon), prefix="/api/v1")
    app.include_router(_health(daemon))
    app.include_router(build_recent(daemon), prefix="/api/v1")
    app.include_router(build_discovery(daemon))
    app.include_router(build_pages(daemon))
    for kind, status in ((NoSuch, 404), (Refused, 409), (StoreError, 503)):
        app.add_exception_handler(kind, _refusal(status))
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _unserved)
    return app


def _refusal(status: int) -> Callable[[Request, Exception], Awaitable[JSONResponse]]:
    async def answer(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status)

    return answer


async def _misread(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a request and where; what was sent is not repeated."""
    problems = error.errors() if isinstance(error, RequestValidationError) else ()
    words = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems)
    return JSONResponse({"error": words.encode("ascii", "backslashreplace").decode()}, 422)


async def _unserved(_: Request, error: Exception) -> JSONResponse:
    """No such path, or not with this method."""
    if not isinstance(error, HTTPException):
        return JSONResponse({"error": "not served"}, 404)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def _reading(daemon: Daemon) -> APIRouter:
    routes = APIRouter(tags=["reading"])

    @routes.get("/groups")
    async def groups() -> JSONResponse:
        return JSONResponse(plain(daemon.status()))

    @routes.get("/groups/{group}")
    async def group(group: str) -> JSONResponse:
        return JSONResponse(plain(daemon.group(GroupId(group))))

    @routes.get("/groups/{group}/members")
    async def members(group: str) -> JSONResponse:
        return JSONResponse(plain(daemon.group(GroupId(group)).members))

    @routes.get("/groups/{group}/why")
    async def why(group: str, at: float | None = None, until: Annotated[float | None, _UNTIL] = None) -> JSONResponse:
        known = GroupId(group)
        return JSONResponse(await (_now(daemon, known) if at is None else _then(daemon, known, at, until)))

    return routes


async def _now(daemon: Daemon, group: GroupId) -> dict[str, Json]:
    """The last decision, and what is wrong with the group at present."""
    found = await daemon.why(group, None)
    explanation = found.first if isinstance(found, Span) else found
    shown = _explained(group, explanation)
    if explanation is not None:
        status = daemon.group(group)
        shown["misses"] = list(daemon.misses(group))
        shown["doubts"] = list(daemon.doubts(group))
        shown["quota"] = status.quota
        shown["messages"] = list(status.messages)
    if isinstance(found, Span):
        shown["span"] = _span(found)
    return shown


async def _then(daemon: Daemon, group: GroupId, at: float, until: float | None) -> dict[str, Json]:
    """The decision of an instant, or of the time from ``at`` until just before ``until``."""
    end = max(until if until is not None else at, math.nextafter(at, math.inf))
    found = await daemon.recall(group, Instant(at), Instant(end))
    shown = _explained(group, None if found.span is None else found.span.first)
    shown["began"] = found.began
    shown["others"] = list(found.others)
    shown["events"] = plain(found.events)
    if found.span is not None:
        shown["span"] = _span(found.span)
    return shown


def _explained(group: GroupId, explanation: Explanation | None) -> dict[str, Json]:
    if explanation is None:
        return {"group": group, "words": ["Nothing has been evaluated yet."], "explanation": None}
    return {"group": group, "words": list(say(explanation, explanation.at)), "explanation": plain(explanation)}


def _span(span: Span) -> Json:
    """What is kept of ticks in a row: how many they were, and within what each aggregate was meanwhile."""
    ranges: list[Json] = [
        {
            "counter": each.counter,
            "across": each.across,
            "aggregate": each.aggregate,
            "window": each.window,
            "unit": each.unit,
            "least": least,
            "greatest": greatest,
        }
        for each, least, greatest in span.moved
    ]
    words = dict.fromkeys(say_range(each, least, greatest) for each, least, greatest in span.moved)
    return {
        "first_at": span.first_at,
        "last_at": span.last_at,
        "ticks": span.ticks,
        "ranges": ranges,
        "words": [f"meanwhile: {said}" for said in words],
    }


def _looking(daemon: Daemon) -> APIRouter:
    """What has to be fetched first."""
    routes = APIRouter(tags=["reading"])

    @routes.get("/groups/{group}/probe", dependencies=[NeedsToken])
    async def probe(group: str, counter: Annotated[list[str] | None, Query(max_length=50)] = None) -> JSONResponse:
        counters = [CounterId(name) for name in counter or ()]
        return JSONResponse(probed_plain(await daemon.probe(GroupId(group), counters)))

    @routes.get("/groups/{group}/history")
    async def history(
        group: str,
        before: float | None = None,
        since: Annotated[float | None, Query(description="Nothing that is older.")] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        kind: Annotated[list[EventKind] | None, Query(description="Only these; all if left out.")] = None,
    ) -> JSONResponse:
        at = Instant(before) if before is not None else None
        kinds = EVERY_KIND if kind is None else frozenset(kind)
        found = await daemon.history(GroupId(group), before=at, limit=limit, kinds=kinds)
        return JSONResponse(plain(tuple(event for event in found if since is None or event.at >= since)))

    return routes


def _asked(asked: Asked) -> JSONResponse:
    clamps = plain(asked.answer.clamps) if asked.answer is not None else []
    body: dict[str, Json] = {
        "request": asked.request,
        "repeated": asked.repeated,
        "reason": asked.reason.value,
        "words": sentence_of(asked.reason),
        "desired_from": asked.desired_from,
        "desired_to": asked.desired_to,
        "clamps": clamps,
    }
    return JSONResponse(body, 202 if asked.reason in _MOVED else 403)


def _sizes(daemon: Daemon) -> APIRouter:
    routes = APIRouter(tags=["sizes"])

    @routes.put("/groups/{group}/size")
    async def scale(group: str, body: Size, by: By = "api") -> JSONResponse:
        return decided(await daemon.scale(GroupId(group), body.size, force=body.force, by=by))

    @routes.post("/groups/{group}/alarms")
    async def alarm(group: str, body: AlarmBody) -> JSONResponse:
        return _asked(await daemon.alarm(GroupId(group), PolicyId(body.policy), id=body.id, by=body.by))

    @routes.post("/groups/{group}/policies/{policy}/execute")
    async def execute(group: str, policy: str, by: By = "api", request: Key = None) -> JSONResponse:
        known = request or daemon.fresh_id()
        return _asked(await daemon.alarm(GroupId(group), PolicyId(policy), id=known, by=by))

    return routes


def _acts(daemon: Daemon) -> APIRouter:
    routes = APIRouter(tags=["acts"])

    @routes.post("/groups/{group}/pause")
    async def pause(group: str, body: PauseBody, by: By = "api") -> JSONResponse:
        await daemon.pause(GroupId(group), decisions_only=body.decisions_only, direction=body.direction, by=by)
        return JSONResponse(plain(daemon.group(GroupId(group))))

    @routes.post("/groups/{group}/resume")
    async def resume(group: str, body: ResumeBody | None = None, by: By = "api") -> JSONResponse:
        await daemon.resume(GroupId(group), direction=body.direction if body else None, by=by)
        return JSONResponse(plain(daemon.group(GroupId(group))))

    @routes.post("/groups/{group}/converge")
    async def converge(group: str, body: ConvergeBody, by: By = "api") -> JSONResponse:
        return JSONResponse(planned(await daemon.converge(GroupId(group), dry_run=body.dry_run, by=by)))

    @routes.post("/groups/{group}/observe")
    async def observe(group: str) -> JSONResponse:
        return JSONResponse(plain(await daemon.observe(GroupId(group))))

    @routes.post("/groups/{group}/snapshot")
    async def snapshot(group: str) -> Response:
        taken = await daemon.snapshot(GroupId(group))
        body = await asyncio.to_thread(lambda: text_of(written(taken)))  # of thousands of members it takes a while
        return Response(body, media_type="application/json")

    @routes.delete("/groups/{group}")
    async def delete(group: str, members: bool = False, by: By = "api") -> JSONResponse:
        await daemon.delete(GroupId(group), members=members, by=by)
        return JSONResponse({"group": group, "deleted": True, "members": members}, 202)

    @routes.post("/reload")
    async def reload(by: By = "api") -> JSONResponse:
        done = await daemon.reload(by=by)
        return JSONResponse(plain(done), 409 if done.problems else 200)

    return routes


def _health(daemon: Daemon) -> APIRouter:
    routes = APIRouter(tags=["health"])

    @routes.get("/metrics", response_class=PlainTextResponse)
    def metrics() -> Response:  # in a thread: written out, a thousand groups take a while
        return Response(daemon.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.get("/healthz")
    async def healthz() -> JSONResponse:
        return JSONResponse({"alive": True})

    @routes.get("/readyz")
    async def readyz() -> JSONResponse:
        health = daemon.health()
        return JSONResponse(plain(health), 200 if health.ready else 503)

    return routes
