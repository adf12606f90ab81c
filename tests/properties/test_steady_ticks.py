"""Ticks that repeat the last one leave what ticks leave that are worked out row by row, to the last bit."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aggregator.aggregate import Aggregator
from collector.samples import Reply
from collector.sources.poll import Poller
from collector.targets import Round
from config.errors import StoreError
from config.load import parse
from config.model.catalogue import Group
from config.units import GroupId, Instant, MemberName, Moment, Monotonic
from handler.observability.gauges import Gauges
from handler.planning.status import MemberState
from handler.planning.steps import Plan
from handler.ports.stored import RepeatedTick, StoredTick
from handler.runtime import decision_queue
from handler.runtime.deciding import Decider
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.decision_task import DecisionTask
from handler.runtime.definitions import definition_of
from handler.runtime.group_runtime import GroupRuntime, LastPass
from handler.runtime.recent import Recent
from handler.runtime.slots import Slot
from handler.runtime.steady_ticks import SteadyTick
from handler.store.spans import Book
from tests.support.collector import no_secret
from tests.support.memory_store import MemoryStore
from tests.support.trigger import a_fleet, a_person
from tests.support.worlds import NOW, a_member, a_world, name_of
from trigger.explain.shapes import Story
from trigger.guards.pauses import paused
from trigger.reasons import Reason
from trigger.requests import Decision, GroupState, Pause

INTERVAL = 30.0
CATALOGUE = parse(
    """
counters:
  cpu: {push: CPU, unit: percent, range: [0, 100]}
  queue: {push: QUEUE}
conditions:
  busy: {counter: cpu, window: 1m, above: 80}
  idle: {counter: cpu, across: max, window: 1m, aggregate: max, below: 30}
  sure: {counter: queue, window: 90s, at_least: 50, quorum: 50%}
  none: {counter: queue, equals: 10}
  few: {counter: queue, across: sum, at_most: 20}
  piled: {counter: queue, across: sum, per_member: true, above: 50}
  both: {expression: "cpu > 80 && queue > 20"}
policies:
  out: {when: [busy, sure], match: any, add: 1, duration: 60s, quiet_time: 45s}
  in: {when: [idle, few], remove: 1, quiet_time: 45s}
  exact: {when: [none], set: 4, quiet_time: 45s}
  pile: {when: [piled], add: 1}
  odd: {when: [both], add: 1}
  keep: {target: {counter: cpu, value: 60}}
  days: {schedule: "*/4 * * * *", until: 2m, floor: 3}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [serve]}}
groups:
  web: {profile: web, min: 2, max: 9, interval: 30s, policies: [out, in]}
  shop: {profile: web, min: 2, max: 9, interval: 30s, policies: [out, exact], mode: advise}
  near: {profile: web, min: 2, max: 9, interval: 30s, policies: [in, pile]}
  more: {profile: web, min: 2, max: 9, interval: 30s, policies: [out, odd]}
  keep: {profile: web, min: 2, max: 9, interval: 30s, policies: [keep]}
  days: {profile: web, min: 2, max: 9, interval: 30s, policies: [out, days]}
  cold:
    {profile: web, min: 2, max: 9, interval: 30s, policies: [out], freeze: [{schedule: "*/3 * * * *", duration: 1m}]}
  calm: {profile: web, min: 2, max: 9, interval: 30s, policies: [in]}
  bare: {profile: web, min: 2, max: 9, interval: 30s, policies: []}
