"""What can go wrong between us and what answers: the words of the faults suite, and what each case must come to."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from collector.boards.alerts import Board
from collector.boards.pushes import Pushes
from collector.clients.http.client import HttpClient
from collector.samples import Reply
from collector.targets import Source
from config.model.access import ServerSource, SnmpAccess
from config.model.balancers import Balancer
from config.model.catalogue import Cloud
from config.model.counters import CounterKind, CounterSource, Per
from config.units import Moment

SECRET = "tr4p-s3cret-9f2c"
"""What every source is let in with, and what every source that can repeats in answers that are no answers."""
INTERVAL = 30.0
HOUR = 3600.0


class Fault(enum.Enum):
    REFUSED = "refused"
    TIMEOUT = "timeout"
    SLOW = "slow"
    """An answer comes, late in the poll."""
    DRIPPING = "dripping"
    """An answer begins, and goes on for ever."""
    EMPTY = "empty"
    NOT_FINITE = "NaN or inf"
    WRONG_TYPE = "wrong type"
    OUTSIDE_RANGE = "outside the range"
    """A number, of a right form and in time, that the counter's range rules out."""
    TRUNCATED = "truncated"
    GARBAGE = "garbage"
    AUTH = "auth error"
    RATE_LIMITED = "rate limited"
    STALE = "stale"
    """An answer, and always the same one."""
    HALF = "half of the members"
    COUNTER_RESET = "counter reset"
    SOURCE_AHEAD = "source's clock ahead"
    SOURCE_BEHIND = "source's clock behind"
    WALL_AHEAD = "our clock +1 h"
    WALL_BEHIND = "our clock -1 h"
    SUSPEND = "suspend"
    """Our machine sleeps for an hour, and the steady clock has counted it."""
    SUSPEND_UNCOUNTED = "suspend, not counted"
    """The same with a steady clock that stood still meanwhile, as on systems without CLOCK_BOOTTIME."""


OUR_CLOCKS = (Fault.WALL_AHEAD, Fault.WALL_BEHIND, Fault.SUSPEND, Fault.SUSPEND_UNCOUNTED)
"""They happen to us, and so to all groups at once."""
OF_COUNTS = (Fault.COUNTER_RESET, Fault.STALE, Fault.SOURCE_AHEAD, Fault.SOURCE_BEHIND, *OUR_CLOCKS)
"""What can be another matter where a count rises for ever."""


class Phase(enum.Enum):
    START = "start"
    STEADY = "steady"
    MID_DURATION = "mid-duration"
    JUST_BEFORE_FIRING = "just before firing"


# What must become of a case


@dataclass(frozen=True, slots=True)
class Fails:
    """No answer, and this is what it is called."""

    reply: Reply
    half: bool = False
    """Of the second member only."""
    lingers: int = 0
    """Ticks for which it lasts beyond the fault."""


@dataclass(frozen=True, slots=True)
class Harmless:
    """The answers are the true ones, and nothing is told."""

    why: str


@dataclass(frozen=True, slots=True)
class Unrated:
    """Answers come, but no rate can be told from them: at the first of them, and where the fault ends."""

    why: str
    throughout: bool = False
    """At every one while the fault lasts."""
    ends: bool = True
    """Also where it ends."""


@dataclass(frozen=True, slots=True)
class Overstated:
    """A rate that is far too great, once: nothing tells how long it took to rise so far."""

    why: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """This source cannot have this fault."""

    why: str


Cell = Fails | Harmless | Unrated | Overstated | Impossible
Cells = Mapping[Fault, Cell]

OURS: Cells = {
    Fault.WALL_AHEAD: Harmless("durations and ages are counted by the steady clock"),
    Fault.WALL_BEHIND: Harmless("durations and ages are counted by the steady clock"),
    Fault.SUSPEND: Harmless("the next answer is a true one; that what was between is not known shows in the hold"),
    Fault.SUSPEND_UNCOUNTED: Harmless("both answers are true ones; on Linux the clock counts what lies between"),
}
"""What our own clocks do to gauges, whatever the source."""
_IMPOSSIBLE_VALUE = Fails(Reply.OUTSIDE_RANGE)
"""The same with every source: it is judged in one place, after all of them."""
NO_TIMES = Impossible("its answers carry no time: an old one cannot be told from a new one")


