"""Three workers of a cloud on the wire and one worker of its own machine, over one pair of databases: rounds of faults.

What was seen in each round is kept as values; what is wrong is kept as words, and the run goes on.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.support.mixed_rounds import Act, Blow, Round
from tests.support.postgresql_pair import a_pair
from tests.support.waiting import scaled, until
from tests.support.worker_faults import Ground, a_network, a_small_disk, befall
from tests.support.worker_fleets import INTERVALS, Fleet, MachineCloud, WireCloud, file_of, loads, settled
from tests.support.worker_watch import Ticks
from tests.support.workers import CallingWire, WorkersBed

_LATE = 10.0
"""Seconds beyond its interval within which every group is evaluated again."""
_WORKERS = {"cloud": "abc", "machine": "m"}


@dataclass(frozen=True, slots=True)
class Wait:
    """The longest time for which a group was not evaluated, from when there was a worker and a database for it."""

    fleet: str
    group: str
    lasted: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What was measured in one round."""

    played: Round
    took: float
    takeovers: tuple[tuple[Blow, float], ...]
    """Fault, and seconds from it until the lease was taken anew, where it was."""
    waits: tuple[Wait, ...]

    def __str__(self) -> str:
        leases = "".join(f", lease taken after {seconds:.1f} s" for _, seconds in self.takeovers)
        waits = ", ".join(f"{wait.fleet}.{wait.group} {wait.lasted:.1f}" for wait in self.waits)
        return f"took {self.took:.1f} s{leases}; without evaluation: {waits}"


@dataclass
class MixedBed:
    """The ground, what happened on it, and what is wrong."""

    ground: Ground
    wire: CallingWire
    say: Callable[[str], object]
    seen: list[Seen] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    blind: int = 0
    """How often a group said that it is blind, when it had to."""
    _ticks: dict[str, Ticks] = field(default_factory=lambda: defaultdict(Ticks))
    _read: Counter[str] = field(default_factory=Counter)

    def play(self, rounds: Iterable[Round]) -> None:
        """Play rounds, one after the other, and say what comes of each; of one that never ends, what workers logged."""
        for fleet in self.ground.fleets.values():
            fleet.bed.holder()
            fleet.bed.watch()
        settled(self.ground.fleets)
        try:
            for number, drawn in enumerate(rounds, 1):
                self.say(f"{number}, {time.time():.0f}: {drawn}\n")
                known = len(self.wrong)
                self.seen.append(self._play(drawn))
                self.say("".join(f"   {line}\n" for line in (str(self.seen[-1]), *self.wrong[known:])))
        except BaseException:
            self._show_logs()
            raise

    def ticks(self, name: str) -> Ticks:
        """The ticks of a fleet, as far as they are written."""
        read = f"SELECT at, body FROM watch.ticks ORDER BY at OFFSET {self._read[name]}"  # noqa: S608 - a number
        rows = self.ground.fleets[name].bed.rows(read)
        self._read[name] += len(rows)
        self._ticks[name].take((at, body) for at, body in rows)
        return self._ticks[name]

    def _play(self, drawn: Round) -> Seen:
        time.sleep(drawn.pause)
        began, hit = time.time(), self.ground.fleets[drawn.blows[0].fleet]
        before = set(hit.members())
        for fleet in self.ground.fleets.values():
            _begin(fleet, drawn)
        until(lambda: len(before ^ set(hit.members())) >= drawn.after, every=0.005)
        failed, since = list[float](), dict.fromkeys(self.ground.fleets, 0.0)
        for blow in drawn.blows:
            failed.append(time.time())
            back = befall(self.ground, blow)
            since = {name: max(at, back if blow.hits(name) else failed[-1]) for name, at in since.items()}
        over = time.time()
        settled(self.ground.fleets)
        waits = list[Wait]()
        for name in self.ground.fleets:
            waits.extend(self._evaluated(name, since[name], over))
            self._says_blind(name, failed[0])
        self._check(waits)
        return Seen(drawn, time.time() - began, tuple(self._takeovers(drawn, failed)), tuple(waits))

    def _takeovers(self, drawn: Round, begun: Sequence[float]) -> Iterator[tuple[Blow, float]]:
        """Yield after how long the lease was taken from when each fault began until the next one did."""
        for blow, (began, end) in zip(drawn.blows, pairwise((*begun, math.inf)), strict=True):
            taken = [at for at in self.taken(self.ground.fleets[blow.fleet], began) if at < end]
            if taken:
                yield blow, taken[0] - began

    def _evaluated(self, name: str, since: float, over: float) -> Iterator[Wait]:
        """Wait until each group was evaluated after all is over, and tell for how long none was since it could be."""
        for group, interval in INTERVALS.items():
            until(lambda group=group: bool(self.ticks(name).of(group, over)), every=0.1)
            yield Wait(name, group, self._ticks[name].longest_wait(group, since, interval))

    def _says_blind(self, name: str, failed: float) -> None:
        """Ask a group whose newest tick came too late to go on what it says.

        A holder that was without its database has its windows all the same; only what held begins anew.
        """
        fleet = self.ground.fleets[name]
        gaps = self.ticks(name).gaps("calm", failed - INTERVALS["calm"])
        newest = self._ticks[name].of("calm")[-1]
        if not gaps or gaps[-1][1] is not newest or not self.taken(fleet, gaps[-1][0].at):
            return
        said = fleet.bed.holder().json("why", "calm")
        if self.ticks(name).of("calm")[-1] is not newest:
            return  # it has been evaluated again meanwhile
        if said["explanation"]["policies"][0]["reason"] == "blind":
            self.blind += 1
        else:
            self.wrong.append(f"calm of {name} does not say that it is blind: {said['words']}")

    def taken(self, fleet: Fleet, since: float = 0.0) -> list[float]:
        """Return when a worker took the lease since an instant."""
        rows = fleet.bed.rows(f"SELECT at FROM watch.leases WHERE at > {since} ORDER BY at")  # noqa: S608 - a number
        return [at for (at,) in rows]

    def _check(self, waits: Iterable[Wait]) -> None:
        self.wrong.extend(
            f"{wait.group} of {wait.fleet} was not evaluated for {wait.lasted:.1f} s"
            for wait in waits
            if wait.lasted > INTERVALS[wait.group] + scaled(_LATE)
        )
        for name, fleet in self.ground.fleets.items():
            self.wrong.extend(f"{member} of {name} is twice" for member in fleet.twice())
            self.wrong.extend(f"{name}: a commit under an old epoch: {mark}" for mark in fleet.bed.stale_marks())

    def _show_logs(self) -> None:
        for fleet in self.ground.fleets.values():
            for name, worker in fleet.bed.workers.items():
                lines = worker.log.read_text().splitlines()[-40:]
                self.say("\n".join((f"\nworker {name}:", *lines, "")))


