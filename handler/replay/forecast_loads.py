"""The loads that a forecast would have measured over a recording, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from aggregator.aggregate import Aggregator
from aggregator.frames import Frame
from config.errors import Refused
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant
from handler.replay.scrapes import RecordedCohort, bundles_of, cohort_of
from handler.replay.ticks import Ticks
from trigger.forecast.cohorts import Lane
from trigger.forecast.horizons import DAY, STEP
from trigger.policies.forecasting import StepRow, lanes_of, measured_rows

DayOfLoads = tuple[Instant, tuple[float | None, ...]]
"""The instant of the first load, and a load for each step of 30 seconds; ``None``: not known."""


def forecast_of(catalogue: Catalogue, group: GroupId, policy: str | None) -> Lane:
    """Return the forecast of a group that a person names, or the only one that it has.

    Raises:
        Refused: there is none, or a person must choose.
    """
    lanes = [lane for lane in lanes_of(catalogue, [group]) if policy is None or lane.policy == policy]
    if len(lanes) == 1:
        return lanes[0]
    if policy is not None:
        raise Refused(f"group {group} has no forecast {policy}")
    if not lanes:
        raise Refused(f"no policy of group {group} has a forecast")
    raise Refused(f"group {group} has several forecasts: name one of {', '.join(lane.policy for lane in lanes)}")


def days_of_loads(catalogue: Catalogue, lane: Lane, ticks: Ticks) -> tuple[DayOfLoads, ...]:
    """Measure the load of a forecast at each step of a recording of its group, and divide it by days of UTC.

    Days without any load are left out.
    """
    cohort = cohort_of(catalogue.groups[lane.group].interval, {lane.group: ticks})
    days: dict[int, list[StepRow]] = {}
    for row in measured_rows(catalogue, lane, _frames(catalogue, lane.group, cohort)):
        if not np.isnan(row.loads[0]):
            days.setdefault(row.number // DAY, []).append(row)
    return tuple(_day(rows) for _, rows in sorted(days.items()))


def _day(rows: Sequence[StepRow]) -> DayOfLoads:
    first = rows[0].number
    loads: list[float | None] = [None] * (rows[-1].number + 1 - first)
    for row in rows:
        loads[row.number - first] = float(row.loads[0])
    return Instant(first * STEP), tuple(loads)


def _frames(catalogue: Catalogue, group: GroupId, cohort: RecordedCohort) -> Iterator[Frame]:
    aggregator, steady = Aggregator(catalogue, (group,)), float("-inf")
    for polls in bundles_of(cohort):
        if polls[0].scrape.at.steady < steady:  # a daemon started
            aggregator = Aggregator(catalogue, (group,))
        steady = polls[-1].scrape.at.steady
        for reel in aggregator.take_all(poll.scrape for poll in polls):
            yield from (reel.frame(group, tick) for tick in range(len(reel)))
