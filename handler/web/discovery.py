"""``/sd/prometheus/{group}``: Prometheus's HTTP service discovery. Its targets are the members in service.

The format is Prometheus's: https://prometheus.io/docs/prometheus/latest/http_sd/. A status other than
200 leaves Prometheus's targets as they are, so doubtful data gets a 503, never a shorter list.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from config.model.balancers import SharedListener
from config.units import GroupId
from handler.operations.facade import Operations
from handler.planning.desired import Definition
from handler.planning.status import GroupStatus, MemberState, MemberStatus
from handler.web.description import measuring
from handler.web.needs import MEASURES
from handler.web.problems import ProblemType, problem_response
from handler.web.render import Json

_SERVING = frozenset({MemberState.IN_SERVICE, MemberState.UNKNOWN})
Port = Annotated[
    int | None,
    Query(ge=1, le=65535, description="The port of the members' exporter; left out: the port that balancers use."),
]


class TargetGroup(BaseModel):
    """One member, in Prometheus's format."""

    targets: list[str]
    labels: dict[str, str]


def build_discovery(operations: Operations) -> APIRouter:
    """Make the route."""
    routes = APIRouter(tags=["discovery"], responses=measuring())

    @routes.get("/sd/prometheus/{group}", response_model=list[TargetGroup], dependencies=[MEASURES])
    async def prometheus(group: str, port: Port = None) -> JSONResponse:
        status, definition = operations.group(GroupId(group)), operations.definition(GroupId(group))
        chosen = port if port is not None else port_of(definition)
        if chosen is None:
            words = f"no port: the balancers of {group} do not give one port for its members; add ?port=9100"
            return problem_response(ProblemType.MALFORMED, words)
        unsure = doubt(status)
        if unsure is not None:
            return problem_response(ProblemType.UNKNOWN_YET, unsure)
        return JSONResponse(target_groups(status, definition, chosen))

    return routes


def port_of(definition: Definition) -> int | None:
    """Return the one port at which balancers reach every member; ``None`` if there is none, or more than one.

    Behind a shared listener a member has no port of its own.
    """
    ports = {
        use.port
        for use in definition.group.balancers
        if not isinstance(definition.balancers.get(use.balancer), SharedListener | None)
    }
    return ports.pop() if len(ports) == 1 else None


def doubt(status: GroupStatus) -> str | None:
    """Return why a list of targets could be too short; ``None`` if it is complete."""
    if status.listed is None:
        return f"the members of {status.group} have not been listed yet"
    lost = [member.name for member in _serving(status) if member.address is None]
    if lost and not status.listed:
        return f"the last listing was partial, and the address of {lost[0]} is unknown"
    return None


def target_groups(status: GroupStatus, definition: Definition, port: int) -> list[Json]:
    """Return one target group for each member, oldest member first.

    The members are those in service, also while warming up. A member that came into service and whose state is now
    unknown stays, as in Trimtab's own polling: it is not proved gone.
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