def _begin(fleet: Fleet, drawn: Round) -> None:
    if drawn.act is Act.ROLL:
        fleet.roll()
    else:
        fleet.resize(drawn.size)


@contextlib.contextmanager
def a_mixed_bed(say: Callable[[str], object]) -> Iterator[MixedBed]:
    """Workers that run, each fleet with its members."""
    with contextlib.ExitStack() as undo:
        here, there = (undo.enter_context(a_small_disk()) for _ in range(2))
        network = undo.enter_context(a_network("".join(_WORKERS.values())))
        pair = undo.enter_context(a_pair(here, there, trusted=network.whole))
        place = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="trimtab-w-")))
        wire, fleets = CallingWire(), dict[str, Fleet]()
        endpoint, load = undo.enter_context(wire.serving()), undo.enter_context(loads(fleets))
        for name, workers in _WORKERS.items():
            (place / name).mkdir()
            bed = WorkersBed(pair.primary, place / name, database=name)
            undo.callback(bed.clear)
            for worker in workers:
                bed.worker(worker)

            def file(worker: str, cloud: str, name: str = name) -> str:
                return file_of(pair.url(network.address(worker), name), cloud, f"{load}/{name}")

            members = WireCloud(wire, endpoint) if name == "cloud" else MachineCloud(workers, bed)
            fleets[name] = Fleet(bed, members, file)
        for fleet in fleets.values():
            fleet.declare()
            for each in fleet.bed.workers.values():
                each.start()
        yield MixedBed(Ground(pair, fleets, network), wire, say)
