"""The setting of a judgement: how members behave, and what every policy is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.capacity.traces import STEP, Trace, measured
from collector.samples import Floats
from handler.replay.paths import Ints, path_of
from handler.replay.scores import CapacityScore, FleetTiming, scored

SATURATES = 100.0
"""Requests per second at which a member saturates."""
WITHIN_SLO = 80.0
"""Requests per second that a member serves within its SLO."""
GATE = 0.05
"""Percent of the load that may be beyond the SLO, on each trace."""
_DRAIN = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Boot time, size and noise of one column of the scoreboard."""

    peak: float = 40.0
    """Members that the top of the load needs; a group may have twice as many."""
    boot: float = 120.0
    """Seconds."""
    seed: int = 1

    @property
    def most(self) -> int:
        """The max of each group."""
        return int(2 * self.peak)

    @property
    def timing(self) -> FleetTiming:
        """Of the members."""
        return FleetTiming(step=STEP, boot=round(self.boot / STEP), drain=round(_DRAIN / STEP))


Sizes = Mapping[str, Ints]
"""(step,) desired sizes, by trace."""
CapacityPolicy = Callable[[Setting, Mapping[str, Trace], Mapping[str, Floats]], Sizes]
"""From traces, and what counters show of them in members at their SLO (step,), to the sizes that a policy decides."""


def shown_of(traces: Mapping[str, Trace], setting: Setting) -> dict[str, Floats]:
    """Return what counters show of each trace."""
    return {name: measured(trace.load, setting.seed) for name, trace in traces.items()}


def scores(traces: Mapping[str, Trace], sizes: Sizes, setting: Setting) -> dict[str, CapacityScore]:
    """Score the sizes on each trace."""
    return {
        name: scored(path_of(sizes[name], setting.timing.boot), trace.load, 1.0, setting.timing, since=trace.since)
        for name, trace in traces.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanScore:
    """A policy over all traces."""

    cost: float
    over: float
    worst: float
    """The highest percentage beyond the SLO of a trace."""
    flaps: float
    quality: float

    @classmethod
    def of(cls, each: Mapping[str, CapacityScore]) -> MeanScore:
        """Average the scores of traces, in the order of their names."""
        rows = [each[name] for name in sorted(each)]
        return cls(
            cost=_mean([row.cost for row in rows]),
            over=_mean([row.over for row in rows]),
            worst=max(row.over for row in rows),
            flaps=_mean([row.flaps for row in rows]),
            quality=_mean([row.quality for row in rows]),
        )


def _mean(values: list[float]) -> float:
    return float(np.add.accumulate(np.array(values))[-1]) / len(values)
