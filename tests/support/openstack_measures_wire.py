"""What an OpenStack on loopback measures: Nova's diagnostics, beside the servers of `Nova`; and Gnocchi.

The shapes and texts were read off real ones: Zed with its fake hypervisor, and Gnocchi 4.7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.support.openstack_nova_wire import Nova, _refused
from tests.support.openstack_wire import Refused, Request

FAKE: Mapping[str, Any] = {
    "state": "running",
    "driver": "libvirt",
    "hypervisor": "kvm",
    "hypervisor_os": "ubuntu",
    "uptime": 46664,
    "config_drive": True,
    "num_cpus": 1,
    "num_nics": 1,
    "num_disks": 1,
    "cpu_details": [{"id": 0, "time": 17300000000, "utilisation": 15}],
    "nic_details": [
        {
            "mac_address": "01:23:45:67:89:ab",
            "rx_octets": 2070139,
            "rx_errors": 100,
            "rx_drop": 200,
            "rx_packets": 26701,
            "rx_rate": 300,
            "tx_octets": 140208,
            "tx_errors": 400,
            "tx_drop": 500,
            "tx_packets": 662,
            "tx_rate": 600,
        }
    ],
    "disk_details": [
        {
            "read_bytes": 262144,
            "read_requests": 112,
            "write_bytes": 5778432,
            "write_requests": 488,
            "errors_count": 1,
        }
    ],
    "memory_details": {"maximum": 524288, "used": 0},
}
"""What Nova's fake hypervisor says of every server."""


@dataclass
class MeasuringNova(Nova):
    """Its diagnostics of a server, by name; of others, those of the fake hypervisor."""

    diagnostics: dict[str, Any] = field(default_factory=dict)
    allows: bool = True
    """Its policy lets the user look."""
    looked_at: list[str] = field(default_factory=list)
    """Names, in order."""

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.label != "GET /servers/{id}/diagnostics":
            return super().answer(request)
        vm = self.vms.get(request.path.split("/")[2])
        if vm is None:
            raise _refused(404, "Instance could not be found.")
        if not self.allows:
            message = "Policy doesn't allow os_compute_api:os-server-diagnostics to be performed."
            raise _refused(403, message)
        if request.headers.get("OpenStack-API-Version") != "compute 2.48":
            raise AssertionError("the format before 2.48 is each hypervisor's own")
        if vm.status == "BUILD":
            raise _refused(409, f"Instance {vm.id} is not ready")
        self.looked_at.append(vm.name)
        return 200, self.diagnostics.get(vm.name, FAKE)


Values = Sequence[tuple[float, float]]
"""When each period began, and its value."""


@dataclass
class Gnocchi:
    """Metrics of resources: of each, the values of one aggregation and granularity."""

    kind: str = "metric"
    root: str = ""
    granularity: float = 10.0
    aggregation: str = "mean"
    kept: dict[str, dict[str, Values]] = field(default_factory=dict)
    """Metric → resource → values."""

    def versions(self, url: str) -> Any:
        return {"build": "4.7.1", "versions": [{"id": "v1.0", "status": "CURRENT", "links": []}]}

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.label != "POST /v1/aggregates":
            raise Refused(404, "404 Not Found")
        word, metric, aggregation = request.body["operations"]
        ids = request.body["search"]["in"]["id"]
        found = {own: values for own, values in self.kept.get(metric, {}).items() if own in ids}
        if word != "metric" or not found:
            raise Refused(404, f"404 Not Found: Metric ['{metric}'] does not exist")
        if aggregation != self.aggregation:
            raise Refused(404, "404 Not Found: {'cause': 'Metrics with unknown aggregation'}")
        if float(request.query["granularity"]) != self.granularity:
            raise Refused(400, "400 Bad Request: {'reason': 'Granularities are missing'}")
        since = -float(request.query["start"].removesuffix("seconds"))
        measures = {own: {metric: {aggregation: self._since(each, since)}} for own, each in found.items()}
        return 200, {"measures": measures}

    def _since(self, values: Values, since: float) -> list[list[Any]]:
        first = datetime.now(UTC).timestamp() - since - self.granularity
        return [
            [datetime.fromtimestamp(began, UTC).isoformat(), self.granularity, value]
            for began, value in values
            if began >= first
        ]
