"""The forecasts of some groups that are polled together: from their frames, tick by tick, to what is foreseen.

Live and replay use this one class. What it foresees follows from the frames and their times alone, and for each lane
from its own: which other groups are forecast beside it makes no difference, to the last bit.

# Note [Steps]

Steps are numbered by the wall clock, 30 seconds each, so that this time of another day is the same number of steps
ago after a restart, too. A tick carries its group to the step that it lies in. A tick may be late, and an interval may
be longer than a step: up to one and a half intervals, the value of the tick counts for all steps since the last one.
Of a longer gap only the steps of one interval have the value, and the others no data. A tick in the step of the one
before changes nothing.

A load counts as the nearest number of 32 bits, as it is kept on disk: what is learned again from there is the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from aggregator.frames import Aggregate, Frame
from aggregator.specs import window_key
from config.model.adjustments import FollowForecast, KeptLevel, Prefer
from config.model.catalogue import Catalogue, Condition, Group, Policy
from config.units import GroupId, Instant, Seconds
from trigger.conditions.timers import LONGEST_GAP
from trigger.forecast.carrying import Carried, LevelToKeep
from trigger.forecast.cohorts import ForecastCohort, Lane, MemberReadings, Terms, joined
from trigger.forecast.horizons import DAY, STEP, WEEK, Horizons
from trigger.forecast.leads import FIRST_BOOT
from trigger.forecast.shadows import BALANCED, CALM, LEAN, Preference
from trigger.policies.foresight import load_of
from trigger.policies.outlooks import Foresight, foresight_of
from trigger.policies.settled_profiles import SettledProfiles

Loads = npt.NDArray[np.float32]
NO_PROFILES: Mapping[GroupId, str | None] = MappingProxyType({})
_MOST_STEPS = WEEK * DAY
"""After a longer gap a forecast begins anew."""
_MOST_DRAIN = 120
"""Steps that a member may take to drain, as far as virtual fleets are concerned."""
_PREFERENCES = {Prefer.LEAN: LEAN, Prefer.BALANCED: BALANCED, Prefer.CALM: CALM}
_ROUNDING = 1e-6


def step_of(at: Instant) -> int:
    """Return the number of the step that an instant lies in. See Note [Steps]."""
    return math.floor(at / STEP)


def lanes_of(catalogue: Catalogue, groups: Iterable[GroupId]) -> tuple[Lane, ...]:
    """List all forecasts of groups, in the order of the groups and their policies."""
    return tuple(
        Lane(group, policy)
        for group in groups
        for policy in catalogue.groups[group].policies
        if isinstance(catalogue.policies[policy].adjustment, FollowForecast)
    )


def terms_of(group: Group, action: FollowForecast, lead: Seconds = FIRST_BOOT) -> Terms:
    """Return what a forecast has to look at in a group, and what it promises.

    Args:
        group: that it sizes.
        action: what is declared of it.
        lead: the boot time that was learned, which counts where none is declared.
    """
    boot = lead if action.boot is None else action.boot
    horizons = Horizons.of(boot, min(group.drain, _MOST_DRAIN * STEP))
    preference: Preference = replace(_PREFERENCES[action.prefer], promise=action.slo, cap=action.cap)
    level = None if action.capacity.level is None else _level_to_keep(action.capacity.level)
    return Terms(horizons=horizons, preference=preference, level=level, holidays=action.holidays)


def _level_to_keep(kept: KeptLevel) -> LevelToKeep:
    return LevelToKeep(
        at=kept.at,
        top=math.inf if kept.top is None else kept.top,
        least=0.0 if kept.least is None else kept.least,
        most=math.inf if kept.most is None else kept.most,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepRow:
    """One step of some lanes that was learned."""

    number: int
    lanes: tuple[Lane, ...]
    loads: Loads
    """(lane,) in the unit of the counter; NaN: no data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where the load of one lane comes from."""

    group: Group
    policy: Policy
    action: FollowForecast
    condition: Condition
    level: Condition | None
    """What shows the level that members keep; ``None``: what they carry is declared."""
    longest: Seconds
    """The longest of the windows of both."""
    terms: Terms


class Forecasting:
    """The forecasts of some groups, with everything that they have learned.

    Args:
        catalogue: declares the groups.
        groups: those that are polled together; those without a forecast are passed over.
        leads: the boot times that were learned, where any were (`trigger.forecast.leads`).
    """

    def __init__(
        self, catalogue: Catalogue, groups: Iterable[GroupId], leads: Mapping[GroupId, Seconds] | None = None
    ) -> None:
        leads = {} if leads is None else leads
        self._sources = {
            lane: _source(catalogue, lane, leads.get(lane.group, FIRST_BOOT)) for lane in lanes_of(catalogue, groups)
        }
        self._cohorts: tuple[ForecastCohort, ...] = ()
        self._carried: dict[Lane, Carried] = {}
        """What members carried when a forecast was last replaced or began anew."""
        self._profiles = SettledProfiles()
        self.rows: tuple[StepRow, ...] = ()
        """The steps that the last tick added, to be kept."""
        self.foresight: Foresight = MappingProxyType({})
        """Of the last tick."""

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """All forecasts."""
        return tuple(self._sources)

    @property
    def cohorts(self) -> Sequence[ForecastCohort]:
        """All lanes of which anything is known."""
        return self._cohorts

    @property
    def bytes(self) -> int:
        """Memory of what is remembered."""
        return sum(cohort.memory.bytes for cohort in self._cohorts)

    def action(self, lane: Lane) -> FollowForecast:
        """Return what is declared of a forecast."""
        return self._sources[lane].action

    def terms(self, lane: Lane) -> Terms:
        """Return what the forecast has to look at, and what it promises."""
        return self._sources[lane].terms

    def terms_by(self, lane: Lane, lead: Seconds) -> Terms:
        """Return the terms of a forecast, if it went by a boot time that was learned and is not declared."""
        source = self._sources[lane]
        return terms_of(source.group, source.action, lead)

    def go_by(self, lane: Lane, terms: Terms) -> None:
        """Have a forecast go by other terms: it begins anew, unless what was learned by them is put in (`go_on`)."""
        if terms != self._sources[lane].terms:
            self._sources[lane] = replace(self._sources[lane], terms=terms)
            self._forget({lane})

    def _remember(self, cohorts: Iterable[ForecastCohort]) -> None:
        """Note what members carry, as far as it was learned by the level that is declared."""
        for cohort in cohorts:
            for lane in cohort.lanes:
                alike = lane in self._sources and self._sources[lane].terms.level == cohort.terms.level
                if alike and (carried := cohort.carried(lane)) is not None:
                    self._carried[lane] = carried

    def begun(self, lane: Lane, terms: Terms, first: int) -> ForecastCohort | None:
        """Return a forecast of which nothing is known but what members carry.

        ``None``: that has to be learned first, since loads are measured in it.
        """
        carried = self.carried(lane)
        return (
            None if terms.level is not None and carried is None else ForecastCohort.begin([lane], terms, first, carried)
        )

    def carried(self, lane: Lane) -> Carried | None:
        """Return what the members of a group carry; ``None``: that is not known yet, or is declared."""
        now = next((cohort.carried(lane) for cohort in self._cohorts if lane in cohort.lanes), None)
        return self._carried.get(lane) if now is None else now

    def _forget(self, lanes: Set[Lane]) -> None:
        self._remember(cohort for cohort in self._cohorts if lanes & set(cohort.lanes))
        self._cohorts = tuple(
            cohort.only(rest)
            for cohort in self._cohorts
            if (rest := [lane for lane in cohort.lanes if lane not in lanes])
        )

    def go_on(self, cohorts: Iterable[ForecastCohort], *, instead: bool = False) -> None:
        """Go on with what was learned before; lanes that are not declared, or by other terms, are left out.

        Args:
            cohorts: what was learned.
            instead: in place of what is known of these lanes; otherwise that stays.
        """
        cohorts = list(cohorts)
        self._remember(cohorts)
        if instead:
            self._forget({lane for cohort in cohorts for lane in cohort.lanes})
        found, known = [*self._cohorts], {lane for cohort in self._cohorts for lane in cohort.lanes}
        for cohort in cohorts:
            lanes = [
                lane
                for lane in cohort.lanes
                if lane in self._sources and lane not in known and self._sources[lane].terms == cohort.terms
            ]
            known.update(lanes)
            if lanes and cohort.terms.level is None:
                found.append(cohort.only(lanes))
            elif lanes:
                found.extend(cohort.only([lane]).carrying(self._carried.get(lane)) for lane in lanes)
        self._cohorts = joined(found)

    def take(
        self, frames: Mapping[GroupId, Frame], at: Instant, profiles: Mapping[GroupId, str | None] = NO_PROFILES
    ) -> Foresight:
        """Learn from one tick of all groups, and say what is foreseen. See Note [Steps].

        Args:
            frames: of all groups.
            at: the instant of the tick.
            profiles: of which the members in service are (`trigger.requests.Fleet.profile`); none: it is not known.
        """
        if not self._sources:
            return self.foresight
        number = step_of(at)
        self._begin(number)
        loads = {lane: _measured(source, frames[lane.group]) for lane, source in self._sources.items()}
        rows: list[StepRow] = []
        for cohort in self._cohorts:
            shown = self._shown(cohort, loads, frames, profiles)
            rows.extend(self._advance(cohort, loads, shown, number))
        self._cohorts, self.rows = joined(self._cohorts), tuple(rows)
        self.foresight = foresight_of(self._cohorts, number)
        return self.foresight

    def _begin(self, number: int) -> None:
        """Begin lanes that are new, and those that are behind by more than is remembered."""
        going = [cohort for cohort in self._cohorts if number - cohort.number <= _MOST_STEPS]
        known = {lane for cohort in going for lane in cohort.lanes}
        new: dict[Terms, list[Lane]] = {}
        for lane, source in self._sources.items():
            if lane not in known and lane not in self._carried:
                new.setdefault(source.terms, []).append(lane)
        begun = [ForecastCohort.begin(lanes, terms, number) for terms, lanes in new.items()]
        begun += [
            ForecastCohort.begin([lane], self._sources[lane].terms, number, carried)
            for lane, carried in self._carried.items()
            if lane not in known
        ]
        self._cohorts = (*going, *begun)

    def _shown(
        self,
        cohort: ForecastCohort,
        loads: Mapping[Lane, float],
        frames: Mapping[GroupId, Frame],
        profiles: Mapping[GroupId, str | None],
    ) -> MemberReadings | None:
        """Return what the members of a cohort's groups show; ``None``: what they carry is declared."""
        if cohort.terms.level is None:
            return None
        shown: list[tuple[float, float, float]] = []
        for lane, counted in zip(cohort.lanes, cohort.state.carried.profile.tolist(), strict=True):
            source, frame, profile = self._sources[lane], frames[lane.group], profiles.get(lane.group)
            number = self._profiles.number(lane, profile, counted, source.longest, frame.at.wall)
            shown.append((*shown_by(source, loads[lane], frame), number))
        return MemberReadings(*np.array(shown).T)

    def _advance(
        self, cohort: ForecastCohort, loads: Mapping[Lane, float], shown: MemberReadings | None, number: int
    ) -> Iterable[StepRow]:
        """Carry a cohort to a step, and yield what was learned."""
        interval = self._sources[cohort.lanes[0]].group.interval
        measured = [loads[lane] for lane in cohort.lanes]
        for row in _rows_between(cohort.lanes, measured, (cohort.number, number), interval):
            self.learn(cohort, row.loads, shown if row.number == number else None)
            yield row

    def learn(self, cohort: ForecastCohort, raw: Loads, shown: MemberReadings | None = None) -> None:
        """Carry a cohort on by one step.

        Args:
            cohort: of lanes that are declared.
            raw: (lane,) loads in the unit of the counter.
            shown: by the members; ``None``: it is not kept, or what they carry is declared.
        """
        load = raw.astype(np.float64)
        if cohort.terms.level is None:
            load /= np.array([self._sources[lane].action.capacity.each for lane in cohort.lanes], dtype=np.float64)
        cohort.take(load, shown)


