"""``/api/v1/recording``: whether samples are recorded, and a person's word on it."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from handler.operations.interface import Daemon
from handler.web.asking import By
from handler.web.render import plain


class RecordBody(BaseModel):
    """Whether to record."""

    model_config = ConfigDict(extra="forbid")

    on: bool
    for_s: float | None = Field(default=None, gt=0, le=366 * 86400, allow_inf_nan=False)
    """For how many seconds; for ever if left out."""


def recording_routes(daemon: Daemon) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(tags=["recording"])

    @routes.get("/recording")
    async def status() -> JSONResponse:
        return JSONResponse(plain(await daemon.recording()))

    @routes.put("/recording")
    async def switch(body: RecordBody, by: By = "api") -> JSONResponse:
        return JSONResponse(plain(await daemon.record(on=body.on, span=body.for_s, by=by)))

    return routes
