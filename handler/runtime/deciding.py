"""The decision loop: per slot of groups, scrape → frame → evaluation → decision, once per interval.

Groups of one interval are spread over slots, so that no tick holds the event loop for long and agents are not all
polled at once. A late tick is never doubled: the tick number is the number of complete intervals.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from aggregator.aggregate import Aggregator
from aggregator.batch_frames import TickFrames
from aggregator.frames import Frame, WindowKey
from aggregator.specs import observed_keys
from collector.outages.heard import AskedMembers, all_heard, asked_directly
from collector.outages.heard import heard as heard_by
from collector.outages.misses import without
from collector.outages.outages import OutageLayout, hearing_of, troubled
from collector.samples import Layout, Scrape
from collector.sources.poll import Poller
from collector.targets import Roster
from config.model.catalogue import Catalogue
from config.units import GroupId, Moment, PolicyId, Seconds
from handler.planning.evidence import Hearing as MemberHearing
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.decision_task import DecisionTask
from handler.runtime.forecasts import ForecastKeeper
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.listening import direct_sources, hearings_of, listen, source_words
from handler.runtime.loops import Guard
from handler.runtime.resuming import WindowCheckpoints
from handler.runtime.slots import Slot, slots_of
from handler.runtime.steady_ticks import SteadyTick
from trigger.conditions.columns import LastTruths
from trigger.conditions.timers import LONGEST_GAP, Kept
from trigger.policies.evaluate import NOTHING_FORESEEN, evaluate
from trigger.policies.outlooks import Foresight
from trigger.verdicts import Evaluation, Foreseen

_SLICE = 50
"""Groups that are listened to or judged between two looks at the event loop: a few milliseconds, if all changed."""
_FOR_LISTINGS = 0.4
"""Intervals that a daemon's first tick of a slot waits for listings: less than half, so that it stays that tick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickReport:
    """One tick of a slot, for metrics."""

    slot: Slot
    scrape: Scrape
    lag: Seconds
    """How late it began."""
    poll_took: Seconds
    decide_took: Seconds


