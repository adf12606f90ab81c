"""``/api/v1/groups/{group}/balancers``: behind what a group is, and changes of that while it runs."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from config.units import BalancerId, GroupId
from handler.operations.interface import Daemon
from handler.web.asking import By
from handler.web.render import plain


class AttachBody(BaseModel):
    """Where members serve behind the balancer."""

    model_config = ConfigDict(extra="forbid")

    port: int = Field(ge=1, le=65535)


def balancer_routes(daemon: Daemon) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/groups/{group}/balancers", tags=["reading"])
    async def behind(group: str) -> JSONResponse:
        return JSONResponse(plain(await daemon.balancers.behind(GroupId(group))))

    @routes.put("/groups/{group}/balancers/{balancer}", tags=["acts"])
    async def attach(group: str, balancer: str, body: AttachBody, by: By = "api") -> JSONResponse:
        members = await daemon.balancers.attach(GroupId(group), BalancerId(balancer), body.port, by=by)
        return JSONResponse({"group": group, "balancer": balancer, "port": body.port, "members": members}, 202)

    @routes.delete("/groups/{group}/balancers/{balancer}", tags=["acts"])
    async def detach(group: str, balancer: str, force: bool = False, by: By = "api") -> JSONResponse:  # of the query
        done = await daemon.balancers.detach(GroupId(group), BalancerId(balancer), force=force, by=by)
        warning = {"warning": done.warning} if done.warning else {}
        return JSONResponse({"group": group, "balancer": balancer, "members": done.members, **warning}, 202)

    return routes
