"""The SNMP objects that operators of virtual machines ask for, by the names of their MIBs.

Neither SNMP library ships these MIBs, and a name is easier than 1.3.6.1.4.1.2021.11.9.0 for user CPU. Sources:
UCD-SNMP-MIB, UCD-DISKIO-MIB, LM-SENSORS-MIB and NET-SNMP-EXTEND-MIB of Net-SNMP 5.9, HOST-RESOURCES-MIB (RFC 2790),
IF-MIB (RFC 2863), SNMPv2-MIB (RFC 3418), TCP-MIB (RFC 4022) and UDP-MIB (RFC 4113). The units are what agents send:
what Net-SNMP calls kB is 1,024 bytes, and shares of CPU and disks are percentages though the MIB gives no unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from config.counters.objects import KnownObject, Lexicon, ObjectShape
from config.model.counters import CounterKind

_PERCENT = ObjectShape(unit="percent", range=(0.0, 100.0))
_NUMBER = ObjectShape()
_KIBIBYTES = ObjectShape(unit="KiB")
_WIDE_KIBIBYTES = ObjectShape(unit="KiB", bits=64)
_HUNDREDTHS = ObjectShape(scale=0.01)
_TICKS = ObjectShape(unit="s", scale=0.01)
_SPEED = ObjectShape(unit="bits/s")
_MEGABITS = ObjectShape(unit="Mbit/s")
_PROCESSES = ObjectShape(unit="processes")


def _rising(unit: str, bits: int = 32, scale: float = 1.0) -> ObjectShape:
    return ObjectShape(kind=CounterKind.RISING, bits=bits, unit=unit, scale=scale)


_CPU_TICKS = _rising("ticks/s")

_Row = tuple[str, str, ObjectShape, str]
"""Name, arcs after the stem, shape, description."""


def _scalars(module: str, stem: str, rows: Iterable[_Row]) -> tuple[KnownObject, ...]:
    return tuple(
        KnownObject(
            name=f"{module}::{name}", oid=f"{stem}.{arcs}", column=False, shape=replace(shape, description=text)
        )
        for name, arcs, shape, text in rows
    )


def _columns(module: str, stem: str, rows: Iterable[_Row], *, compound: bool = False) -> tuple[KnownObject, ...]:
    return tuple(replace(entry, column=True, compound=compound) for entry in _scalars(module, stem, rows))


_UCD = "1.3.6.1.4.1.2021"
_NET_SNMP = "1.3.6.1.4.1.8072"
_MIB_2 = "1.3.6.1.2.1"

_CPU: tuple[KnownObject, ...] = (
    *_scalars(
        "UCD-SNMP-MIB",
        f"{_UCD}.11",
        [
            ("ssSwapIn", "3", ObjectShape(unit="KiB/s"), "Memory swapped in, over the last minute."),
            ("ssSwapOut", "4", ObjectShape(unit="KiB/s"), "Memory swapped out, over the last minute."),
            ("ssIOSent", "5", ObjectShape(unit="blocks/s"), "Blocks written to disks, over the last minute."),
            ("ssIOReceive", "6", ObjectShape(unit="blocks/s"), "Blocks read from disks, over the last minute."),
            ("ssSysInterrupts", "7", ObjectShape(unit="interrupts/s"), "Interrupts, over the last minute."),
            ("ssSysContext", "8", ObjectShape(unit="switches/s"), "Context switches, over the last minute."),
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
            ("ssCpuRawGuest", "65", _CPU_TICKS, "CPU time in virtual machines of its own, all CPUs."),
            ("ssCpuRawGuestNice", "66", _CPU_TICKS, "CPU time in its virtual machines of lowered priority, all CPUs."),
            ("ssCpuNumCpus", "67", ObjectShape(unit="CPUs"), "CPUs."),
        ],
    ),
    *_columns(
        "UCD-SNMP-MIB",
        f"{_UCD}.10.1",
        [
            ("laLoad", "3", _NUMBER, "Load average over 1, 5 or 15 minutes (instances 1, 2, 3), as text."),
            ("laLoadInt", "5", _HUNDREDTHS, "Load average over 1, 5 or 15 minutes (instances 1, 2, 3)."),
            ("laLoadFloat", "6", _NUMBER, "Load average over 1, 5 or 15 minutes, as an opaque float."),
        ],
    ),
)

_MEMORY: tuple[KnownObject, ...] = _scalars(
    "UCD-SNMP-MIB",
    f"{_UCD}.4",
    [
        ("memTotalSwap", "3", _KIBIBYTES, "All swap space."),
        ("memAvailSwap", "4", _KIBIBYTES, "Swap space that is free."),
        ("memTotalReal", "5", _KIBIBYTES, "All physical memory."),
        ("memAvailReal", "6", _KIBIBYTES, "Physical memory that is free; caches are not counted as free."),
        ("memTotalFree", "11", _KIBIBYTES, "Physical memory and swap that are free."),
        ("memMinimumSwap", "12", _KIBIBYTES, "Swap space that the agent wants free."),
        ("memShared", "13", _KIBIBYTES, "Shared memory."),
        ("memBuffer", "14", _KIBIBYTES, "Memory used as buffers."),
        ("memCached", "15", _KIBIBYTES, "Memory used as cache."),
        ("memTotalSwapX", "18", _WIDE_KIBIBYTES, "All swap space, 64 bit."),
        ("memAvailSwapX", "19", _WIDE_KIBIBYTES, "Swap space that is free, 64 bit."),
        ("memTotalRealX", "20", _WIDE_KIBIBYTES, "All physical memory, 64 bit."),
        ("memAvailRealX", "21", _WIDE_KIBIBYTES, "Physical memory that is free, 64 bit."),
        ("memTotalFreeX", "22", _WIDE_KIBIBYTES, "Physical memory and swap that are free, 64 bit."),
        ("memSharedX", "24", _WIDE_KIBIBYTES, "Shared memory, 64 bit."),
        ("memBufferX", "25", _WIDE_KIBIBYTES, "Memory used as buffers, 64 bit."),
        ("memCachedX", "26", _WIDE_KIBIBYTES, "Memory used as cache, 64 bit."),
        ("memSysAvail", "27", _WIDE_KIBIBYTES, "Memory that new programs can have without swapping; newer agents."),
        ("memSwapError", "100", _NUMBER, "1 while less swap space is free than the agent wants, else 0."),
    ],
)

_DISKS: tuple[KnownObject, ...] = (
    *_columns(
        "UCD-SNMP-MIB",
        f"{_UCD}.9.1",
        [
            ("dskTotal", "6", _KIBIBYTES, "Size of a watched disk; stops at 2 TiB."),
            ("dskAvail", "7", _KIBIBYTES, "Free space on a watched disk; stops at 2 TiB."),
            ("dskUsed", "8", _KIBIBYTES, "Used space on a watched disk; stops at 2 TiB."),
            ("dskPercent", "9", _PERCENT, "Used share of a watched disk."),
            ("dskPercentNode", "10", _PERCENT, "Used share of a watched disk's inodes."),
            ("dskErrorFlag", "100", _NUMBER, "1 while a watched disk has less free space than it should, else 0."),
        ],
    ),
    *_columns(
        "UCD-DISKIO-MIB",
        f"{_UCD}.13.15.1.1",
        [
            ("diskIONRead", "3", _rising("bytes/s"), "Bytes read from a device; wraps at 4 GiB."),
            ("diskIONWritten", "4", _rising("bytes/s"), "Bytes written to a device; wraps at 4 GiB."),
            ("diskIOReads", "5", _rising("reads/s"), "Reads from a device."),
            ("diskIOWrites", "6", _rising("writes/s"), "Writes to a device."),
            ("diskIOLA1", "9", _PERCENT, "Time that a device was busy, over the last minute."),
            ("diskIOLA5", "10", _PERCENT, "Time that a device was busy, over 5 minutes."),
            ("diskIOLA15", "11", _PERCENT, "Time that a device was busy, over 15 minutes."),
            ("diskIONReadX", "12", _rising("bytes/s", 64), "Bytes read from a device, 64 bit."),
            ("diskIONWrittenX", "13", _rising("bytes/s", 64), "Bytes written to a device, 64 bit."),
            ("diskIOBusyTime", "14", _rising("percent", 64, 1e-4), "Time that a device was busy."),
        ],
    ),
)

_PROGRAMS: tuple[KnownObject, ...] = (
    *_columns(
        "UCD-SNMP-MIB",
        f"{_UCD}.2.1",
        [
            ("prMin", "3", _PROCESSES, "Least number of processes that a watched program should have."),
            ("prMax", "4", _PROCESSES, "Greatest number of processes that a watched program should have."),
            ("prCount", "5", _PROCESSES, "Processes that a watched program has."),
            ("prErrorFlag", "100", _NUMBER, "1 while a watched program has too few or too many processes, else 0."),
        ],
    ),
    *_columns("UCD-SNMP-MIB", f"{_UCD}.8.1", [("extResult", "100", _NUMBER, "Exit status of an `exec` script.")]),
    *_columns(
        "NET-SNMP-EXTEND-MIB",
        f"{_NET_SNMP}.1.3.2.3.1",
        [
            ("nsExtendOutput1Line", "1", _NUMBER, 'First line of an `extend` script\'s output (instance "name").'),
            ("nsExtendOutNumLines", "3", ObjectShape(unit="lines"), 'Lines of its output (instance "name").'),
            ("nsExtendResult", "4", _NUMBER, 'Exit status of an `extend` script (instance "name").'),
        ],
        compound=True,
    ),
    *_columns(
        "NET-SNMP-EXTEND-MIB",
        f"{_NET_SNMP}.1.3.2.4.1",
        [("nsExtendOutLine", "2", _NUMBER, 'A line of an `extend` script\'s output (instance "name".LINE).')],
        compound=True,
    ),
)

_SENSORS: tuple[KnownObject, ...] = tuple(
    entry
    for stem, row in {
        "2": ("lmTempSensorsValue", "3", ObjectShape(unit="degrees C", scale=0.001), "A temperature."),
        "3": ("lmFanSensorsValue", "3", ObjectShape(unit="turns/min"), "A fan's speed."),
        "4": ("lmVoltSensorsValue", "3", ObjectShape(unit="volts", scale=0.001), "A voltage."),
        "5": ("lmMiscSensorsValue", "3", _NUMBER, "What another sensor reads."),
    }.items()
    for entry in _columns("LM-SENSORS-MIB", f"{_UCD}.13.16.{stem}.1", [row])
)

_HOST: tuple[KnownObject, ...] = (
    *_scalars("SNMPv2-MIB", f"{_MIB_2}.1", [("sysUpTime", "3", _TICKS, "Time since the agent started.")]),
    *_scalars(
        "HOST-RESOURCES-MIB",
        f"{_MIB_2}.25",
        [
            ("hrSystemUptime", "1.1", _TICKS, "Time since the machine started."),
            ("hrSystemNumUsers", "1.5", ObjectShape(unit="sessions"), "User sessions."),
            ("hrSystemProcesses", "1.6", _PROCESSES, "Processes."),
            ("hrSystemMaxProcesses", "1.7", _PROCESSES, "Processes that there can be; 0 where there is no limit."),
            ("hrMemorySize", "2.2", _KIBIBYTES, "All physical memory."),
        ],
    ),
    *_columns(
        "HOST-RESOURCES-MIB",
        f"{_MIB_2}.25",
        [
            ("hrStorageAllocationUnits", "2.3.1.4", ObjectShape(unit="bytes"), "Size of one unit of a storage area."),
            (
                "hrStorageSize",
                "2.3.1.5",
                ObjectShape(unit="units"),
                "Size of a storage area, in its own allocation units.",
            ),
            ("hrStorageUsed", "2.3.1.6", ObjectShape(unit="units"), "Used part of a storage area, in its own units."),
            ("hrStorageAllocationFailures", "2.3.1.7", _rising("failures/s"), "Requests for storage that failed."),
            ("hrDeviceStatus", "3.2.1.5", _NUMBER, "1 unknown, 2 running, 3 warning, 4 testing, 5 down."),
            ("hrDeviceErrors", "3.2.1.6", _rising("errors/s"), "Errors of a device."),
            ("hrProcessorLoad", "3.3.1.2", _PERCENT, "Time that one processor was busy, over the last minute."),
        ],
    ),
)

_INTERFACES: tuple[KnownObject, ...] = (
    *_scalars("IF-MIB", f"{_MIB_2}.2", [("ifNumber", "1", ObjectShape(unit="interfaces"), "Interfaces.")]),
    *_columns(
        "IF-MIB",
        f"{_MIB_2}.2.2.1",
        [
            ("ifMtu", "4", ObjectShape(unit="bytes"), "Greatest packet of an interface."),
            ("ifSpeed", "5", _SPEED, "Speed of an interface; stops at 4.3 Gbit/s."),
            ("ifAdminStatus", "7", _NUMBER, "What an interface should be: 1 up, 2 down, 3 testing."),
            ("ifOperStatus", "8", _NUMBER, "What an interface is: 1 up, 2 down, and others."),
            ("ifInOctets", "10", _rising("bytes/s"), "Bytes received; wraps within 34 s at 1 Gbit/s."),
            ("ifInUcastPkts", "11", _rising("packets/s"), "Unicast packets received."),
            ("ifInNUcastPkts", "12", _rising("packets/s"), "Other than unicast packets received."),
            ("ifInDiscards", "13", _rising("packets/s"), "Packets received and dropped for want of room."),
            ("ifInErrors", "14", _rising("packets/s"), "Packets received with errors."),
            ("ifInUnknownProtos", "15", _rising("packets/s"), "Packets received of unknown protocols."),
            ("ifOutOctets", "16", _rising("bytes/s"), "Bytes sent; wraps within 34 s at 1 Gbit/s."),
            ("ifOutUcastPkts", "17", _rising("packets/s"), "Unicast packets sent."),
            ("ifOutNUcastPkts", "18", _rising("packets/s"), "Other than unicast packets sent."),
            ("ifOutDiscards", "19", _rising("packets/s"), "Packets to send, dropped for want of room."),
            ("ifOutErrors", "20", _rising("packets/s"), "Packets that could not be sent for errors."),
            ("ifOutQLen", "21", ObjectShape(unit="packets"), "Packets waiting to be sent."),
        ],
    ),
    *_columns(
        "IF-MIB",
        f"{_MIB_2}.31.1.1.1",
        [
            ("ifInMulticastPkts", "2", _rising("packets/s"), "Multicast packets received."),
            ("ifInBroadcastPkts", "3", _rising("packets/s"), "Broadcast packets received."),
            ("ifOutMulticastPkts", "4", _rising("packets/s"), "Multicast packets sent."),
            ("ifOutBroadcastPkts", "5", _rising("packets/s"), "Broadcast packets sent."),
            ("ifHCInOctets", "6", _rising("bytes/s", 64), "Bytes received, 64 bit."),
            ("ifHCInUcastPkts", "7", _rising("packets/s", 64), "Unicast packets received, 64 bit."),
            ("ifHCInMulticastPkts", "8", _rising("packets/s", 64), "Multicast packets received, 64 bit."),
            ("ifHCInBroadcastPkts", "9", _rising("packets/s", 64), "Broadcast packets received, 64 bit."),
            ("ifHCOutOctets", "10", _rising("bytes/s", 64), "Bytes sent, 64 bit."),
            ("ifHCOutUcastPkts", "11", _rising("packets/s", 64), "Unicast packets sent, 64 bit."),
            ("ifHCOutMulticastPkts", "12", _rising("packets/s", 64), "Multicast packets sent, 64 bit."),
            ("ifHCOutBroadcastPkts", "13", _rising("packets/s", 64), "Broadcast packets sent, 64 bit."),
            ("ifHighSpeed", "15", _MEGABITS, "Speed of an interface."),
        ],
    ),
)

_TRANSPORT: tuple[KnownObject, ...] = (
    *_scalars(
        "TCP-MIB",
        f"{_MIB_2}.6",
        [
            ("tcpMaxConn", "4", ObjectShape(unit="connections"), "Connections that there can be; -1 where it varies."),
            ("tcpActiveOpens", "5", _rising("connections/s"), "Connections opened from here."),
            ("tcpPassiveOpens", "6", _rising("connections/s"), "Connections accepted."),
            ("tcpAttemptFails", "7", _rising("connections/s"), "Connections that failed to open."),
            ("tcpEstabResets", "8", _rising("connections/s"), "Connections cut off."),
            ("tcpCurrEstab", "9", ObjectShape(unit="connections"), "Connections that are open."),
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
            ("udpNoPorts", "2", _rising("datagrams/s"), "Datagrams for ports where nothing listens."),
            ("udpInErrors", "3", _rising("datagrams/s"), "Datagrams that could not be delivered."),
            ("udpOutDatagrams", "4", _rising("datagrams/s"), "Datagrams sent."),
            ("udpHCInDatagrams", "8", _rising("datagrams/s", 64), "Datagrams delivered, 64 bit."),
            ("udpHCOutDatagrams", "9", _rising("datagrams/s", 64), "Datagrams sent, 64 bit."),
        ],
    ),
)

_DEMO: tuple[KnownObject, ...] = _scalars(
    "TRIMTAB-DEMO",
    f"{_NET_SNMP}.9999.9999.1",  # netSnmpPlaypen, the arc that Net-SNMP keeps for experiments
    [
        ("busyPercent", "1", _PERCENT, "Busy share of a demo member's worker slots."),
        ("requests", "2", _rising("requests/s", 64), "Requests that a demo member has answered."),
        ("cpuPercent", "3", ObjectShape(unit="percent"), "CPU time of a demo member's process; 100 is one core."),
    ],
)

ENTRIES: tuple[KnownObject, ...] = (
    *_CPU,
    *_MEMORY,
    *_DISKS,
    *_PROGRAMS,
    *_HOST,
    *_INTERFACES,
    *_TRANSPORT,
    *_SENSORS,
    *_DEMO,
)

WELL_KNOWN = Lexicon.of(ENTRIES)
