"""The registry: which process is which member, by a line on disk and by the mark in the environment.

The mark alone does not suffice. A program that sets its own title writes over its environment and would vanish from
the listing; a child that begins a session of its own bears its parent's mark and would outlive it. A line names the
one process, and stands before the member's program runs. The mark finds a member whose line was lost.

A line is a symbolic link, ``NAME → pid:started:boot:address``: it appears whole or not at all, and needs no block of a
full disk. Only one Trimtab writes it: the state directory is locked.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from config.units import MemberName
from handler.orchestrators.process import procfs
from handler.orchestrators.process.marks import PREFIX, ProcessMark
from handler.planning.launches import LaunchId


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedProcess:
    """A living process that bears a mark."""

    mark: ProcessMark
    process: procfs.Process


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProcess:
    """The process that was given a name, gone or not."""

    mark: ProcessMark
    pid: int
    started: int
    boot: str

    @property
    def leader(self) -> procfs.Process:
        """What leads (or led) the member's session."""
        return procfs.Process(pid=self.pid, session=self.pid, started=self.started, state="")

    def bearer(self) -> MarkedProcess | None:
        """The process as it is now; ``None`` if it has ended, is a zombie, or its pid is another's."""
        process = procfs.look(self.pid) if self.boot == procfs.boot() else None
        if process is None or process.started != self.started or not process.alive:
            return None
        return MarkedProcess(mark=self.mark, process=process)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryScan:
    """All members and their processes at one moment."""

    members: Mapping[MemberName, MarkedProcess]
    """Members of this installation."""
    addresses: frozenset[str]
    """Addresses of all processes of our user, of any installation."""
    ended: Mapping[MemberName, NamedProcess]
    """Registered members whose own process has ended."""
    gone: Mapping[MemberName, NamedProcess]
    """Those of them without any process left, not even a child with the name."""
    strays: tuple[MarkedProcess, ...]
    """Leaders of sessions that children of those began, and that go on."""


class ProcessRegistry:
    """The members of one installation. Every method raises `OSError` if it cannot look, and never says "none"."""

    def __init__(self, directory: Path, installation: str) -> None:
        self._directory = directory
        self._installation = installation

    def scan(self) -> RegistryScan:
        """Read all members, once."""
        lines = self._lines()
        here = {name: bearer for name, line in lines.items() if (bearer := line.bearer()) is not None}
        strays = _strays(frozenset(bearer.process.pid for bearer in here.values()))
        addresses = frozenset(bearer.mark.address for bearer in (*here.values(), *strays))
        left = here.keys() | {stray.mark.id.name for stray in strays}
        ended = {name: line for name, line in lines.items() if name not in here}
        gone = {name: line for name, line in ended.items() if name not in left}
        own = [stray for stray in strays if stray.mark.id.installation == self._installation]
        for stray in own:
            if stray.mark.id.name not in lines:
                here.setdefault(stray.mark.id.name, stray)
        left_over = tuple(stray for stray in own if stray.mark.id.name in ended)
        return RegistryScan(members=here, addresses=addresses, ended=ended, gone=gone, strays=left_over)

    def member(self, name: MemberName) -> MarkedProcess | None:
        """Find one member. With a line, no other process is read."""
        line = self._line(name)
        return line.bearer() if line is not None else self.scan().members.get(name)

    def sessions(self, name: MemberName) -> tuple[procfs.Process, ...]:
        """Return the leaders of the member's session, gone or not, and of sessions that its children began."""
        line = self._line(name)
        first = (line.leader,) if line is not None and line.boot == procfs.boot() else ()
        return (*first, *self.strays(name, besides=first))

    def strays(self, name: MemberName, *, besides: Collection[procfs.Process] = ()) -> tuple[procfs.Process, ...]:
        """Return leaders of sessions that a member's children began."""
        known = frozenset(leader.pid for leader in besides)
        return tuple(stray.process for stray in _strays(known) if self._is(stray.mark, name))

    def left_behind(self, ended: Mapping[MemberName, NamedProcess]) -> Iterator[procfs.Process]:
        """Yield leaders that have ended while others of their session go on.

        The pid may have been another leader's since, which has ended too. So one at least must bear the name: a session
        whose number was never free is still the same.
        """
        counted = procfs.census() if ended else {}
        for name, line in ended.items():
            left = procfs.session(line.leader, counted) if line.boot == procfs.boot() else ()
            marks = (ProcessMark.read(procfs.environment(process.pid, PREFIX)) for process in left)
            if any(mark is not None and self._is(mark, name) for mark in marks):
                yield line.leader

    def enter(self, bearer: MarkedProcess) -> NamedProcess:
        """Write (or replace) a line, in one step; the line."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        name, process = bearer.mark.id.name, bearer.process
        draft = self._directory / f".{name}"
        draft.unlink(missing_ok=True)
        line = NamedProcess(mark=bearer.mark, pid=process.pid, started=process.started, boot=procfs.boot())
        draft.symlink_to(f"{line.pid}:{line.started}:{line.boot}:{line.mark.address}")
        draft.replace(self._directory / name)
        return line

    def strike(self, gone: Mapping[MemberName, NamedProcess]) -> None:
        """Remove lines, unless they have been replaced since."""
        for name, line in gone.items():
            if self._line(name) == line:
                (self._directory / name).unlink(missing_ok=True)

    def _is(self, mark: ProcessMark, name: MemberName) -> bool:
        return mark.id.name == name and mark.id.installation == self._installation

    def _lines(self) -> Mapping[MemberName, NamedProcess]:
        try:
            names = [MemberName(path.name) for path in self._directory.iterdir()]
        except FileNotFoundError:
            return {}
        lines = ((name, self._line(name)) for name in names)
        return {name: line for name, line in lines if line is not None}

    def _line(self, name: MemberName) -> NamedProcess | None:
        launch = LaunchId.parse(name)
        if launch is None or launch.installation != self._installation:
            return None
        try:
            pid, started, boot, address = str((self._directory / name).readlink()).split(":")
            return NamedProcess(
                mark=ProcessMark(id=launch, address=address), pid=int(pid), started=int(started), boot=boot
            )
        except (FileNotFoundError, ValueError):
            return None


def await_mark(bearer: MarkedProcess, *, tries: int = 1000) -> None:
    """Wait until a new process shows its mark: for a moment after ``exec`` its environment reads as empty.

    It gives up when the process has ended, or after a second: the line identifies it all the same.
    """
    pause = threading.Event()
    for _ in range(tries):
        process = procfs.look(bearer.process.pid)
        if (
            process is None
            or not process.alive
            or ProcessMark.read(procfs.environment(process.pid, PREFIX)) == bearer.mark
        ):
            return
        pause.wait(0.001)


def _strays(known: Collection[int]) -> tuple[MarkedProcess, ...]:
    """Session leaders that bear a mark, other than the ``known``; the oldest first."""
    return tuple(sorted(_marked(known), key=lambda stray: (stray.process.started, stray.process.pid)))


def _marked(known: Collection[int]) -> Iterator[MarkedProcess]:
    for pid in procfs.leaders(besides=known):
        mark = ProcessMark.read(procfs.environment(pid, PREFIX))
        process = procfs.look(pid) if mark is not None else None
        if mark is not None and process is not None and process.alive:
            yield MarkedProcess(mark=mark, process=process)
