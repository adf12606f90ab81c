"""What planning costs for a million members where all stay, and where half of them are chosen to leave.

`benchmarks.plan` has the case in which half of them leave already.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.plan import CASES, LEAVING, MANY, planned
from benchmarks.report.figures import Measured
from benchmarks.report.measuring import apart, processor_figure


def run(part: int = 1) -> Iterator[Measured]:
    """Measure each case in a process of its own."""
    many = MANY // part
    for case in sorted(CASES.keys() - {LEAVING}):
        yield processor_figure(f"plan, {many:,} members, {case}", apart(planned, case, many))
