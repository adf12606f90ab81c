"""Members are processes of this machine: each leads a session of its own, on a loopback address of its own.

A member's children inherit its environment and are not members. Members do not depend on Trimtab's life: they share no
session, terminal, pipe or descriptor with it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from collector.clients.concurrency import KeyedLock
from config.causes import READABLE, FailureCause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef
from config.model.catalogue import ProcessCloud, ProcessRecipe, Profile
from config.units import GroupId, Instant, MemberName, Seconds
from handler.orchestrators.process import children, procfs
from handler.orchestrators.process.departures import ProcessDepartures
from handler.orchestrators.process.doctor import checks_of
from handler.orchestrators.process.marks import ProcessMark, choose_address
from handler.orchestrators.process.member_logs import MemberLogs
from handler.orchestrators.process.registry import MarkedProcess, ProcessRegistry, RegistryScan, await_mark
from handler.planning.launches import LaunchId
from handler.planning.world import Listing, Server, ServerState
from handler.ports.examination import Check
from handler.ports.orchestrator import LOG_BYTES, Launch, Papers, ending_of, no_papers, no_secrets

_LEFT_GRACE: Seconds = 10.0
"""Grace for processes that a member leaves behind when it ends by itself."""
_FIXED = "a process has its mark in its environment, which cannot be changed from outside"
_WORDS = {"T": "stopped", "t": "traced", "Z": "ended", "X": "ended"}
"""The kernel's letters that mean more than "running"; an idle machine must not look changed at every listing."""


