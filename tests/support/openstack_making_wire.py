"""Octavia on the wire, with load balancers, listeners, pools and monitors that are made and deleted.

What is shown and refused was read off Octavia 11: while a part is being made or deleted, all of its load balancer's
tree is pending, and every other change is refused with 409.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.support.openstack_octavia_wire import Octavia, PoolWire, _refused
from tests.support.openstack_wire import Request, mint

_SINGLE = {"loadbalancers": "loadbalancer", "listeners": "listener", "pools": "pool", "healthmonitors": "healthmonitor"}
_ABOVE = {"listeners": ("loadbalancer_id", "loadbalancers"), "pools": ("listener_id", "listeners"),
          "healthmonitors": ("pool_id", "pools")}  # fmt: skip


@dataclass
class PartWire:
    kind: str
    id: str
    given: dict[str, Any]
    above: str = ""
    status: str = "ACTIVE"


@dataclass
class MakingOctavia(Octavia):
    """``parts``: all four kinds, by id. Members of pools are those of `Octavia`."""

    parts: dict[str, PartWire] = field(default_factory=dict)
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What each kind was last made of."""

    def put(self, kind: str, name: str, above: str = "") -> str:
        """Put a part there that another client made."""
        part = PartWire(kind, mint(f"{kind} {name} {len(self.parts)}"), {"name": name}, above)
        self._placed(part)
        return part.id

    def of(self, kind: str) -> list[PartWire]:
        return [part for part in self.parts.values() if part.kind == kind]

    def answer(self, request: Request) -> tuple[int, Any]:
        kind, *rest = request.path.strip("/").split("/")[1:]
        if kind not in _SINGLE or len(rest) > 1 or (request.method == "GET" and rest and kind == "pools"):
            return super().answer(request)
        self._looked()
        if request.method == "GET" and rest:
            if rest[0] not in self.parts:
                if rest[0] in self.names:
                    return 200, {"loadbalancer": self._above(rest[0])}
                raise _refused(404, f"{_SINGLE[kind]} {rest[0]} not found.")
            return 200, {_SINGLE[kind]: self._shown(self.parts[rest[0]])}
        if request.method == "GET":
            return 200, {kind: [self._shown(part) for part in self.of(kind) if _is_asked(part, request)]}
        if request.method == "POST":
            return self._made(kind, request.body[_SINGLE[kind]])
        return self._deleted(rest[0])

    def _made(self, kind: str, given: dict[str, Any]) -> tuple[int, Any]:
        key, _ = _ABOVE.get(kind, ("", ""))
        part = PartWire(kind, mint(f"{kind} {len(self.bodies)} {len(self.parts)}"), given, given.get(key, ""))
        self._must_be_free(part)
        self.bodies[kind] = given
        self.changes.append(f"POST {kind}")
        self._placed(part)
        part.status = "PENDING_CREATE"
        self._pending(part, lambda: None)
        return 201, {_SINGLE[kind]: self._shown(part)}

    def _deleted(self, own_id: str) -> tuple[int, Any]:
        part = self.parts.get(own_id)
        if part is None:
            raise _refused(404, f"{own_id} not found.")
        self._must_be_free(part)
        if any(other.above == own_id for other in self.parts.values()):
            raise _refused(409, f"Cannot delete {_SINGLE[part.kind]} {own_id} - it has children")
        self.changes.append(f"DELETE {part.kind}")
        part.status = "PENDING_DELETE"

        def gone() -> None:
            self.parts.pop(own_id, None)
            self.pools.pop(own_id, None)

        self._pending(part, gone)
        return 204, None

    def _placed(self, part: PartWire) -> None:
        self.parts[part.id] = part
        root = self._root(part)
        self.status.setdefault(root, "ACTIVE")
        self.names.setdefault(root, "")
        if part.kind == "pools":
            self.pools[part.id] = PoolWire(id=part.id, name=part.given["name"], load_balancer=root)

    def _root(self, part: PartWire) -> str:
        while part.above:
            part = self.parts[part.above]
        return part.id

    def _must_be_free(self, part: PartWire) -> None:
        root = self._root(part)
        if part.above and part.above not in self.parts:
            raise _refused(404, f"{part.above} not found.")
        if root in self.parts and self.status.get(root, "ACTIVE") != "ACTIVE":
            raise _refused(409, f"Load Balancer {root} is immutable and cannot be updated.")

    def _pending(self, part: PartWire, then: Any) -> None:
        root = self._root(part)
        self.status[root] = part.status if part.id == root else "PENDING_UPDATE"
        self._looks = self.settles

        def settled() -> None:
            part.status = self.status[root] = "ACTIVE"
            then()

        self._then.append(settled)

    def _shown(self, part: PartWire) -> dict[str, Any]:
        root = self._root(part)
        status = self.status[root] if part.id == root else part.status
        if status == "ACTIVE" and self.status[root] != "ACTIVE":
            status = "PENDING_UPDATE"
        above = "pools" if part.kind == "healthmonitors" else "loadbalancers"
        held = {} if part.id == root else {above: [{"id": part.above if above == "pools" else root}]}
        return {**part.given, "id": part.id, "provisioning_status": status, **held}


def _is_asked(part: PartWire, request: Request) -> bool:
    name, own_id = request.query.get("name"), request.query.get("id")
    return name in {None, part.given["name"]} and own_id in {None, part.id}
