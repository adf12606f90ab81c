"""``/api/v1/pause``, ``/api/v1/resume`` and ``/api/v1/endpoints``: the whole fleet at once."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from handler.operations.interface import Daemon
from handler.web.asking import By
from handler.web.render import plain
from trigger.verdicts import Direction


class FleetPauseBody(BaseModel):
    """What to pause in all groups, and why."""

    model_config = ConfigDict(extra="forbid")

    decisions_only: bool = False
    direction: Direction | None = None
    """Only changes in this direction; all else goes on."""
    because: str = Field(default="", max_length=200)
    """Shown wherever the pause is."""


class FleetResumeBody(BaseModel):
    """What to go on with in all groups."""

    model_config = ConfigDict(extra="forbid")

    direction: Direction | None = None
    """Only this direction, where directions are paused; ``null``: all."""


def fleet_routes(daemon: Daemon) -> APIRouter:
    """The routes; those of pauses answer with what is stopped then, ``null`` if nothing."""
    routes = APIRouter(tags=["acts"])

    @routes.get("/endpoints")
    async def endpoints() -> JSONResponse:
        return JSONResponse(plain(daemon.endpoints()))

    @routes.get("/pause")
    async def stopped() -> JSONResponse:
        return JSONResponse({"fleet_pause": plain(daemon.fleet_pause())})

    @routes.post("/pause")
    async def pause(body: FleetPauseBody, by: By = "api") -> JSONResponse:
        because = " ".join(body.because.split())
        paused = await daemon.pause_all(
            decisions_only=body.decisions_only, direction=body.direction, because=because, by=by
        )
        return JSONResponse({"fleet_pause": plain(paused)})

    @routes.post("/resume")
    async def resume(body: FleetResumeBody | None = None, by: By = "api") -> JSONResponse:
        left = await daemon.resume_all(direction=body.direction if body else None, by=by)
        return JSONResponse({"fleet_pause": plain(left)})

    return routes
