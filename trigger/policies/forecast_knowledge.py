"""What a forecast knows: the history behind it, how far it looks ahead, its bands, and its choices of headrooms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from config.units import Instant, Seconds
from trigger.forecast.carrying import carries
from trigger.forecast.cohorts import ForecastCohort, Lane
from trigger.forecast.features import days_alike, days_known
from trigger.forecast.horizons import DAY, STEP
from trigger.forecast.outlook import Outlook
from trigger.forecast.profiles import digits_of, kept_of
from trigger.forecast.shadows import GROWING, HOUR, SHRINKING, Shadows
from trigger.policies.outlooks import members_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A load that is forecast, in members at their capacity."""

    within: Seconds
    """How far ahead."""
    highest: bool
    """The highest load until then; otherwise the load then."""
    load: float
    at_most: float
    """With its headroom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadroomChoice:
    """A pair of headrooms, in usual errors, and since when it was followed."""

    since: Instant | None
    """``None``: since the beginning, or for more than a day."""
    growing: float
    shrinking: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedBefore:
    """What members of an earlier profile carried."""

    profile: str
    """The first digits of its digest."""
    each: float
    """In the unit of the load."""
    learned: Seconds
    """For so long, with a mean of six hours at most."""
    until: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastKnowledge:
    """All that a forecast goes by at its newest step."""

    at: Instant
    """The beginning of that step."""
    since: Instant
    """Of the first load."""
    days_alike: int
    """Of the last seven days: those that are known, and like today by the calendar."""
    boot: Seconds
    """That members are taken to need until they serve."""
    drain: Seconds
    bands: tuple[Band, ...]
    """For growing, and for shrinking."""
    choices: tuple[HeadroomChoice, ...]
    """The newest first, of the last day; the first one is followed."""
    cost: float
    """Members that the virtual fleet with these headrooms paid for lately, for each that the load needed."""
    flaps: float
    """Its changes back within a quarter of an hour, a day."""
    profiles: tuple[CarriedBefore, ...] = ()
    """The newest first: what counts again once all members are of one of them."""


def known_by(cohort: ForecastCohort, lane: Lane) -> ForecastKnowledge | None:
    """Return what the forecast of a lane knows; ``None``: no load yet.

    Args:
        cohort: has the lane.
        lane: the forecast.
    """
    state, place, horizons = cohort.state, cohort.lanes.index(lane), cohort.terms.horizons
    outlook, since = state.outlook, float(state.since[place])
    if outlook is None or math.isinf(since):
        return None
    cost, flaps = _record(state.shadows, place)
    alike = days_alike(cohort.terms.holidays, cohort.number) & days_known(cohort.number, state.since)[:, place]
    return ForecastKnowledge(
        at=Instant(cohort.number * STEP),
        since=Instant(since * STEP),
        days_alike=int(np.count_nonzero(alike)),
        boot=horizons.boot * STEP,
        drain=horizons.drain * STEP,
        bands=tuple(_bands(cohort, outlook, place)),
        choices=tuple(_choices(state.shadows, place, cohort.number)),
        cost=cost,
        flaps=flaps,
        profiles=tuple(_profiles(cohort, place)),
    )


def _profiles(cohort: ForecastCohort, place: int) -> Iterator[CarriedBefore]:
    level = cohort.terms.level
    if level is None:
        return
    for kept in kept_of(cohort.state.carried, place):
        yield CarriedBefore(
            profile=digits_of(kept.profile),
            each=float(carries(kept.mean, kept.seen, level)),
            learned=kept.steps * STEP,
            until=Instant(kept.left * STEP),
        )


def _bands(cohort: ForecastCohort, outlook: Outlook, place: int) -> Iterator[Band]:
    members, horizons = float(cohort.members[place]), cohort.terms.horizons
    for head, steps in enumerate((horizons.grow, horizons.shrink)):
        middle, spread, headroom = (
            float(each[head, place]) for each in (outlook.middle, outlook.spread, outlook.headroom)
        )
        yield Band(
            within=steps * STEP,
            highest=head == 1,
            load=members_of(middle, members),
            at_most=members_of(middle + headroom * spread, members),
        )


def _choices(shadows: Shadows, place: int, number: int) -> Iterator[HeadroomChoice]:
    """Yield the headrooms of the last day without repetition, the newest first."""
    followed = [shadows.chosen[:, place].tolist(), *shadows.earlier[:, :, place].tolist()]
    hour = number // HOUR * HOUR
    for age, (now, before) in enumerate(zip(followed, [*followed[1:], None], strict=True)):
        if math.isnan(now[0]):
            return
        if now != before:
            changed = before is not None and not math.isnan(before[0])
            since = Instant((hour - age * HOUR) * STEP) if changed else None
            yield HeadroomChoice(since=since, growing=now[0], shrinking=now[1])


def _record(shadows: Shadows, place: int) -> tuple[float, float]:
    """Return the cost and the flaps of the virtual fleet that is followed."""
    growing, shrinking = shadows.chosen[:, place]
    fleet = GROWING.searchsorted(growing), SHRINKING.searchsorted(shrinking), place
    load, days = float(shadows.load[place]), float(shadows.steps[place]) / DAY
    return float(shadows.cost[fleet]) / max(load, 1e-9), float(shadows.flaps[fleet]) / max(days, 1e-9)
