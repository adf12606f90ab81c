"""A policy with a forecast as written → the policy, and the condition that measures its load.

The policy keeps its name. Its condition is called ``NAME.load``: no name in the file has a dot, so it cannot collide.
"""

from __future__ import annotations

from collections.abc import Mapping

from config.document.forecasts import ForecastDocument
from config.document.quantities import brought
from config.model.adjustments import Capacity, FollowForecast
from config.model.catalogue import Compare, Condition, Policy
from config.model.counters import Counter, Per
from config.model.reductions import Reduce
from config.model.schedules import QuietScope
from config.units import ConditionId, CounterId, PolicyId, Seconds

_LOAD = ".load"
_QUORUM = 0.9
"""Of the members. The others are taken to carry as much as these."""
MEASURED_OVER: Seconds = 60.0
"""The load of a moment is noise; an older mean is late."""
AFTER_SHRINKING: Seconds = 195.0
"""Between two scale-ins of one forecast; it stops nothing else. More than six steps of 30 s, whatever the jitter.
Source: `trigger.forecast.shadows`, whose virtual fleets wait as long."""


def load_condition(name: str, entry: ForecastDocument, counters: Mapping[CounterId, Counter]) -> Condition:
    """Return what measures the load. Whether the counter is declared is not looked at.

    It holds while the load is more than the present size carries; the policy does not ask.
    """
    counter = counters.get(CounterId(entry.load.counter))
    level, in_unit = brought(entry.load.each, counter)
    return Condition(
        id=ConditionId(name + _LOAD),
        counter=CounterId(entry.load.counter),
        across=Reduce.AVG,
        aggregate=Reduce.AVG,
        window=MEASURED_OVER,
        compare=Compare.ABOVE,
        threshold=level,
        in_unit=in_unit,
        per_member=_of_group(counter),
        quorum=entry.load.quorum or (None if _of_group(counter) else _QUORUM),
    )


def forecast_policy(name: str, entry: ForecastDocument, counters: Mapping[CounterId, Counter]) -> Policy:
    """Return the policy."""
    counter = counters.get(CounterId(entry.load.counter))
    level, _ = brought(entry.load.each, counter)
    return Policy(
        id=PolicyId(name),
        when=(ConditionId(name + _LOAD),),
        adjustment=FollowForecast(
            by=ConditionId(name + _LOAD),
            capacity=Capacity(each=level, per_member=not _of_group(counter), quorum=entry.load.quorum or _QUORUM),
            slo=entry.slo,
            prefer=entry.prefer,
            history=entry.history,
            cap=entry.cap,
            boot=entry.boot,
            advises=entry.mode == "advise",
        ),
        quiet_time=AFTER_SHRINKING,
        quiet_scope=QuietScope.POLICY,
    )


def _of_group(counter: Counter | None) -> bool:
    return counter is not None and counter.per is Per.GROUP
