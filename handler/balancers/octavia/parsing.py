"""Decode Octavia's answers. Pure: each function takes decoded JSON of any shape.

Source: Load Balancer API v2; the shapes are those of Octavia 11 (Zed, API 2.26).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from collector.clients.openstack.parsing import entries, mapping, text
from collector.clients.openstack.parsing import page_of as listed
from config.units import MemberName
from handler.planning.launches import LaunchId
from handler.planning.world import Health, RegistrationState

_HEALTH = {"ONLINE": Health.HEALTHY, "ERROR": Health.FAILING, "NO_MONITOR": None}
_KEPT = ("subnet_id", "monitor_address", "monitor_port", "backup")
"""Attributes that a batch would reset to their defaults if it omitted them."""


class Tree(enum.Enum):
    """Whether load balancer and pool take changes."""

    ACTIVE = "ACTIVE"
    PENDING = "PENDING"
    """Some client is changing the tree."""
    ERROR = "ERROR"
    """It takes none until a person fixes it."""
    GONE = "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMember:
    """One member of a pool, of any owner."""

    id: str
    name: str
    address: str
    """In its shortest spelling."""
    port: int
    weight: int
    up: bool
    """Its administrative state."""
    operating: str
    kept: tuple[tuple[str, object], ...] = ()
    """Attributes that other clients may have set, and that a batch must repeat."""

    @property
    def member(self) -> MemberName | None:
        """Return the member's name; ``None``: it is foreign."""
        return None if LaunchId.parse(self.name) is None else MemberName(self.name)

    @property
    def state(self) -> RegistrationState:
        """Return its state. Down: parked, with any weight. Weight 0: it finishes its current work."""
        if not self.up:
            return RegistrationState.PARKED
        return RegistrationState.SERVING if self.weight > 0 else RegistrationState.DRAINING

    @property
    def health(self) -> Health | None:
        """Return the health monitor's result; ``None``: the pool has no monitor."""
        return _HEALTH.get(self.operating, Health.UNKNOWN)


def entry_of(document: object) -> PoolMember | None:
    """Read one member; ``None``: the entry is not a member.

    >>> document = {"id": "327a", "name": "web-k3f9ab-3", "address": "10.20.9.3", "protocol_port": 80, "weight": 0}
    >>> entry = entry_of(document | {"admin_state_up": True, "operating_status": "DRAINING", "backup": False})
    >>> entry.state, entry.health, entry.kept
    (<RegistrationState.DRAINING: 'draining'>, <Health.UNKNOWN: 'unknown'>, (('backup', False),))
    """
    if not isinstance(document, Mapping):
        return None
    port, weight, up = document.get("protocol_port"), document.get("weight", 1), document.get("admin_state_up", True)
    address = shortest(text(document, "address"))
    if (
        not text(document, "id")
        or not address
        or type(port) is not int
        or type(weight) is not int
        or type(up) is not bool
    ):
        return None
    return PoolMember(
        id=text(document, "id"),
        name=text(document, "name"),
        address=address,
        port=port,
        weight=weight,
        up=up,
        operating=text(document, "operating_status"),
        kept=tuple((key, document[key]) for key in _KEPT if document.get(key) is not None),
    )


def shortest(address: str) -> str:
    """Return an address in its shortest spelling; empty: the text is not an address.

    >>> shortest("fd00:0:0::0001"), shortest("web1.example.org")
    ('fd00::1', '')
    """
    try:
        return str(ip_address(address))
    except ValueError:
        return ""


def page_of(body: object) -> tuple[tuple[PoolMember, ...], str] | None:
    """Read one page of members and its marker; empty: this is the last page. ``None``: malformed.

    >>> page_of({"members": [], "members_links": []})
    ((), '')
    """
    page = listed(body, "members")
    read = [entry_of(document) for document in page.entries] if page is not None else []
    if page is None or None in read:
        return None
    return tuple(entry for entry in read if entry is not None), page.marker


def tree_of(status: str) -> Tree:
    """Read a provisioning status. An unknown one counts as pending.

    >>> tree_of("PENDING_UPDATE")
    <Tree.PENDING: 'PENDING'>
    """
    return Tree(status) if status in {tree.value for tree in Tree} else Tree.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatus:
    """One pool: whether it takes changes, and the load balancer that it belongs to."""

    tree: Tree
    load_balancer: str
    """Its id; empty: none."""


def pool_of(body: object) -> PoolStatus | None:
    """Read one pool; ``None``: malformed.

    >>> pool_of({"pool": {"id": "184a", "provisioning_status": "ACTIVE", "loadbalancers": [{"id": "0d6b"}]}})
    PoolStatus(tree=<Tree.ACTIVE: 'ACTIVE'>, load_balancer='0d6b')
    """
    pool = mapping(body, "pool")
    if not text(pool, "id") or not text(pool, "provisioning_status"):
        return None
    above = next(iter(entries(pool, "loadbalancers") or ()), None)
    return PoolStatus(tree=tree_of(text(pool, "provisioning_status")), load_balancer=text(above, "id"))


def load_balancer_of(body: object) -> Tree | None:
    """Read whether a load balancer takes changes; ``None``: malformed."""
    status = text(mapping(body, "loadbalancer"), "provisioning_status")
    return tree_of(status) if status else None
