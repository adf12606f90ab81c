"""Well-known SNMP objects: what people call them, and what they are.

Neither SNMP library ships the MIBs, and nobody remembers that user CPU is 1.3.6.1.4.1.2021.11.9.0. The table is
by hand, from UCD-SNMP-MIB, HOST-RESOURCES-MIB (RFC 2790), IF-MIB (RFC 2863), SNMPv2-MIB (RFC 3418), TCP-MIB
(RFC 4022) and UDP-MIB (RFC 4113).
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from config.counters import Kind

_NAME = re.compile(
    r"(?:(?P<module>[A-Za-z][A-Za-z0-9-]*)::)?(?P<object>[A-Za-z][A-Za-z0-9-]*)\.(?P<instance>[0-9]{1,10})"
)
_OID = re.compile(r"\.?(?P<oid>[0-2](?:\.[0-9]{1,10}){2,127})")
_GREATEST_ARC = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the readings of an object are."""

    kind: Kind = Kind.GAUGE
    bits: int = 32
    unit: str = ""
    """Of the value: of the reading times ``scale``, or of its rate per second times ``scale``."""
    scale: float = 1.0
    range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownObject:
    """One object that has a well-known name."""

    name: str
    """With module and instance: ``UCD-SNMP-MIB::ssCpuUser.0``."""
    oid: str
    """Numeric, with instance, no leading dot."""
    column: bool
    """A column of a table, so any instance; else the one instance 0."""
    shape: Shape
    description: str


def resolve(name: str) -> KnownObject | None:
    """Find an object by ``MODULE::object.instance``, by ``object.instance`` where that is clear, or by numeric OID.

    >>> resolve("ssCpuUser.0").oid
    '1.3.6.1.4.1.2021.11.9.0'
    >>> resolve("1.3.6.1.2.1.31.1.1.1.6.2").name
    'IF-MIB::ifHCInOctets.2'
    """
    oid = numeric(name)
    if oid is not None:
        stem, _, instance = oid.rpartition(".")
        return _BY_OID.get(oid) or _with_instance(_BY_OID.get(stem), instance)
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    key = match["object"] if match["module"] is None else f"{match['module']}::{match['object']}"
    return _with_instance(_BY_NAME.get(key), match["instance"])


def column(name: str) -> KnownObject | None:
    """Find a whole column of a table by ``MODULE::object``, or by ``object`` where that is clear.

    >>> column("hrProcessorLoad").oid
    '1.3.6.1.2.1.25.3.3.1.2'
    >>> column("ssCpuUser") is None
    True
    """
    entry = _BY_NAME.get(name)
    return entry if entry is not None and entry.column else None


def numeric(text: str) -> str | None:
    """Read a numeric OID and drop its leading dot; ``None`` for anything else."""
    match = _OID.fullmatch(text)
    if match is None or any(int(arc) > _GREATEST_ARC for arc in match["oid"].split(".")):
        return None
    return match["oid"]


def nearest(name: str) -> tuple[str, ...]:
    """Find up to three well-known names, with instance, that a mistaken one may have meant; best first."""
    module, separator, _ = name.partition("::")
    wanted = name.rpartition("::")[2].partition(".")[0].lower()
    known = {entry.name.partition("::")[2].lower(): entry for entry in _ENTRIES}
    found = [known[close] for close in difflib.get_close_matches(wanted, known, n=3, cutoff=0.6)]
    found.sort(key=lambda entry: separator != "" and not entry.name.startswith(f"{module}::"))
    return tuple(f"{entry.name}.{1 if entry.column else 0}" for entry in found)


def _with_instance(entry: KnownObject | None, instance: str) -> KnownObject | None:
    if entry is None or not (entry.column or instance == "0") or int(instance) > _GREATEST_ARC:
        return None
    number = str(int(instance))
    return replace(entry, name=f"{entry.name}.{number}", oid=f"{entry.oid}.{number}")


_PERCENT = Shape(unit="percent", range=(0.0, 100.0))
_NUMBER = Shape()
_KIBIBYTES = Shape(unit="KiB")
_HUNDREDTHS = Shape(scale=0.01)
_TICKS = Shape(unit="s", scale=0.01)
_SPEED = Shape(unit="bits/s")
_MEGABITS = Shape(unit="Mbit/s")
_CPU_TICKS = Shape(kind=Kind.RISING, unit="ticks/s")


def _rising(unit: str, bits: int = 32) -> Shape:
    return Shape(kind=Kind.RISING, bits=bits, unit=unit)


def _scalars(module: str, stem: str, rows: Iterable[tuple[str, str, Shape, str]]) -> tuple[KnownObject, ...]:
    return tuple(
        KnownObject(name=f"{module}::{name}", oid=f"{stem}.{arc}", column=False, shape=shape, description=text)
        for name, arc, shape, text in rows
    )