def measured_rows(catalogue: Catalogue, lane: Lane, frames: Iterable[Frame]) -> Iterator[StepRow]:
    """Measure the load of one forecast at each step of its frames, as it is measured live, and learn nothing."""
    source, before = _source(catalogue, lane), None
    for frame in frames:
        number = step_of(frame.at.wall)
        before = number - 1 if before is None else before
        yield from _rows_between((lane,), (_measured(source, frame),), (before, number), source.group.interval)
        before = max(before, number)


def _measured(source: _Source, frame: Frame) -> float:
    """Return the load at a tick, in the unit of the counter; NaN: unknown."""
    cell = frame.cells[window_key(source.condition, source.policy, source.group)]
    return load_of(cell, source.action.capacity)


def shown_by(source: _Source, load: float, frame: Frame) -> tuple[float, float]:
    """Return the load of each member, and the level that it shows; NaN: not known.

    Members that warm up bear their part of the load, and show nothing that counts.
    """
    if source.level is None:
        return math.nan, math.nan
    cell = frame.cells[window_key(source.level, source.policy, source.group)]
    members = cell.expected + cell.left_out
    if not isinstance(cell, Aggregate) or cell.heard < source.action.capacity.quorum * cell.expected or not cell.heard:
        return math.nan, math.nan
    return load / members, cell.value


