"""What other policies would have come to over the recording of a group: `trimtab advise`.

Four fleets are held against one load, by the judge of docs/capacity.md: the one that was recorded, the file's policies
replayed by the model ``shared-load``, a policy with a forecast in their place, and the optimum, which knows the load.
The forecast learns from the beginning of the recording; where that is longer than eight days, the first seven are for
learning only, and do not count for any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collector.samples import Floats
from config.units import GroupId, Seconds
from handler.replay.load import Feed, SyntheticLoad, replay_load
from handler.replay.members import always
from handler.replay.optimum import least_member_steps, needed
from handler.replay.paths import FleetPath, Ints
from handler.replay.scores import CapacityScore, FleetTiming, minutes_over, scored
from handler.tuning.copies import LOAD, name_of, with_forecast
from handler.tuning.parameters import today_of
from handler.tuning.trials import TrialGround, runs_of

_DAY: Seconds = 86400.0
_LEARNS, _LONG = 7 * _DAY, 8 * _DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedFleet:
    """One fleet under the load."""

    name: str
    """``recorded``, ``present``, ``forecast`` or ``optimum``."""
    sizes: Ints
    """(tick,) members that are paid for."""
    hours: float
    """Member-hours, from each order to the end of draining."""
    minutes: float
    """In which the load was above what the members in service may carry."""
    score: CapacityScore


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A group and its fleets."""

    group: GroupId
    limit: str
    """What a member may carry, in words."""
    at: Floats
    """(tick,) that count."""
    interval: Seconds
    fleets: tuple[AdvisedFleet, ...]

    @property
    def span(self) -> Seconds:
        """The time that counts."""
        return len(self.at) * self.interval


def learning_ticks(span: Seconds, interval: Seconds) -> int:
    """Return how many ticks at the beginning of a recording are for learning only.

    >>> learning_ticks(9 * 86400.0, 60.0), learning_ticks(86400.0, 60.0)
    (10080, 0)
    """
    return round(_LEARNS / interval) if span >= _LONG else 0


def advice_of(ground: TrialGround) -> Advice:
    """Hold the fleets against the load of a group."""
    declared = ground.tuned.catalogue.groups[ground.tuned.group]
    known, boot = ground.load, always(ground.fitting.boot)
    load = SyntheticLoad(at=known.at, rate=_filled(known.rate), capacity=known.each, boot=boot, feeds={LOAD: Feed.RATE})
    at = load.ticks(known.interval)
    (present,) = runs_of(ground, [today_of(ground.tuned.parameters)])
    forecast = replay_load(with_forecast(ground.tuned, known.each, ground.fitting.boot), name_of(0), load)
    if present.path is None or forecast.path is None:
        raise ValueError(f"the fleets of {ground.tuned.group} were not simulated")
    drain = declared.drain if ground.fitting.drain is None else ground.fitting.drain
    judge = _Judge(
        rate=load.rates(at),
        each=known.each,
        timing=FleetTiming(
            step=known.interval, boot=round(boot.mean / known.interval), drain=round(drain / known.interval)
        ),
        since=learning_ticks(known.span, known.interval),
        least=max(declared.minimum, 1),
    )
    return Advice(
        group=ground.tuned.group,
        limit=ground.limit.words,
        at=at[judge.since :],
        interval=known.interval,
        fleets=(
            judge.fleet("recorded", known.path.at(known.at, at)),
            judge.fleet("present", present.path.at(known.at, at)),
            judge.fleet("forecast", forecast.path),
            judge.optimum(),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """The same load and the same rules for every fleet."""

    rate: Floats
    each: float
    timing: FleetTiming
    since: int
    least: int

    def fleet(self, name: str, path: FleetPath) -> AdvisedFleet:
        """Judge a fleet."""
        sizes = path.paid(self.timing.drain)[self.since :]
        score = scored(path, self.rate, self.each, self.timing, since=self.since, least=self.least)
        counted = FleetPath(
            ordered=path.ordered[self.since :], serving=path.serving[self.since :], left=path.left[self.since :]
        )
        minutes = minutes_over(counted, self.rate[self.since :], self.each, self.timing.step)
        return AdvisedFleet(name=name, sizes=sizes, hours=self._hours(float(sizes.sum())), minutes=minutes, score=score)

    def optimum(self) -> AdvisedFleet:
        """Return the cheapest fleet that is never too small."""
        sizes = needed(self.rate[self.since :], self.each, self.least)
        steps = least_member_steps(sizes, self.timing.boot, self.timing.drain)
        score = CapacityScore(cost=1.0, over=0.0, flaps=0.0)
        return AdvisedFleet(name="optimum", sizes=sizes, hours=self._hours(steps), minutes=0.0, score=score)

    def _hours(self, steps: float) -> float:
        return steps * self.timing.step / 3600.0


def _filled(rate: Floats) -> Floats:
    """Return a load in which what is not known is as it was before, at the beginning as it is afterwards."""
    known = np.flatnonzero(~np.isnan(rate))
    if not known.size:
        return np.zeros(len(rate))
    found: Floats = rate[known[np.maximum(np.searchsorted(known, np.arange(len(rate)), side="right") - 1, 0)]]
    return found
