"""Keep the forecasts of all slots, over reloads and restarts.

# Note [Going on with a forecast]

After a reload a forecast goes on as it was, whatever slot its group is in now. After a start, what was learned is read
before the slot's first tick, and the steps since then are learned from the loads, so that the group goes on at that
tick. Where that would take long (a new boot time, files of days ago), the forecast begins anew meanwhile, as one
without history, and is replaced once it has been learned again, one after another in a thread. So is a forecast whose
loads of before were put in from elsewhere: it goes on as it was until these are learned. And so is one that looks
farther ahead, or less far, since members of its group take another time to serve (`trigger.forecast.leads`): it looks
as far as before until it has been learned again.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

import numpy as np

from aggregator.frames import Frame
from config.errors import Refused
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, Seconds, format_span
from handler import logs
from handler.runtime.loops import Guard
from handler.store.forecast_files import ForecastFolder, History, KeptLane
from trigger.forecast.cohorts import ForecastCohort, Lane, Terms, joined
from trigger.forecast.leads import LearnedTime, lead_of
from trigger.policies.forecasting import NO_PROFILES, Forecasting, Loads, lanes_of
from trigger.policies.outlooks import Foresight

Groups = tuple[GroupId, ...]
_HOUR = 120
"""Steps between two writes of what was learned."""
_QUICK = 4 * _HOUR
"""Steps that are learned again before a slot's first tick: half a second for one group, as for ten of them."""
_PART = 500
"""Steps that are learned in one go where it takes long: the daemon must be able to stop in between."""
_MOST_PARTS = 1000


