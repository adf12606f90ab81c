"""Every benchmark runs from end to end: a hundredth of it, since figures do not matter here."""

from __future__ import annotations

import importlib
import math

import pytest

from benchmarks.__main__ import names

_PART = 100
_NEEDS = {"balance": ("haproxy", "hey"), "snmp": ("snmpd",)}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.real(*_NEEDS[name]) if name in _NEEDS else ()) for name in names()],
)
def test_a_benchmark_measures_something(name: str) -> None:
    figures = list(importlib.import_module(f"benchmarks.{name}").run(part=_PART))
    assert figures
    assert all(math.isfinite(figure) for _, figure, _ in figures), figures
