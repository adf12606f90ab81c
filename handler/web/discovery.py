"""``/sd/prometheus/{group}``: Prometheus's HTTP service discovery. Whom to scrape is who is in service.

The format is Prometheus's: https://prometheus.io/docs/prometheus/latest/http_sd/. An answer other than 200 leaves its
targets as they are, so whatever is not known for sure is answered with 503, never with a shorter list.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from config.model.balancers import SharedListener
from config.units import GroupId
from handler.operations.desk import Desk
from handler.planning.desired import Definition
from handler.planning.status import GroupStatus, MemberState, MemberStatus
from handler.web.render import Json

_SERVING = frozenset({MemberState.IN_SERVICE, MemberState.UNKNOWN})
Port = Annotated[int | None, Query(ge=1, le=65535, description="Where members answer; else where balancers find them.")]


class TargetGroup(BaseModel):
    """One member, as Prometheus takes it."""

    targets: list[str]
    labels: dict[str, str]


def build_discovery(desk: Desk) -> APIRouter:
    """The route."""
    routes = APIRouter(tags=["discovery"])

    @routes.get("/sd/prometheus/{group}", response_model=list[TargetGroup])
    async def prometheus(group: str, port: Port = None) -> JSONResponse:
        status, definition = desk.group(GroupId(group)), desk.definition(GroupId(group))
        chosen = port if port is not None else port_of(definition)
        if chosen is None:
            words = f"which port? nothing says where members of {group} answer themselves: ask with ?port=9100"
            return JSONResponse({"error": words}, 400)
        unsure = doubt(status)
        if unsure is not None:
            return JSONResponse({"error": unsure}, 503, {"Retry-After": "5"})
        return JSONResponse(target_groups(status, definition, chosen))

    return routes


def port_of(definition: Definition) -> int | None:
    """The one port of its own on which balancers find every member; ``None`` if there is none, or more than one.

    Behind a shared listener a member has no port of its own.
    """
    ports = {
        use.port
        for use in definition.group.balancers
        if not isinstance(definition.balancers.get(use.balancer), SharedListener | None)
    }
    return ports.pop() if len(ports) == 1 else None


def doubt(status: GroupStatus) -> str | None:
    """Why a list of targets would be too short; ``None`` if it would be whole."""
    if status.listed is None:
        return f"nobody has looked yet who the members of {status.group} are"
    lost = [member.name for member in _serving(status) if member.address is None]
    if lost and not status.listed:
        return f"the last listing was partial, and nobody knows where {lost[0]} is"
    return None


def target_groups(status: GroupStatus, definition: Definition, port: int) -> list[Json]:
    """One target group a member, oldest member first.

    Members in service, those that warm up included. One that has come into service and whose state cannot be told now
    stays, as it does in Trimtab's own polling: nobody has proved it gone.
    """
    return [
        _target_group(member, member.address, status, definition, port) for member in _serving(status) if member.address
    ]


def _serving(status: GroupStatus) -> list[MemberStatus]:
    return [member for member in status.members if member.state in _SERVING and member.in_service_at is not None]


def _target_group(member: MemberStatus, address: str, status: GroupStatus, definition: Definition, port: int) -> Json:
    host = f"[{address}]" if ":" in address else address
    return {
        "targets": [f"{host}:{port}"],
        "labels": {
            "__meta_trimtab_group": status.group,
            "__meta_trimtab_member": member.name,
            "__meta_trimtab_address": address,
            "__meta_trimtab_profile": definition.profile.id,
            "__meta_trimtab_cloud": definition.cloud.id,
            "__meta_trimtab_state": member.state.value,
            "__meta_trimtab_warming": _word(member.warming),
            "__meta_trimtab_protected": _word(member.protected),
        },
    }


def _word(holds: bool) -> str:
    return "true" if holds else "false"
