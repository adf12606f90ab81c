"""Open traces of load, scaled to a fleet, and what counters show of them.

A file has a header with its first instant and its step, then one rate a line. `SOURCES.md` beside the files has their
sources and terms.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collector.samples import Floats

FOLDER = Path(__file__).parent / "loads"
SCORED = (
    "clarknet", "ms_ecommerce", "ms_ingress04", "ms_mongo01", "ms_mongo03", "nasa_jul", "nyc_taxi", "websessions_R2",
    "websessions_R5", "wikipedia_limbo", "worldcup_june",
)  # fmt: skip
"""Traces that the gate counts."""
STRESS = ("ms_mongo04", "elb_requests", "tweets_aapl")
"""Erratic traces, shown apart."""
STEP = 30.0
DAY = 2880
_SHORT_DAYS, _HISTORY, _SHORT_HISTORY, _MOST = 11.5, 7, 4, 14
_TOP = 0.999
NOISE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """A load in members that it needs, at steps of 30 seconds."""

    name: str
    load: Floats
    """(step,) before the sizes are rounded up."""
    since: int
    """The first step that is scored; the steps before are history."""

    @property
    def days(self) -> float:
        """Days that are scored."""
        return (len(self.load) - self.since) / DAY


def here(name: str) -> bool:
    """Tell whether the file of a trace is there."""
    return (FOLDER / f"{name}.txt.gz").is_file()


def read(name: str) -> tuple[Floats, Floats]:
    """Return the instants and rates of a trace: (sample,) each."""
    with gzip.open(FOLDER / f"{name}.txt.gz", "rt", encoding="utf-8") as lines:
        first, step = map(float, next(lines).split())
        rates: Floats = np.array([float(line) for line in lines])
    instants: Floats = first + step * np.arange(len(rates), dtype=np.float64)
    return instants, rates


def scaled(name: str, peak: float) -> Trace:
    """Return a trace whose scored part needs ``peak`` members for all but a thousandth of its time.

    The first 7 days are history, 4 of a trace of 11 days; then at most 14 days are scored. Between samples the rate is
    taken to change evenly.
    """
    at, rate = read(name)
    steps = np.arange(at[0], at[-1] + 1.0, STEP)
    load = np.interp(steps, at, rate)
    since = DAY * (_SHORT_HISTORY if len(load) / DAY < _SHORT_DAYS else _HISTORY)
    load = load[: since + _MOST * DAY]
    return Trace(name=name, load=load * (peak / float(np.quantile(load[since:], _TOP))), since=since)


def measured(load: Floats, seed: int) -> Floats:
    """Return what a counter shows at each step: the mean of the two steps before, each reading up to 2 % off.

    Args:
        load: (step,).
        seed: of the noise, which is even between both bounds; the same for every policy.
    """
    readings = load * (1.0 + NOISE * np.random.default_rng(seed).uniform(-1.0, 1.0, len(load)))
    shown: Floats = np.concatenate((readings[:1], readings[:1], (readings[1:-1] + readings[:-2]) / 2.0))
    return shown
