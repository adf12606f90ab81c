"""The policy with a forecast, for all traces side by side; each change of size goes through `trigger.decide.decide`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.capacity.setting import SATURATES, WITHIN_SLO, CapacityPolicy, Setting, Sizes
from benchmarks.capacity.traces import STEP, Trace
from collector.samples import Floats
from config.model.adjustments import Adjustment, AdjustmentVerb
from config.model.catalogue import Group
from config.model.holidays import Holidays
from config.units import GroupId, Instant, Moment, Monotonic, PolicyId, ProfileId
from handler.replay.members import ReplayMembers, always
from handler.replay.paths import Ints
from trigger.decide import decide
from trigger.forecast.carrying import LevelToKeep
from trigger.forecast.cohorts import ForecastCohort, Lane, MemberReadings, Terms
from trigger.forecast.horizons import Horizons
from trigger.forecast.outlook import Outlook
from trigger.forecast.shadows import AFTER_GROWTH, Preference, wanted
from trigger.requests import GroupState, Request, RequestCause

_PLENTY = 10**9
_POLICY = PolicyId("ahead")
_LEVEL = LevelToKeep(at=WITHIN_SLO, top=SATURATES, least=0.0, most=math.inf)
"""A member serves 80 of 100 requests a second within its SLO: 80 % of what it can."""


def forecast(
    preference: Preference, rates: Mapping[str, Floats] | None = None, holidays: Holidays | None = None
) -> CapacityPolicy:
    """Return the policy that weighs cost, missed load and restlessness so.

    Args:
        preference: its weights.
        rates: what the counter of the load shows of each trace, where it is learned what members carry, from their
            utilisation; ``None``: it is declared, and counters show the load in members.
        holidays: of all traces, whose first day is day 0; ``None``: there is no calendar.
    """

    def decided(setting: Setting, traces: Mapping[str, Trace], shown: Mapping[str, Floats]) -> Sizes:
        names = sorted(traces, key=lambda name: (-len(shown[name]), name))
        lanes = [_Lane(name, setting, shown[name]) for name in names]
        horizons = Horizons(boot=setting.timing.boot, drain=setting.timing.drain)
        level = None if rates is None else _LEVEL
        terms = Terms(horizons=horizons, preference=preference, level=level, holidays=holidays)
        cohort = ForecastCohort.begin([lane.lane for lane in lanes], terms, 0)
        for number in range(len(shown[names[0]])):
            load = np.array([lane.at(number) for lane in lanes])
            if rates is None:
                cohort.take(load)
            else:
                rate = np.array([_at(rates[name], number) for name in names])
                cohort.take(rate, _shown(lanes, load, rate, number))
            assert cohort.state.outlook is not None
            _follow(cohort.state.outlook, lanes, number)
        return {name: lane.sizes for name, lane in zip(names, lanes, strict=True)}

    return decided


def _shown(lanes: Sequence[_Lane], load: Floats, rate: Floats, number: int) -> MemberReadings:
    """Return the load of each member, and its utilisation in percent, which is 100 at most."""
    serving = np.array([lane.serving(number) for lane in lanes])
    utilisation = np.minimum(load / serving * WITHIN_SLO / SATURATES, 1.0)
    return MemberReadings(rate / serving, 100.0 * utilisation)


def _at(series: Floats, number: int) -> float:
    return float(series[number]) if number < len(series) else math.nan


class _Lane:
    """One real group: its state, and its members."""

    def __init__(self, name: str, setting: Setting, shown: Floats) -> None:
        self.shown: list[float] = shown.tolist()
        self.lane = Lane(GroupId(name), _POLICY)
        self.group = Group(
            id=GroupId(name),
            profile=ProfileId("web"),
            minimum=1,
            maximum=setting.most,
            interval=STEP,
            keep_growth=AFTER_GROWTH * STEP,
        )
        self.members = ReplayMembers(self.group, always(setting.boot), 1, 0.0)
        self.state = GroupState(desired=1)
        self.grown = self.shrunk = -np.inf
        self.sizes: Ints = np.ones(len(shown), dtype=np.int64)

    def at(self, number: int) -> float:
        """Return what counters show at a step; NaN: the trace has ended."""
        return self.shown[number] if number < len(self.shown) else math.nan

    def serving(self, number: int) -> int:
        """Return how many members are in service at a step."""
        return max(self.members.seen(number * STEP, _PLENTY).in_service, 1)

    def ask(self, size: int, number: int) -> None:
        """Let the live code decide about another size, and carry the decision out."""
        at = Instant(number * STEP)
        request = Request(
            id=f"{_POLICY}@{number}",
            group=self.group.id,
            cause=RequestCause.POLICY,
            by=_POLICY,
            adjustment=Adjustment(verb=AdjustmentVerb.SET, amount=size),
            policy=_POLICY,
            quiet_time=0.0,
        )
        now, fleet = Moment(wall=at, steady=Monotonic(at)), self.members.seen(at, _PLENTY)
        before = self.state.desired or 0
        self.state = decide(self.group, (request,), fleet, self.state, now, evaluation=None).state
        after = self.state.desired or 0
        self.members.follow(after, at)
        self.grown = number if after > before else self.grown
        self.shrunk = number if after < before else self.shrunk


def _follow(outlook: Outlook, lanes: list[_Lane], number: int) -> None:
    """Ask for the sizes of one step, where they differ from the sizes that there are."""
    size = np.array([float(lane.state.desired or 0) for lane in lanes])
    grown, shrunk = np.array([lane.grown for lane in lanes]), np.array([lane.shrunk for lane in lanes])
    want = wanted(size, outlook.needed, outlook.may_shrink_to, number, grown, shrunk)
    want = np.where(outlook.heard, want, np.maximum(size, outlook.needed))
    for place in np.flatnonzero(want != size).tolist():
        if number < len(lanes[place].shown):
            lanes[place].ask(int(want[place]), number)
    for lane in lanes:
        if number < len(lane.shown):
            lane.sizes[number] = lane.state.desired or 0
