"""What forecasts foresee of each group: from the outlook of a cohort to members, shares and reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from config.units import GroupId, PolicyId
from trigger.forecast.cohorts import ForecastCohort
from trigger.forecast.horizons import DAY, LEAST, STEP
from trigger.forecast.outlook import Outlook
from trigger.forecast.shadows import missed_lately
from trigger.verdicts import Foreseen, ReserveCause

Foresight = Mapping[GroupId, Mapping[PolicyId, Foreseen]]
"""What is foreseen, by group and policy; a policy of which nothing is foreseen yet has none."""


def foresight_of(cohorts: Iterable[ForecastCohort], number: int) -> Foresight:
    """Say what all lanes foresee; after the wall clock was set back they wait until it has caught up."""
    found: dict[GroupId, dict[PolicyId, Foreseen]] = {}
    for cohort in cohorts:
        outlook = cohort.state.outlook
        if outlook is None or cohort.number > number + 1:
            continue
        missed, days = missed_lately(cohort.state.shadows), cohort.state.shadows.steps / DAY
        for place, lane in enumerate(cohort.lanes):
            foreseen = _foreseen(cohort, outlook, place, float(missed[place]), float(days[place]))
            if foreseen is not None:
                found.setdefault(lane.group, {})[lane.policy] = foreseen
    return found


def _foreseen(cohort: ForecastCohort, outlook: Outlook, place: int, missed: float, days: float) -> Foreseen | None:
    needed, heard = int(outlook.needed[place]), bool(outlook.heard[place])
    if not needed and not heard and math.isinf(cohort.state.heard[place]):
        return None
    middle, spread = float(outlook.middle[0, place]), float(outlook.spread[0, place])
    level, members, carried = float(cohort.memory.ago(0)[place]), float(cohort.members[place]), cohort.state.carried
    return Foreseen(
        needed=needed,
        may_shrink_to=int(outlook.may_shrink_to[place]) if heard else None,
        load=members_of(level, members) if heard else None,
        coming=members_of(middle, members),
        at_most=members_of(middle + float(outlook.headroom[0, place]) * spread, members),
        within=cohort.terms.horizons.grow * STEP,
        spread=spread,
        missed=missed,
        days=days,
        carries=None if cohort.terms.level is None else float(carried.each[place]),
        carries_steps=int(carried.steps[place]),
        reserve=_reserve(bool(outlook.gaps[place]), bool(outlook.learning[place])),
    )


def _reserve(gaps: bool, learning: bool) -> ReserveCause | None:
    if gaps:
        return ReserveCause.GAPS
    return ReserveCause.LEARNING if learning else None


def members_of(level: float, members: float) -> float:
    """Return the members that a level needs; ``members``: that bear a unit of its load."""
    return max(math.exp(min(level, 700.0)) - float(LEAST), 0.0) * members
