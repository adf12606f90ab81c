"""Figures as lines of text and as rows of a table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import floor, log10

from benchmarks.report.figures import OURS, Figure, Measured, NotMeasured, spread
from benchmarks.report.results import Benched


def line(measured: Measured) -> str:
    """One figure as `make bench` prints it."""
    by = "" if measured.by == OURS else f" [{measured.by}]"
    if isinstance(measured, NotMeasured):
        return f"  {measured.job + by:<86} not measured: {measured.because}"
    median = f"{number(measured.median)} {measured.unit}"
    rest = [part for part in (_between(measured.samples), _memory(measured), goal(measured)) if part]
    return f"  {measured.job + by:<86} {median:>18}  {' · '.join(rest)}".rstrip()


def summary(benched: Benched) -> str:
    """Say what a benchmark took, as `make bench` prints it below its figures."""
    before, after = benched.load
    return (
        f"  ({benched.seconds:.0f} s, {benched.cpu:.1f} CPU-s, {benched.memory:,.0f} MiB at most, load {before:.1f} "
        f"before and {after:.1f} after)"
    )


def number(value: float) -> str:
    """Three places that count, thousands apart: 0.00312, 1.25, 31.4, 12,345."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    places = 2 - floor(log10(abs(value)))
    return f"{value:.{min(places, 9)}f}"


def goal(figure: Figure) -> str:
    """What was aimed at, and whether it is reached; empty: nothing was."""
    if figure.goal is None:
        return ""
    reached = "reached" if figure.goal.met(figure.median) else "MISSED"
    return f"goal {figure.goal.bound.value} {figure.goal.value:g}: {reached}"


def percent(samples: Sequence[float]) -> str:
    """Half of how far apart the rounds are, as ± per cent of the median; empty: one round."""
    return f"±{50 * spread(samples):.0f} %" if len(samples) > 1 else ""


def _between(samples: Sequence[float]) -> str:
    return f"{number(min(samples))} to {number(max(samples))}" if len(samples) > 1 else ""


def _memory(figure: Figure) -> str:
    return f"{statistics.median(figure.memory):,.0f} MiB at most" if figure.memory else ""
