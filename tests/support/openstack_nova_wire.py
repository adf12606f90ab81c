"""Nova, Glance and Neutron on the wire of `OpenstackWire`: servers, and what they are made of."""

from __future__ import annotations

import re
import time
import urllib.parse
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.support.openstack_wire import PROJECT, Refused, Request, at, mint

_MOST = 1000
_NEWEST = 93
_LISTING = {"name", "limit", "marker", "sort_key", "sort_dir"}
"""What a listing of servers heeds of what any user may send; the rest is silently ignored."""


def _refused(status: int, message: str) -> Refused:
    keys = {400: "badRequest", 403: "forbidden", 404: "itemNotFound", 409: "conflictingRequest"}
    return Refused(status, {keys.get(status, "computeFault"): {"code": status, "message": message}})


@dataclass
class Vm:
    id: str
    name: str
    metadata: dict[str, str]
    created: float
    address: str | None
    status: str = "ACTIVE"
    task: str | None = None
    fault: str = ""
    zone: str = "az1"
    locked: bool = False
    network: str = "net"
    given: dict[str, Any] = field(default_factory=dict)
    """The whole request that made it."""
    then: Callable[[], None] | None = None
    """What happens to it once it has been looked at often enough."""
    looks: int = 0


class Holder(Protocol):
    """Who has the ports or the volumes that servers are made with."""

    def refuse(self, given: dict[str, Any]) -> None: ...

    def take(self, vm: Vm) -> None: ...

    def free(self, vm: Vm) -> None: ...


@dataclass
class Things:
    """What has names."""

    image: list[dict[str, Any]] = field(default_factory=lambda: [{"name": "web"}])
    flavor: list[dict[str, Any]] = field(default_factory=lambda: [{"name": "small"}, {"name": "tiny", "id": "1"}])
    network: list[dict[str, Any]] = field(
        default_factory=lambda: [{"name": "net"}, {"name": "back"}, {"name": "public", "router:external": True}]
    )
    security_group: list[dict[str, Any]] = field(default_factory=lambda: [{"name": "default"}, {"name": "web"}])
    server_group: list[dict[str, Any]] = field(default_factory=lambda: [{"name": "apart"}])
    volume_type: list[dict[str, Any]] = field(default_factory=lambda: [{"name": "plain"}, {"name": "ssd"}])

    def __post_init__(self) -> None:
        for kind, entries in vars(self).items():
            for entry in entries:
                entry.setdefault("id", mint(f"{kind} {entry['name']}"))

    def ids(self, kind: str) -> set[str]:
        return {entry["id"] for entry in getattr(self, kind)}


