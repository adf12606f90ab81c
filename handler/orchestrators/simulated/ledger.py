"""The file in which a simulated cloud outlives the daemon, as a real one would: one line of JSON per change.

Several drivers may have it open (that of an old declaration and that of the new one): each call takes the lock, reads
what others have written since, and appends its changes. The file is not synced: when a machine loses power, its
simulated cloud may forget the last changes.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from config.errors import Permanent, Transient
from config.model.simulation import Behaviour
from config.units import Instant
from handler.orchestrators.simulated.machines import SimulatedMachine
from handler.orchestrators.simulated.played_parts import PlayedPart
from handler.orchestrators.simulated.simulation import Simulation
from handler.planning.world import ServerState

_SPARE = 1000
"""Lines, beside two for each server, after which the file is rewritten without outdated ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A cloud's progress."""

    began: Instant
    until: Instant
    made: int


Kept = Stamp | SimulatedMachine | PlayedPart
"""The subjects of a line."""


def line_of(what: Kept) -> str:
    """Write one line; the last line about a subject counts.

    >>> line_of(SimulatedMachine(name="web-k3f9ab-1", number=1, turns=((Instant(9.5), ServerState.BUILDING),)))
    '{"name":"web-k3f9ab-1","number":1,"turns":[[9.5,"building"]],"gone_at":null}'
    """
    match what:
        case Stamp():
            document: dict[str, object] = {"began": what.began, "until": what.until, "made": what.made}
        case SimulatedMachine():
            turns = [(at, state.value) for at, state in what.turns]
            document = {"name": what.name, "number": what.number, "turns": turns, "gone_at": what.gone_at}
            document |= {"claim": what.claim} if what.claim else {}
        case PlayedPart():
            document = {"part": what.name, "member": what.member, "number": what.number, "there": what.there}
        case _:
            assert_never(what)
    return json.dumps(document, separators=(",", ":"))


def read_line(line: bytes) -> Kept:
    """Read what `line_of` wrote.

    Raises:
        ValueError: the line has another form.
    """
    match json.loads(line):
        case {"began": float(began), "until": float(until), "made": int(made)}:
            return Stamp(began=Instant(began), until=Instant(until), made=made)
        case {
            "name": str(name),
            "number": int(number),
            "turns": [_, *_] as turns,
            "gone_at": float() | None as gone,
            **others,
        }:
            return SimulatedMachine(
                name=name,
                number=number,
                turns=tuple(map(_turn, turns)),
                gone_at=None if gone is None else Instant(gone),
                claim=str(others.get("claim", "")),
            )
        case {"part": str(name), "member": str(member), "number": int(number), "there": bool(there)}:
            return PlayedPart(number=number, member=member, name=name, there=there)
        case _:
            raise ValueError("neither a server, nor a part, nor a stamp")


def _turn(written: object) -> tuple[Instant, ServerState]:
    match written:
        case [float(at), str(word)]:
            return Instant(at), ServerState(word)
        case _:
            raise ValueError("not a turn")


class SimulationLedger:
    """One file, read to its end. Not for several threads at a time."""

    def __init__(self, path: Path, behaviour: Behaviour, clock: Callable[[], Instant]) -> None:
        self._path = path
        self._behaviour = behaviour
        self._clock = clock
        self._file: int | None = None
        self._simulation: Simulation | None = None
        self._read = 0
        """Bytes of the file that the simulation knows."""
        self._lines = 0

    @contextmanager
    def turn(self) -> Iterator[tuple[Simulation, Instant]]:
        """Yield the present cloud and the time; then store its changes.

        Raises:
            Transient: the file cannot be reached or written; nothing has changed.
            Permanent: it is damaged.
        """
        try:
            with self._locked() as file:
                now = self._clock()
                simulation, self._simulation = self._caught_up(file, now), None
                due = _due(simulation)
                yield simulation, now
                stamps = [_stamp(simulation)] if _due(simulation) != due or not self._lines else []
                self._append(file, [*stamps, *simulation.changes(), *simulation.parts.changes()])
                self._simulation = simulation  # unstored changes have not happened: the file is read again
                self._tidy(simulation, now)
        except OSError as error:
            raise Transient(f"the simulated cloud cannot be kept in {self._path}: {error}") from error
        except ValueError as error:
            message = f"line {self._lines} of {self._path} cannot be read; moved away, the cloud begins anew and empty"
            raise Permanent(message) from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
        self._file = self._simulation = None

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file that has the name now, and lock it."""
        while True:
            file = self._opened()
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                if self._is_current(file):
                    yield file
                    return
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)
            self.close()

    def _opened(self) -> int:
        if self._file is None:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self._file

    def _is_current(self, file: int) -> bool:
        """Return whether this is still the file with the name: not rewritten or moved away."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(file))
        except FileNotFoundError:
            return False

    def _caught_up(self, file: int, now: Instant) -> Simulation:
        simulation = self._simulation
        if simulation is None:
            self._read = self._lines = 0
            simulation = Simulation(self._behaviour, now)
        size = os.fstat(file).st_size
        if size > self._read:
            self._take(simulation, os.pread(file, size - self._read, self._read))
        if not self._lines:
            for number in range(1, self._behaviour.foreign + 1):
                simulation.add(f"foreign-{number}", now)
        return simulation

    def _take(self, simulation: Simulation, data: bytes) -> None:
        whole = data.rfind(b"\n") + 1  # an unfinished line was interrupted
        for line in data[:whole].splitlines():
            self._lines += 1
            match read_line(line):
                case Stamp() as stamp:
                    is_first = self._lines == 1
                    simulation.began = stamp.began
                    simulation.until = stamp.until if is_first else max(stamp.until, simulation.until)
                    simulation.made = max(stamp.made, simulation.made)
                case SimulatedMachine() as machine:
                    simulation.put(machine)
                case PlayedPart() as part:
                    simulation.parts.put(part)
        self._read += whole
        simulation.changes()
        simulation.parts.changes()

    def _append(self, file: int, news: Sequence[Kept]) -> None:
        if news:
            if os.fstat(file).st_size > self._read:
                os.ftruncate(file, self._read)
            self._read += _write(file, news)
            self._lines += len(news)

    def _tidy(self, simulation: Simulation, now: Instant) -> None:
        """Rewrite the file if most of it is outdated; other readers notice that theirs has lost its name."""
        if self._lines <= _SPARE + 2 * simulation.size:
            return  # without a look at every server, after each call
        kept: list[Kept] = [_stamp(simulation), *simulation.machines(now), *simulation.parts.there()]
        if self._lines <= _SPARE + 2 * len(kept):
            return
        fresh = self._path.with_suffix(".new")
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write(file, kept)
        finally:
            os.close(file)
        fresh.replace(self._path)


def _due(simulation: Simulation) -> int:
    """Return how much of the script has happened."""
    return sum(simulation.began + incident.at <= simulation.until for incident in simulation.behaviour.script)


def _stamp(simulation: Simulation) -> Stamp:
    return Stamp(began=simulation.began, until=simulation.until, made=simulation.made)


def _write(file: int, news: Sequence[Kept]) -> int:
    data = "".join(line_of(what) + "\n" for what in news).encode()
    written = 0
    while written < len(data):
        written += os.write(file, data[written:])
    return written