""",
    "x",
)
GROUPS = tuple(CATALOGUE.groups)


class OneByOne(DecisionQueue):
    """Takes nothing for repeated: every tick is evaluated, decided and explained."""

    async def repeat(self, ticks: Sequence[tuple[GroupRuntime, SteadyTick]]) -> Set[GroupId]:
        return {runtime.id for runtime, _ in ticks}

    def story(self, question: DecisionTask, group: Group, decision: Decision) -> Story | None:
        return None


@dataclass
class History(MemoryStore):
    """Keeps spans as the real store does."""

    book: Book = field(default_factory=lambda: Book(iter(range(1, 10**9)).__next__))
    repeated: int = 0
    refused: Set[GroupId] = frozenset()
    """Groups that cannot be written about."""

    def record(self, ticks: Sequence[StoredTick], repeated: Sequence[RepeatedTick] = ()) -> None:
        if self.refused & {tick.group for tick in (*ticks, *repeated)}:
            raise StoreError("the database restarts")
        super().record(ticks, repeated)
        entry = self.book.plan([tick for tick in ticks if tick.evaluated or tick.state is not None])
        self.book.confirm(entry.last, frozenset())
        self.book.extend(repeated)
        self.repeated += len(repeated)


Answer = float | None


class Side:
    """A daemon's slot over members that answer from memory."""

    def __init__(self, kind: type[DecisionQueue]) -> None:
        self.now = Moment(wall=NOW, steady=Monotonic(1000.0))
        self.answers: Mapping[tuple[GroupId, str], Sequence[Answer]] = {}
        self.decided: list[Decision] = []
        self.store = History()
        self.runtimes = {group: _runtime(group) for group in GROUPS}
        self.recent = Recent(self.runtimes)
        self._gauges = self.gauges()
        self.queue = kind(self.store, lambda: CATALOGUE, self._decided)
        self.decider = Decider(
            runtimes=self.runtimes,
            poller=Poller(clock=lambda: self.now, read_secret=no_secret, sources=[self]),
            queue=self.queue,
            clock=lambda: self.now,
            report=lambda report: None,
        )
        self.slot = Slot(interval=INTERVAL, phase=0.0, groups=GROUPS)
        self.aggregator = Aggregator(CATALOGUE, GROUPS)

    def _decided(self, decision: Decision) -> None:
        self.decided.append(decision)
        self.recent.decided(decision)

    async def fetch(self, asked: Round) -> None:
        for row, series in enumerate(asked.sheet.layout.series):
            member = int(str(series.member)[-1])
            value = self.answers[series.group, series.counter][member % 2]
            if value is None:
                asked.sheet.fail(row, Reply.TIMEOUT)
            else:
                asked.sheet.put(row, value, at=self.now.steady)

    async def close(self) -> None: ...

    async def tick(self, answers: Mapping[tuple[GroupId, str], Sequence[Answer]]) -> None:
        self.answers = answers
        await self.decider.tick(self.slot, CATALOGUE, self.aggregator, self.now.steady)

    def gauges(self) -> Gauges:
        return Gauges(self.runtimes, lambda: self.now.wall)

    def scraped(self) -> str:
        """What a scrape reads of gauges; lines are kept from one to the next."""
        return "".join(self._gauges.texts())

    def later(self, seconds: float) -> None:
        self.now = Moment(wall=Instant(self.now.wall + seconds), steady=Monotonic(self.now.steady + seconds))

    def left(self, group: GroupId) -> Sequence[object]:
        runtime, last = self.runtimes[group], self.store.book.last(group)
        picture = self.recent.series(runtime).picture(self.now.wall)
        kept = (
            runtime.state,
            runtime.holds,
            runtime.track,
            runtime.decided_at,
            runtime.judged_at,
            runtime.unrecorded,
        )
        heard = (runtime.heard, runtime.misses, runtime.unheard, runtime.silence)
        return (*kept, *heard, picture, last and last.span, runtime.evaluation, runtime.explanation)


def _runtime(group: GroupId) -> GroupRuntime:
    members = tuple(a_member(number) for number in (1, 2))
    world = a_world(*members)
    states = {member.name: MemberState.IN_SERVICE for member in members}
    plan = Plan(group=group, revision=1, steps=(), waits=())
    seen = LastPass(at=NOW, world=world, plan=plan, states=states, fleet=a_fleet(in_service=2), failures=(), retries=())
    runtime = GroupRuntime(
        id=group, definition=definition_of(CATALOGUE, group), state=GroupState(desired=4, revision=1)
    )
    runtime.seen, runtime.addresses = seen, {MemberName(name_of(1)): "10.0.0.1"}
    return runtime


async def _act(side: Side, act: str) -> None:
    runtime = side.runtimes[GroupId("web")]
    match act:
        case "person":
            request = replace(a_person(5), id=f"ada@{side.now.wall}", group=runtime.id)
            await side.queue.ask(DecisionTask(runtime=runtime, at=side.now, requests=(request,)))
        case "look":
            await side.queue.ask(DecisionTask(runtime=runtime, at=side.now))
        case "pause" | "resume":
            pause = Pause.ALL if act == "pause" else Pause.NO
            await side.queue.change(
                runtime, lambda state: paused(state, pause), act=act, by="ada", message="", at=side.now
            )
        case "fleet" if runtime.seen is not None:
            runtime.seen = replace(runtime.seen, fleet=replace(runtime.seen.fleet, in_service=3))
        case "full":
            side.store.full = True
        case "partly":
            side.store.refused = frozenset(GROUPS[1::2])
        case "freed":
            side.store.full, side.store.refused = False, frozenset()
        case _:
            pass