@dataclass
class Nova:
    """One project's servers. ``builds``, ``stops``, ``deletes``: looks that each takes."""

    things: Things
    clock: Callable[[], float] = time.time
    kind: str = "compute"
    root: str = "/v2.1"
    newest: int = _NEWEST
    builds: int = 0
    stops: int = 1
    deletes: int = 0
    quota: int = 1000
    cores: int = -1
    most: int = _MOST
    vms: dict[str, Vm] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    """Ids that listings do not show yet."""
    down: set[str] = field(default_factory=set)
    """Ids of servers in a cell that is down."""
    failing: deque[str] = field(default_factory=deque)
    """How the next servers fail while they build."""
    holders: tuple[Holder, ...] = ()
    console: str | None = None
    """What servers wrote; ``None``: their host keeps no console log."""
    url: str = ""
    _numbers: int = 0

    def versions(self, url: str) -> Any:
        self.url = url
        links = [{"rel": "self", "href": f"{url}/"}]
        known = {"id": "v2.1", "status": "CURRENT", "version": f"2.{self.newest}", "min_version": "2.1"}
        return {"version": {**known, "updated": "2013-07-23T11:33:21Z", "links": links, "media-types": []}}

    def add(self, name: str, **more: Any) -> Vm:
        """Put a server there, ours or a foreign one."""
        self._numbers += 1
        number = self._numbers
        kept = {"metadata": {}, "created": self.clock(), "address": f"10.20.{number // 250}.{number % 250 + 1}"}
        vm = Vm(id=mint(f"vm {number}"), name=name, **{**kept, **more})
        self.vms[vm.id] = vm
        return vm

    def member(self, name: str, **more: Any) -> Vm:
        """Put one of ours there."""
        group, installation, _ = name.rsplit("-", 2)
        mark = {"trimtab.member": name, "trimtab.installation": installation, "trimtab.group": group}
        return self.add(name, metadata=mark, **more)

    @property
    def alive(self) -> list[str]:
        return sorted(vm.name for vm in self.vms.values() if vm.task != "deleting")

    # Calls

    def answer(self, request: Request) -> tuple[int, Any]:
        spoken = request.headers.get("OpenStack-API-Version", "compute 2.1").partition(" 2.")[2]
        if int(spoken) > self.newest:
            known = f"Version 2.{spoken} is not supported by the API. Minimum is 2.1 and maximum is 2.{self.newest}."
            raise _refused(406, known)
        routes: dict[str, Callable[[Request, int], tuple[int, Any]]] = {
            "POST /servers": lambda asked, _: (202, self._create(asked.body)),
            "GET /servers/detail": lambda asked, spoken: (200, self._list(asked, spoken)),
            "GET /servers": lambda asked, spoken: (200, _brief(self._list(asked, spoken))),
            "GET /servers/{id}": lambda asked, _: (200, {"server": self._shown(self._looked_at(asked))}),
            "DELETE /servers/{id}": lambda asked, _: self._delete(self._vm(asked)),
            "POST /servers/{id}/action": lambda asked, _: self._acted(self._vm(asked), asked.body),
            "PUT /servers/{id}": lambda asked, _: (200, {"server": _modest(self._shown(self._renamed(asked)))}),
            "POST /servers/{id}/metadata": lambda asked, _: (200, {"metadata": self._noted(asked)}),
            "GET /flavors": lambda *_: (200, {"flavors": self.things.flavor}),
            "GET /limits": lambda *_: (200, {"limits": {"rate": [], "absolute": self._limits()}}),
            "GET /os-availability-zone": lambda *_: (200, {"availabilityZoneInfo": self._zones()}),
            "GET /os-keypairs/ops": lambda *_: (200, {"keypair": {"name": "ops"}}),
            "GET /os-server-groups": lambda *_: (200, {"server_groups": self.things.server_group}),
        }
        if request.label.startswith("DELETE /servers/{id}/metadata/"):
            return self._forgotten(request)
        if request.path.startswith("/flavors/"):
            return 200, {"flavor": self._flavor(urllib.parse.unquote(request.path.removeprefix("/flavors/")))}
        if request.label not in routes:
            raise _refused(404, "The resource could not be found.")
        return routes[request.label](request, int(spoken))

    def _flavor(self, own_id: str) -> dict[str, Any]:
        found = [entry for entry in self.things.flavor if entry["id"] == own_id]
        if not found:
            raise _refused(404, f"Flavor {own_id} could not be found.")
        return {"vcpus": 1, "ram": 2048, "disk": 0, "OS-FLV-EXT-DATA:ephemeral": 0, "links": [], **found[0]}

    def _limits(self) -> dict[str, int]:
        used = {"totalInstancesUsed": len(self.vms), "totalCoresUsed": len(self.vms), "totalRAMUsed": 0}
        return {"maxTotalInstances": self.quota, "maxTotalCores": self.cores, "maxTotalRAMSize": -1, **used}

    def _zones(self) -> list[dict[str, Any]]:
        states = {"az1": True, "az2": False}
        return [{"zoneName": name, "zoneState": {"available": up}, "hosts": None} for name, up in states.items()]

    def _judge(self, given: dict[str, Any]) -> None:
        """Refuse what is made of things that are not there."""
        if given["flavorRef"] not in self.things.ids("flavor"):
            raise _refused(400, f"Flavor {given['flavorRef']} could not be found.")
        disks = given.get("block_device_mapping_v2", [])
        first = {disk["uuid"] for disk in disks if disk["source_type"] == "image"}
        images = {given["imageRef"]} if given["imageRef"] else first
        if not images or not images <= self.things.ids("image"):
            raise _refused(400, "Can not find requested image")
        networks = given["networks"]
        for nic in networks if isinstance(networks, list) else ():
            if "uuid" in nic and nic["uuid"] not in self.things.ids("network"):
                raise _refused(400, f"Network {nic['uuid']} could not be found.")

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        given = body["server"]
        self._judge(given)
        networks = given["networks"]
        if len(self.vms) >= self.quota:
            fault = f"Requested 1, but already used {len(self.vms)} of {self.quota} instances"
            raise _refused(403, f"Quota exceeded for instances: {fault}")
        for holder in self.holders:
            holder.refuse(given)
        if 0 <= self.cores <= len(self.vms):
            fault = f"Requested 1, but already used {len(self.vms)} of {self.cores} cores"
            raise _refused(403, f"Quota exceeded for cores: {fault}")
        first = networks[0].get("uuid") if isinstance(networks, list) else mint("network net")
        named = next((entry["name"] for entry in self.things.network if entry["id"] == first), "net")
        vm = self.add(given["name"], metadata=dict(given.get("metadata", {})), given=body, network=named)
        for holder in self.holders:
            holder.take(vm)
        address = None if networks == "none" else vm.address
        vm.status, vm.task, vm.address, vm.zone = "BUILD", "scheduling", None, ""
        fails = self.failing.popleft() if self.failing else ""

        def built() -> None:
            vm.task, vm.zone = None, given.get("availability_zone") or "az1"
            vm.status, vm.fault, vm.address = ("ERROR", fails, None) if fails else ("ACTIVE", "", address)

        self._after(vm, self.builds, built)
        groups = [{"name": group["name"]} for group in given.get("security_groups", [{"name": "default"}])]
        return {"server": {"id": vm.id, "links": [], "OS-DCF:diskConfig": "MANUAL", "security_groups": groups}}

    def _delete(self, vm: Vm) -> tuple[int, Any]:
        if vm.locked:
            raise _refused(409, f"Instance {vm.id} is locked")
        vm.task = "deleting"
        self._after(vm, self.deletes, lambda: self.lost(vm))
        return 204, None

    def lost(self, vm: Vm) -> None:
        """A server is gone, and what it had is free."""
        self.vms.pop(vm.id, None)
        for holder in self.holders:
            holder.free(vm)

    def _acted(self, vm: Vm, body: Any) -> tuple[int, Any]:
        """Stop a server, or show its console; on a host without console logs Nova refuses that."""
        if "os-getConsoleOutput" not in body:
            return self._stop(vm)
        if vm.status == "BUILD":
            raise _refused(409, f"Instance {vm.id} is not ready")
        if self.console is None:
            raise _refused(404, "Guest does not have a console available.")
        length = int(body["os-getConsoleOutput"]["length"])
        return 200, {"output": "\n".join(self.console.splitlines()[-length:])}

    def _stop(self, vm: Vm) -> tuple[int, Any]:
        if vm.locked:
            raise _refused(409, f"Instance {vm.id} is locked")
        if vm.task is not None:
            raise _refused(409, f"Cannot 'stop' instance {vm.id} while it is in task_state {vm.task}")
        if vm.status != "ACTIVE":
            raise _refused(409, f"Cannot 'stop' instance {vm.id} while it is in vm_state {vm.status.lower()}")
        vm.task = "powering-off"

        def stopped() -> None:
            vm.status, vm.task = "SHUTOFF", None

        self._after(vm, self.stops, stopped)
        return 202, None

    def _renamed(self, request: Request) -> Vm:
        vm = self._vm(request)
        vm.name = request.body["server"]["name"]
        return vm

    def _noted(self, request: Request) -> dict[str, str]:
        vm = self._vm(request)
        vm.metadata |= request.body["metadata"]
        return vm.metadata

    def _forgotten(self, request: Request) -> tuple[int, Any]:
        if self._vm(request).metadata.pop(request.path.split("/")[4], None) is None:
            raise _refused(404, "Metadata item was not found")
        return 204, None

    def _after(self, vm: Vm, looks: int, then: Callable[[], object]) -> None:
        vm.looks, vm.then = looks, lambda: (then(), None)[1]
        if not looks:
            self._turn(vm)

    def _turn(self, vm: Vm) -> None:
        if vm.then is not None:
            vm.then()
            vm.then = None

    def _looked(self) -> None:
        for vm in tuple(self.vms.values()):
            vm.looks -= 1
            if vm.looks <= 0:
                self._turn(vm)

    def _looked_at(self, request: Request) -> Vm:
        self._looked()
        return self._vm(request)

    def _vm(self, request: Request) -> Vm:
        own_id = request.path.split("/")[2]
        if own_id not in self.vms:
            raise _refused(404, f"Instance {own_id} could not be found.")
        return self.vms[own_id]

    def _list(self, request: Request, spoken: int) -> dict[str, Any]:
        self._looked()
        asked = {key: value for key, value in request.query.items() if key in _LISTING}
        named = re.compile(asked.get("name", ""))
        newest_first = [vm for vm in reversed(self.vms.values()) if vm.id not in self.hidden]
        stubs = [vm for vm in newest_first if vm.id in self.down]
        found = [vm for vm in newest_first if vm not in stubs and named.search(vm.name)]
        if "marker" in asked:
            places = [index for index, vm in enumerate(found) if vm.id == asked["marker"]]
            if not places:
                raise _refused(400, f"marker [{asked['marker']}] not found")
            found = found[places[0] + 1 :]
        size = min(int(asked.get("limit", self.most)), self.most)
        page: dict[str, Any] = {"servers": [self._shown(vm) for vm in found[:size]]}
        if len(found) > size:
            href = f"{self.url}/servers/detail?marker={found[size - 1].id}"
            page["servers_links"] = [{"rel": "next", "href": href}]
        if spoken >= 69 and not asked:
            page["servers"] += [
                {"id": vm.id, "status": "UNKNOWN", "created": at(vm.created), "tenant_id": PROJECT, "links": []}
                for vm in stubs
            ]
        return page

    def _shown(self, vm: Vm) -> dict[str, Any]:
        nic = {
            "version": 4,
            "addr": vm.address,
            "OS-EXT-IPS:type": "fixed",
            "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:b4:aa:36",
        }
        shown = {
            "id": vm.id,
            "name": vm.name,
            "status": vm.status,
            "tenant_id": PROJECT,
            "metadata": vm.metadata,
            "created": at(vm.created),
            "updated": at(vm.created),
            "addresses": {} if vm.address is None else {vm.network: [nic]},
            "links": [],
            "OS-EXT-AZ:availability_zone": vm.zone,
            "OS-EXT-STS:task_state": vm.task,
            "OS-EXT-STS:vm_state": vm.status.lower(),
            "locked": vm.locked,
            "tags": [],
        }
        return shown | ({"fault": {"code": 500, "message": vm.fault, "created": at(vm.created)}} if vm.fault else {})


