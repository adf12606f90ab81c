from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.counters.objects import KnownObject, Lexicon, ObjectShape, numeric
from config.counters.well_known import WELL_KNOWN


def known(name: str, oid: str, *, column: bool = False, compound: bool = False) -> KnownObject:
    return KnownObject(name=name, oid=oid, column=column, compound=compound, shape=ObjectShape())


QUEUE = known("ACME-MIB::queueDepth", "1.3.6.1.4.1.99999.1.1", column=True, compound=True)
LEXICON = Lexicon.of(
    (
        known("IF-MIB::ifInOctets", "1.3.6.1.2.1.2.2.1.10", column=True),
        known("UCD-SNMP-MIB::ssCpuUser", "1.3.6.1.4.1.2021.11.9"),
        known("HOST-RESOURCES-MIB::hrProcessorLoad", "1.3.6.1.2.1.25.3.3.1.2", column=True),
        QUEUE,
        known("RFC1213-MIB::ifInOctets", "1.3.6.1.2.1.2.2.1.10", column=True),
        known("ACME-MIB::cpuLoad", "1.3.6.1.4.1.99999.2"),
        known("OTHER-MIB::cpuLoad", "1.3.6.1.4.1.88888.2"),
    )
)


@pytest.mark.parametrize(
    ("name", "oid"),
    [
        ("UCD-SNMP-MIB::ssCpuUser.0", "1.3.6.1.4.1.2021.11.9.0"),
        ("ssCpuUser.0", "1.3.6.1.4.1.2021.11.9.0"),
        ("ifInOctets.2", "1.3.6.1.2.1.2.2.1.10.2"),
        ("ifInOctets.007", "1.3.6.1.2.1.2.2.1.10.7"),
        ("RFC1213-MIB::ifInOctets.2", "1.3.6.1.2.1.2.2.1.10.2"),
        ("queueDepth.3.1", "1.3.6.1.4.1.99999.1.1.3.1"),
        ('queueDepth."web"', "1.3.6.1.4.1.99999.1.1.3.119.101.98"),
        ('ACME-MIB::queueDepth."a.b".7', "1.3.6.1.4.1.99999.1.1.3.97.46.98.7"),
        ("ACME-MIB::cpuLoad.0", "1.3.6.1.4.1.99999.2.0"),
    ],
)
def test_an_object_is_found_by_its_name_and_again_by_its_oid(name: str, oid: str) -> None:
    found = LEXICON.resolve(name)

    assert found is not None
    assert found.oid == oid
    again = LEXICON.resolve(f".{oid}")
    assert again is not None
    assert again.oid == oid


@pytest.mark.parametrize(
    "name",
    [
        "ssCpuUser",
        "ssCpuUser.1",
        "IF-MIB::ssCpuUser.0",
        "ifInOctets.x",
        "ifInOctets.1.2",
        'ifInOctets."eth0"',
        "ifInOctets.4294967296",
        "queueDepth.4294967296",
        "queueDepth" + ".1" * 200,
        'queueDepth."',
        "sscpuuser.0",
        "cpuLoad.0",
        "",
        "1.3.6.1.4.1.99998.1.0",
        "1.3.6.1.4.1.2021.11.9.1",
        "1.3.6.1.2.1.2.2.1.10.1.2",
    ],
)
def test_a_name_that_is_no_object_is_not_found(name: str) -> None:
    assert LEXICON.resolve(name) is None


def test_a_whole_column_has_no_instance() -> None:
    assert LEXICON.column("ifInOctets") is not None
    assert LEXICON.column("ACME-MIB::queueDepth") == QUEUE
    assert LEXICON.column("ssCpuUser") is None
    assert LEXICON.column("ifInOctets.1") is None


def test_a_name_of_several_objects_is_asked_back_in_full() -> None:
    assert LEXICON.rivals("cpuLoad.0") == ("ACME-MIB::cpuLoad.0", "OTHER-MIB::cpuLoad.0")
    assert LEXICON.rivals("ifInOctets.1") == ()
    assert LEXICON.rivals("ACME-MIB::cpuLoad.0") == ()


@pytest.mark.parametrize(
    ("mistaken", "meant"),
    [
        ("UCD-SNMP-MIB::ssCpuUsr.0", "UCD-SNMP-MIB::ssCpuUser.0"),
        ("ifInOctet.3", "IF-MIB::ifInOctets.1"),
        ("hrProcesorLoad", "HOST-RESOURCES-MIB::hrProcessorLoad"),
        ("ssCpuUser", "UCD-SNMP-MIB::ssCpuUser.0"),
        ("ACME-MIB::queueDeth.3", "ACME-MIB::queueDepth.1"),
        ("OTHER-MIB::cpuload.0", "OTHER-MIB::cpuLoad.0"),
    ],
)
def test_the_nearest_name_can_be_written_as_it_is_shown(mistaken: str, meant: str) -> None:
    nearest = LEXICON.nearest(mistaken)[0]

    assert nearest == meant
    assert LEXICON.resolve(nearest) or LEXICON.column(nearest)


def test_the_nearest_names_come_first_from_the_module_that_was_meant() -> None:
    assert WELL_KNOWN.nearest("UCD-DISKIO-MIB::diskIOReed.1")[0].startswith("UCD-DISKIO-MIB::")
    assert WELL_KNOWN.nearest("zzz") == ()


@given(st.text() | st.from_regex(r"[A-Za-z:]{0,9}ifInOctets[.0-9\"a-z]{0,9}", fullmatch=True))
def test_no_name_raises(name: str) -> None:
    for known in (WELL_KNOWN.resolve(name), WELL_KNOWN.column(name)):
        assert known is None or numeric(known.oid) == known.oid
    assert len(WELL_KNOWN.nearest(name)) <= 3
    for meant in WELL_KNOWN.rivals(name):
        assert "::" in meant


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
