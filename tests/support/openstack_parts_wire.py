"""Neutron's ports and floating addresses, and Cinder's volumes, on the wire of `OpenstackWire`.

Shapes, states and texts were read off Neutron 21 and Cinder 21 (Zed).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.openstack_nova_wire import Neutron, Things, Vm
from tests.support.openstack_wire import PROJECT, Refused, Request, at, mint

_FREE = {"available", "error", "error_restoring", "error_extending", "error_managing"}
_NOT_FREE = (
    "Invalid volume: Volume status must be available or error or error_restoring or error_extending or error_managing "
    "and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated "
    "from snapshots after volume transfer."
)
_UNKNOWN_OF = {"ports": "Port {} could not be found.", "floatingips": "Floating IP {} could not be found"}


def _neutron(status: int, kind: str, message: str) -> Refused:
    return Refused(status, {"NeutronError": {"type": kind, "message": message, "detail": ""}})


def _cinder(status: int, message: str) -> Refused:
    keys = {400: "badRequest", 404: "itemNotFound", 409: "conflictingRequest", 413: "overLimit"}
    body: dict[str, Any] = {"code": status, "message": message}
    return Refused(status, {keys[status]: body | ({"retryAfter": "0"} if status == 413 else {})})


def _nova(status: int, message: str) -> Refused:
    return Refused(
        status, {"conflictingRequest" if status == 409 else "badRequest": {"code": status, "message": message}}
    )


def _paged(entries: list[dict[str, Any]], key: str, request: Request, most: int) -> dict[str, Any]:
    """One page, and whether there is another."""
    ids = [entry["id"] for entry in entries]
    marker = request.query.get("marker")
    most = min(most, int(request.query.get("limit", most)))
    if marker is not None and marker not in ids and key == "floatingips":
        return {key: []}  # Neutron says no word, though what was marked is gone
    if marker is not None and marker not in ids:
        raise _neutron(404, "NotFound", f"{key} {marker} could not be found")
    rest = entries[ids.index(marker) + 1 :] if marker is not None else entries
    more = [{"rel": "next", "href": f"http://inside/{key}?marker={rest[most - 1]['id']}"}] if len(rest) > most else []
    return {key: rest[:most]} | ({f"{key}_links": more} if more else {})


@dataclass
class PartsNeutron(Neutron):
    """Neutron with ports and floating addresses. ``quota``: how many of each."""

    clock: Callable[[], float] = lambda: 0.0
    quota: dict[str, int] = field(default_factory=dict)
    addresses: int = 10_000
    """How many the outer network has."""
    most: int = 1000
    ports: dict[str, dict[str, Any]] = field(default_factory=dict)
    floatingips: dict[str, dict[str, Any]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    """Ids that listings do not show yet."""
    _numbers: int = 0

    def answer(self, request: Request) -> tuple[int, Any]:
        kind, _, own_id = request.path.strip("/").partition("/")
        if kind == "quotas":
            return self._quotas(own_id)
        if kind not in _UNKNOWN_OF:
            return super().answer(request)
        if request.method == "POST":
            return 201, {kind.removesuffix("s"): self._made(kind, request.body[kind.removesuffix("s")])}
        if not own_id:
            return 200, self._listed(kind, request)
        there: dict[str, dict[str, Any]] = getattr(self, kind)
        if own_id not in there:
            missing = "PortNotFound" if kind == "ports" else "FloatingIPNotFound"
            raise _neutron(404, missing, _UNKNOWN_OF[kind].format(own_id))
        if request.method == "DELETE":
            self._deleted(kind, own_id)
            return 204, None
        if request.method == "PUT":
            there[own_id] |= request.body[kind.removesuffix("s")]
        return 200, {kind.removesuffix("s"): there[own_id]}

    def _quotas(self, whose: str) -> tuple[int, Any]:
        if whose == "tenant":
            return 200, {"tenant": {"tenant_id": PROJECT}}
        if whose != f"{PROJECT}/details.json":
            raise _neutron(404, "HTTPNotFound", "The resource could not be found.")
        limits = {kind.removesuffix("s"): self.quota.get(kind, -1) for kind in _UNKNOWN_OF}
        used = {"port": len(self.ports), "floatingip": len(self.floatingips)}
        return 200, {"quota": {key: {"limit": limits[key], "used": used[key], "reserved": 0} for key in limits}}

    def _listed(self, kind: str, request: Request) -> dict[str, Any]:
        asked = {key: value for key, value in request.query.items() if key in {"name", "description", "status"}}
        there = [entry for entry in getattr(self, kind).values() if entry["id"] not in self.hidden]
        found = [entry for entry in there if all(entry.get(key) == value for key, value in asked.items())]
        page = _paged(sorted(found, key=lambda entry: str(entry["id"])), kind, request, self.most)
        wanted = request.fields
        return page | {kind: [{key: each[key] for key in each if not wanted or key in wanted} for each in page[kind]]}

    def _made(self, kind: str, given: dict[str, Any]) -> dict[str, Any]:
        if len(getattr(self, kind)) >= self.quota.get(kind, 10_000):
            raise _neutron(409, "OverQuota", f"Quota exceeded for resources: ['{kind.removesuffix('s')}'].")
        return self.port(**given) if kind == "ports" else self.address(**given)

    def port(self, network_id: str = "", **given: Any) -> dict[str, Any]:
        """Put a port there, ours or a foreign one."""
        network = network_id or self.things.network[0]["id"]
        if network not in self.things.ids("network"):
            raise _neutron(404, "NetworkNotFound", f"Network {network} could not be found.")
        for group in given.get("security_groups", []):
            if group not in self.things.ids("security_group"):
                raise _neutron(404, "SecurityGroupNotFound", f"Security group {group} does not exist")
        self._numbers += 1
        number = self._numbers
        fixed = [{"subnet_id": mint(f"subnet {network}"), "ip_address": f"10.30.{number // 250}.{number % 250 + 1}"}]
        kept = {"name": "", "description": "", "security_groups": [self.things.security_group[0]["id"]]}
        state = {"status": "DOWN", "device_id": "", "device_owner": "", "admin_state_up": True}
        port = {**kept, **given, **state, "network_id": network, "fixed_ips": fixed, "tags": [], **self._born("port")}
        self.ports[port["id"]] = port
        return port

    def address(self, floating_network_id: str, port_id: str | None = None, **given: Any) -> dict[str, Any]:
        """Put a floating address there, ours or a foreign one."""
        network = next((each for each in self.things.network if each["id"] == floating_network_id), None)
        if network is None:
            raise _neutron(404, "NetworkNotFound", f"Network {floating_network_id} could not be found.")
        if not network.get("router:external"):
            message = f"Bad floatingip request: Network {floating_network_id} is not a valid external network."
            raise _neutron(400, "BadRequest", message)
        if port_id is not None and port_id not in self.ports:
            raise _neutron(404, "PortNotFound", f"Port {port_id} could not be found.")
        if port_id is not None and any(each["port_id"] == port_id for each in self.floatingips.values()):
            message = f"Cannot associate floating IP with port {port_id}, as that fixed IP already has a floating IP"
            raise _neutron(409, "FloatingIPPortAlreadyAssociated", message)
        if len(self.floatingips) >= self.addresses:
            message = f"Unable to find any IP address on external network {floating_network_id}."
            raise _neutron(400, "ExternalIpAddressExhausted", message)
        self._numbers += 1
        message = {"description": "", "tags": [], **given, "floating_network_id": floating_network_id, "status": "DOWN"}
        made = {
            **message,
            "port_id": port_id,
            "floating_ip_address": f"198.51.100.{self._numbers}",
            **self._born("fip"),
        }
        self.floatingips[made["id"]] = made
        return made

    def _born(self, kind: str) -> dict[str, Any]:
        now = at(self.clock() + self._numbers)
        return {"id": mint(f"{kind} {self._numbers}"), "created_at": now, "updated_at": now, "project_id": PROJECT}

    def _deleted(self, kind: str, own_id: str) -> None:
        del getattr(self, kind)[own_id]
        for address in self.floatingips.values() if kind == "ports" else ():
            if address["port_id"] == own_id:
                address["port_id"] = None

    # What Nova does

    def refuse(self, given: dict[str, Any]) -> None:
        """Refuse a server whose ports are not there, or in use."""
        networks = given["networks"]
        for nic in networks if isinstance(networks, list) else ():
            if "port" in nic and nic["port"] not in self.ports:
                raise _nova(400, f"Port id {nic['port']} could not be found.")
            if "port" in nic and self.ports[nic["port"]]["device_id"]:
                raise _nova(409, f"Port {nic['port']} is still in use.")

    def take(self, vm: Vm) -> None:
        """Bind the ports that a new server is made with."""
        networks = vm.given["server"]["networks"]
        for nic in reversed(networks if isinstance(networks, list) else []):
            if "port" in nic:
                port = self.ports[nic["port"]]
                port |= {"device_id": vm.id, "device_owner": "compute:az1", "status": "ACTIVE"}
                vm.address = port["fixed_ips"][0]["ip_address"]
                vm.network = next(each["name"] for each in self.things.network if each["id"] == port["network_id"])

    def free(self, vm: Vm) -> None:
        """Unbind them: they stay."""
        for port in self.ports.values():
            if port["device_id"] == vm.id:
                port |= {"device_id": "", "device_owner": "", "status": "DOWN"}


@dataclass
class Cinder:
    """Volumes of one project. ``builds``, ``deletes``: looks that each takes."""

    things: Things
    clock: Callable[[], float] = lambda: 0.0
    kind: str = "volumev3"
    root: str = f"/v3/{PROJECT}"
    quota: int = 1000
    gigabytes: int = -1
    builds: int = 0
    deletes: int = 0
    most: int = 1000
    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    alive: Callable[[str], bool] = lambda _: False
    """Whether Nova has a server."""
    _looks: dict[str, int] = field(default_factory=dict)
    _numbers: int = 0

    def versions(self, url: str) -> Any:
        links = [{"rel": "self", "href": f"{url.removesuffix(self.root)}/v3/"}]
        known = {"id": "v3.0", "status": "CURRENT", "version": "3.70", "min_version": "3.0"}
        return {"versions": [{**known, "updated": "2022-08-31T00:00:00Z", "links": links, "media-types": []}]}

    def answer(self, request: Request) -> tuple[int, Any]:
        kind, *rest = request.path.strip("/").split("/")
        if kind == "types":
            return 200, {"volume_types": self.things.volume_type}
        if kind == "attachments":
            return self._attachments(request, rest)
        if kind == "limits":
            return 200, {"limits": {"rate": [], "absolute": self._limits()}}
        if kind != "volumes":
            raise _cinder(404, "The resource could not be found.")
        self._looked()
        if request.method == "POST":
            return 202, {"volume": _shown(self.volume(**request.body["volume"]))}
        if rest == ["detail"]:
            return 200, self._listed(request)
        return self._of(request, rest)

    def _limits(self) -> dict[str, int]:
        used = {
            "totalVolumesUsed": len(self.volumes),
            "totalGigabytesUsed": sum(v["size"] for v in self.volumes.values()),
        }
        return {"maxTotalVolumes": self.quota, "maxTotalVolumeGigabytes": self.gigabytes, **used}

    def _of(self, request: Request, rest: list[str]) -> tuple[int, Any]:
        volume = self.volumes.get(rest[0])
        if volume is None:
            raise _cinder(404, f"Volume {rest[0]} could not be found.")
        if request.method == "GET":
            return 200, {"volume": _shown(volume)}
        if len(rest) > 1:
            if volume["metadata"].pop(rest[2], None) is None:
                raise _cinder(404, f"Volume {rest[0]} has no metadata with key {rest[2]}.")
            return 200, None
        if volume["status"] not in _FREE:
            raise _cinder(400, _NOT_FREE)
        volume["status"] = "deleting"
        self._looks[rest[0]] = self.deletes
        self._settle()
        return 202, None

    def volume(self, size: int = 1, volume_type: str | None = None, **given: Any) -> dict[str, Any]:
        """Put a volume there, ours or a foreign one."""
        names = {each["name"]: each["name"] for each in self.things.volume_type}
        names |= {each["id"]: each["name"] for each in self.things.volume_type}
        if volume_type is not None and volume_type not in names:
            raise _cinder(404, f"Volume type with name {volume_type} could not be found.")
        if len(self.volumes) >= self.quota:
            message = f"Maximum number of volumes allowed ({self.quota}) exceeded for quota 'volumes'."
            raise _cinder(413, f"VolumeLimitExceeded: {message}")
        self._numbers += 1
        own_id, born = mint(f"volume {self._numbers}"), at(self.clock() + self._numbers).replace("Z", ".000000")
        kept = {"name": None, "metadata": {}, "attachments": [], "volume_type": names.get(volume_type or "", "plain")}
        volume = {**kept, **given, "id": own_id, "size": size, "status": "creating", "created_at": born}
        self.volumes[own_id] = volume
        self._looks[own_id] = self.builds
        self._settle()
        return volume

    def _listed(self, request: Request) -> dict[str, Any]:
        wanted = ast.literal_eval(request.query.get("metadata", "{}"))
        there = [each for each in reversed(self.volumes.values()) if each["id"] not in self.hidden]
        found = [_shown(each) for each in there if wanted.items() <= each["metadata"].items()]
        return _paged(found, "volumes", request, self.most)

    def _looked(self) -> None:
        self._looks = {own_id: looks - 1 for own_id, looks in self._looks.items()}
        self._settle()

    def _settle(self) -> None:
        for own_id in [own_id for own_id, looks in self._looks.items() if looks <= 0]:
            del self._looks[own_id]
            if self.volumes[own_id]["status"] == "deleting":
                del self.volumes[own_id]
            elif self.volumes[own_id]["status"] == "creating":
                self.volumes[own_id]["status"] = "available"

    # Attachments

    def _attachments(self, request: Request, rest: list[str]) -> tuple[int, Any]:
        spoken = re.fullmatch(r"volume 3\.(\d+)", request.headers.get("OpenStack-API-Version", ""))
        if spoken is None or int(spoken[1]) < 27:
            raise _cinder(404, "The resource could not be found.")
        every = [(volume, each) for volume in self.volumes.values() for each in volume["attachments"]]
        if request.method == "GET":
            asked = request.query["volume_id"]
            kept = {"status": "attached", "volume_id": asked}
            shown = [
                {**kept, "id": each["attachment_id"], "instance": each["server_id"]}
                for volume, each in every
                if volume["id"] == asked
            ]
            return 200, {"attachments": shown}
        for volume, each in every:
            if each["attachment_id"] == rest[0]:
                if self.alive(each["server_id"]):
                    message = "ConflictNovaUsingAttachment: Detach volume from instance {} using the Compute API"
                    raise _cinder(409, message.format(each["server_id"]))
                self._detached(volume, each)
                return 200, {"attachments": []}
        raise _cinder(404, f"Volume attachment could not be found with filter: attachment_id = {rest[0]}.")

    def _detached(self, volume: dict[str, Any], attachment: dict[str, Any]) -> None:
        volume["attachments"].remove(attachment)
        volume["status"] = "in-use" if volume["attachments"] else "available"

    # What Nova does

    def refuse(self, given: dict[str, Any]) -> None:
        """Refuse a server whose volumes are not there, or in use."""
        for own_id in _wanted(given):
            volume = self.volumes.get(own_id)
            if volume is None:
                raise _nova(400, f"Block Device Mapping is Invalid: failed to get volume {own_id}.")
            if volume["status"] != "available":
                now = f"Currently in '{volume['status']}'"
                raise _nova(400, f"Invalid volume: volume '{own_id}' status must be 'available'. {now}")

    def take(self, vm: Vm) -> None:
        """Attach the volumes that a new server is made with."""
        for own_id in _wanted(vm.given["server"]):
            attachment = {"server_id": vm.id, "attachment_id": mint(f"{vm.id} {own_id}"), "volume_id": own_id}
            self.volumes[own_id]["attachments"].append({"id": own_id, "device": "/dev/vdb", **attachment})
            self.volumes[own_id]["status"] = "in-use"

    def free(self, vm: Vm) -> None:
        """Detach them: they stay."""
        for volume in self.volumes.values():
            for attachment in [each for each in volume["attachments"] if each["server_id"] == vm.id]:
                self._detached(volume, attachment)


def _wanted(given: dict[str, Any]) -> list[str]:
    disks = given.get("block_device_mapping_v2", [])
    return [disk["uuid"] for disk in disks if disk["source_type"] == "volume"]


def _shown(volume: dict[str, Any]) -> dict[str, Any]:
    """As it is listed: attachments and metadata are not those of the next moment."""
    return {**volume, "metadata": dict(volume["metadata"]), "attachments": list(volume["attachments"])}
