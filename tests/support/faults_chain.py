"""The whole chain, from sources to sizes, over groups whose load is known; and what it must have made of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from aggregator.aggregate import Aggregator
from collector.boards.alerts import Board
from collector.boards.pushes import Pushes
from collector.clients.http.client import HttpClient
from collector.outages.misses import without
from collector.outages.outages import hearing_of
from collector.samples import Floats, Reply, Scrape, Series
from collector.sources.poll import Poller
from collector.targets import MemberTarget, Roster
from config.model.access import SecretRef
from config.model.catalogue import (
    Adjustment,
    AdjustmentVerb,
    BalancerUse,
    Catalogue,
    Compare,
    Condition,
    Group,
    Policy,
    ProcessRecipe,
    Profile,
)
from config.model.counters import Counter, CounterKind, Per, source_word
from config.units import (
    CloudId,
    ConditionId,
    CounterId,
    GroupId,
    Instant,
    MemberName,
    Moment,
    Monotonic,
    PolicyId,
    ProfileId,
)
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.listening import listen
from tests.support.faults import (
    HOUR,
    INTERVAL,
    OUR_CLOCKS,
    SECRET,
    Cell,
    Column,
    Counterpart,
    Declared,
    Fails,
    Fault,
    Impossible,
    Overstated,
    Phase,
    Scenery,
    Side,
    Unrated,
)
from tests.support.still_time import pass_by, play
from tests.support.worlds import a_definition
from trigger.conditions.timers import restarted
from trigger.decide import decide
from trigger.policies.evaluate import evaluate, requests_from
from trigger.requests import Fleet, GroupState

BEGINS = 4
"""The tick at which the fault begins."""
AFTER = 4
HELD = 3
"""TRUE ticks that a policy needs: 60 s."""
DESIRED = 4
DEADLINE = 10.0
HIGH, MIDDLE, LOW = 90.0, 50.0, 20.0
_LEAD = {Phase.START: 0, Phase.STEADY: 3, Phase.MID_DURATION: 1, Phase.JUST_BEFORE_FIRING: 2}


@dataclass(frozen=True, slots=True)
class Scene:
    """One group: what happens to it, when, and whether its load is truly low."""

    fault: Fault | None
    kind: CounterKind
    phase: Phase
    low: bool

    @property
    def group(self) -> str:
        fault = "calm" if self.fault is None else self.fault.name.lower().replace("_", "-")
        return f"{fault}-{self.kind.value}-{self.phase.name.lower().replace('_', '-')}-{'low' if self.low else 'busy'}"

    @property
    def joins(self) -> int:
        """The tick at which its members are there; a count says nothing at its first one."""
        lead = _LEAD[self.phase]
        return BEGINS - lead - (self.kind is CounterKind.RISING and lead > 0)

    def load(self, tick: int) -> float:
        """What is true from one tick to the next. A steady group's load falls just while it is not seen."""
        if self.low:
            return MIDDLE if self.phase is Phase.STEADY and tick < BEGINS else LOW
        return MIDDLE if self.phase in {Phase.START, Phase.STEADY} else HIGH


