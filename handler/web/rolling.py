"""``/api/v1/groups/{group}/definitions``, ``…/rollback`` and ``…/roll``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from config.document.rolling import Allowed
from config.units import GroupId
from handler.operations.interface import Daemon
from handler.web.asking import By
from handler.web.render import plain


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RollbackBody(_Body):
    """Where to go back to; nothing: to the last definition that converged."""

    to: Annotated[int, Field(ge=1)] | None = None


class RollBody(_Body):
    """What a roll may cost; what is left out is as the file says."""

    surge: Allowed | None = None
    unavailable: Allowed | None = None


def rolling_routes(daemon: Daemon) -> APIRouter:
    """The routes; acts answer with what became of it in words, and with the roll."""
    routes = APIRouter()

    @routes.get("/groups/{group}/definitions", tags=["reading"])
    async def definitions(group: str) -> JSONResponse:
        return JSONResponse(plain(await daemon.rolling.revisions(GroupId(group))))

    @routes.post("/groups/{group}/rollback", tags=["acts"])
    async def rollback(group: str, body: RollbackBody | None = None, by: By = "api") -> JSONResponse:
        return JSONResponse(plain(await daemon.rolling.rollback(GroupId(group), body.to if body else None, by=by)))

    @routes.delete("/groups/{group}/rollback", tags=["acts"])
    async def end_rollback(group: str, by: By = "api") -> JSONResponse:
        return JSONResponse(plain(await daemon.rolling.end_rollback(GroupId(group), by=by)))

    @routes.post("/groups/{group}/roll", tags=["acts"])
    async def roll(group: str, body: RollBody | None = None, by: By = "api") -> JSONResponse:
        wanted = body or RollBody()
        done = await daemon.rolling.roll(GroupId(group), wanted.surge, wanted.unavailable, by=by)
        return JSONResponse(plain(done), 202)

    @routes.delete("/groups/{group}/roll", tags=["acts"])
    async def stop_roll(group: str, by: By = "api") -> JSONResponse:
        return JSONResponse(plain(await daemon.rolling.stop_roll(GroupId(group), by=by)))

    return routes
