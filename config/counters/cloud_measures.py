"""What clouds measure of members' machines, by the clouds' own names, and what the numbers are. Pure.

Sources: CloudStack 4.22, ``listVirtualMachinesMetrics`` (`VmMetricsResponse`, `UserVmResponse`, `StatsCollector`);
Compute API reference, `Show Server Diagnostics`, microversion 2.48; Nova's libvirt driver; Ceilometer's measurements
of compute, as Gnocchi keeps them; the VM monitoring record of OpenNebula 7.4, ``/VM/MONITORING``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from config.counters.objects import ObjectShape
from config.model.counters import CounterKind


def _gauge(unit: str, description: str, scale: float = 1.0, range: tuple[float, float] | None = None) -> ObjectShape:
    return ObjectShape(bits=64, unit=unit, scale=scale, range=range, description=description)


def _rising(unit: str, description: str, scale: float = 1.0) -> ObjectShape:
    return ObjectShape(kind=CounterKind.RISING, bits=64, unit=unit, scale=scale, description=description)


_CYCLE = "in one collection: 60 s as CloudStack is delivered (vm.stats.interval)."

CLOUDSTACK_FIELDS: Mapping[str, ObjectShape] = MappingProxyType(
    {
        "cpuused": _gauge("percent", "Processor time; 100 when all its cores are busy."),
        "memorykbs": _gauge("bytes", "Memory that the machine has.", 1024.0),
        "memoryintfreekbs": _gauge(
            "bytes", "Memory that is free inside the guest, if the hypervisor can tell.", 1024.0
        ),
        "memorytargetkbs": _gauge("bytes", "Memory that the hypervisor means it to have.", 1024.0),
        "networkkbsread": _gauge("KiB", f"Received {_CYCLE}"),
        "networkkbswrite": _gauge("KiB", f"Sent {_CYCLE}"),
        "diskkbsread": _gauge("KiB", f"Read from disks {_CYCLE}"),
        "diskkbswrite": _gauge("KiB", f"Written to disks {_CYCLE}"),
        "diskioread": _gauge("operations", f"Operations that read from disks {_CYCLE}"),
        "diskiowrite": _gauge("operations", f"Operations that wrote to disks {_CYCLE}"),
        "diskiopstotal": _gauge("operations", f"Operations of disks {_CYCLE}"),
    }
)
"""Field → shape. Traffic is reported for one collection, if CloudStack is asked not to add it up."""

CLOUDSTACK_MOVED = frozenset(name for name in CLOUDSTACK_FIELDS if name.startswith(("network", "disk")))
"""Fields that CloudStack before 4.17 adds up, whatever it is asked."""

NOVA_FIELDS: Mapping[str, ObjectShape] = MappingProxyType(
    {
        "cpu_details.time": _rising("percent", "Processor time; 100 for each core that is busy.", 1e-7),
        "cpu_details.utilisation": _gauge(
            "percent", "How busy each core is; libvirt does not tell.", range=(0.0, 100.0)
        ),
        "memory_details.maximum": _gauge("MiB", "Memory that the machine may have."),
        "memory_details.used": _gauge(
            "MiB", "Memory that the hypervisor has given it, whatever its guest does with it."
        ),
        "nic_details.rx_octets": _rising("bytes/s", "Bytes received."),
        "nic_details.rx_packets": _rising("packets/s", "Packets received."),
        "nic_details.rx_errors": _rising("packets/s", "Packets received with errors."),
        "nic_details.rx_drop": _rising("packets/s", "Packets dropped on their way in."),
        "nic_details.tx_octets": _rising("bytes/s", "Bytes sent."),
        "nic_details.tx_packets": _rising("packets/s", "Packets sent."),
        "nic_details.tx_errors": _rising("packets/s", "Packets not sent for errors."),
        "nic_details.tx_drop": _rising("packets/s", "Packets dropped on their way out."),
        "disk_details.read_bytes": _rising("bytes/s", "Bytes read from disks."),
        "disk_details.read_requests": _rising("operations/s", "Operations that read from disks."),
        "disk_details.write_bytes": _rising("bytes/s", "Bytes written to disks."),
        "disk_details.write_requests": _rising("operations/s", "Operations that wrote to disks."),
        "disk_details.errors_count": _rising("errors/s", "Errors of disks."),
    }
)
"""Field → shape. What is counted begins anew when a machine is started again, or moves to another host."""

GNOCCHI_METRICS: Mapping[str, ObjectShape] = MappingProxyType(
    {
        "cpu": _rising("percent", "Processor time; 100 for each core that is busy.", 1e-7),
        "memory": _gauge("MiB", "Memory of the flavour."),
        "memory.usage": _gauge("MiB", "Memory that the guest uses."),
        "memory.resident": _gauge("MiB", "Memory of the host that the machine takes."),
        "vcpus": _gauge("cores", "Cores of the flavour."),
    }
)
"""Metric → shape of its values over time, if they are not differences already (``rate:…``)."""


OPENNEBULA_ATTRIBUTES: Mapping[str, ObjectShape] = MappingProxyType(
    {
        "CPU": ObjectShape(bits=64, unit="percent", description="Processor time; 100 for each core that is busy."),
        "MEMORY": ObjectShape(
            bits=64, unit="bytes", scale=1024.0, description="Memory that the hypervisor has given it."
        ),
        "NETRX": _rising("bytes/s", "Bytes received."),
        "NETTX": _rising("bytes/s", "Bytes sent."),
        "DISKRDBYTES": _rising("bytes/s", "Bytes read from disks."),
        "DISKWRBYTES": _rising("bytes/s", "Bytes written to disks."),
        "DISKRDIOPS": _rising("operations/s", "Operations that read from disks."),
        "DISKWRIOPS": _rising("operations/s", "Operations that wrote to disks."),
    }
)
"""Attribute → shape. Network and disk attributes count for ever, and begin anew when a machine is started again."""