def scenes_of(column: Column, phase: Phase, ours: Fault | None) -> Sequence[Scene]:
    """The groups that are played together: those of one phase, whose counterparts fail, or all that our clock fools.

    In the first case two have nothing to do with any of it.
    """
    faults = [fault for fault in Fault if fault not in OUR_CLOCKS] if ours is None else [ours]
    wanted = [
        Scene(fault, kind, phase, low)
        for fault in faults
        for kind in CounterKind
        for low in (False, True)
        if not isinstance(column.cell(fault, kind), Impossible | None)
    ]
    return (
        wanted
        if ours is not None
        else [*wanted, *(Scene(None, CounterKind.GAUGE, phase, low) for low in (False, True))]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one tick showed of one group."""

    replies: tuple[Reply, ...]
    values: tuple[float, ...]
    """As read; meaningless unless OK."""
    true: tuple[float, ...]
    late: tuple[float, ...]
    """Seconds after the poll began; of OK ones."""
    details: tuple[str, ...]
    desired: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What happened in one run."""

    seen: Mapping[str, Sequence[Seen | None]]
    """By group and tick; ``None``: it had no members yet."""
    took: Sequence[float]
    """Seconds of each poll."""
    lines: Sequence[tuple[int, logging.LogRecord]]
    """(tick, line) of the log."""

    def outages(self, group: str) -> Sequence[tuple[int, Mapping[str, str]]]:
        """The outages of a group, as the log has them."""
        fields = ((tick, line.__dict__.get("fields", {})) for tick, line in self.lines)
        return [(tick, outages) for tick, outages in fields if outages.get("group") == group]


def run(column: Column, phase: Phase, ours: Fault | None, spoil: Callable[[Scrape], Scrape] | None = None) -> Story:
    """Play all that can go wrong with a source in one phase; or, ``ours``, one thing that our clock can do.

    Args:
        column: the source.
        phase: in which it finds every group.
        ours: what happens to our clock.
        spoil: breaks what the poller hands over; to see that the suite sees it.
    """
    with tempfile.TemporaryDirectory() as home:
        whole = _Run(column, scenes_of(column, phase, ours), ours, Path(home), spoil or (lambda scrape: scrape)).whole()
        return play(whole)


def polled(
    column: Column, spoil: Callable[[bytes], bytes] = bytes, wire: Callable[[bytes], bytes] = bytes
) -> tuple[Scrape, float]:
    """Poll one group once, whose counterpart's every answer is spoilt; the scrape, and how many seconds it took."""
    scene = Scene(None, CounterKind.GAUGE, Phase.STEADY, low=False)

    async def once(run: _Run) -> tuple[Scrape, float]:
        run.loop = asyncio.get_running_loop()
        side = Side(group=scene.group, members=MEMBERS, rising=False, spoil=spoil, wire=wire)
        side.go_on(INTERVAL)
        run.sides = {scene.group: side}
        async with run._poller() as (poller, scenery), run._counterparts(scenery) as (_, declared):
            catalogue = _catalogue(column, [scene], declared)
            rosters = {GroupId(scene.group): _roster(GroupId(scene.group), side)}
            began = run.clock().steady
            return await poller.poll(catalogue, rosters, timeout=DEADLINE), run.clock().steady - began

    with tempfile.TemporaryDirectory() as home:
        return play(once(_Run(column, [scene], None, Path(home), lambda scrape: scrape)))


def ticks(column: Column) -> int:
    cells = [column.cell(fault, kind) for fault in Fault for kind in CounterKind]
    lingers = max((cell.lingers for cell in cells if isinstance(cell, Fails)), default=0)
    return BEGINS + column.lasts + lingers + AFTER


@dataclass(slots=True)
class _Run:
    column: Column
    scenes: Sequence[Scene]
    ours: Fault | None
    home: Path
    spoil: Callable[[Scrape], Scrape]
    loop: asyncio.AbstractEventLoop | None = None
    wall: float = 1.7e9
    slept: float = 0.0
    sides: dict[str, Side] = field(default_factory=dict)
    seen: dict[str, list[Seen | None]] = field(default_factory=dict)
    took: list[float] = field(default_factory=list)

    def clock(self) -> Moment:
        """Ours; also read by threads that have other loops."""
        now = 0.0 if self.loop is None else self.loop.time()
        return Moment(wall=Instant(self.wall + now), steady=Monotonic(now + self.slept))

    async def whole(self) -> Story:
        self.loop = asyncio.get_running_loop()
        self.sides = {
            scene.group: Side(group=scene.group, members=MEMBERS, rising=scene.kind is CounterKind.RISING)
            for scene in self.scenes
        }
        with _log() as lines:
            async with self._poller() as (poller, scenery), self._counterparts(scenery) as (counterparts, declared):
                catalogue = _catalogue(self.column, self.scenes, declared)
                chain = _Chain(poller, catalogue, self)
                for tick in range(ticks(self.column)):
                    lines.tick = tick
                    await self._turn(tick, counterparts)
                    await chain.tick(tick)
        return Story(seen=self.seen, took=self.took, lines=lines.kept)

    @contextlib.asynccontextmanager
    async def _poller(self) -> AsyncIterator[tuple[Poller, Scenery]]:
        http = HttpClient(clock=self.clock, read_secret=_secret)
        scenery = Scenery(home=self.home, http=http, board=Board(), pushes=Pushes())
        source = self.column.made(scenery)
        poller = Poller(clock=self.clock, read_secret=_secret, sources=(source,), http=http)
        try:
            yield poller, scenery
        finally:
            await poller.close()

    @contextlib.asynccontextmanager
    async def _counterparts(
        self, scenery: Scenery
    ) -> AsyncIterator[tuple[Mapping[str, Counterpart], Mapping[str, Declared]]]:
        counterparts = {group: self.column.counterpart(side, scenery) for group, side in self.sides.items()}
        declared = {group: await counterpart.open() for group, counterpart in counterparts.items()}
        try:
            yield counterparts, declared
        finally:
            for counterpart in counterparts.values():
                await counterpart.close()

    async def _turn(self, tick: int, counterparts: Mapping[str, Counterpart]) -> None:
        """Let an interval pass, and happen what happens at its end."""
        loop = asyncio.get_running_loop()
        pass_by(1000.0 + (tick + 1) * INTERVAL - loop.time())
        asleep = HOUR if tick == BEGINS and self.ours in {Fault.SUSPEND, Fault.SUSPEND_UNCOUNTED} else 0.0
        for scene in self.scenes:
            self.sides[scene.group].load = scene.load(tick)
            self.sides[scene.group].go_on(INTERVAL + asleep)
        if tick == BEGINS and self.ours is not None:
            self.wall += asleep + {Fault.WALL_AHEAD: HOUR, Fault.WALL_BEHIND: -HOUR}.get(self.ours, 0.0)
            self.slept += asleep if self.ours is Fault.SUSPEND else 0.0
        elif tick in {BEGINS, BEGINS + self.column.lasts}:
            for scene in self.scenes:
                await self._strike(scene.fault, self.sides[scene.group], counterparts[scene.group], tick == BEGINS)
        for scene in self.scenes:
            if tick >= scene.joins:
                counterparts[scene.group].tell(self.clock())

    async def _strike(self, fault: Fault | None, side: Side, counterpart: Counterpart, begins: bool) -> None:
        """Let a fault begin, or end."""
        step = {Fault.SOURCE_AHEAD: HOUR, Fault.SOURCE_BEHIND: -HOUR}.get(fault, 0.0) * (1 if begins else -1)
        side.clock += step
        side.running += step
        side.frozen = side.earlier if begins and fault is Fault.STALE else None
        side.fault = fault if begins else None
        if begins and fault is Fault.COUNTER_RESET:
            side.reset(tells_uptime=self.column.tells_uptime)
        if fault is not None:
            await counterpart.turn(side.fault)


class _Chain:
    """What the daemon does at every tick, without its cloud."""

    def __init__(self, poller: Poller, catalogue: Catalogue, play: _Run) -> None:
        self._poller = poller
        self._catalogue = catalogue
        self._play = play
        self._aggregator = Aggregator(catalogue, tuple(catalogue.groups))
        self._words = {counter.id: source_word(counter) for counter in catalogue.counters.values()}
        self._rooms = {
            group: GroupRuntime(id=group, definition=a_definition(), state=GroupState(desired=DESIRED))
            for group in catalogue.groups
        }

    async def tick(self, tick: int) -> None:
        play, began = self._play, self._play.clock()
        joined = {scene.group for scene in play.scenes if tick >= scene.joins}
        rosters = {group: _roster(group, play.sides[group]) for group in self._rooms if group in joined}
        scrape = play.spoil(await self._poller.poll(self._catalogue, rosters, timeout=DEADLINE))
        play.took.append(play.clock().steady - began.steady)
        frames = self._aggregator.take(scrape)
        scrape = without(scrape, self._aggregator.outside(), self._catalogue.counters)
        hearing = hearing_of(scrape.layout, self._words)
        for group, room in self._rooms.items():
            listen(room, scrape, hearing, INTERVAL)
            evaluation = evaluate(self._catalogue, group, frames[group], room.holds, scrape.at)
            size = room.state.desired or 0
            fleet = Fleet(listed=True, marked=size, in_service=size, creates_left=10, back_off_until=None)
            requests = requests_from(self._catalogue, evaluation)
            decision = decide(
                self._catalogue.groups[group], requests, fleet, room.state, scrape.at, evaluation=evaluation
            )
            held = evaluation.holds
            room.state, room.holds = decision.state, restarted(held) if decision.restarts_holds else held
            seen = _seen(scrape, group, play.sides[group], room.state.desired or 0) if group in joined else None
            play.seen.setdefault(group, []).append(seen)


def _seen(scrape: Scrape, group: str, side: Side, desired: int) -> Seen:
    rows = [row for row, series in enumerate(scrape.layout.series) if series.group == group]
    names = [scrape.layout.series[row].member for row in rows]
    return Seen(
        replies=tuple(Reply(int(scrape.reply[row])) for row in rows),
        values=tuple(float(scrape.value[row]) for row in rows),
        true=tuple(side.value(name or next(iter(side.members))) for name in names),
        late=tuple(float(scrape.replied_at[row]) - scrape.at.steady for row in rows if scrape.reply[row] == Reply.OK),
        details=tuple(scrape.details.get(row, "") for row in rows),
        desired=desired,
    )


# What must have happened


def expected_sizes(column: Column, scene: Scene, cell: Cell) -> Sequence[int]:
    """The desired size after each tick from the one on at which the group's members are there."""
    desired, sizes = DESIRED, []
    held = {True: 0, False: 0}
    """TRUE ticks in a row, of what grows and of what shrinks."""
    for tick in range(scene.joins, ticks(column)):
        for grows, before in tuple(held.items()):
            value = _known(column, scene, cell, tick, grows=grows)
            true = value is not None and (value > 80 if grows else value < 30)
            gap = tick == BEGINS and scene.fault is Fault.SUSPEND
            now = held[grows] = (0 if gap else before) + 1 if true else 0
            if now == HELD and desired == DESIRED:  # a quiet time outlasts the run
                desired += 1 if grows else -1
        sizes.append(desired)
    return sizes


def _known(column: Column, scene: Scene, cell: Cell, tick: int, *, grows: bool) -> float | None:
    """What a policy can know of the load at a tick; ``None``: nothing. What only grows may go by half of them."""
    ends, rising = BEGINS + column.lasts, scene.kind is CounterKind.RISING
    truth = scene.load(BEGINS - 1 if isinstance(cell, Fails) and stands(column, scene, tick) else tick)
    never_heard = scene.phase is Phase.START and isinstance(cell, Fails)
    if rising and tick == (ends if never_heard else scene.joins):
        return None
    match cell:
        case Fails(half=half, lingers=lingers):
            begins = BEGINS if rising else BEGINS + _stands(column, scene)
            return None if begins <= tick < ends + lingers and not (half and grows) else truth
        case Unrated(throughout=True):
            return None if BEGINS <= tick < ends else truth
        case Unrated(ends=both):
            return None if tick == BEGINS or (both and tick == ends) else truth
        case Overstated():
            return float("inf") if tick == BEGINS and scene.joins < tick else truth
        case _:
            return truth


def expected_replies(column: Column, scene: Scene, cell: Cell, tick: int) -> tuple[Reply, ...]:
    """Of the group's members at a tick."""
    members = 1 if column.per is Per.GROUP else len(MEMBERS)
    if not isinstance(cell, Fails) or not outage(column, scene, cell)[0] <= tick < outage(column, scene, cell)[1]:
        return (Reply.OK,) * members
    unheard = scene.phase is Phase.START and scene.fault is not Fault.OUTSIDE_RANGE
    reply = column.at_start if unheard and column.at_start is not None else cell.reply
    return (Reply.OK, reply) if cell.half else (reply,) * members


def outage(column: Column, scene: Scene, cell: Fails) -> tuple[int, int]:
    """The first tick without an answer, and the first one with an answer again."""
    return BEGINS + _stands(column, scene), BEGINS + column.lasts + cell.lingers


def stands(column: Column, scene: Scene, tick: int) -> bool:
    """Whether the last answer before the fault still is one."""
    return BEGINS <= tick < BEGINS + _stands(column, scene)


def _stands(column: Column, scene: Scene) -> int:
    replaced = scene.fault is Fault.OUTSIDE_RANGE  # the new answer stands in place of the old one
    return 0 if replaced or scene.phase is Phase.START else column.stands


# The model


MEMBERS: Mapping[str, str] = {"a-1": "127.0.0.1", "a-2": "127.0.0.2"}


def _roster(group: GroupId, side: Side) -> Roster:
    members = side.members
    return Roster(
        group=group,
        members=tuple(
            MemberTarget(name=MemberName(name), address=address, counted=True) for name, address in members.items()
        ),
    )


def _catalogue(column: Column, scenes: Sequence[Scene], declared: Mapping[str, Declared]) -> Catalogue:
    conditions, policies, kinds = {}, {}, {scene.group: scene.kind for scene in scenes}
    ranged = {scene.group for scene in scenes if scene.fault is Fault.OUTSIDE_RANGE}
    for group in declared:
        for name, compare, threshold, verb in (
            ("busy", Compare.ABOVE, 80.0, AdjustmentVerb.ADD),
            ("idle", Compare.BELOW, 30.0, AdjustmentVerb.REMOVE),
        ):
            condition, policy = ConditionId(f"{name}-{group}"), PolicyId(f"{name}-{group}")
            conditions[condition] = Condition(
                id=condition, counter=CounterId(group), compare=compare, threshold=threshold
            )
            policies[policy] = Policy(
                id=policy,
                when=(condition,),
                duration=60.0,
                quiet_time=7200.0,
                adjustment=Adjustment(verb=verb, amount=1),
            )
    servers = [one.server for one in declared.values() if one.server is not None]
    balancers = [one.balancer for one in declared.values() if one.balancer is not None]
    clouds = [one.cloud for one in declared.values() if one.cloud is not None]
    return Catalogue(
        digest="",
        sources={server.id: server for server in servers},
        counters={
            CounterId(group): Counter(
                id=CounterId(group),
                source=one.source,
                per=column.per,
                kind=kinds[group],
                range=(0.0, 100.0) if group in ranged else None,
            )
            for group, one in declared.items()
        },
        conditions=conditions,
        policies=policies,
        clouds={cloud.id: cloud for cloud in clouds},
        balancers={balancer.id: balancer for balancer in balancers},
        profiles={ProfileId(group): _profile(group, one) for group, one in declared.items()},
        groups={GroupId(group): _group(group, one) for group, one in declared.items()},
        sites={},
    )


def _profile(group: str, declared: Declared) -> Profile:
    access = {} if declared.snmp is None else {"snmp": declared.snmp}
    cloud = CloudId("box") if declared.cloud is None else declared.cloud.id
    return Profile(id=ProfileId(group), cloud=cloud, recipe=ProcessRecipe(command=("serve",)), **access)


def _group(group: str, declared: Declared) -> Group:
    return Group(
        id=GroupId(group),
        profile=ProfileId(group),
        balancers=() if declared.balancer is None else (BalancerUse(balancer=declared.balancer.id, port=80),),
        minimum=1,
        maximum=10,
        interval=INTERVAL,
        policies=(PolicyId(f"busy-{group}"), PolicyId(f"idle-{group}")),
    )


def _secret(ref: SecretRef) -> str:
    return SECRET


class _Lines(logging.Handler):
    """Keeps every line, whichever logger writes it."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.tick = 0
        self.kept: list[tuple[int, logging.LogRecord]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append((self.tick, record))


@contextlib.contextmanager
def _log() -> Iterator[_Lines]:
    lines, root, ours = _Lines(), logging.getLogger(), logging.getLogger("trimtab")
    level, spreads = ours.level, ours.propagate
    root.addHandler(lines)
    ours.setLevel(logging.INFO)
    ours.propagate = True
    try:
        yield lines
    finally:
        root.removeHandler(lines)
        ours.setLevel(level)
        ours.propagate = spreads


# Mistakes


def zeros_for_silence() -> Callable[[Scrape], Scrape]:
    """The mistake that all of this is about: what did not come is taken for a zero."""
    return lambda scrape: _filled(scrape, np.zeros(len(scrape.layout.series)))


def last_value_for_silence() -> Callable[[Scrape], Scrape]:
    """Its sister: what did not come is what it was."""
    last: dict[Series, float] = {}

    def filled(scrape: Scrape) -> Scrape:
        for row in np.flatnonzero(scrape.reply == Reply.OK):
            last[scrape.layout.series[row]] = float(scrape.value[row])
        return _filled(scrape, np.array([last.get(series, np.nan) for series in scrape.layout.series]))

    return filled


def _filled(scrape: Scrape, instead: Floats) -> Scrape:
    lost = (scrape.reply != Reply.OK) & ~np.isnan(instead)
    return replace(
        scrape,
        value=np.where(lost, instead, scrape.value),
        replied_at=np.where(lost, scrape.at.steady, scrape.replied_at),
        reply=np.where(lost, Reply.OK, scrape.reply).astype(np.uint8),
    )
