"""Octavia on the wire of `OpenstackWire`: trees that are immutable while anything in them is being changed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.openstack_wire import PROJECT, Refused, Request, at, mint

_MOST = 1000
_FRESH = {"weight": 1, "admin_state_up": True, "backup": False, "monitor_address": None, "monitor_port": None}
"""What a batch sets back to, where it says nothing else."""


def _refused(status: int, words: str) -> Refused:
    return Refused(status, {"faultcode": "Client", "faultstring": words, "debuginfo": None})


@dataclass
class PoolWire:
    id: str
    name: str
    load_balancer: str
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    status: str = "ACTIVE"


@dataclass
class Octavia:
    """Load balancers with their pools. ``settles``: looks that a change takes."""

    kind: str = "load-balancer"
    root: str = "/v2"
    newest: int = 26
    settles: int = 1
    most: int = _MOST
    quota: int = 1000
    monitored: bool = False
    pools: dict[str, PoolWire] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    """Load balancer → its provisioning status."""
    names: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    """What was accepted."""
    _then: list[Callable[[], object]] = field(default_factory=list)
    _looks: int = 0
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def versions(self, url: str) -> Any:
        links = [{"href": url, "rel": "self"}]
        known = [{"id": f"v2.{minor}", "status": "SUPPORTED", "links": links} for minor in range(self.newest)]
        return {"versions": [*known, {"id": f"v2.{self.newest}", "status": "CURRENT", "links": links}]}

    def tree(self, name: str = "front", pool: str = "web") -> PoolWire:
        """Put a load balancer with a pool there, or another pool under it."""
        above = mint(f"load balancer {name}")
        self.names[above], self.status[above] = name, "ACTIVE"
        made = PoolWire(id=mint(f"pool {name} {pool}"), name=pool, load_balancer=above)
        self.pools[made.id] = made
        return made

    def remove(self, load_balancer: str) -> None:
        """Delete a load balancer with all that belongs to it, as ``loadbalancer delete --cascade`` does."""
        del self.names[load_balancer], self.status[load_balancer]
        self.pools = {own: pool for own, pool in self.pools.items() if pool.load_balancer != load_balancer}

    def registration(self, pool: PoolWire, name: str, address: str, **more: Any) -> dict[str, Any]:
        """Put a member there, ours or a foreign one."""
        return self._registered(pool, {"name": name, "address": address, "protocol_port": 80, **more})

    # Calls

    def answer(self, request: Request) -> tuple[int, Any]:
        self._looked()
        parts = request.path.strip("/").split("/")[1:]
        match request.method, parts:
            case "GET", ["loadbalancers"]:
                return 200, {"loadbalancers": [self._above(each) for each in self._called(request)]}
            case "GET", ["loadbalancers", own_id]:
                return 200, {"loadbalancer": self._above(own_id)}
            case "GET", ["pools"]:
                return 200, {"pools": [self._pool(pool) for pool in self._listed(request)], "pools_links": []}
        pool = self._known(parts[1])
        match request.method, parts[2:]:
            case "GET", []:
                return 200, {"pool": self._pool(pool)}
            case "GET", ["members"]:
                return 200, self._members(pool, request)
        return self._changed(pool, request, parts[3:])

    def _changed(self, pool: PoolWire, request: Request, member: list[str]) -> tuple[int, Any]:
        if member and member[0] not in pool.members and self._free(pool):
            raise _refused(404, f"Member {member[0]} not found.")
        if not self._free(pool):
            raise _refused(409, f"Pool {pool.id} is immutable and cannot be updated.")
        self.changes.append(request.label)
        if request.method == "PUT" and not member:
            self._batch(pool, request)
            return 202, None
        if request.method == "POST":
            given = request.body["member"]
            self._fit(pool, [given])
            if any(self._place(each) == self._place(given) for each in pool.members.values()):
                words = f"ip {given['address']} on protocol_port {given['protocol_port']}"
                raise _refused(409, f"Another member on this pool is already using {words}")
            self._later(pool, lambda: self._registered(pool, given))
            return 201, {"member": given}
        if request.method == "PUT":
            registered = pool.members[member[0]]
            self._later(pool, lambda: registered.update(request.body["member"]))
            return 200, {"member": {**registered, **request.body["member"], "provisioning_status": "PENDING_UPDATE"}}
        self._later(pool, lambda: pool.members.pop(member[0], None))
        return 204, None

    def _batch(self, pool: PoolWire, request: Request) -> None:
        given = request.body["members"]
        places = [self._place(each) for each in given]
        if len(set(places)) < len(places):
            raise _refused(400, "Validation failure: A member was listed twice")
        self._fit(pool, [each for each in given if self._place(each) not in self._places(pool)])
        additive = request.query.get("additive_only") == "true" and self.newest >= 11

        def made() -> None:
            held = {self._place(each): each for each in pool.members.values()}
            for each in given:
                if (registered := held.get(self._place(each))) is None:
                    self._registered(pool, each)
                else:
                    registered.update({**_FRESH, **each})
            if not additive:
                pool.members = {own: each for own, each in pool.members.items() if self._place(each) in places}

        self._later(pool, made)

    def _fit(self, pool: PoolWire, new: list[dict[str, Any]]) -> None:
        for each in new:
            if each["address"].startswith("203.0.113."):
                raise _refused(
                    400, f"Validation failure: The option member address {each['address']} is not permitted."
                )
        if len(pool.members) + len(new) > self.quota:
            raise _refused(403, "Quota has been met for resources: Member")

    def _registered(self, pool: PoolWire, given: dict[str, Any]) -> dict[str, Any]:
        own_id = mint(f"member {next(self._numbers)}")
        made = {**_FRESH, "subnet_id": None, "tags": [], "name": "", "project_id": PROJECT, "created_at": at(0.0)}
        pool.members[own_id] = {"id": own_id, **made, **given, "provisioning_status": "ACTIVE"}
        return pool.members[own_id]

    def _later(self, pool: PoolWire, then: Callable[[], object]) -> None:
        pool.status = self.status[pool.load_balancer] = "PENDING_UPDATE"
        self._looks = self.settles

        def settled() -> None:
            then()
            pool.status = self.status[pool.load_balancer] = "ACTIVE"

        self._then.append(settled)

    def _looked(self) -> None:
        self._looks -= 1
        if self._looks < 0:
            for then in self._then:
                then()
            self._then.clear()

    def _free(self, pool: PoolWire) -> bool:
        return pool.status == self.status[pool.load_balancer] == "ACTIVE"

    def _place(self, member: dict[str, Any]) -> tuple[str, int]:
        return member["address"], member["protocol_port"]

    def _places(self, pool: PoolWire) -> set[tuple[str, int]]:
        return {self._place(each) for each in pool.members.values()}

    # Shown

    def _called(self, request: Request) -> list[str]:
        return [own for own, name in self.names.items() if request.query.get("name", name) == name]

    def _listed(self, request: Request) -> list[PoolWire]:
        wanted, above = request.query.get("name"), request.query.get("loadbalancer_id")
        pools = [pool for pool in self.pools.values() if wanted in {None, pool.name}]
        return [pool for pool in pools if above in {None, pool.load_balancer}]

    def _known(self, own_id: str) -> PoolWire:
        if own_id not in self.pools:
            raise _refused(404, f"Pool {own_id} not found.")
        return self.pools[own_id]

    def _above(self, own_id: str) -> dict[str, Any]:
        if own_id not in self.names:
            raise _refused(404, f"Load Balancer {own_id} not found.")
        return {"id": own_id, "name": self.names[own_id], "provisioning_status": self.status[own_id]}

    def _pool(self, pool: PoolWire) -> dict[str, Any]:
        above = [{"id": pool.load_balancer}]
        return {"id": pool.id, "name": pool.name, "provisioning_status": pool.status, "loadbalancers": above}

    def _members(self, pool: PoolWire, request: Request) -> dict[str, Any]:
        shown = [{**each, "operating_status": each.get("operating_status", self._operating(each))}
                 for each in pool.members.values()]  # fmt: skip
        if marker := request.query.get("marker"):
            places = [index for index, each in enumerate(shown) if each["id"] == marker]
            shown = shown[places[0] + 1 :]
        more = [{"rel": "next", "href": "http://inside"}] if len(shown) > self.most else []
        return {"members": shown[: self.most], "members_links": more}

    def _operating(self, member: dict[str, Any]) -> str:
        if not self.monitored:
            return "NO_MONITOR"
        if not member["admin_state_up"]:
            return "OFFLINE"
        return "ONLINE" if member["weight"] else "DRAINING"
