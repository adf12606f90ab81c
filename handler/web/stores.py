"""``/api/v1/store``: whether the store is believed, and what it has not written yet."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

from config.units import GroupId
from handler.operations.interface import Daemon
from handler.web.asking import By
from handler.web.render import plain


class AdoptBody(BaseModel):
    """Whose store to believe."""

    model_config = ConfigDict(extra="forbid")

    group: str | None = None
    """``null``: every group that is in doubt."""


def store_routes(daemon: Daemon) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["acts"])

    @routes.get("/store")
    async def status() -> JSONResponse:
        return JSONResponse(plain(daemon.stores.status()))

    @routes.post("/store/adopt")
    async def adopt(body: AdoptBody | None = None, by: By = "api") -> JSONResponse:
        named = None if body is None or body.group is None else GroupId(body.group)
        return JSONResponse(plain(await daemon.stores.adopt(named, by=by)))

    @routes.post("/store/flush")
    async def flush() -> JSONResponse:
        await daemon.stores.flush()
        return JSONResponse({"flushed": True})

    return routes
