"""``/api/v1/hooks``: webhooks made, listed, rotated and revoked, and saved payloads checked."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from config.errors import Refused
from config.model.access import SecretRef
from config.model.effects import EffectKind
from config.units import GroupId
from handler.ingest.alerts.receiver import PATH
from handler.ingest.alerts.tokens import Wanted
from handler.ingest.pushes.receiver import PATH as PUSH
from handler.operations.interface import Daemon
from handler.ports.outside import StoredHook
from handler.web.render import Json, plain
from trigger.verdicts import Direction

Hook = Annotated[str | None, Query(max_length=64, description="Through which webhook; none: one that may do all.")]


class HookBody(BaseModel):
    """A webhook to be made."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=64)
    groups: tuple[str, ...] = Field(default=(), max_length=1000, description="None: every group.")
    effects: tuple[EffectKind, ...] = tuple(EffectKind)
    directions: tuple[Direction, ...] = tuple(Direction)
    hmac_env: str | None = Field(default=None, max_length=200, description="Where the secret for signatures is kept.")
    hmac_file: str | None = Field(default=None, max_length=1000)
    push: bool = Field(default=False, description="It brings values of these groups, and no alerts.")


class RotateBody(BaseModel):
    """How to rotate."""

    model_config = ConfigDict(extra="forbid")

    finish: bool = Field(default=False, description="Only end the old token.")


def hook_routes(daemon: Daemon) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["webhooks"])

    @routes.get("/hooks")
    async def hooks() -> JSONResponse:
        return JSONResponse([_shown(hook) for hook in daemon.webhooks.all()])

    @routes.post("/hooks")
    async def make(body: HookBody) -> JSONResponse:
        return JSONResponse(_told(body.name, await daemon.webhooks.make(_wanted(body)), pushes=body.push), 201)

    @routes.post("/hooks/check")
    async def check(request: Request, hook: Hook = None) -> JSONResponse:
        reply = await daemon.webhooks.check_alerts(await request.body(), hook)
        return JSONResponse({"status": reply.status, **reply.body})

    @routes.post("/hooks/{name}/rotate")
    async def rotate(name: str, body: RotateBody) -> JSONResponse:
        if body.finish:
            await daemon.webhooks.finish(name)
            return JSONResponse({"name": name, "finished": True})
        token = await daemon.webhooks.rotate(name)
        return JSONResponse(
            _told(name, token, pushes=any(hook.pushes for hook in daemon.webhooks.all() if hook.name == name))
        )

    @routes.post("/member-tokens/rotate")
    async def rotate_members(body: RotateBody) -> JSONResponse:
        await (daemon.webhooks.finish_member_tokens() if body.finish else daemon.webhooks.rotate_member_tokens())
        return JSONResponse({"rotated": not body.finish, "finished": body.finish})

    @routes.delete("/hooks/{name}")
    async def revoke(name: str) -> JSONResponse:
        await daemon.webhooks.revoke(name)
        return JSONResponse({"name": name, "revoked": True})

    return routes


def _wanted(body: HookBody) -> Wanted:
    if body.hmac_env is not None and body.hmac_file is not None:
        raise Refused("the secret for signatures is in a variable or in a file, not in both")
    signed = body.hmac_env is not None or body.hmac_file is not None
    return Wanted(
        name=body.name,
        groups=tuple(GroupId(group) for group in body.groups),
        effects=() if body.push and "effects" not in body.model_fields_set else body.effects,
        directions=body.directions,
        hmac_secret=SecretRef(env=body.hmac_env, file=body.hmac_file) if signed else None,
        pushes=body.push,
    )


def _told(name: str, token: str, *, pushes: bool) -> Json:
    """The one time that a token is told."""
    return {"name": name, "token": token, "path": PUSH if pushes else f"{PATH}/{token}", "push": pushes}


def _shown(hook: StoredHook) -> Json:
    """All of a webhook but what opens it."""
    return {
        "name": hook.name,
        "groups": plain(hook.groups),
        "effects": plain(hook.effects),
        "directions": plain(hook.directions),
        "push": hook.pushes,
        "signed": hook.hmac_secret is not None,
        "rotating": hook.old_token is not None,
        "created_at": hook.created_at,
        "revoked_at": hook.revoked_at,
        "last_used_at": hook.last_used_at,
    }
