"""Every benchmark runs from end to end: a thousandth of it, since figures do not matter here.

Types are checked in benchmarks as everywhere. Those that start daemons or load a day's data take a tenth of all tests'
processor time, so `make nightly` runs them.
"""

from __future__ import annotations

import math

import pytest

from benchmarks.__main__ import measured, names
from benchmarks.report.figures import Figure
from tests.support.nightly import nightly

_PART = 1000
_NEEDS = {"balance": ("haproxy", "hey"), "console": ("chromium",), "databases": ("postgres",), "snmp": ("snmpd",)}
_HEAVY = {"alerts", "api", "breach", "check", "cloudstack", "daemon", "growth", "plan", "replay", "store"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[
                *([pytest.mark.real(*_NEEDS[name])] if name in _NEEDS else ()),
                *([nightly] if name in _HEAVY else ()),
            ],
        )
        for name in names()
    ],
)
def test_a_benchmark_measures_something(name: str) -> None:
    figures = [found for found in measured(name, _PART) if isinstance(found, Figure)]
    assert figures
    assert all(math.isfinite(sample) for figure in figures for sample in figure.samples), figures
