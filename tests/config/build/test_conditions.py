from __future__ import annotations

import pytest

from config.load import parse
from config.model.catalogue import ExpressionCondition
from config.units import ConditionId

MODEL = """
counters:
  cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0}
  Cpu: {snmp: UCD-SNMP-MIB::ssCpuSystem.0}
  ttfb: {snmp: UCD-SNMP-MIB::laLoadInt.1}
conditions:
  asked: {expression: "%s", dialect: %s}
"""


@pytest.mark.parametrize(
    ("expression", "dialect", "counters"),
    [
        pytest.param("cpu > 5 && ttfb > 1", "native", ["cpu", "ttfb"], id="by-its-name"),
        pytest.param("TTFB > 1", "oneflow", ["ttfb"], id="OneFlow-of-any-case"),
        pytest.param("CPU > 1", "oneflow", ["Cpu"], id="OneFlow-of-two-the-first-in-order"),
        pytest.param("cpu.p95 > cpu.max", "native", ["cpu", "cpu"], id="each-aggregate-once"),
        pytest.param("cpu > 5 || cpu < 1", "native", ["cpu"], id="one-name-one-term"),
    ],
)
def test_names_of_an_expression_mean_counters(expression: str, dialect: str, counters: list[str]) -> None:
    built = parse(MODEL % (expression, dialect), "model.yaml").conditions[ConditionId("asked")]

    assert isinstance(built, ExpressionCondition)
    assert [term.counter for term in built.terms] == counters
