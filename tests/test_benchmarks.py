"""Every benchmark runs from end to end: a thousandth of it, since figures do not matter here.

Types are checked in benchmarks as everywhere. Those that start daemons or load a day's data take a tenth of all tests'
processor time, so `make nightly` runs them.
"""

from __future__ import annotations

import math

import pytest

from benchmarks.__main__ import measured, paired
from benchmarks.report.figures import Figure
from benchmarks.report.listing import further, names, with_goals
from tests.support.nightly import nightly

_PART = 1000
_NEEDS = {
    "balance": ("haproxy", "hey"),
    "console": ("chromium",),
    "databases": ("postgres",),
    "exporter": ("snmpd", "prometheus", "prometheus-snmp-exporter"),
    "scale": ("postgres",),
    "snmp": ("snmpd",),
    "soak": ("snmpd",),
}
_HEAVY = {
    *(
        "alerts",
        "api",
        "breach",
        "check",
        "cloudstack",
        "daemon",
        "growth",
        "passes",
        "plan",
        "replay",
        "scale",
        "soak",
        "store",
    )
}


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
def test_a_benchmark_measures_something_and_a_further_one_has_no_goal(name: str) -> None:
    figures = [found for found in measured(name, _PART) if isinstance(found, Figure)]
    assert figures
    assert all(math.isfinite(sample) for figure in figures for sample in figure.samples), figures
    assert name in with_goals() or not any(figure.goal for figure in figures)


def test_each_name_stands_for_one_benchmark() -> None:
    assert not set(with_goals()) & set(further())


@pytest.mark.parametrize(
    ("chosen", "cores", "together"),
    [
        (("check", "rules", "replay"), 2, ["replay", "check"]),
        (("check", "rules", "replay"), 1, []),
        (("check", "rules"), 2, []),
        (("alerts", "rules"), 2, []),
    ],
)
def test_two_benchmarks_run_at_a_time_only_where_each_has_a_core(
    chosen: tuple[str, ...], cores: int, together: list[str]
) -> None:
    assert paired(chosen, cores) == together