# The sources and members that answer


@dataclass(slots=True, kw_only=True)
class Side:
    """What is true of one group, and what is wrong with its source."""

    group: str
    members: Mapping[str, str]
    """Name → address; sorted."""
    rising: bool
    load: float = 50.0
    fault: Fault | None = None
    counts: dict[str, float] = field(default_factory=dict)
    running: float = 50_000.0
    """How long the process that counts has run."""
    started: int = 0
    """How often it has begun anew."""
    clock: float = 1_795_000_000.0
    """Its wall clock: that it is not ours in the least must not matter."""
    earlier: tuple[Mapping[str, float], float] = ({}, 0.0)
    """Counts and running time an interval ago."""
    frozen: tuple[Mapping[str, float], float] | None = None
    """What is shown instead of those of now."""
    spoil: Callable[[bytes], bytes] = bytes
    """What becomes of an honest answer on its way."""
    wire: Callable[[bytes], bytes] = bytes
    """What becomes of a response over HTTP, with its head."""

    @property
    def uptime(self) -> float:
        """As an honest answer has it, or one that was given before."""
        return self.running if self.frozen is None else self.frozen[1]

    def go_on(self, seconds: float) -> None:
        """Live so long under the load."""
        self.earlier = dict(self.counts), self.running
        for place, name in enumerate(self.members):
            self.counts[name] = self.counts.get(name, 1000.0) + self._level(place) * seconds
        self.running += seconds
        self.clock += seconds

    def reset(self, *, tells_uptime: bool) -> None:
        """Begin to count anew; who can tell has been quick, and is already a little beyond where it was."""
        self.started += 1
        self.running = 4.0
        self.counts = {
            name: count - self.load * INTERVAL + 20.0 if tells_uptime else 3.0 for name, count in self.counts.items()
        }

    def value(self, name: str) -> float:
        """What an answer of this member has; an honest one, unless it is outside the range."""
        if self.fault is Fault.OUTSIDE_RANGE:
            return -1.0
        if self.rising:
            return (self.counts if self.frozen is None else self.frozen[0])[name]
        return self._level(list(self.members).index(name))

    def _level(self, place: int) -> float:
        return self.load + 0.25 * place


class Declared(NamedTuple):
    """What a model says to have one group's counter."""

    source: CounterSource
    server: ServerSource | None = None
    balancer: Balancer | None = None
    snmp: SnmpAccess | None = None
    cloud: Cloud | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenery:
    """What the counterparts of one run and its source have in common."""

    home: Path
    http: HttpClient
    board: Board
    pushes: Pushes


class Counterpart(Protocol):
    """Answers for one side, as its fault says."""

    async def open(self) -> Declared:
        """Begin to answer."""

    async def turn(self, fault: Fault | None) -> None:
        """Another fault, or none any more; the side has it already."""

    def tell(self, now: Moment) -> None:
        """Just before a poll: those who speak by themselves do."""

    async def close(self) -> None:
        """Be gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One source, and what each fault comes to there."""

    name: str
    kind: type[CounterSource]
    made: Callable[[Scenery], Source]
    counterpart: Callable[[Side, Scenery], Counterpart]
    gauges: Cells
    counts: Cells | str
    """Of rising counters; a text: why there are none."""
    per: Per = Per.MEMBER
    tells_uptime: bool = False
    stands: int = 0
    """For how many intervals the last answer goes on being one."""
    at_start: Reply | None = None
    """What it is called where there has never been an answer, if that is another word."""
    phases: Sequence[Phase] = tuple(Phase)

    def cell(self, fault: Fault, kind: CounterKind) -> Cell | None:
        """What a fault comes to; ``None``: not declared."""
        if kind is CounterKind.GAUGE:
            return self.gauges.get(fault, _IMPOSSIBLE_VALUE if fault is Fault.OUTSIDE_RANGE else None)
        return Impossible(self.counts) if isinstance(self.counts, str) else self.counts.get(fault)

    @property
    def lasts(self) -> int:
        """Ticks that a fault lasts here: three, beyond those for which the last answer is good."""
        return 3 + self.stands
