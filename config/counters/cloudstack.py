"""The counters that CloudStack ships, by the names that its users know them by. Pure.

``builtin: Linux User CPU - percentage`` stands for the keys that measure the same here. What only a hypervisor or the
virtual router's own interfaces can tell needs the cloud's metrics: those names are known, and refused by name.

Source: CloudStack 4.22, table ``counter``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.model.where import hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """One counter of CloudStack's."""

    name: str
    keys: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What it is called in this file: the source first. Empty: only the cloud can tell it."""
    instead: str = ""
    """With no keys: what comes nearest."""
    description: str


_OF_THE_CLOUD = (
    ("Linux User CPU - percentage - native", "cloudstack: cpuused", "CPU time, as the hypervisor sees it."),
    (
        "Linux User RAM - percentage - native",
        "snmp: UCD-SNMP-MIB::memAvailReal.0",
        "Memory, as the hypervisor sees it.",
    ),
    ("VM CPU - average percentage", "cloudstack: cpuused", "CPU time, as the hypervisor sees it."),
    ("VM Memory - average percentage", "snmp: UCD-SNMP-MIB::memAvailReal.0", "Memory, as the hypervisor sees it."),
    (
        "Public Network - mbps received per vm",
        "snmp: IF-MIB::ifHCInOctets.2, unit: Mbit/s",
        "What the virtual router received, by member.",
    ),
    (
        "Public Network - mbps transmit per vm",
        "snmp: IF-MIB::ifHCOutOctets.2, unit: Mbit/s",
        "What the virtual router sent, by member.",
    ),
)

SHIPPED: tuple[Shipped, ...] = (
    Shipped(
        name="Linux User CPU - percentage",
        keys=MappingProxyType({"snmp": "UCD-SNMP-MIB::ssCpuUser.0"}),
        description="CPU time in user code, over the last minute.",
    ),
    Shipped(
        name="Linux System CPU - percentage",
        keys=MappingProxyType({"snmp": "UCD-SNMP-MIB::ssCpuSystem.0"}),
        description="CPU time in the kernel, over the last minute.",
    ),
    Shipped(
        name="Linux CPU Idle - percentage",
        keys=MappingProxyType({"snmp": "UCD-SNMP-MIB::ssCpuIdle.0"}),
        description="CPU time idle, over the last minute.",
    ),
    Shipped(
        name="Response Time - microseconds",
        keys=MappingProxyType({"netscaler": "avgsvrttfb", "unit": "us"}),
        description="Time to the first byte of an answer; NITRO has nothing nearer.",
    ),
    Shipped(
        name="Load Balancer - average connections per vm",
        keys=MappingProxyType({"haproxy": "scur"}),
        description="Sessions now, of each member; conditions take their average across members.",
    ),
    *(Shipped(name=name, instead=instead, description=text) for name, instead, text in _OF_THE_CLOUD),
)

_BY_NAME = {shipped.name.lower(): shipped for shipped in SHIPPED}
_SOURCES = frozenset(next(iter(shipped.keys)) for shipped in SHIPPED if shipped.keys)


def written_out(entry: object) -> object:
    """A counter as it is written, with ``builtin`` replaced by what it stands for; what stands beside it wins.

    Left as it is where the name is not one that can be measured, or where another source stands beside it: it is then
    refused for that.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("builtin"), str):
        return entry
    shipped = _BY_NAME.get(_folded(entry["builtin"]))
    if shipped is None or not shipped.keys or _SOURCES & entry.keys():
        return entry
    return {**shipped.keys, **{key: value for key, value in entry.items() if key != "builtin"}}


def read_builtin(value: object) -> str:
    """Read the name of a counter of CloudStack's, in any capitals.

    Raises:
        ValueError: says what was expected, with the nearest name, or what to measure instead.
    """
    name = value if isinstance(value, str) else ""
    shipped = _BY_NAME.get(_folded(name))
    if shipped is None:
        raise ValueError(f"a counter that CloudStack ships{hint(name, (known.name for known in SHIPPED))}")
    if not shipped.keys:
        raise ValueError(
            f"measured under this name, since clouds measure different values: the nearest is {{{shipped.instead}}}"
        )
    return shipped.name


def _folded(name: str) -> str:
    return " ".join(name.lower().split())
