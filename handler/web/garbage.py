"""``/api/v1/garbage``: what bears our mark and is not wanted."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from config.units import GroupId, Instant, MemberName
from handler.operations.interface import Daemon
from handler.planning.garbage import Item
from handler.web.asking import By, NeedsToken
from handler.web.render import Json, plain


def garbage_routes(daemon: Daemon) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["acts"])

    @routes.get("/garbage", dependencies=[NeedsToken])
    async def look(group: str | None = None) -> JSONResponse:
        found = await daemon.garbage.look(None if group is None else GroupId(group))
        now = daemon.now()
        return JSONResponse({"garbage": [_shown(item, now) for item in found.items], "unseen": plain(found.unseen)})

    @routes.delete("/garbage/{name}")
    async def abandon(name: str, by: By = "api") -> JSONResponse:
        await daemon.garbage.abandon(MemberName(name), by=by)
        return JSONResponse({"name": name, "abandoned": True})

    return routes


def _shown(item: Item, now: Instant) -> Json:
    said = plain(item)
    age = None if item.since is None else max(now - item.since, 0.0)
    return {**said, "age": age} if isinstance(said, dict) else said
