from __future__ import annotations

import pytest

from config.counters.cloudstack import SHIPPED
from config.load import parse
from config.model.counters import Counter, HaproxyField, NetscalerField, SnmpObject
from tests.support.config import DECLARATION

NETSCALER = (
    "sources:\n  ns: {netscaler: {url: 'https://192.0.2.10', user: t, password: {env: NS}, service_group: web}}\n"
)
MEASURED = [shipped.name for shipped in SHIPPED if shipped.keys]


def cpu(written: str) -> Counter:
    served = DECLARATION.replace("max: 8", "max: 8, balancers: [{use: edge, port: 8080}]")
    text = NETSCALER + served.replace("{snmp: UCD-SNMP-MIB::ssCpuUser.0}", written)
    return next(counter for counter in parse(text, "web.yaml").counters.values() if counter.id == "cpu")


@pytest.mark.parametrize(
    ("name", "source", "unit", "scale"),
    [
        ("Linux User CPU - percentage", "1.3.6.1.4.1.2021.11.9.0", "percent", 1),
        ("Linux System CPU - percentage", "1.3.6.1.4.1.2021.11.10.0", "percent", 1),
        ("Linux CPU Idle - percentage", "1.3.6.1.4.1.2021.11.11.0", "percent", 1),
        ("Response Time - microseconds", "avgsvrttfb", "us", 1000),
        ("Load Balancer - average connections per vm", "scur", "sessions", 1),
    ],
)
def test_a_counter_of_cloudstacks_measures_the_same_here(name: str, source: str, unit: str, scale: float) -> None:
    counter = cpu(f"{{builtin: {name}}}")

    match counter.source:
        case SnmpObject(oid=read) | NetscalerField(field=read) | HaproxyField(field=read):
            assert read == source
    assert counter.unit == unit
    assert counter.scale == pytest.approx(scale)


def test_the_table_above_is_complete() -> None:
    assert len(MEASURED) == 5


def test_a_name_is_found_in_any_capitals_and_spaces() -> None:
    assert cpu("{builtin: linux user CPU  -  percentage}") == cpu("{builtin: Linux User CPU - percentage}")


def test_a_value_written_beside_the_name_wins() -> None:
    counter = cpu("{builtin: Response Time - microseconds, unit: s, server: ns}")

    assert (counter.unit, counter.scale) == ("s", pytest.approx(0.001))