class Decider:
    """Runs the slots of one catalogue.

    Args:
        runtimes: all groups.
        poller: polls their members.
        queue: takes the evaluations.
        clock: both clocks.
        report: called after every tick.
        heard: called with every scrape and its groups, before the scrape is used. Must not take long.
        witness: called with the answers of members' own sources after every poll of their group. Must not take long.
        checkpoints: where windows and holds are saved after every tick; ``None``: they end with the process.
        forecasts: keeps those of all slots; ``None``: they end with the process.
        learn_times: learns how long the members of groups take (`GroupRuntime.times`).
    """

    def __init__(  # noqa: PLR0913 - the composition root's list of ports
        self,
        *,
        runtimes: Mapping[GroupId, GroupRuntime],
        poller: Poller,
        queue: DecisionQueue,
        clock: Callable[[], Moment],
        report: Callable[[TickReport], None],
        heard: Callable[[tuple[GroupId, ...], Scrape], None] = lambda groups, scrape: None,
        witness: Callable[[GroupId, Sequence[MemberHearing]], None] = lambda group, hearings: None,
        checkpoints: WindowCheckpoints | None = None,
        forecasts: ForecastKeeper | None = None,
        learn_times: Callable[[Iterable[GroupId]], Awaitable[None]] | None = None,
    ) -> None:
        self._heard = heard
        self._witness = witness
        self._runtimes = runtimes
        self._poller = poller
        self._queue = queue
        self._clock = clock
        self._report = report
        self._checkpoints = checkpoints
        self.forecasts = ForecastKeeper() if forecasts is None else forecasts
        self._learn_times = learn_times
        self._started = False
        self._overdue: set[Slot] = set()
        """Slots whose tick came due while no daemon ran."""
        self._aggregators: dict[tuple[GroupId, ...], Aggregator] = {}
        self._hearings: dict[tuple[GroupId, ...], OutageLayout] = {}
        self._asked: dict[tuple[GroupId, ...], Mapping[GroupId, AskedMembers]] = {}
        self._judgings: dict[tuple[GroupId, ...], LastTruths] = {}
        self._observed: dict[tuple[GroupId, ...], Mapping[GroupId, tuple[WindowKey, ...]]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, catalogue: Catalogue) -> None:
        """Run the catalogue's slots; after a reload, windows whose counters are unchanged go on.

        At the daemon's start, the windows of its predecessor go on: Note [Going on after a restart].
        """
        slots = slots_of(catalogue, (runtime.id for runtime in self._runtimes.values() if not runtime.state.orphaned))
        before = self._before(catalogue, slots)
        self.forecasts.start(catalogue, [slot.groups for slot in slots])
        self._aggregators = {}
        self._hearings = {}
        self._judgings = {}
        self._observed = {}
        for runtime in self._runtimes.values():
            runtime.observed, runtime.member_values = {}, {}
        for slot in slots:
            aggregator = Aggregator(catalogue, slot.groups)
            for old in before:
                aggregator.succeed(old)
            self._aggregators[slot.groups] = aggregator
            self._tasks.append(asyncio.create_task(self._keep(slot, catalogue, aggregator), name=f"slot-{slot.phase}"))

    def _before(self, catalogue: Catalogue, slots: Sequence[Slot]) -> Sequence[Aggregator]:
        """Return the aggregators whose windows go on."""
        before: Sequence[Aggregator] = list(self._aggregators.values())
        if self._checkpoints is not None:
            if not self._started:
                before = self._recalled(catalogue, slots, self._checkpoints)
            self._checkpoints.arrange(slot.groups for slot in slots)
        self._started = True
        return before

    def _recalled(
        self, catalogue: Catalogue, slots: Sequence[Slot], checkpoints: WindowCheckpoints
    ) -> Sequence[Aggregator]:
        """Return the windows of the daemon before, and note which slots have a tick to make up for."""
        now, of = self._clock().steady, {group: slot for slot in slots for group in slot.groups}

        def due(group: GroupId, newest_at: float) -> float:
            if group not in of:
                return math.inf
            at = of[group].due_after(newest_at, now)
            if at <= now <= newest_at + LONGEST_GAP * of[group].interval:
                self._overdue.add(of[group])
            return at

        return checkpoints.recall(catalogue, self._runtimes, due)

    @property
    def window_bytes(self) -> int:
        """Memory that the windows and forecasts of all groups take."""
        return sum(aggregator.bytes for aggregator in self._aggregators.values()) + self.forecasts.bytes

    async def stop(self) -> None:
        """Stop all slots; the tick in hand is given up before it decides, or finishes its write."""
        for task in self._tasks:
            task.cancel()
        await self.forecasts.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def tasks(self) -> Sequence[asyncio.Task[None]]:
        """The running slots: the daemon watches that none of them has died."""
        return self._tasks

    async def _keep(self, slot: Slot, catalogue: Catalogue, aggregator: Aggregator) -> None:
        guard = Guard("tick", interval=slot.interval, phase=slot.phase, groups=len(slot.groups))
        if self._learn_times is not None and (learners := self.forecasts.learners(slot.groups)):
            await guard.run(partial(self._learn_times, learners))
        await self._look_ahead(slot)
        await self.forecasts.recall(slot.groups)
        if slot in self._overdue:
            self._overdue.discard(slot)
            await guard.run(partial(self.tick, slot, catalogue, aggregator, self._clock().steady))
        due: float = self._clock().steady
        while True:
            due = slot.next_at(max(self._clock().steady, due))  # a timer may end a little early
            await asyncio.sleep(due - self._clock().steady)
            await guard.run(partial(self.tick, slot, catalogue, aggregator, due))

    async def tick(self, slot: Slot, catalogue: Catalogue, aggregator: Aggregator, due: float) -> None:
        """One slot, once: everything the chain does, in the order of the chain."""
        runtimes = [self._runtimes[group] for group in slot.groups if group in self._runtimes]
        await _listed(runtimes, _FOR_LISTINGS * slot.interval)
        began = self._clock()
        rosters: dict[GroupId, Roster] = {runtime.id: runtime.roster(began.wall) for runtime in runtimes}
        scrape = await self._poller.poll(catalogue, rosters, timeout=min(0.8 * slot.interval, 10.0))
        self._heard(tuple(runtime.id for runtime in runtimes), scrape)
        polled = self._clock()
        frames = aggregator.take(scrape)
        scrape = without(scrape, aggregator.outside(), catalogue.counters)
        await self._listen(slot, catalogue, runtimes, scrape)
        await asyncio.sleep(0)
        for group, keys in self._observing(catalogue, slot).items():
            if group in self._runtimes:
                self._runtimes[group].observed = {key: frames[group].cells[key] for key in keys}
        for runtime in runtimes:
            if most := catalogue.groups[runtime.id].member_values:
                runtime.member_values = aggregator.member_values(runtime.id, most)
        learners = self.forecasts.with_forecasts(slot.groups) & self._runtimes.keys()
        profiles = {group: self._runtimes[group].fleet().profile for group in learners}
        foresight = self.forecasts.take(slot.groups, frames, scrape.at.wall, profiles)
        await self._decide(self._judging(catalogue, slot, aggregator), runtimes, frames, scrape.at, foresight)
        done = self._clock()
        if self._checkpoints is not None:
            await self._checkpoints.save(catalogue, slot.groups, aggregator, runtimes)
        await self.forecasts.save(slot.groups)
        await self._look_ahead(slot)
        self._report(
            TickReport(
                slot=slot,
                scrape=scrape,
                lag=began.steady - due,
                poll_took=polled.steady - began.steady,
                decide_took=done.steady - polled.steady,
            )
        )

    async def _look_ahead(self, slot: Slot) -> None:
        """Have forecasts for which no boot time is declared look as far ahead as members take to serve."""
        learners = [group for group in self.forecasts.learners(slot.groups) if group in self._runtimes]
        await self.forecasts.look_ahead(slot.groups, {group: self._runtimes[group].times.boot for group in learners})

    async def _decide(
        self,
        judging: LastTruths,
        runtimes: Sequence[GroupRuntime],
        frames: TickFrames,
        at: Moment,
        foresight: Foresight,
    ) -> None:
        """Pass what is as it was in columns, and all else through evaluation."""
        catalogue, unlike = judging.catalogue, judging.unlike(frames.columns())
        same = [
            (runtime, SteadyTick(runtime.steady, frames, at, judging.values(runtime.id), runtime.holds))
            for runtime in runtimes
            if runtime.steady is not None
            and runtime.steady.catalogue is catalogue
            and runtime.id not in unlike
            and runtime.steady.lasts(at, runtime.holds)
        ]
        passed = {runtime.id for runtime, _ in same} - await self._queue.repeat(same)
        questions = []
        for runtime in runtimes:
            if runtime.id not in passed:
                runtime.foreseen = foresight.get(runtime.id, NOTHING_FORESEEN)
                judge = _judge(catalogue, frames[runtime.id], runtime.foreseen)
                judged = judge(runtime.holds, runtime.state.desired)
                questions.append(DecisionTask(runtime=runtime, at=at, evaluation=judged, judge=judge))
                if len(questions) % _SLICE == 0:
                    await asyncio.sleep(0)
        await self._queue.ask_all(questions)
        judging.keep()

    async def _listen(self, slot: Slot, catalogue: Catalogue, runtimes: Sequence[GroupRuntime], scrape: Scrape) -> None:
        """Note which members and sources answered, and which did not."""
        hearing, unanswered = self._hearing(catalogue, slot, scrape.layout), troubled(scrape)
        asked, none_asked = self._asked[slot.groups], all_heard(scrape.at.wall, {})
        for number, runtime in enumerate(runtimes, 1):
            own = asked.get(runtime.id, {})
            if runtime.id in unanswered or not runtime.silence.is_over:
                listen(runtime, scrape, hearing, slot.interval)
                runtime.heard = heard_by(runtime.heard, scrape, hearing, runtime.id, own)
            else:
                runtime.misses, runtime.unheard = (), ()
                runtime.heard = all_heard(scrape.at.wall, own) if own else none_asked
            self._witness(runtime.id, hearings_of(runtime.heard))
            if number % _SLICE == 0:
                await asyncio.sleep(0)

    def _observing(self, catalogue: Catalogue, slot: Slot) -> Mapping[GroupId, tuple[WindowKey, ...]]:
        known = self._observed.get(slot.groups)
        if known is None:
            known = self._observed[slot.groups] = _observed(catalogue, slot.groups)
        return known

    def _judging(self, catalogue: Catalogue, slot: Slot, aggregator: Aggregator) -> LastTruths:
        known = self._judgings.get(slot.groups)
        if known is None or known.catalogue is not catalogue:
            known = self._judgings[slot.groups] = LastTruths(catalogue, slot.groups, aggregator.window)
        return known

    def _hearing(self, catalogue: Catalogue, slot: Slot, layout: Layout) -> OutageLayout:
        known = self._hearings.get(slot.groups)
        if known is None or known.layout is not layout:
            self._hearings[slot.groups] = known = hearing_of(layout, source_words(catalogue))
            self._asked[slot.groups] = asked_directly(known, direct_sources(catalogue))
        return known


def _observed(catalogue: Catalogue, groups: Iterable[GroupId]) -> Mapping[GroupId, tuple[WindowKey, ...]]:
    """Return what groups export of the counters that they observe; groups that observe none are left out."""
    return {group: keys for group in groups if (keys := observed_keys(catalogue, group))}


async def _listed(runtimes: Sequence[GroupRuntime], within: Seconds) -> None:
    """Wait for the first listing of groups that go on with windows: a tick without members would end these."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            for runtime in runtimes:
                while runtime.resumed and runtime.seen is None:  # noqa: ASYNC110  # once in a daemon's life
                    await asyncio.sleep(0.05)


def _judge(
    catalogue: Catalogue, frame: Frame, foreseen: Mapping[PolicyId, Foreseen]
) -> Callable[[Mapping[PolicyId, Kept], int | None], Evaluation]:
    """Return what evaluates a frame by holds, at a desired size."""
    return lambda holds, size: evaluate(catalogue, frame.group, frame, holds, frame.at, size=size, foreseen=foreseen)
