"""The quotas of clouds, shared by the groups that use them, and what each group has reserved.

Note [Shared quotas]: groups converge in parallel, and each pass reads what the quotas leave. So what one group is about
to create is subtracted from what the others see, until the cloud counts it itself.

Note [Counted late]: Nova counts a server some seconds after it has accepted its creation. So each promise holds the
usage once it is counted, including earlier promises, and the first reading with that usage counts it. If other members
leave meanwhile, no reading may ever reach it: so a while after the call has ended, the promise counts anyway.

Quotas are read only when a creation is planned. A reading is valid for a few seconds.
"""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from config.errors import DriverError, Permanent, Transient
from config.model.catalogue import Cloud
from config.units import CloudId, GroupId, Instant, MemberName, Seconds
from handler.convergence.pass_threads import waiting
from handler.convergence.traffic import CloudTraffic
from handler.planning.desired import Definition
from handler.planning.headroom import Headroom, Quota, headroom_of
from handler.planning.step_outcomes import StepOutcome
from handler.planning.steps import Forget
from handler.ports.orchestrator import Metered, Orchestrator, ReportsObstacles
from trigger.moving import moved

_BELIEVED: Seconds = 5.0
_COUNTED_AFTER: Seconds = 10.0
"""How long after its answer a machine is counted at the latest."""
_COUNTED_WITHIN: Seconds = 60.0
"""How long after the call began, though its answer may take minutes."""
_KEPT: Seconds = 60.0
"""For how long capacity stays reserved between two passes for intended members that wait for something else."""

_Key = tuple[CloudId, str]
"""A cloud, and the digest of the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaReading:
    """One reading of a cloud's quotas."""

    turn: int
    """Its place in the order of events here: clocks are too coarse, and may be set back."""
    cloud: Cloud
    """As it was declared then."""
    began: Instant
    ended: Instant
    quotas: tuple[Quota, ...]
    """Empty too if they could not be read: then nothing is known to be in the way."""
    unread: str = ""
    """Why they could not be read."""

    @property
    def used(self) -> Mapping[str, float]:
        """What is used of everything that a new member takes, and that is limited."""
        bounded = (quota for quota in self.quotas if quota.each > 0 and quota.limit.most is not None)
        return {quota.limit.what: quota.limit.used for quota in bounded}

    def stands(self, now: Instant) -> bool:
        """Whether it is young enough."""
        return self.ended <= now <= self.ended + _BELIEVED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promise:
    """Reserved capacity for a member that is about to be created."""

    cloud: CloudId
    takes: Mapping[str, float]
    used: Mapping[str, float]
    """The usage once it is counted."""
    began: Instant | None = None
    """When the creating call began…"""
    ended: Instant | None = None
    """…and when it ended, with any result."""
    until: Instant | None = None
    """When it lapses if no call begins; ``None``: its pass is still running."""

    def owed(self, reading: QuotaReading, shown: Mapping[str, float]) -> Mapping[str, float]:
        """Return what to subtract from a reading: clouds do not count all things at the same time.

        Args:
            reading: of the promise's cloud.
            shown: its `QuotaReading.used`, worked out once for all promises: there may be thousands.
        """
        if self.ended is not None and self.ended + _COUNTED_AFTER < reading.began:
            return {}
        if self.began is not None and self.began + _COUNTED_WITHIN < reading.began:
            return {}
        limited = ((what, used) for what, used in shown.items() if what in self.takes)
        return {what: self.takes[what] for what, used in limited if self.began is None or used < self.used[what]}

    def lapsed(self, now: Instant) -> bool:
        """Return whether no pass has claimed it in time."""
        return self.began is None and self.until is not None and self.until <= now


class _BegunPromises:
    """What a reading does not count yet of all creations that have begun, added up once.

    A breach of all groups at once begins thousands, and each pass asks. For one reading the part of a begun creation
    stays as it is: only what began or ended long before the reading is counted for sure.
    """

    def __init__(self, reading: QuotaReading, begun: Iterable[_Promise]) -> None:
        self.cloud = reading.cloud.id
        self._reading = reading
        self._shown = reading.used
        self.taken = defaultdict[str, float](float)
        for one in begun:
            self.add(one)

    def add(self, one: _Promise) -> None:
        """Add a creation that begins."""
        if one.cloud == self.cloud:
            for what, amount in one.owed(self._reading, self._shown).items():
                self.taken[what] += amount


