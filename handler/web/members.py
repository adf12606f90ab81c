"""``/api/v1/groups/{group}/members/{member}``: acts on one member."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

from config.units import GroupId, MemberName
from handler.web.asking import By, decided
from handler.web.daemon import Daemon


class ProtectBody(BaseModel):
    """Whether to protect."""

    model_config = ConfigDict(extra="forbid")

    protected: bool = True


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

    @routes.post("/groups/{group}/members/{member}/protect")
    async def protect(group: str, member: str, body: ProtectBody, by: By = "api") -> JSONResponse:
        await daemon.members.protect(GroupId(group), MemberName(member), protected=body.protected, by=by)
        return JSONResponse({"group": group, "member": member, "protected": body.protected})

    return routes