class ForecastKeeper:
    """All forecasts of a daemon.

    Args:
        folder: where they are kept; ``None``: they end with the process.
    """

    def __init__(self, folder: ForecastFolder | None = None) -> None:
        self._folder = folder
        self._guard = Guard("forecasts")
        self._slots: dict[Groups, Forecasting] = {}
        self._kept: dict[Groups, Sequence[KeptLane]] = {}
        self._hours: dict[Groups, int] = {}
        """Slot → number of the last hour of which everything learned was written."""
        self._leads: dict[GroupId, Seconds] = {}
        """The boot times that were learned, by which forecasts go for which none is declared."""
        self._tried: dict[Lane, Terms] = {}
        """What was last learned again: if the disk refused, it is not tried at every tick."""
        self._pending: set[Lane] = set()
        """Forecasts that have begun anew while they are learned from their loads."""
        self._one_by_one = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticked = asyncio.Event()
        """Set by the next tick of any slot whose loads are written, which then puts another in its place."""

    def start(self, catalogue: Catalogue, slots: Iterable[Groups]) -> None:
        """Forecast for these slots; what is known of their groups goes on."""
        before = [cohort for forecasting in self._slots.values() for cohort in forecasting.cohorts]
        self._slots = {
            groups: Forecasting(catalogue, groups, self._leads) for groups in slots if lanes_of(catalogue, groups)
        }
        self._kept = {groups: _kept(catalogue, forecasting) for groups, forecasting in self._slots.items()}
        self._hours = {}
        for forecasting in self._slots.values():
            forecasting.go_on(before)

    async def stop(self) -> None:
        """Stop what is still being learned."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def recall(self, groups: Groups) -> None:
        """Go on with what was learned of a slot's groups before the start. See Note [Going on with a forecast]."""
        forecasting, folder = self._slots.get(groups), self._folder
        if forecasting is None or folder is None:
            return
        known = {lane for cohort in forecasting.cohorts for lane in cohort.lanes} - self._pending
        new = [each for each in self._kept[groups] if each.lane not in known]
        self._pending.difference_update(each.lane for each in new)
        found = await self._guard.run(partial(asyncio.to_thread, _recalled, folder, forecasting, new)) if new else None
        if found is None:
            return
        ready, later = found
        forecasting.go_on(ready, instead=True)
        self._pending.update(each.lane for each in later)
        if ready:
            logs.say("forecasts_resumed", groups=sum(len(cohort.lanes) for cohort in ready))
        if later:
            self._learn_soon(groups, forecasting, later)

    def with_forecasts(self, groups: Groups) -> Set[GroupId]:
        """Return the groups of a slot that have a forecast."""
        forecasting = self._slots.get(groups)
        return set() if forecasting is None else {lane.group for lane in forecasting.lanes}

    def learners(self, groups: Groups) -> Set[GroupId]:
        """Return the groups of a slot whose forecasts go by a boot time that is learned."""
        forecasting = self._slots.get(groups)
        lanes = () if forecasting is None else forecasting.lanes
        return {lane.group for lane in lanes if forecasting is not None and forecasting.action(lane).boot is None}

    async def look_ahead(self, groups: Groups, boots: Mapping[GroupId, LearnedTime | None]) -> None:
        """Have forecasts look as far ahead as members take to serve. See Note [Going on with a forecast].

        Args:
            groups: a slot.
            boots: what is known of the members of its `learners`.
        """
        forecasting, folder = self._slots.get(groups), self._folder
        if forecasting is None or folder is None:
            return
        for group, boot in boots.items():
            lanes = [each for each in self._kept[groups] if each.lane.group == group]
            before = self._leads.get(group)
            if before is None:
                before = await self._guard.run(partial(asyncio.to_thread, folder.boot, lanes[0]))
            self._leads[group] = lead = lead_of(boot, before)
            terms = {each.lane: forecasting.terms_by(each.lane, lead) for each in lanes}
            changed = [replace(each, terms=terms[each.lane]) for each in lanes if terms[each.lane] != each.terms]
            known = {lane for cohort in forecasting.cohorts for lane in cohort.lanes}
            self._go_by(groups, forecasting, [each for each in changed if each.lane not in known])
            later = [each for each in changed if each.lane in known - self._pending]
            later = [each for each in later if self._tried.get(each.lane) != each.terms]
            self._tried.update({each.lane: each.terms for each in later})
            self._pending.update(each.lane for each in later)
            if later:
                logs.say("forecast_looks_ahead", group=group, boot=format_span(lead))
                self._learn_soon(groups, forecasting, later, anew=True)

    def _go_by(self, groups: Groups, forecasting: Forecasting, kept: Sequence[KeptLane]) -> None:
        """Have forecasts go by the terms of what is kept of them from now on."""
        for each in kept:
            forecasting.go_by(each.lane, each.terms)
        changed = {each.lane: each for each in kept}
        self._kept[groups] = [changed.get(each.lane, each) for each in self._kept[groups]]

    def known(self, group: GroupId) -> Mapping[Lane, Forecasting]:
        """Return the forecasts of a group, each with what forecasts it."""
        return {
            lane: forecasting
            for forecasting in self._slots.values()
            for lane in forecasting.lanes
            if lane.group == group
        }

    def is_learned(self, lane: Lane) -> bool:
        """Tell whether a forecast is learned from its loads now."""
        return lane in self._pending

    def take(
        self,
        groups: Groups,
        frames: Mapping[GroupId, Frame],
        at: Instant,
        profiles: Mapping[GroupId, str | None] = NO_PROFILES,
    ) -> Foresight:
        """Learn from a tick of a slot, and say what is foreseen; ``profiles``: as `Forecasting.take` has them."""
        forecasting = self._slots.get(groups)
        return {} if forecasting is None else forecasting.take(frames, at, profiles)

    async def fill(self, lane: Lane, first: int, loads: Loads, now: int) -> int:
        """Put loads of before into the steps of which a forecast has none; return how many steps that were.

        Args:
            lane: the forecast.
            first: the step of the first load.
            loads: in the unit of the counter; NaN: not known.
            now: the present step.

        Raises:
            Refused: there is no such forecast, none is kept, it is learned again now, or the disk refuses.
        """
        _, _, kept, folder = self._found(lane)
        try:
            return await asyncio.to_thread(folder.fill, kept, History(first=first, loads=loads), now)
        except OSError as error:
            raise Refused(f"the loads of {lane.group} cannot be written: {error}") from error

    async def learn(self, lane: Lane) -> int:
        """Forget what a forecast has learned, and learn it again from its loads; return how many steps these are.

        It goes on as it was until that is done.

        Raises:
            Refused: there is no such forecast, none is kept, it is learned again now, or the disk refuses.
        """
        groups, forecasting, kept, folder = self._found(lane)
        if kept.terms.level is not None and forecasting.carried(lane) is None:
            raise Refused(f"it is not known yet what a member of {lane.group} carries: its loads cannot be learned")
        self._pending.add(lane)
        try:
            steps = await asyncio.to_thread(_loads_alone, folder, kept)
        except OSError as error:
            self._pending.discard(lane)
            raise Refused(f"the files of the forecast of {lane.group} cannot be changed: {error}") from error
        if steps:
            self._learn_soon(groups, forecasting, [kept], anew=True)
        else:
            self._pending.discard(lane)
        return steps

    def _found(self, lane: Lane) -> tuple[Groups, Forecasting, KeptLane, ForecastFolder]:
        """Return what is kept of a forecast that is not being learned now."""
        if self._folder is None:
            raise Refused("this daemon keeps no loads of forecasts")
        for groups, lanes in self._kept.items():
            for kept in lanes:
                if kept.lane == lane:
                    if lane in self._pending:
                        raise Refused(f"the forecast {lane.policy} of group {lane.group} is being learned: wait for it")
                    return groups, self._slots[groups], kept, self._folder
        raise Refused(f"group {lane.group} has no forecast {lane.policy}")

    async def save(self, groups: Groups) -> None:
        """Write down what the last tick of a slot added. A disk that refuses is logged; forecasts go on."""
        forecasting, folder = self._slots.get(groups), self._folder
        if forecasting is None or folder is None:
            return
        await self._guard.run(partial(asyncio.to_thread, self._write, folder, groups, forecasting))
        self._ticked.set()
        self._ticked = asyncio.Event()

    @property
    def learning(self) -> int:
        """How many forecasts are learned from their loads now."""
        return len(self._pending)

    @property
    def bytes(self) -> int:
        """Memory of all forecasts."""
        return sum(forecasting.bytes for forecasting in self._slots.values())

    def _write(self, folder: ForecastFolder, groups: Groups, forecasting: Forecasting) -> bool:
        kept = self._kept[groups]
        folder.append(forecasting.rows, kept)
        newest = max((cohort.number for cohort in forecasting.cohorts), default=0)
        hour = (newest + zlib.crc32(groups[0].encode())) // _HOUR  # not all slots at once
        if self._hours.setdefault(groups, hour) != hour:
            known = [each for each in kept if each.lane not in self._pending]  # the others have begun anew
            for cohort in forecasting.cohorts:
                folder.save(cohort, known)
            self._hours[groups] = hour
        return True

    def _learn_soon(
        self, groups: Groups, forecasting: Forecasting, later: Sequence[KeptLane], *, anew: bool = False
    ) -> None:
        task = asyncio.create_task(self._learn_again(groups, forecasting, later, anew))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _learn_again(
        self, groups: Groups, forecasting: Forecasting, later: Sequence[KeptLane], anew: bool
    ) -> None:
        """Learn lanes from their loads while the slot goes on, then go on with what was learned."""
        folder = self._folder
        async with self._one_by_one:
            for kept in later:
                if folder is None or self._slots.get(groups) is not forecasting:
                    return
                await self._guard.run(partial(self._one_again, folder, groups, forecasting, kept, anew=anew))
                self._pending.discard(kept.lane)  # also if the disk refused: it goes on as it is

    async def _one_again(
        self, folder: ForecastFolder, groups: Groups, forecasting: Forecasting, kept: KeptLane, *, anew: bool
    ) -> None:
        cohort = None if anew else await asyncio.to_thread(folder.learned, kept)
        saved = False
        for _ in range(_MOST_PARTS):
            if self._slots.get(groups) is not forecasting:
                return
            ticked, number = self._ticked, None if cohort is None else cohort.number
            history = await asyncio.to_thread(folder.history, kept)
            cohort = forecasting.begun(kept.lane, kept.terms, history.first) if cohort is None else cohort
            if cohort is None or not len(history.loads):  # nothing to learn from: it begins anew
                self._go_by(groups, forecasting, [kept])
                return
            await asyncio.to_thread(_learn, forecasting, cohort, {kept.lane: history}, cohort.number + _PART)
            if cohort.number != _number_of(forecasting, kept.lane):
                if cohort.number == number:  # its loads are all learned, and the slot is not at the last of them yet
                    await ticked.wait()
                continue
            if saved:
                self._go_by(groups, forecasting, [kept])
                forecasting.go_on([cohort], instead=True)
                logs.say("forecast_learned_again", group=kept.lane.group, policy=kept.lane.policy)
                return
            await asyncio.to_thread(folder.save, cohort, [kept])  # a tick may pass meanwhile: it is learned, too
            saved = True
        logs.warn("forecast_not_learned_again", group=kept.lane.group, policy=kept.lane.policy)


