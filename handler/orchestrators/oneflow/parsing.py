"""Decode OneFlow's answers, and encode its requests. Pure: an answer may have any shape.

Source: oneflow-server and its models of OpenNebula 6.10 to 7.4 (``oneflow-server.rb``, ``service.rb``, ``role.rb``,
``LifeCycleManager.rb``). Errors are plain text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from requests import codes

from collector.clients.opennebula.messages import NotThere
from collector.clients.quoting import shown
from config.causes import FailureCause
from config.errors import DriverError, Full, Permanent, Transient
from config.model.node_orders import ORDER
from config.units import Seconds

STATES: Final = (
    *("PENDING", "DEPLOYING", "RUNNING", "UNDEPLOYING", "WARNING", "DONE", "FAILED_UNDEPLOYING", "FAILED_DEPLOYING"),
    *("SCALING", "FAILED_SCALING", "COOLDOWN", "DEPLOYING_NETS", "UNDEPLOYING_NETS", "FAILED_DEPLOYING_NETS"),
    *("FAILED_UNDEPLOYING_NETS", "HOLD"),
)
RUNNING, WARNING, FAILED_SCALING = "RUNNING", "WARNING", "FAILED_SCALING"
PASSING: Final = frozenset({"PENDING", "DEPLOYING", "DEPLOYING_NETS", "SCALING", "COOLDOWN"})
"""States of a busy service, which end by themselves."""

_QUOTA = re.compile(r"\blimit of\b.*\b(reached|exceeded)\b|\bquota\b", re.IGNORECASE)
_FOR_GOOD = re.compile(r"\bRole \S+ not found\b|\bImmutable value\b.*\bservice/roles size\b")
_OLD = "vm_template"
"""The key of a role's template before 7.0, where its contents are text."""

_NOT_ALLOWED = (codes.unauthorized, codes.forbidden)
"""OneFlow has swapped the two."""

Body = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRole:
    """A role of a service: its wanted number of nodes, and its nodes."""

    name: str
    cardinality: int
    nodes: tuple[int, ...]
    """Ids of machines, the oldest first."""
    next_number: int
    """The number in the next node's name."""
    least: int
    """``min_vms``."""
    most: int | None
    """``max_vms``; ``None``: unlimited."""
    cooldown: Seconds
    policies: int
    """The role's own policies: elasticity and schedules."""
    template: int | None
    """The template of its nodes; ``None``: unknown."""
    router: bool
    """Its nodes are virtual routers, which do not scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service of OneFlow, as read."""

    id: int
    name: str
    owner: str
    state: str
    """OneFlow's own state."""
    roles: Mapping[str, ServiceRole]
    complaint: str
    """The last error in its log; empty: there is none."""
    goes_when_empty: bool
    """``automatic_deletion``."""
    body: Body
    """The complete document."""


def service_of(answer: object) -> Service | None:
    """Read one service; ``None``: the answer is not a service.

    >>> body = {"name": "shop", "state": 2, "roles": [{"name": "web", "cardinality": 1, "cooldown": 0, "last_vmname": 4,
    ...         "nodes": [{"deploy_id": 41}], "max_vms": 9}]}
    >>> answer = {"DOCUMENT": {"ID": "3", "NAME": "shop", "UNAME": "fleet", "TEMPLATE": {"BODY": body}}}
    >>> service = service_of(answer)
    >>> service.state, service.roles["web"].nodes, service.roles["web"].next_number, service.roles["web"].most
    ('RUNNING', (41,), 4, 9)
    """
    document = _mapping(answer).get("DOCUMENT")
    own_id, body = (
        _whole(_mapping(document).get("ID")),
        _mapping(_mapping(_mapping(document).get("TEMPLATE")).get("BODY")),
    )
    name, owner, state = _mapping(document).get("NAME"), _mapping(document).get("UNAME"), _whole(body.get("state"))
    roles = [_role_of(entry) for entry in _list(body.get("roles"))]
    read = [role for role in roles if role is not None]
    if (
        own_id is None
        or not isinstance(name, str)
        or not isinstance(owner, str)
        or state is None
        or not isinstance(body.get("roles"), list | Mapping)
        or len(read) < len(roles)
    ):
        return None
    return Service(
        id=own_id,
        name=name,
        owner=owner,
        state=STATES[state] if state < len(STATES) else str(state),
        roles={role.name: role for role in read},
        complaint=_complaint(body.get("log")),
        goes_when_empty=body.get("automatic_deletion") is True,
        body=body,
    )