def _modest(server: dict[str, Any]) -> dict[str, Any]:
    """What is answered to a change: without what extensions add."""
    return {key: value for key, value in server.items() if not key.startswith("OS-EXT")}


def _brief(listed: dict[str, Any]) -> dict[str, Any]:
    return {**listed, "servers": [{"id": entry["id"], "name": entry["name"]} for entry in listed["servers"]]}


@dataclass
class Glance:
    things: Things
    kind: str = "image"
    root: str = "/v2"

    def versions(self, url: str) -> Any:
        return {"versions": [{"id": "v2.15", "status": "CURRENT", "links": [{"rel": "self", "href": f"{url}/"}]}]}

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.label == "GET /images/{id}" and request.path.rpartition("/")[2] in self.things.ids("image"):
            return 200, {"status": "active", "id": request.path.rpartition("/")[2]}
        if request.path != "/images":
            raise Refused(404, "404 Not Found: No image found with ID.")
        found = [entry for entry in self.things.image if request.query.get("name", entry["name"]) == entry["name"]]
        return 200, {"images": [{"status": "active", **entry} for entry in found], "first": "/v2/images"}


@dataclass
class Neutron:
    things: Things
    kind: str = "network"
    root: str = "/v2.0"

    def versions(self, url: str) -> Any:
        return {"versions": [{"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": f"{url}/"}]}]}

    def answer(self, request: Request) -> tuple[int, Any]:
        key, _, own_id = request.path.strip("/").replace("security-", "security_").partition("/")
        if own_id and own_id in self.things.ids(key.removesuffix("s")):
            return 200, {key.removesuffix("s"): {"id": own_id}}
        key = key if not own_id else ""
        if key not in {"networks", "security_groups"}:
            raise Refused(
                404, {"NeutronError": {"type": "NotFound", "message": "It could not be found.", "detail": ""}}
            )
        entries = getattr(self.things, key.removesuffix("s"))
        return 200, {key: [entry for entry in entries if request.query.get("name", entry["name"]) == entry["name"]]}
