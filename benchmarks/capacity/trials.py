"""Hard days: what goes wrong, on one day of each trace, against target tracking at 60 %.

Each trial changes a trace or what counters show of it, and scores the day on which it happens; history comes before,
but for a cold start. A deploy that halves what a member carries doubles the load in members at once, and for good;
there the forecast learns what members carry from their utilisation, which is 100 % at most.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.capacity.forecasts import forecast
from benchmarks.capacity.rivals import target_tracking
from benchmarks.capacity.setting import Setting
from benchmarks.capacity.traces import DAY, Trace, measured
from collector.samples import Floats
from config.model.holidays import Holidays, weekday_of
from handler.replay.paths import Ints, path_of
from trigger.forecast.shadows import BALANCED

RESULTS = Path(__file__).parent / "trials.json"
_HOUR = DAY // 24
_EVENTS = 240


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HardDay:
    """A trace and what counters show of it; its last day counts."""

    trace: Trace
    shown: Floats
    """In members at their SLO, as many as the load needs."""
    rate: Floats | None = None
    """What the counter of the load shows, where the forecast learns what members carry; ``None``: that is declared."""
    holidays: Holidays | None = None
    """The calendar that the forecast is given."""


def _day(trace: Trace) -> Trace:
    """Return the history and the first scored day."""
    return replace(trace, load=trace.load[: trace.since + DAY])


def _often(trace: Trace, seed: int, steps: int, value: float) -> HardDay:
    """Show ``value`` for some steps of each day, at another hour each day."""
    trace = _day(trace)
    shown = measured(trace.load, seed)
    for day in range(len(shown) // DAY):
        start = day * DAY + (5 * day + 3) % 24 * _HOUR + 30
        shown[start : start + steps] = value
    return HardDay(trace=trace, shown=shown)


def _times(trace: Trace, seed: int, factor: float, steps: int) -> HardDay:
    """Multiply the load from ten o'clock on."""
    trace = _day(trace)
    load = trace.load.copy()
    start = trace.since + 10 * _HOUR
    load[start : start + steps] *= factor
    trace = replace(trace, load=load)
    return HardDay(trace=trace, shown=measured(load, seed))


def _deploy(trace: Trace, seed: int) -> HardDay:
    """Double the load in members from ten o'clock on, while its counter goes on as if nothing had happened."""
    return replace(_times(trace, seed, 2.0, DAY), rate=measured(_day(trace).load, seed))


def _holiday(trace: Trace, seed: int) -> HardDay:
    """Repeat the quietest of the days before, and give the forecast a calendar that says so."""
    trace = _day(trace)
    today = trace.since // DAY
    days = {day: trace.load[day * DAY : (day + 1) * DAY] for day in range(max(today - 7, 0), today)}
    quietest = min(days, key=lambda day: float(days[day].sum()))
    load = np.concatenate((trace.load[: trace.since], days[quietest]))
    return HardDay(
        trace=replace(trace, load=load),
        shown=measured(load, seed),
        holidays=Holidays(days=(today,), yearly=(), like=weekday_of(quietest)),
    )


def _cold(trace: Trace, seed: int) -> HardDay:
    cold = replace(trace, load=trace.load[trace.since : trace.since + DAY], since=0)
    return HardDay(trace=cold, shown=measured(cold.load, seed))


TRIALS: Mapping[str, tuple[str, Callable[[Trace, int], HardDay]]] = {
    "holes": ("20 minutes without data, each day", lambda trace, seed: _often(trace, seed, 40, np.nan)),
    "zeros": ("a false zero of ten minutes, each day", lambda trace, seed: _often(trace, seed, 20, 0.0)),
    "step": ("three times the load for two hours", lambda trace, seed: _times(trace, seed, 3.0, _EVENTS)),
    "deploy": ("a deploy that halves what a member carries", _deploy),
    "holiday": ("a holiday like the quietest day of the week", _holiday),
    "cold": ("no history", _cold),
}
"""By name: its words, and how it changes a trace."""


Tried = dict[str, dict[str, tuple[float, float]]]
"""By trial and trace: percent beyond the SLO of the forecast, and of target tracking."""


def tried(traces: Mapping[str, Trace]) -> Tried:
    """Score both on the hard day of each trace. A group may have six times its peak, so that growth is not bounded."""
    setting = Setting(peak=120.0)
    days = {
        f"{trial}/{name}": make(trace, setting.seed)
        for trial, (_, make) in TRIALS.items()
        for name, trace in traces.items()
    }
    loads, shown = {key: day.trace for key, day in days.items()}, {key: day.shown for key, day in days.items()}
    ours: dict[str, Ints] = {}
    for holidays, learns in dict.fromkeys((day.holidays, day.rate is not None) for day in days.values()):
        alike = {key: day for key, day in days.items() if (day.holidays, day.rate is not None) == (holidays, learns)}
        rates = {key: day.rate for key, day in alike.items() if day.rate is not None}
        policy = forecast(BALANCED, rates if learns else None, holidays)
        ours |= policy(setting, {key: loads[key] for key in alike}, {key: shown[key] for key in alike})
    theirs = target_tracking(0.6)(setting, loads, shown)
    found: Tried = {}
    for key, trace in loads.items():
        trial, _, name = key.partition("/")
        found.setdefault(trial, {})[name] = _over(trace, ours[key], setting), _over(trace, theirs[key], setting)
    return found


def keep_trials(found: Tried) -> None:
    """Write the figures, rounded to five digits."""
    plain = {
        trial: {name: [round(figure, 5) for figure in both] for name, both in sorted(each.items())}
        for trial, each in found.items()
    }
    RESULTS.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


def trials() -> Tried:
    """Return the figures that were kept; empty: none."""
    if not RESULTS.is_file():
        return {}
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {trial: {name: (ours, theirs) for name, (ours, theirs) in each.items()} for trial, each in kept.items()}


def _over(trace: Trace, sizes: Ints, setting: Setting) -> float:
    serving = path_of(sizes, setting.timing.boot).serving[trace.since :]
    load = trace.load[trace.since :]
    return 100.0 * float(np.maximum(load - serving, 0.0).sum()) / float(load.sum())