def _role_of(entry: object) -> ServiceRole | None:
    role = _mapping(entry)
    name, cardinality = role.get("name"), _whole(role.get("cardinality"))
    nodes = [_whole(_mapping(node).get("deploy_id")) for node in _list(role.get("nodes"))]
    known = [node for node in nodes if node is not None]
    if not isinstance(name, str) or cardinality is None or len(known) < len(nodes):
        return None
    return ServiceRole(
        name=name,
        cardinality=cardinality,
        nodes=tuple(known),
        next_number=_whole(role.get("last_vmname")) or 0,
        least=_whole(role.get("min_vms")) or 0,
        most=_whole(role.get("max_vms")),
        cooldown=float(_whole(role.get("cooldown")) or 0),
        policies=len(_list(role.get("elasticity_policies"))) + len(_list(role.get("scheduled_policies"))),
        template=_whole(role.get("template_id", role.get(_OLD))),
        router=str(role.get("type", "")).lower() == "vr",
    )


def named(answer: object, name: str) -> Sequence[int] | None:
    """Return the ids of services with this name; ``None``: the answer is not a pool.

    >>> named({"DOCUMENT_POOL": {"DOCUMENT": [{"ID": "3", "NAME": "shop"}, {"ID": "4", "NAME": "bar"}]}}, "shop")
    [3]
    >>> named({"DOCUMENT_POOL": {}}, "shop"), named([], "shop")
    ([], None)
    """
    pool = _mapping(answer).get("DOCUMENT_POOL")
    if not isinstance(pool, Mapping):
        return None
    if not isinstance(pool.get("DOCUMENT", []), list | Mapping):
        return None
    entries = [_mapping(entry) for entry in _list(pool.get("DOCUMENT"))]
    ids = [_whole(entry.get("ID")) for entry in entries if entry.get("NAME") == name]
    known = sorted(own_id for own_id in ids if own_id is not None)
    return known if len(known) == len(ids) else None


def with_order(service: Service, role: str, order: str) -> Body:
    """Return the service's document with an order in one of its roles, for all later nodes.

    >>> service = service_of({"DOCUMENT": {"ID": 3, "NAME": "shop", "UNAME": "fleet", "TEMPLATE": {"BODY": {
    ...     "state": 2, "roles": [{"name": "web", "cardinality": 1}, {"name": "db", "cardinality": 1}]}}}})
    >>> [role.get("template_contents") for role in with_order(service, "web", "web-k3f9ab-1:web_0")["roles"]]
    [{'TRIMTAB_ORDER': 'web-k3f9ab-1:web_0'}, None]
    """
    roles = [dict(_mapping(entry)) for entry in _list(service.body.get("roles"))]
    for entry in roles:
        if entry.get("name") != role:
            continue
        if _OLD in entry:
            lines = str(entry.get("vm_template_contents") or "").splitlines()
            kept = [line for line in lines if not line.startswith(f"{ORDER}=")]
            entry["vm_template_contents"] = "\n".join((*kept, f'{ORDER}="{order}"'))
        else:
            entry["template_contents"] = {**_mapping(entry.get("template_contents")), ORDER: order}
    return {**service.body, "roles": roles}


def refusal(status: int, detail: str, about: str, *, retry_after: Seconds | None = None) -> DriverError:
    """Classify a refusal as permanent (a person must act) or transient. ``about`` begins the message.

    >>> print(refusal(500, "Service cannot be scaled in state: COOLDOWN", "prod"))
    prod: Service cannot be scaled in state: COOLDOWN
    >>> print(refusal(500, "role web: user [2] limit of 4 reached for VMS quota in VM.", "prod"))
    prod: quota: role web: user [2] limit of 4 reached for VMS quota in VM: raise the quota, or lower max
    """
    words = shown(detail).rstrip(".:") or f"HTTP {status}"
    if _QUOTA.search(words):
        return Full(f"{about}: quota: {words}: raise the quota, or lower max")
    if status in _NOT_ALLOWED:
        return Permanent(
            f"{about}: refused: {words}: check user and password, and what the user may do",
            cause=FailureCause.CREDENTIALS,
        )
    if status == codes.not_found:
        return NotThere(f"{about}: refused: {words}")
    if status == codes.bad_request or _FOR_GOOD.search(words):
        return Permanent(f"{about}: refused: {words}")
    return Transient(f"{about}: {words}", retry_after=retry_after)


def _complaint(log: object) -> str:
    messages = [_mapping(entry).get("message") for entry in _list(log) if _mapping(entry).get("severity") == "E"]
    return shown(str(messages[-1])) if messages else ""


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[object]:
    """Return a list; OpenNebula writes a single entry without one."""
    if isinstance(value, Mapping):
        return [value]
    return value if isinstance(value, list) else []


def _whole(value: object) -> int | None:
    """Return a non-negative integer, which may arrive as text; ``None``: there is none."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
