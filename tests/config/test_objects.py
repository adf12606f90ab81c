from __future__ import annotations

import pytest

from config.counters import Kind
from config.objects import nearest, numeric, resolve


@pytest.mark.parametrize(
    ("name", "oid", "kind", "bits", "unit"),
    [
        ("UCD-SNMP-MIB::ssCpuUser.0", "1.3.6.1.4.1.2021.11.9.0", Kind.GAUGE, 32, "percent"),
        ("UCD-SNMP-MIB::ssCpuRawIdle.0", "1.3.6.1.4.1.2021.11.53.0", Kind.RISING, 32, "ticks/s"),
        ("memAvailReal.0", "1.3.6.1.4.1.2021.4.6.0", Kind.GAUGE, 32, "KiB"),
        ("laLoadInt.1", "1.3.6.1.4.1.2021.10.1.5.1", Kind.GAUGE, 32, ""),
        ("hrSystemUptime.0", "1.3.6.1.2.1.25.1.1.0", Kind.GAUGE, 32, "s"),
        ("hrSystemNumUsers.0", "1.3.6.1.2.1.25.1.5.0", Kind.GAUGE, 32, ""),
        ("hrMemorySize.0", "1.3.6.1.2.1.25.2.2.0", Kind.GAUGE, 32, "KiB"),
        ("hrProcessorLoad.196608", "1.3.6.1.2.1.25.3.3.1.2.196608", Kind.GAUGE, 32, "percent"),
        ("ifInOctets.2", "1.3.6.1.2.1.2.2.1.10.2", Kind.RISING, 32, "bytes/s"),
        ("IF-MIB::ifHCInOctets.2", "1.3.6.1.2.1.31.1.1.1.6.2", Kind.RISING, 64, "bytes/s"),
        ("IF-MIB::ifOutErrors.1", "1.3.6.1.2.1.2.2.1.20.1", Kind.RISING, 32, "packets/s"),
        ("SNMPv2-MIB::sysUpTime.0", "1.3.6.1.2.1.1.3.0", Kind.GAUGE, 32, "s"),
        ("TCP-MIB::tcpCurrEstab.0", "1.3.6.1.2.1.6.9.0", Kind.GAUGE, 32, "connections"),
        ("udpInDatagrams.0", "1.3.6.1.2.1.7.1.0", Kind.RISING, 32, "datagrams/s"),
        ("TRIMTAB-DEMO::busyPercent.0", "1.3.6.1.4.1.8072.9999.9999.1.1.0", Kind.GAUGE, 32, "percent"),
        ("TRIMTAB-DEMO::requests.0", "1.3.6.1.4.1.8072.9999.9999.1.2.0", Kind.RISING, 64, "requests/s"),
        ("TRIMTAB-DEMO::cpuPercent.0", "1.3.6.1.4.1.8072.9999.9999.1.3.0", Kind.GAUGE, 32, "percent"),
    ],
)
def test_a_well_known_name_brings_all_that_is_known_of_it(
    name: str, oid: str, kind: Kind, bits: int, unit: str
) -> None:
    known = resolve(name)
    assert known is not None
    assert (known.oid, known.shape.kind, known.shape.bits, known.shape.unit) == (oid, kind, bits, unit)
    assert resolve(known.oid) == known
    assert resolve(f".{known.oid}") == known


@pytest.mark.parametrize(
    "name",
    [
        "ssCpuUser",
        "ssCpuUser.1",
        "IF-MIB::ssCpuUser.0",
        "ifInOctets.x",
        "ifInOctets.1.2",
        "ifInOctets.4294967296",
        "sscpuuser.0",
        "",
        "1.3.6.1.4.1.99999.1.0",
        "1.3.6.1.4.1.2021.11.9.1",
    ],
)
def test_what_is_not_an_object_is_not_found(name: str) -> None:
    assert resolve(name) is None


def test_the_nearest_names_come_first_from_the_module_that_was_meant() -> None:
    assert nearest("UCD-SNMP-MIB::ssCpuUsr.0")[0] == "UCD-SNMP-MIB::ssCpuUser.0"
    assert nearest("ifHcInOctet.3")[0] == "IF-MIB::ifHCInOctets.1"
    assert nearest("zzz") == ()


@pytest.mark.parametrize(
    ("text", "oid"),
    [
        (".1.3.6.1", "1.3.6.1"),
        ("1.3.6.1", "1.3.6.1"),
        ("1.3", None),
        ("3.1.6.1", None),
        ("1.3.6.4294967296", None),
        ("1.3.6.", None),
        ("1.3.6.x", None),
    ],
)
def test_a_numeric_oid_has_arcs_of_32_bits(text: str, oid: str | None) -> None:
    assert numeric(text) == oid