class Quotas:
    """Reads, shares out and remembers. Any thread may ask."""

    def __init__(
        self, orchestrator_for: Callable[[Cloud], Orchestrator], traffic: CloudTraffic, clock: Callable[[], Instant]
    ) -> None:
        self._orchestrator_for = orchestrator_for
        self._traffic = traffic
        self._clock = clock
        self._lock = threading.Lock()
        self._turns = itertools.count()
        self._asking: defaultdict[CloudId, threading.Lock] = defaultdict(threading.Lock)
        self._readings: dict[_Key, QuotaReading] = {}
        self._outdated: dict[CloudId, int] = {}
        """Turns at which members had gone: what was read before is worth reading anew."""
        self._reserved: dict[GroupId, dict[MemberName, _Promise]] = {}
        """Of each group, for members whose creation has not begun."""
        self._begun: dict[MemberName, _Promise] = {}
        """For members whose creation has begun."""
        self._added_up: dict[int, _BegunPromises] = {}
        """By the turn of a reading."""
        self._unread: set[CloudId] = set()

    def follow(self, step: Seconds) -> None:
        """Keep what is left of every promise, and read quotas anew: the clock was set by ``step``."""
        with self._lock:
            self._readings.clear()
            self._added_up.clear()
            self._begun = dict(moved(self._begun, Mapping[MemberName, _Promise], step))
            self._reserved = {
                group: dict(moved(some, Mapping[MemberName, _Promise], step)) for group, some in self._reserved.items()
            }

    # Reading.

    def _known(self, definition: Definition) -> QuotaReading | None:
        """What was read a moment ago, by any pass."""
        with self._lock:
            reading = self._readings.get((definition.cloud.id, definition.profile_digest))
            outdated = self._outdated.get(definition.cloud.id, -1)
        if reading is None or reading.turn < outdated or reading.cloud != definition.cloud:
            return None
        return reading if reading.stands(self._clock()) else None

    def read(self, definition: Definition) -> QuotaReading | None:
        """Return a recent or a new reading of the quotas; ``None``: this cloud shows none, or not now."""
        orchestrator = self._orchestrator_for(definition.cloud)
        if not isinstance(orchestrator, Metered):
            return None
        with self._lock:
            asking = self._asking[definition.cloud.id]
        with waiting(), asking:
            known = self._known(definition)
            return self._asked(definition, orchestrator) if known is None else known

    def _asked(self, definition: Definition, orchestrator: Metered) -> QuotaReading | None:
        turn, began, cloud = next(self._turns), self._clock(), definition.cloud
        quotas, unread = tuple[Quota, ...](), ""
        try:
            with self._traffic.look(cloud, self._clock) as may:
                if not may:
                    return None
                quotas = tuple(orchestrator.quotas(definition.profile))
        except DriverError as error:
            unread = str(error)
        ended = self._clock()
        reading = QuotaReading(turn=turn, cloud=cloud, began=began, ended=ended, quotas=quotas, unread=unread)
        self._take_in(definition, reading)
        return reading

    def _take_in(self, definition: Definition, reading: QuotaReading) -> None:
        """Keep a reading, and no promise that it and all others of its cloud count already."""
        cloud = definition.cloud.id
        with self._lock:
            kept = {key: one for key, one in self._readings.items() if one.stands(reading.ended)}
            self._readings = {**kept, (cloud, definition.profile_digest): reading}
            own = [(one, one.used) for (of, _), one in self._readings.items() if of == cloud and one.quotas]

            def kept_of(some: Mapping[MemberName, _Promise]) -> dict[MemberName, _Promise]:
                return {
                    name: one
                    for name, one in some.items()
                    if one.cloud != cloud
                    or (not one.lapsed(reading.ended) and (not own or any(one.owed(*each) for each in own)))
                }

            self._begun = kept_of(self._begun)
            reserved = ((group, kept_of(some)) for group, some in self._reserved.items())
            self._reserved = {group: some for group, some in reserved if some}
            self._added_up = {turn: each for turn, each in self._added_up.items() if each.cloud != cloud}

    def news(self, reading: QuotaReading | None) -> str:
        """Return why quotas cannot be read, if that is new; otherwise nothing."""
        if reading is None:
            return ""
        cloud = reading.cloud.id
        with self._lock:
            known = cloud in self._unread
            (self._unread.add if reading.unread else self._unread.discard)(cloud)
        return "" if known else reading.unread

    # Reservations. Between `left` and `promise` no other group may reserve any.

    def left(self, group: GroupId, reading: QuotaReading | None) -> Headroom | None:
        """Return what a group may create now; ``None``: no limit is known.

        The group may also use what is reserved for its own members.
        """
        if reading is None or not reading.quotas:
            return None
        return headroom_of(reading.quotas, self._promised(group, reading))

    def promise(self, group: GroupId, reading: QuotaReading | None, names: Iterable[MemberName]) -> None:
        """Reserve capacity for these members, which a group is about to create or has intended, and no others."""
        promised: dict[MemberName, _Promise] = {}
        if reading is not None and reading.quotas:
            takes = {quota.limit.what: quota.each for quota in reading.quotas}
            before = self._promised(group, reading)
            base = {quota.limit.what: quota.limit.used + before.get(quota.limit.what, 0.0) for quota in reading.quotas}
            for number, name in enumerate(dict.fromkeys(names), 1):
                used = {what: base[what] + number * each for what, each in takes.items()}
                promised[name] = _Promise(cloud=reading.cloud.id, takes=takes, used=used)
        with self._lock:
            self._reserved.pop(group, None)
            if promised:
                self._reserved[group] = promised
            if not self._begun.keys().isdisjoint(promised):  # a creation is tried again
                self._begun = {name: one for name, one in self._begun.items() if name not in promised}
                self._added_up.clear()

    def _promised(self, group: GroupId, reading: QuotaReading) -> Mapping[str, float]:
        """Return what will be used and is not in the reading yet, without the group's own unused reservations."""
        now, shown = self._clock(), reading.used
        with self._lock:
            begun = self._added_up.get(reading.turn)
            if begun is None:
                begun = self._added_up[reading.turn] = _BegunPromises(reading, self._begun.values())
            taken = begun.taken.copy()
            others = [one for of, some in self._reserved.items() if of != group for one in some.values()]
        for one in others:
            if one.cloud == reading.cloud.id and not one.lapsed(now):
                for what, amount in one.owed(reading, shown).items():
                    taken[what] += amount
        return taken

    @contextmanager
    def making(self, group: GroupId, name: MemberName) -> Iterator[None]:
        """Mark the beginning and the end of the call that creates a group's member."""
        self._begin(group, name)
        try:
            yield
        finally:
            with self._lock:
                if name in self._begun:
                    self._begun[name] = replace(self._begun[name], ended=self._clock())

    def _begin(self, group: GroupId, name: MemberName) -> None:
        with self._lock:
            reserved = self._reserved.get(group, {}).pop(name, None)
            one = self._begun.get(name) if reserved is None else reserved
            if one is None:
                return
            self._begun[name] = replace(one, began=self._clock())
            if reserved is not None:
                for each in self._added_up.values():
                    each.add(self._begun[name])

    def passed(self, group: GroupId, cloud: CloudId, outcomes: Iterable[StepOutcome]) -> None:
        """End a pass: its unused reservations stay for a while, for the next pass.

        After members have gone, the reading is outdated.
        """
        until = Instant(self._clock() + _KEPT)
        with self._lock:
            if any(isinstance(outcome.step, Forget) for outcome in outcomes):
                self._outdated[cloud] = next(self._turns)
            reserved = self._reserved.get(group, {})
            reserved.update({name: replace(one, until=until) for name, one in reserved.items() if one.until is None})


def obstacles_of(
    orchestrator: Orchestrator, definition: Definition, traffic: CloudTraffic, clock: Callable[[], Instant]
) -> tuple[str, ...]:
    """Return the obstacles that a cloud reports for a group; where it does not answer, other calls report that."""
    if not isinstance(orchestrator, ReportsObstacles):
        return ()
    try:
        with waiting(), traffic.look(definition.cloud, clock) as may:
            return tuple(orchestrator.obstacles(definition.profile)) if may else ()
    except Permanent as error:
        return (str(error),)
    except Transient:
        return ()
