"""The table of well-known objects, compared with MIB files and an agent that we did not write."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from config.counters.mibs import read_objects
from config.counters.objects import KnownObject
from config.counters.well_known import ENTRIES, WELL_KNOWN
from config.model.counters import CounterKind
from tests.support.snmpd import Snmpd, running_snmpd

FOLDERS = tuple(
    folder
    for folder in (
        "/usr/share/snmp/mibs",
        "/usr/share/snmp/mibs/ietf",
        "/usr/share/mibs/ietf",
        "/usr/share/mibs/iana",
        "/var/lib/mibs/ietf",
        "/var/lib/mibs/iana",
    )
    if Path(folder).is_dir()
)
"""Where Debian's libsnmp-base and snmp-mibs-downloader put MIBs."""

ON_THE_WIRE = {
    (CounterKind.RISING, 32): {"Counter32"},
    (CounterKind.RISING, 64): {"Counter64"},
    (CounterKind.GAUGE, 32): {"Integer", "Integer32", "Gauge32", "TimeTicks", "OctetString", "Opaque"},
    (CounterKind.GAUGE, 64): {"Counter64"},  # CounterBasedGauge64, RFC 2856
}


def form(entry: KnownObject) -> tuple[str, bool, CounterKind, int]:
    return entry.oid, entry.column, entry.shape.kind, entry.shape.bits


@pytest.mark.parametrize(
    ("name", "oid", "kind", "bits", "unit", "scale"),
    [
        ("UCD-SNMP-MIB::ssCpuUser.0", "1.3.6.1.4.1.2021.11.9.0", CounterKind.GAUGE, 32, "percent", 1),
        ("UCD-SNMP-MIB::ssCpuRawIdle.0", "1.3.6.1.4.1.2021.11.53.0", CounterKind.RISING, 32, "ticks/s", 1),
        ("memAvailReal.0", "1.3.6.1.4.1.2021.4.6.0", CounterKind.GAUGE, 32, "KiB", 1),
        ("laLoadInt.1", "1.3.6.1.4.1.2021.10.1.5.1", CounterKind.GAUGE, 32, "", 0.01),
        ("diskIONReadX.3", "1.3.6.1.4.1.2021.13.15.1.1.12.3", CounterKind.RISING, 64, "bytes/s", 1),
        ('nsExtendResult."job"', "1.3.6.1.4.1.8072.1.3.2.3.1.4.3.106.111.98", CounterKind.GAUGE, 32, "", 1),
        ("hrSystemUptime.0", "1.3.6.1.2.1.25.1.1.0", CounterKind.GAUGE, 32, "s", 0.01),
        ("hrMemorySize.0", "1.3.6.1.2.1.25.2.2.0", CounterKind.GAUGE, 32, "KiB", 1),
        ("hrProcessorLoad.196608", "1.3.6.1.2.1.25.3.3.1.2.196608", CounterKind.GAUGE, 32, "percent", 1),
        ("ifInOctets.2", "1.3.6.1.2.1.2.2.1.10.2", CounterKind.RISING, 32, "bytes/s", 1),
        ("IF-MIB::ifHCInOctets.2", "1.3.6.1.2.1.31.1.1.1.6.2", CounterKind.RISING, 64, "bytes/s", 1),
        ("SNMPv2-MIB::sysUpTime.0", "1.3.6.1.2.1.1.3.0", CounterKind.GAUGE, 32, "s", 0.01),
        ("TCP-MIB::tcpCurrEstab.0", "1.3.6.1.2.1.6.9.0", CounterKind.GAUGE, 32, "connections", 1),
        ("udpInDatagrams.0", "1.3.6.1.2.1.7.1.0", CounterKind.RISING, 32, "datagrams/s", 1),
        ("lmTempSensorsValue.1", "1.3.6.1.4.1.2021.13.16.2.1.3.1", CounterKind.GAUGE, 32, "degrees C", 0.001),
        ("TRIMTAB-DEMO::requests.0", "1.3.6.1.4.1.8072.9999.9999.1.2.0", CounterKind.RISING, 64, "requests/s", 1),
    ],
)
def test_a_well_known_name_brings_all_that_is_known_of_it(
    name: str, oid: str, kind: CounterKind, bits: int, unit: str, scale: float
) -> None:
    known = WELL_KNOWN.resolve(name)

    assert known is not None
    shape = known.shape
    assert (known.oid, shape.kind, shape.bits, shape.unit, shape.scale) == (oid, kind, bits, unit, scale)


def test_every_entry_is_described_and_has_a_name_and_an_oid_of_its_own() -> None:
    assert all(entry.shape.description.endswith(".") for entry in ENTRIES)
    assert len({entry.name for entry in ENTRIES}) == len({entry.oid for entry in ENTRIES}) == len(ENTRIES)
    assert WELL_KNOWN.shared == {}
    assert all(
        entry.shape.unit.endswith(("/s", "percent")) for entry in ENTRIES if entry.shape.kind is CounterKind.RISING
    )


@pytest.mark.real("snmpd")
def test_the_table_matches_the_mibs() -> None:
    if not FOLDERS:
        pytest.skip("no MIBs are here: apt-get install libsnmp-base")
    objects, faults = read_objects(FOLDERS, None)
    real = {known.name: form(known) for known in objects}
    ours = {entry.name: form(entry) for entry in ENTRIES if entry.name in real}

    assert faults == ()
    assert ours == {name: real[name] for name in ours}
    modules = {name.partition("::")[0] for name in real}
    assert modules >= {"UCD-SNMP-MIB", "UCD-DISKIO-MIB", "LM-SENSORS-MIB", "NET-SNMP-EXTEND-MIB"}
    assert {entry.name for entry in ENTRIES if entry.name.partition("::")[0] in modules} == ours.keys()


async def next_types(agent: Snmpd, oids: list[str]) -> dict[str, str]:
    """What an agent answers after each OID, where that lies under it: the class of the value, by pysnmp."""
    from pysnmp.hlapi.v3arch import asyncio as snmp

    engine = snmp.SnmpEngine()
    target = await snmp.UdpTransportTarget.create((agent.address, agent.port), timeout=5)
    found: dict[str, str] = {}
    for start in range(0, len(oids), 20):
        asked = oids[start : start + 20]
        variables = [snmp.ObjectType(snmp.ObjectIdentity(oid)) for oid in asked]
        wrong, status, _, rows = await snmp.next_cmd(
            engine, snmp.CommunityData(agent.community), target, snmp.ContextData(), *variables, lookupMib=False
        )
        assert not wrong, wrong
        assert not status, status
        for oid, (name, value) in zip(asked, rows, strict=True):
            if f"{name}.".startswith(f"{oid}."):
                found[oid] = type(value).__name__
    engine.close_dispatcher()
    return found


@pytest.mark.real("snmpd")
def test_the_table_matches_the_answers_of_an_agent(tmp_path: Path) -> None:
    lines = ["disk /", "proc snmpd 9 1", "extend job /bin/true"]
    with running_snmpd(tmp_path, lines=lines) as agent:
        answered = asyncio.run(next_types(agent, [entry.oid for entry in ENTRIES]))

    ours = {entry.name: (entry.shape, answered[entry.oid]) for entry in ENTRIES if entry.oid in answered}
    assert {name for name, (shape, wire) in ours.items() if wire not in ON_THE_WIRE[shape.kind, shape.bits]} == set()
    assert len(ours) > 80