def _rows_between(
    lanes: tuple[Lane, ...], measured: Sequence[float], steps: tuple[int, int], interval: Seconds
) -> Iterator[StepRow]:
    """Yield the steps after the first of two, up to the second, at which these loads are measured."""
    before, number = steps
    if number <= before:
        return
    with np.errstate(over="ignore"):  # a load beyond 32 bits is no load
        loads = np.array(measured, dtype=np.float32)
    loads[~np.isfinite(loads)] = np.nan
    heard = _steps_heard(number - before, interval)
    for step in range(before + 1, number + 1):
        row = loads if number - step < heard else np.full(len(loads), np.nan, dtype=np.float32)
        yield StepRow(number=step, lanes=lanes, loads=row)


def _steps_heard(due: int, interval: Seconds) -> int:
    """Return for how many of the newest steps the value of a tick counts. See Note [Steps].

    >>> [_steps_heard(due, 30.0) for due in (1, 2, 3)], _steps_heard(3, 60.0), _steps_heard(2, 10.0)
    ([1, 2, 1], 3, 1)
    """
    within = math.ceil(LONGEST_GAP * interval / STEP - _ROUNDING)
    return due if due <= within else max(1, math.ceil(interval / STEP - _ROUNDING))


def _source(catalogue: Catalogue, lane: Lane, lead: Seconds = FIRST_BOOT) -> _Source:
    group, policy = catalogue.groups[lane.group], catalogue.policies[lane.policy]
    action = policy.adjustment
    condition = catalogue.conditions[policy.when[0]]
    if not isinstance(action, FollowForecast) or not isinstance(condition, Condition):
        raise TypeError(f"policy {lane.policy} has no forecast")
    kept = action.capacity.level
    level = None if kept is None else catalogue.conditions[kept.by]
    level = level if isinstance(level, Condition) else None
    return _Source(
        group=group,
        policy=policy,
        action=action,
        condition=condition,
        level=level,
        longest=max(window_key(each, policy, group).window for each in (condition, level) if each is not None),
        terms=terms_of(group, action, lead),
    )
