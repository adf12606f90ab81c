"""What OpenNebula's hypervisors measure of each machine, and what the numbers are. Pure.

Source: the VM monitoring record of OpenNebula 7.4, ``/VM/MONITORING``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from config.counters.objects import Shape
from config.model.counters import Kind


def _rising(unit: str, description: str) -> Shape:
    return Shape(kind=Kind.RISING, bits=64, unit=unit, description=description)


ATTRIBUTES: Mapping[str, Shape] = MappingProxyType(
    {
        "CPU": Shape(bits=64, unit="percent", description="Processor time; 100 for each core that is busy."),
        "MEMORY": Shape(bits=64, unit="bytes", scale=1024.0, description="Memory that the hypervisor has given it."),
        "NETRX": _rising("bytes/s", "Bytes received."),
        "NETTX": _rising("bytes/s", "Bytes sent."),
        "DISKRDBYTES": _rising("bytes/s", "Bytes read from disks."),
        "DISKWRBYTES": _rising("bytes/s", "Bytes written to disks."),
        "DISKRDIOPS": _rising("operations/s", "Operations that read from disks."),
        "DISKWRIOPS": _rising("operations/s", "Operations that wrote to disks."),
    }
)
"""Attribute → shape. Network and disk attributes count for ever, and begin anew when a machine is started again."""
