"""Every benchmark runs from end to end: a thousandth of it, since figures do not matter here."""

from __future__ import annotations

import math

import pytest

from benchmarks.__main__ import measured, names
from benchmarks.report.figures import Figure

_PART = 1000
_NEEDS = {"balance": ("haproxy", "hey"), "console": ("chromium",), "databases": ("postgres",), "snmp": ("snmpd",)}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.real(*_NEEDS[name]) if name in _NEEDS else ()) for name in names()],
)
def test_a_benchmark_measures_something(name: str) -> None:
    figures = [found for found in measured(name, _PART) if isinstance(found, Figure)]
    assert figures
    assert all(math.isfinite(sample) for figure in figures for sample in figure.samples), figures