class ProcessOrchestrator:
    """The driver of this machine's processes.

    ``directory`` holds ``logs/NAME.log`` (members' output) and ``members/`` (the registry). Members start in it, unless
    their recipe names another one, and find it as ``TRIMTAB_STATE``.
    """

    def __init__(
        self,
        declaration: ProcessCloud,
        installation: str,
        directory: Path,
        clock: Callable[[], Instant],
        papers: Papers = no_papers,
        read_secret: Callable[[SecretRef], str] = no_secrets,
    ) -> None:
        self._papers, self._read_secret = papers, read_secret
        self._cloud = declaration.id
        self._directory = directory.absolute()
        self._registry = ProcessRegistry(self._directory / "members", installation)
        self._logs = MemberLogs(self._directory / "logs")
        self._departures = ProcessDepartures(clock)
        self._turns = KeyedLock()
        self._addressing = threading.Lock()
        self._reserved: set[str] = set()
        self._started: dict[MemberName, procfs.Process] = {}
        """Members that this object started, until it has seen their end."""

    def list(self, group: GroupId) -> Listing:
        """List a group's members, and trim its logs; complete unless ``/proc`` or the registry cannot be read."""
        return self._trimmed(self._listed(lambda mark: mark.group == group))

    def list_all(self) -> Listing:
        """List the members of all groups, as `list`."""
        return self._trimmed(self._listed(lambda mark: True))

    def _trimmed(self, listing: Listing) -> Listing:
        self._logs.trim(server.name for server in listing.servers)
        return listing

    def _listed(self, is_asked: Callable[[LaunchId], bool]) -> Listing:
        self._attend()
        try:
            members = self._registry.scan().members.values()
        except OSError as error:
            return Listing(servers=(), complete=False, because=f"{self._cloud}: processes cannot be listed: {error}")
        asked = sorted((member for member in members if is_asked(member.mark.id)), key=lambda member: member.mark.id)
        return Listing(servers=tuple(self._server(member) for member in asked), complete=True)

    def find(self, name: MemberName) -> Server | None:
        """Find a member; waits for a `create` of the same name, so that ``None`` is definite."""
        self._attend()
        with self._turns.of(name), _seeing():
            member = self._registry.member(name)
        return None if member is None else self._server(member)

    def create(self, launch: Launch) -> Server:
        """Start a process, or return the existing one with the name. One that ends at once is not in the next listing.

        Raises:
            Permanent: the recipe cannot work, a secret of its environment cannot be read, or no address is free.
            Transient: the machine lacks something, or ``/proc`` cannot be read.
        """
        self._attend()
        with self._turns.of(launch.id.name), _seeing():
            return self._server(self._present(launch))

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        """Signal every process of the member's session to stop; kill the rest after ``grace``.

        Repeated calls of the same object do not signal again; after a restart, the signal and the grace start again.
        """
        self._attend()
        with self._turns.of(name), _seeing():
            for leader in self._registry.sessions(name):
                self._departures.begin(leader, grace)

    @property
    def proves_absence(self) -> bool:
        """Return true: the kernel itself answers."""
        return True

    def ending(self, name: MemberName) -> str:
        """Return how a member ended, as `handler.ports.orchestrator.Endings`; known if this process saw it."""
        self._attend()
        status = children.ending(name)
        return "" if status is None else ending_of(status)

    def output(self, name: MemberName, lines: int) -> bytes | None:
        """Return the end of a member's log, which is kept for a while after it is gone."""
        return self._logs.end_of(name, LOG_BYTES)

    # Marks

    @property
    def fixed_marks(self) -> str:
        """Return why marks cannot be written: a program gets its mark when it starts."""
        return f"{self._cloud}: {_FIXED}"

    def foreign_member(self, named: str) -> Server | None:
        """Refuse to look for a foreign process.

        Raises:
            Permanent: always.
        """
        raise Permanent(self.fixed_marks)

    def mark(self, id: str, launch: LaunchId) -> Server:
        """Raise as `foreign_member`."""
        raise Permanent(self.fixed_marks)

    def unmark(self, name: MemberName) -> None:
        """Raise as `foreign_member`."""
        raise Permanent(self.fixed_marks)

    # Checks before members depend on the cloud

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return checks of the programs, as `examination.Examined`; this machine has no quota."""
        return checks_of(profiles, self._directory, os.environ)

    # Inside

    def _server(self, member: MarkedProcess) -> Server:
        process = member.process
        state = ServerState.RUNNING if process.alive else ServerState.STOPPED
        return Server(
            name=member.mark.id.name,
            id=f"{process.pid}:{process.started}",
            state=ServerState.DELETING if self._departures.leaving(process) else state,
            address=member.mark.address or None,
            created_at=process.created_at,
            raw_state=_WORDS.get(process.state, "running"),
        )

    def _present(self, launch: Launch) -> MarkedProcess:
        with self._addressing:
            here = self._registry.scan()
            if launch.id.name in here.members:
                return here.members[launch.id.name]
            address = choose_address(launch.id, here.addresses | self._reserved)
            self._tidy(here)
            self._reserved.add(address)
        try:
            return self._start(launch, ProcessMark(id=launch.id, address=address))
        finally:
            with self._addressing:  # not before concurrent listings have seen the new process
                self._reserved.remove(address)

    def _start(self, launch: Launch, mark: ProcessMark) -> MarkedProcess:
        recipe, name = launch.profile.recipe, launch.id.name
        if not isinstance(recipe, ProcessRecipe):
            raise Permanent(f"profile {launch.profile.id} has no command", cause=FailureCause.LAUNCH_CONFIGURATION)
        if name in self._started:  # the last process with this name has ended, but is not collected yet
            self._end_with(name, self._started[name])
        given = {**self._environment(launch), **self._papers(name), **mark.environment(self._directory)}
        output = self._logs.open(name)
        try:
            with children.held(name, recipe, given, directory=self._directory, output=output) as child:
                member = MarkedProcess(mark=mark, process=child.process)
                self._run(child, member)
        finally:
            os.close(output)
        self._started[name] = member.process
        await_mark(member)
        return member

    def _environment(self, launch: Launch) -> dict[str, str]:
        """Return the recipe's variables with the secrets that they refer to, read now. Raises `Permanent`."""
        recipe, given = launch.profile.recipe, dict[str, str]()
        for name, value in recipe.env.items() if isinstance(recipe, ProcessRecipe) else ():
            try:
                given[name] = value if isinstance(value, str) else self._read_secret(value)
            except (TrimtabError, OSError) as error:
                about = f"{self._cloud}: {name} of profile {launch.profile.id}"
                raise Permanent(f"{about}: {error}", cause=FailureCause.CREDENTIALS, remedy=READABLE) from None
        return given

    def _run(self, child: children.HeldChild, member: MarkedProcess) -> None:
        """Write the line first, and strike it last: a crash leaves a line without a program, never the reverse."""
        line = self._registry.enter(member)
        try:
            child.run()
        except DriverError:
            self._registry.strike({member.mark.id.name: line})
            raise

    def _tidy(self, here: RegistryScan) -> None:
        """Forget members that are gone, with their left-over processes and all but their newest logs.

        A process at a reserved address is no left-over: its member is being made, and its line is not written yet.
        """
        strays = (stray.process for stray in here.strays if stray.mark.address not in self._reserved)
        for leader in (*self._registry.left_behind(here.ended), *strays):
            with suppress(PermissionError):  # it gained privileges: that stops no other member
                self._departures.begin(leader, _LEFT_GRACE)
        self._registry.strike(here.gone)
        self._logs.tidy(here.members)

    def _attend(self) -> None:
        """Collect ended members, and end the processes that they left behind, as a container does."""
        children.reap()
        for name, process in tuple(self._started.items()):
            if children.ended(name, process):
                with self._turns.of(name), suppress(OSError):  # not visible or not signalled: the next call tries again
                    if self._started.get(name) == process:
                        self._end_with(name, process)

    def _end_with(self, name: MemberName, process: procfs.Process) -> None:
        if not self._departures.leaving(process):
            for leader in (process, *self._registry.strays(name)):
                self._departures.begin(leader, _LEFT_GRACE)
        del self._started[name]


@contextmanager
def _seeing() -> Iterator[None]:
    """Raise if processes are not visible or cannot be signalled: that never counts as "gone"."""
    try:
        yield
    except PermissionError as error:
        raise Permanent(f"{error}: members and the state directory must belong to the user of Trimtab") from error
    except OSError as error:
        raise Transient(f"this machine did not answer: {error}") from error
