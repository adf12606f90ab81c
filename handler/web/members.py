"""``/api/v1/groups/{group}/members/{member}``: acts on one member."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from config.units import GroupId, MemberName
from handler.operations.interface import Daemon
from handler.web.asking import By, decided
from handler.web.render import closed_up, done


class ProtectBody(BaseModel):
    """Whether to protect."""

    model_config = ConfigDict(extra="forbid")

    protected: bool = True


class AdoptBody(BaseModel):
    """Which machine, by its cloud's own name or id."""

    model_config = ConfigDict(extra="forbid")

    named: Annotated[str, Field(min_length=1, max_length=255)]
    force: bool = False


class EvictBody(BaseModel):
    """Whether another one is made instead of lowering the size."""

    model_config = ConfigDict(extra="forbid")

    replace: bool = False
    force: bool = False


def member_routes(daemon: Daemon) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["acts"])

    @routes.post("/groups/{group}/members/{member}/replace")
    async def replace(group: str, member: str, by: By = "api") -> JSONResponse:
        await daemon.members.replace(GroupId(group), MemberName(member), by=by)
        return JSONResponse({"group": group, "member": member, "replaced": True}, 202)

    @routes.delete("/groups/{group}/members/{member}")
    async def dismiss(group: str, member: str, force: bool = False, by: By = "api") -> JSONResponse:
        return decided(await daemon.members.dismiss(GroupId(group), MemberName(member), force=force, by=by))

    @routes.post("/groups/{group}/members")
    async def adopt(group: str, body: AdoptBody, by: By = "api") -> JSONResponse:
        return decided(await daemon.members.adopt(GroupId(group), body.named, force=body.force, by=by))

    @routes.post("/groups/{group}/members/{member}/evict")
    async def evict(group: str, member: str, body: EvictBody | None = None, by: By = "api") -> JSONResponse:
        wanted, acts = body or EvictBody(), daemon.members
        if not wanted.replace:
            return decided(await acts.evict(GroupId(group), MemberName(member), force=wanted.force, by=by))
        await acts.exchange(GroupId(group), MemberName(member), force=wanted.force, by=by)
        return JSONResponse({"group": group, "member": member, "evicted": True, "replaced": True}, 202)

    @routes.post("/groups/{group}/members/{member}/protect")
    async def protect(group: str, member: str, body: ProtectBody, by: By = "api") -> JSONResponse:
        await daemon.members.protect(GroupId(group), MemberName(member), protected=body.protected, by=by)
        return JSONResponse({"group": group, "member": member, "protected": body.protected})

    routes.include_router(_look_routes(daemon))
    return routes


def _look_routes(daemon: Daemon) -> APIRouter:
    """Looking at one member, and doing at once what is to be done about it."""
    routes = APIRouter(tags=["acts"])

    @routes.post("/groups/{group}/members/{member}/observe")
    async def observe(group: str, member: str) -> JSONResponse:
        seen = await daemon.members.observe(GroupId(group), MemberName(member))
        return JSONResponse(closed_up(seen))

    @routes.post("/groups/{group}/members/{member}/converge")
    async def converge(group: str, member: str, by: By = "api") -> JSONResponse:
        outcomes = await daemon.members.converge(GroupId(group), MemberName(member), by=by)
        return JSONResponse({"group": group, "member": member, "done": [done(outcome) for outcome in outcomes]})

    return routes
