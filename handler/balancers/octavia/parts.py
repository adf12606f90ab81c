"""Encode and decode the parts of an Octavia balancer that Trimtab creates. Pure.

Source: Load Balancer API v2; the shapes are those of Octavia 11 (Zed, API 2.26).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from collector.clients.openstack.parsing import entries, page_of, text
from config.model.managed import WITH_REQUESTS, HealthMonitor, ListenerSpec, ManagedBalancer, ManagedPart, PoolSpec
from handler.planning.provisioning import PartStatus, Provision

PATHS: Mapping[ManagedPart, str] = {
    ManagedPart.LOADBALANCER: "/lbaas/loadbalancers",
    ManagedPart.LISTENER: "/lbaas/listeners",
    ManagedPart.POOL: "/lbaas/pools",
    ManagedPart.HEALTHMONITOR: "/lbaas/healthmonitors",
}
KEYS: Mapping[ManagedPart, str] = {part: path.rpartition("/")[2] for part, path in PATHS.items()}
"""The key of each part's listing."""
_DESCRIPTION = "Made by Trimtab, and deleted by it: change what its file declares, not this."
_NO_LIMIT = -1
_GONE = "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPart:
    """One part that Octavia listed."""

    name: str
    status: PartStatus
    within: frozenset[str]
    """Ids of the load balancers, or of the pools for a monitor, that it belongs to."""


def listed(part: ManagedPart, body: object) -> tuple[ListedPart, ...] | None:
    """Read a listing of one kind of part; ``None``: malformed.

    >>> part = {"id": "0f58", "name": "trimtab-k3f9ab-front", "provisioning_status": "PENDING_CREATE"}
    >>> (pool,) = listed(ManagedPart.POOL, {"pools": [part | {"loadbalancers": [{"id": "bb73"}]}]})
    >>> pool.status.state, pool.status.word, sorted(pool.within)
    (<Provision.PENDING: 'pending'>, 'PENDING_CREATE', ['bb73'])
    """
    page = page_of(body, KEYS[part])
    if page is None:
        return None
    read = [_found(part, entry) for entry in page.entries]
    return None if None in read else tuple(each for each in read if each is not None and each.status.word != _GONE)


def _found(part: ManagedPart, entry: object) -> ListedPart | None:
    known, word = text(entry, "id"), text(entry, "provisioning_status")
    if not known or not word:
        return None
    above = "pools" if part is ManagedPart.HEALTHMONITOR else "loadbalancers"
    holders = entries(entry, above) or ()
    return ListedPart(
        name=text(entry, "name"),
        status=PartStatus(id=known, state=_state(word), word=word),
        within=frozenset(text(holder, "id") for holder in holders) - {""},
    )


def _state(word: str) -> Provision:
    """Translate a provisioning status; an unknown one counts as pending."""
    if word == "ACTIVE":
        return Provision.ACTIVE
    return Provision.ERROR if word == "ERROR" else Provision.PENDING


def body_of(
    part: ManagedPart,
    declared: ManagedBalancer,
    name: str,
    found: Mapping[ManagedPart, PartStatus],
    ids: Mapping[str, str],
) -> Mapping[str, object]:
    """Return the request that creates a part; ``ids``: those of the VIP's ``subnet`` and ``network``, if named."""
    named = {"name": name, "description": _DESCRIPTION}
    match part:
        case ManagedPart.LOADBALANCER:
            return {"loadbalancer": named | dict(_balancer(declared, ids))}
        case ManagedPart.LISTENER:
            above = {"loadbalancer_id": found[ManagedPart.LOADBALANCER].id}
            return {"listener": named | above | dict(_listener(declared.listener))}
        case ManagedPart.POOL:
            return {"pool": named | {"listener_id": found[ManagedPart.LISTENER].id} | dict(_pool(declared.pool))}
        case ManagedPart.HEALTHMONITOR:
            above = {"name": name, "pool_id": found[ManagedPart.POOL].id}
            return {"healthmonitor": above | dict(_monitor(declared.health_monitor or HealthMonitor()))}
        case ManagedPart.ADDRESS | ManagedPart.RULE | ManagedPart.STICKINESS | ManagedPart.HEALTHCHECK:
            raise ValueError(f"Octavia has no {part.value}")
        case _:
            assert_never(part)


def _balancer(declared: ManagedBalancer, ids: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    yield from ((f"vip_{kind}_id", known) for kind, known in ids.items())
    if declared.vip is not None:
        yield "admin_state_up", declared.vip.admin_state_up
        if declared.vip.address is not None:
            yield "vip_address", declared.vip.address


def _listener(listener: ListenerSpec) -> Iterator[tuple[str, object]]:
    yield "protocol", listener.protocol.value
    yield "protocol_port", listener.port
    yield "connection_limit", _NO_LIMIT if listener.connection_limit is None else listener.connection_limit
    yield "admin_state_up", listener.admin_state_up


def _pool(pool: PoolSpec) -> Iterator[tuple[str, object]]:
    yield "protocol", pool.protocol.value
    yield "lb_algorithm", pool.lb_method.value
    yield "admin_state_up", pool.admin_state_up
    if (kept := pool.session_persistence) is not None:
        cookie = {} if kept.cookie_name is None else {"cookie_name": kept.cookie_name}
        yield "session_persistence", {"type": kept.kind.value, **cookie}


def _monitor(monitor: HealthMonitor) -> Iterator[tuple[str, object]]:
    """Yield a monitor's attributes. Octavia refuses attributes of pages if the type requests none."""
    yield "type", monitor.kind.value
    yield "delay", int(monitor.delay)
    yield "timeout", int(monitor.timeout)
    yield "max_retries", monitor.max_retries
    yield "admin_state_up", monitor.admin_state_up
    if monitor.kind in WITH_REQUESTS:
        yield "http_method", monitor.http_method.value
        yield "url_path", monitor.url_path
        yield "expected_codes", monitor.expected_codes