ANSWERS = st.sampled_from([50.0, 50.0, 40.0, 45.5, 10.0, 95.0, 95.0, 130.0, None])
POLLS = st.fixed_dictionaries(
    {(group, counter): st.tuples(ANSWERS, ANSWERS) for group in GROUPS for counter in ("cpu", "queue")}
)
QUIET = {
    key: (50.0, 45.0) if key[1] == "cpu" else (30.0, 35.0) for key in ((g, c) for g in GROUPS for c in ("cpu", "queue"))
}
BUSY = dict.fromkeys(QUIET, (95.0, 95.0))
ACTS = st.sampled_from(["none"] * 8 + ["person", "look", "pause", "resume", "fleet", "full", "freed"])
TICKS = st.tuples(
    ACTS, st.sampled_from([30.0, 30.0, 30.0, 31.0, 60.0, 100.0]), st.one_of(st.just(QUIET), st.just(BUSY), POLLS)
)
STORIES = st.lists(st.tuples(TICKS, st.integers(1, 4)), min_size=2, max_size=8)
PARTLY = st.lists(
    st.tuples(
        st.tuples(st.sampled_from(["partly", "freed"]), st.just(30.0), st.sampled_from([QUIET, BUSY])),
        st.integers(1, 3),
    ),
    min_size=3,
    max_size=10,
)
"""Stories of a store that refuses to be written about some of the groups."""


async def _both(story: Sequence[tuple[tuple[str, float, Mapping[tuple[GroupId, str], Sequence[Answer]]], int]]) -> int:
    sides = (Side(DecisionQueue), Side(OneByOne))
    for (act, seconds, answers), times in story:
        for again in range(times):
            for side in sides:
                side.later(seconds)
                await _tried(lambda: _act(side, act if not again else "none"))  # noqa: B023 awaited at once
                await _tried(lambda: side.tick(answers))  # noqa: B023
            for group in GROUPS:
                assert sides[0].left(group) == sides[1].left(group)
            assert sides[0].scraped() == sides[1].scraped() == "".join(sides[1].gauges().texts())
    assert [_sorted(side.decided) for side in sides[:1]] == [_sorted(side.decided) for side in sides[1:]]
    return sides[0].store.repeated


def _sorted(decided: Sequence[Decision]) -> Sequence[Decision]:
    return sorted(decided, key=lambda decision: (decision.at.wall, decision.group, repr(decision)))


async def _tried(work: Callable[[], Awaitable[None]]) -> None:
    with contextlib.suppress(StoreError):
        await work()


@given(STORIES)
@settings(max_examples=12, deadline=None)
def test_a_repeated_tick_leaves_what_one_leaves_that_is_worked_out(story: list) -> None:
    asyncio.run(_both(story))


@given(PARTLY)
@example(
    [(("none", 30.0, QUIET), 3), (("none", 30.0, BUSY), 1), (("partly", 30.0, QUIET), 1), (("freed", 30.0, BUSY), 9)]
)
@settings(max_examples=12, deadline=None)
def test_a_tick_that_fails_for_some_groups_leaves_the_others_as_if_each_was_worked_out(story: list) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision_queue, "_BATCH", 1)  # so that each group has a write of its own
        asyncio.run(_both(story))


def test_ticks_of_quiet_groups_are_repeated() -> None:
    assert asyncio.run(_both([(("none", 30.0, QUIET), 6)])) > 0


def test_a_refusal_that_stands_is_repeated_until_it_ends() -> None:
    asyncio.run(_both([(("none", 30.0, BUSY), 40)]))  # build_timeout is 15 minutes: growth goes on after it
    side = Side(DecisionQueue)
    for _ in range(9):
        side.later(30.0)
        asyncio.run(side.tick(BUSY))
    runtime = side.runtimes[GroupId("web")]
    assert isinstance(runtime.unchanged, SteadyTick)
    assert runtime.explanation is not None
    assert runtime.explanation.reason is Reason.CATCHING_UP


def test_a_refusal_ends_with_a_gap_that_ends_a_hold() -> None:
    asyncio.run(_both([(("none", 30.0, BUSY), 9), (("none", 60.0, BUSY), 1), (("none", 30.0, BUSY), 4)]))


def test_a_group_at_rest_that_lacks_an_aggregate_tells_of_no_value() -> None:
    silent = {**QUIET, (GroupId("calm"), "queue"): (None, None)}
    asyncio.run(_both([(("none", 30.0, silent), 6)]))


def test_a_group_at_rest_that_hears_enough_again_begins_a_new_span() -> None:
    half = {**QUIET, (GroupId("calm"), "cpu"): (10.0, 130.0)}  # out of range: a window of two samples fills later
    asyncio.run(_both([(("none", 30.0, half), 3)]))