def _columns(module: str, stem: str, rows: Iterable[tuple[str, str, Shape, str]]) -> tuple[KnownObject, ...]:
    return tuple(replace(entry, column=True) for entry in _scalars(module, stem, rows))


_UCD = "1.3.6.1.4.1.2021"
_MIB_2 = "1.3.6.1.2.1"
_PLAYPEN = "1.3.6.1.4.1.8072.9999.9999"
"""netSnmpPlaypen, the arc that Net-SNMP keeps for experiments."""

_ENTRIES: tuple[KnownObject, ...] = (
    *_scalars(
        "UCD-SNMP-MIB",
        f"{_UCD}.4",
        [
            ("memTotalSwap", "3", _KIBIBYTES, "All swap space."),
            ("memAvailSwap", "4", _KIBIBYTES, "Swap space that is free."),
            ("memTotalReal", "5", _KIBIBYTES, "All physical memory."),
            ("memAvailReal", "6", _KIBIBYTES, "Physical memory that is free; caches are not counted as free."),
            ("memTotalFree", "11", _KIBIBYTES, "Physical memory and swap that are free."),
            ("memShared", "13", _KIBIBYTES, "Shared memory."),
            ("memBuffer", "14", _KIBIBYTES, "Memory used as buffers."),
            ("memCached", "15", _KIBIBYTES, "Memory used as cache."),
        ],
    ),
    *_columns(
        "UCD-SNMP-MIB",
        f"{_UCD}.10.1",
        [
            ("laLoadInt", "5", _HUNDREDTHS, "Load average over 1, 5 or 15 minutes (instances 1, 2, 3)."),
            ("laLoadFloat", "6", _NUMBER, "Load average over 1, 5 or 15 minutes, as an opaque float."),
        ],
    ),
    *_columns(
        "UCD-SNMP-MIB",
        f"{_UCD}.9.1",
        [
            ("dskPercent", "9", _PERCENT, "Used share of a watched disk."),
            ("dskPercentNode", "10", _PERCENT, "Used share of a watched disk's inodes."),
        ],
    ),
    *_scalars(
        "UCD-SNMP-MIB",
        f"{_UCD}.11",
        [
            ("ssCpuUser", "9", _PERCENT, "CPU time in user code, over the last minute."),
            ("ssCpuSystem", "10", _PERCENT, "CPU time in the kernel, over the last minute."),
            ("ssCpuIdle", "11", _PERCENT, "CPU time idle, over the last minute."),
            ("ssCpuRawUser", "50", _CPU_TICKS, "CPU time in user code, all CPUs."),
            ("ssCpuRawNice", "51", _CPU_TICKS, "CPU time in code of lowered priority, all CPUs."),
            ("ssCpuRawSystem", "52", _CPU_TICKS, "CPU time in the kernel, all CPUs."),
            ("ssCpuRawIdle", "53", _CPU_TICKS, "CPU time idle, all CPUs."),
            ("ssCpuRawWait", "54", _CPU_TICKS, "CPU time waiting for disks, all CPUs."),
            ("ssCpuRawKernel", "55", _CPU_TICKS, "CPU time in the kernel proper, all CPUs."),
            ("ssCpuRawInterrupt", "56", _CPU_TICKS, "CPU time in interrupts, all CPUs."),
            ("ssIORawSent", "57", _rising("blocks/s"), "Blocks written to disks."),
            ("ssIORawReceived", "58", _rising("blocks/s"), "Blocks read from disks."),
            ("ssRawInterrupts", "59", _rising("interrupts/s"), "Interrupts."),
            ("ssRawContexts", "60", _rising("switches/s"), "Context switches."),
            ("ssCpuRawSoftIRQ", "61", _CPU_TICKS, "CPU time in soft interrupts, all CPUs."),
            ("ssRawSwapIn", "62", _rising("blocks/s"), "Blocks swapped in."),
            ("ssRawSwapOut", "63", _rising("blocks/s"), "Blocks swapped out."),
            ("ssCpuRawSteal", "64", _CPU_TICKS, "CPU time that the hypervisor gave to others, all CPUs."),
            ("ssCpuNumCpus", "67", _NUMBER, "CPUs."),
        ],
    ),
    *_scalars(
        "HOST-RESOURCES-MIB",
        f"{_MIB_2}.25",
        [
            ("hrSystemUptime", "1.1", _TICKS, "Time since the machine started."),
            ("hrSystemNumUsers", "1.5", _NUMBER, "User sessions."),
            ("hrSystemProcesses", "1.6", _NUMBER, "Processes."),
            ("hrMemorySize", "2.2", _KIBIBYTES, "All physical memory."),
        ],
    ),
    *_columns(
        "HOST-RESOURCES-MIB",
        f"{_MIB_2}.25",
        [
            ("hrStorageSize", "2.3.1.5", _NUMBER, "Size of a storage area, in its own allocation units."),
            ("hrStorageUsed", "2.3.1.6", _NUMBER, "Used part of a storage area, in its own allocation units."),
            ("hrProcessorLoad", "3.3.1.2", _PERCENT, "Time that one processor was busy, over the last minute."),
        ],
    ),
    *_columns(
        "IF-MIB",
        f"{_MIB_2}.2.2.1",
        [
            ("ifSpeed", "5", _SPEED, "Speed of an interface; stops at 4.3 Gbit/s."),
            ("ifInOctets", "10", _rising("bytes/s"), "Bytes received; wraps within 34 s at 1 Gbit/s."),
            ("ifInUcastPkts", "11", _rising("packets/s"), "Unicast packets received."),
            ("ifInDiscards", "13", _rising("packets/s"), "Packets received and dropped for want of room."),
            ("ifInErrors", "14", _rising("packets/s"), "Packets received with errors."),
            ("ifOutOctets", "16", _rising("bytes/s"), "Bytes sent; wraps within 34 s at 1 Gbit/s."),
            ("ifOutUcastPkts", "17", _rising("packets/s"), "Unicast packets sent."),
            ("ifOutDiscards", "19", _rising("packets/s"), "Packets to send, dropped for want of room."),
            ("ifOutErrors", "20", _rising("packets/s"), "Packets that could not be sent for errors."),
        ],
    ),
    *_columns(
        "IF-MIB",
        f"{_MIB_2}.31.1.1.1",
        [
            ("ifHCInOctets", "6", _rising("bytes/s", 64), "Bytes received, 64 bit."),
            ("ifHCInUcastPkts", "7", _rising("packets/s", 64), "Unicast packets received, 64 bit."),
            ("ifHCOutOctets", "10", _rising("bytes/s", 64), "Bytes sent, 64 bit."),
            ("ifHCOutUcastPkts", "11", _rising("packets/s", 64), "Unicast packets sent, 64 bit."),
            ("ifHighSpeed", "15", _MEGABITS, "Speed of an interface."),
        ],
    ),
    *_scalars("SNMPv2-MIB", f"{_MIB_2}.1", [("sysUpTime", "3", _TICKS, "Time since the agent started.")]),
    *_scalars(
        "TCP-MIB",
        f"{_MIB_2}.6",
        [
            ("tcpActiveOpens", "5", _rising("connections/s"), "Connections opened from here."),
            ("tcpPassiveOpens", "6", _rising("connections/s"), "Connections accepted."),
            ("tcpAttemptFails", "7", _rising("connections/s"), "Connections that failed to open."),
            ("tcpEstabResets", "8", _rising("connections/s"), "Connections cut off."),
            ("tcpCurrEstab", "9", Shape(unit="connections"), "Connections that are open."),
            ("tcpInSegs", "10", _rising("segments/s"), "Segments received."),
            ("tcpOutSegs", "11", _rising("segments/s"), "Segments sent."),
            ("tcpRetransSegs", "12", _rising("segments/s"), "Segments sent again."),
            ("tcpInErrs", "14", _rising("segments/s"), "Segments received with errors."),
            ("tcpOutRsts", "15", _rising("segments/s"), "Segments sent with RST."),
            ("tcpHCInSegs", "17", _rising("segments/s", 64), "Segments received, 64 bit."),
            ("tcpHCOutSegs", "18", _rising("segments/s", 64), "Segments sent, 64 bit."),
        ],
    ),
    *_scalars(
        "UDP-MIB",
        f"{_MIB_2}.7",
        [
            ("udpInDatagrams", "1", _rising("datagrams/s"), "Datagrams delivered."),
            ("udpNoPorts", "2", _rising("datagrams/s"), "Datagrams for ports where nobody listens."),
            ("udpInErrors", "3", _rising("datagrams/s"), "Datagrams that could not be delivered."),
            ("udpOutDatagrams", "4", _rising("datagrams/s"), "Datagrams sent."),
            ("udpHCInDatagrams", "8", _rising("datagrams/s", 64), "Datagrams delivered, 64 bit."),
            ("udpHCOutDatagrams", "9", _rising("datagrams/s", 64), "Datagrams sent, 64 bit."),
        ],
    ),
    *_scalars(
        "TRIMTAB-DEMO",
        f"{_PLAYPEN}.1",
        [
            ("busyPercent", "1", _PERCENT, "Busy share of a demo member's worker slots."),
            ("requests", "2", _rising("requests/s", 64), "Requests that a demo member has answered."),
            ("cpuPercent", "3", Shape(unit="percent"), "CPU time of a demo member's process; 100 is one core."),
        ],
    ),
)

_BY_OID = {entry.oid: entry for entry in _ENTRIES}
_SHARED = Counter(entry.name.partition("::")[2] for entry in _ENTRIES)
_BY_NAME = {entry.name: entry for entry in _ENTRIES} | {
    short: entry for entry in _ENTRIES if _SHARED[short := entry.name.partition("::")[2]] == 1
}