def _kept(catalogue: Catalogue, forecasting: Forecasting) -> Sequence[KeptLane]:
    """Say of each forecast what its files must be of."""
    found = []
    for lane in forecasting.lanes:
        policy, action = catalogue.policies[lane.policy], forecasting.action(lane)
        counters = [catalogue.counters[name] for name in catalogue.conditions[policy.when[0]].counters]
        found.append(
            KeptLane(
                lane=lane,
                terms=forecasting.terms(lane),
                each=action.capacity.each,
                measures=repr((*counters, action.capacity.per_member)),
                history=action.history,
            )
        )
    return found


def _recalled(
    folder: ForecastFolder, forecasting: Forecasting, new: Iterable[KeptLane]
) -> tuple[Sequence[ForecastCohort], Sequence[KeptLane]]:
    """Return what goes on now, and what would take long to learn."""
    quick: list[ForecastCohort] = []
    later: list[KeptLane] = []
    histories: dict[Lane, History] = {}
    for each in new:
        cohort, history = folder.learned(each), folder.history(each)
        if cohort is None and len(history.loads):
            cohort = forecasting.begun(each.lane, each.terms, history.first)
        if cohort is None:
            continue
        if history.end - cohort.number > _QUICK:
            later.append(each)
        else:
            quick.append(cohort)
            histories[each.lane] = history
    found = joined(quick)
    for cohort in found:
        _learn(forecasting, cohort, histories, max(histories[lane].end for lane in cohort.lanes))
    return found, later


def _learn(forecasting: Forecasting, cohort: ForecastCohort, histories: Mapping[Lane, History], until: int) -> None:
    """Carry a cohort on along its loads, up to a step or to their end."""
    ends = max(histories[lane].end for lane in cohort.lanes)
    first = cohort.number + 1
    loads = np.full((max(min(ends, until) - first, 0), len(cohort.lanes)), np.nan, dtype=np.float32)
    for place, lane in enumerate(cohort.lanes):
        known = histories[lane].since(first)[: len(loads)]
        begins = max(histories[lane].first - first, 0)
        loads[begins : begins + len(known), place] = known[: len(loads) - begins]
    for row in loads:
        forecasting.learn(cohort, row)


def _loads_alone(folder: ForecastFolder, kept: KeptLane) -> int:
    """Forget what was learned of a lane, and return how many steps its loads are; 0: none, and nothing is forgotten."""
    steps = len(folder.history(kept).loads)
    if steps:
        folder.forget(kept)
    return steps


def _number_of(forecasting: Forecasting, lane: Lane) -> int | None:
    """Return the step that a lane is at; ``None``: nothing is known of it."""
    return next((cohort.number for cohort in forecasting.cohorts if lane in cohort.lanes), None)
