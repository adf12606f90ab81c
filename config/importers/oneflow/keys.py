"""Which keys OneFlow's documents have, and why some of them are not carried over."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Final

_OF_PROFILE = "belongs to what a member is made of: see to it in the profile"
_NETWORKS = "networks are not Trimtab's: members come to theirs by what they are made of"
_INPUTS = "Trimtab asks for no values when a group begins: write them into the profile"

SERVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "deployment": "groups do not wait for each other: each begins by itself",
        "shutdown_action": "members that leave are drained, then stopped: drain and grace say how long each may take",
        "ready_status_gate": "write ready into the profile, so that members count when they answer",
        "automatic_deletion": "a group never ends by itself",
        "on_hold": "write mode: off, or trimtab pause GROUP",
        "networks": _NETWORKS,
        "networks_values": _NETWORKS,
        "user_inputs": _INPUTS,
        "user_inputs_values": _INPUTS,
        "custom_attrs": _INPUTS,
        "custom_attrs_values": _INPUTS,
    }
)
"""Keys of a service → why they have no counterpart. Some values mean nothing, and are passed over: `is_idle`."""

ROLE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "parents": "groups do not wait for each other: each begins by itself",
        "shutdown_action": SERVICE["shutdown_action"],
        "on_hold": SERVICE["on_hold"],
        "template_contents": _OF_PROFILE,
        "vm_template_contents": _OF_PROFILE,
        "user_inputs": _INPUTS,
        "user_inputs_values": _INPUTS,
    }
)

SERVICE_READ: Final[Set[str]] = frozenset({"name", "description", "roles"})
ROLE_READ: Final[Set[str]] = frozenset(
    {
        "name", "type", "template_id", "vm_template", "cardinality", "min_vms", "max_vms", "cooldown",
        "elasticity_policies", "scheduled_policies",
    }
)  # fmt: skip
ADJUST_READ: Final[Set[str]] = frozenset({"type", "adjust", "min_adjust_step", "cooldown"})
ELASTICITY_READ: Final[Set[str]] = ADJUST_READ | {"expression", "period_number", "period"}
SCHEDULED_READ: Final[Set[str]] = ADJUST_READ | {"recurrence", "start_time"}

RUN_TIME: Final[Set[str]] = frozenset(
    {
        "state", "start_time", "registration_time", "log", "nodes", "last_vmname", "scale_way", "vrouter_id",
        "last_eval", "true_evals", "expression_evaluated",
    }
)  # fmt: skip
"""Keys that OneFlow itself writes into a running service; they are no part of its template."""

UNKNOWN: Final = "not a key that OneFlow knows"


def is_idle(key: str, value: object) -> bool:
    """Whether a key says what holds anyway, so that nothing is lost with it.

    >>> is_idle("deployment", "none"), is_idle("deployment", "straight"), is_idle("networks", {})
    (True, False, True)
    """
    return not value or (key == "deployment" and value == "none")
