"""Obstacles to scaling a OneFlow service: what it waits for, and what else scales it. Pure.

Source: ``LifeCycleManager.rb`` and ``ServiceWatchDog.rb`` of OpenNebula 6.10 to 7.4, and the behaviour of a running
service.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handler.orchestrators.oneflow.parsing import FAILED_SCALING, PASSING, RUNNING, WARNING, Service, ServiceRole
from handler.orchestrators.opennebula.parsing import OpennebulaMachine
from handler.planning.world import ServerState

_NAMED = 5
_GOES = frozenset({"UNDEPLOYING", "UNDEPLOYING_NETS", "FAILED_UNDEPLOYING", "FAILED_UNDEPLOYING_NETS", "DONE"})
_ILL = frozenset({ServerState.STOPPED, ServerState.UNKNOWN, ServerState.ERROR})
_BY_HAND = "start those that are not members: onevm resume ID, or onevm recover --retry ID of one that failed"


def about(cloud: str, service: Service) -> str:
    """Begin a sentence about a service."""
    return f"{cloud}: service {service.name} ({service.id})"


def in_the_way(service: Service, machines: Sequence[OpennebulaMachine]) -> str:
    """Say why a service does not scale until a person acts; empty: it scales, or will by itself.

    Args:
        service: as just read.
        machines: those of its user, as far as they could be read.
    """
    state = f"it is {service.state}"
    if service.state == RUNNING or service.state in PASSING:
        return ""
    if service.state in _GOES:
        return f"{state}: it is being removed, and creates no more members: name another service in the profile"
    if service.state == "HOLD":
        return f"{state}, and scales when it is released: oneflow release {service.id}"
    ill = _listed(service, machines)
    if service.state == WARNING:
        return f"{state}, and scales only after all its nodes run: {_ended_by(ill)}"
    waits = f"it waits for {ill}" if ill else service.complaint or "its log has no error"
    recover = f"oneflow recover {service.id}"
    remedy = (
        f"the next creation has it recover, or do it now: {recover}" if service.state == FAILED_SCALING else recover
    )
    return f"{state}, and does not scale: {waits}: {remedy}"


def rivals_of(service: Service, role: ServiceRole) -> Iterator[str]:
    """Yield what else scales a role."""
    if role.policies:
        remedy = f"empty its elasticity_policies and scheduled_policies: oneflow update {service.id}"
        yield f"OneFlow scales role {role.name} as well, by {role.policies} policies of its own: {remedy}"


def _ended_by(ill: str) -> str:
    if not ill:
        return "they do run; if the service stays so, restart OneFlow's server (systemctl restart opennebula-flow)"
    return f"it waits for {ill}. Members are replaced; {_BY_HAND}"


def _listed(service: Service, machines: Sequence[OpennebulaMachine]) -> str:
    """Return the nodes of all its roles that do not run: ``node 41 (POWEROFF)``."""
    nodes = {node for role in service.roles.values() for node in role.nodes}
    ill = [
        f"{machine.id} ({machine.word})"
        for machine in machines
        if machine.id in nodes and machine.meaning is not None and machine.meaning[1] in _ILL
    ]
    word = "node" if len(ill) == 1 else "nodes"
    return f"{word} {', '.join(ill[:_NAMED])}{', …' if len(ill) > _NAMED else ''}" if ill else ""
