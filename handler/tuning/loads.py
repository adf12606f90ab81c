"""The load of a group, out of its recording: what every size of it is judged against."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from aggregator.aggregate import Aggregator
from aggregator.specs import keys_for
from collector.samples import Bools, Floats
from config.model.adjustments import Adjustment, AdjustmentVerb
from config.model.catalogue import Catalogue, Condition, Policy
from config.model.reductions import Reduce
from config.units import ConditionId, GroupId, Instant, PolicyId, Seconds
from handler.replay.events import Course
from handler.replay.paths import FleetPath
from handler.replay.recorded import serving_in
from handler.replay.scores import minutes_over
from handler.replay.scrapes import RecordedCohort, bundles_of
from handler.tuning.known import LoadLimit

_LIMIT = "limit"
_NEARLY = 0.99
"""Of a counter's greatest value: from there on it may hide load."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedLoad:
    """The load of one group; all arrays are (tick,)."""

    at: Floats
    """Seconds since the epoch."""
    interval: Seconds
    rate: Floats
    """What all members carry together, in the unit of the counter; NaN: not known."""
    serving: Floats
    """Members in service when it was recorded."""
    saturated: Bools
    """Members were at the counter's greatest value, which hides load beyond it."""
    each: float
    """What one member may carry."""

    @property
    def path(self) -> FleetPath:
        """The recorded fleet, as if each member had been ordered when it came into service."""
        sizes = self.serving.astype(np.int64)
        return FleetPath(ordered=sizes, serving=sizes, left=np.maximum(-np.diff(sizes, prepend=sizes[:1]), 0))

    @property
    def span(self) -> Seconds:
        """The time that was recorded."""
        return len(self.at) * self.interval

    def minutes_over(self, path: FleetPath) -> float:
        """Return for how long the load was above what the members in service may carry."""
        return minutes_over(path, self.rate, self.each, self.interval)


def recorded_load(
    catalogue: Catalogue, group: GroupId, cohort: RecordedCohort, course: Course, limit: LoadLimit
) -> RecordedLoad:
    """Measure the load of a group at each tick of its recording.

    Args:
        catalogue: declares the group.
        group: a group of the cohort.
        cohort: the recording.
        course: its events.
        limit: what shows the load.
    """
    judged = _alone(catalogue, group, replace(limit.condition, window=None, aggregate=Reduce.AVG))
    at, value = _levels(judged, group, cohort)
    sizes = cohort.sizes.get(group)
    serving = np.array(
        [
            serving_in(course, None if sizes is None else int(sizes[number]), Instant(each)) or 0
            for number, each in enumerate(at.tolist())
        ],
        dtype=np.float64,
    )
    counter = catalogue.counters[limit.condition.counter]
    most = np.inf if counter.range is None or limit.is_total else counter.range[1]
    with np.errstate(invalid="ignore"):
        saturated = value >= _NEARLY * most
    return RecordedLoad(
        at=at,
        interval=catalogue.groups[group].interval,
        rate=value if limit.is_total else value * serving,
        serving=serving,
        saturated=saturated,
        each=limit.each,
    )


def condition_levels(
    catalogue: Catalogue, group: GroupId, cohort: RecordedCohort, condition: ConditionId
) -> tuple[Floats, Floats]:
    """Return the instants of ticks, and what a condition measured at each of them in the recorded fleet: (tick,) each.

    Args:
        catalogue: declares the group, and the condition as a comparison with a threshold.
        group: a group of the cohort.
        cohort: the recording.
        condition: compares an aggregate with a threshold.
    """
    declared = catalogue.conditions[condition]
    if not isinstance(declared, Condition):
        raise TypeError(f"condition {condition} is an expression")
    return _levels(_alone(catalogue, group, declared), group, cohort)


def _levels(catalogue: Catalogue, group: GroupId, cohort: RecordedCohort) -> tuple[Floats, Floats]:
    """Return the instants of ticks, and what the one window of the group was: (tick,) each."""
    (key,), steady = keys_for(catalogue, group), float("-inf")
    aggregator = Aggregator(catalogue, (group,))
    at, value = list[float](), list[Floats]()
    for polls in bundles_of(cohort):
        if polls[0].scrape.at.steady < steady:  # a daemon started
            aggregator = Aggregator(catalogue, (group,))
        steady, place = polls[-1].scrape.at.steady, aggregator.window(group, key)
        for reel in aggregator.take_all(poll.scrape for poll in polls):
            columns = reel.columns()
            value.append(np.where(columns.lack[:, place] == 0, columns.value[:, place], np.nan))
            at.extend(moment.wall for moment in reel.at)
    return np.array(at), np.concatenate(value)


def _alone(catalogue: Catalogue, group: GroupId, condition: Condition) -> Catalogue:
    """Declare the group with one condition alone."""
    alone = replace(condition, id=ConditionId(_LIMIT))
    policy = Policy(id=PolicyId(_LIMIT), when=(alone.id,), adjustment=Adjustment(verb=AdjustmentVerb.ADD, amount=1))
    return replace(
        catalogue,
        conditions=MappingProxyType({alone.id: alone}),
        policies=MappingProxyType({policy.id: policy}),
        groups=MappingProxyType({group: replace(catalogue.groups[group], policies=(policy.id,), observed=())}),
    )
