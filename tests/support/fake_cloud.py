"""The simulated cloud at the port of tests, and a balancer in memory, with scripted faults and a clock to be moved."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, TypeVar

from config.errors import DriverError, Permanent, Transient
from config.model.catalogue import Profile
from config.model.parts import MemberPart
from config.model.simulation import Behaviour, BootTime
from config.units import GroupId, Instant, MemberName, PartName, Seconds
from handler.orchestrators.simulated.machines import SimulatedMachine
from handler.orchestrators.simulated.simulation import ScriptedAnswer, Simulation
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import (
    Health,
    Listing,
    MadePart,
    PartListing,
    Registration,
    RegistrationState,
    Server,
    ServerState,
)
from handler.ports.orchestrator import Launch
from tests.support.worlds import INSTALLATION, NOW

T = TypeVar("T")


class Killed(BaseException):
    """The process died here."""


@dataclass
class Instants:
    """Counts the instants at which a process can die; from the ``kill_at``-th on, every one of them kills."""

    kill_at: int | None = None
    count: int = 0

    def pass_by(self, what: str) -> None:
        self.count += 1
        if self.kill_at is not None and self.count >= self.kill_at:
            raise Killed(f"at instant {self.count}, {what}")

    @contextmanager
    def around(self, what: str) -> Iterator[None]:
        """An instant before something, and one after it has been done."""
        self.pass_by(f"before {what}")
        yield
        self.pass_by(f"after {what}")


@dataclass
class FakeClock:
    now: Instant = NOW

    def __call__(self) -> Instant:
        return self.now

    def advance(self, seconds: Seconds) -> None:
        self.now = Instant(self.now + seconds)


LOST = Transient("the answer was lost")
"""Scripted, this very object means: the work is done, and then the answer is lost."""


@dataclass
class Faults:
    """What goes wrong, per kind of call, in order of calls; ``None``: nothing."""

    scripted: dict[str, deque[DriverError | None]] = field(default_factory=lambda: defaultdict(deque))
    always: dict[str, DriverError] = field(default_factory=dict)

    def script(self, call: str, *errors: DriverError | None) -> None:
        self.scripted[call].extend(errors)

    def clear(self) -> None:
        self.scripted.clear()
        self.always.clear()

    @contextmanager
    def around(self, call: str) -> Iterator[None]:
        queue = self.scripted[call]
        error = queue.popleft() if queue else self.always.get(call)
        if error is not None and error is not LOST:
            raise error
        yield
        if error is not None:
            raise error


CALM = Behaviour(boot=BootTime(median=0.0, p95=0.0), stop=0.0)
"""Servers are there as soon as they are made, and gone as soon as they are destroyed."""
_WELL = (ServerState.BUILDING, ServerState.RUNNING)
_ANSWERS = (ServerState.RUNNING, ServerState.PASSING, ServerState.UNKNOWN, ServerState.DELETING)


@dataclass
class FakeCloud:
    """A simulated cloud at the port, with faults of our own choice besides its own, and instants to die at.

    ``list`` shows all of its machines under any mark: telling them apart is not left to the driver. Calls take no time.
    """

    clock: Callable[[], Instant]
    faults: Faults = field(default_factory=Faults)
    instants: Instants = field(default_factory=Instants)
    hidden: set[MemberName] = field(default_factory=set)
    """Not on listings yet, though they exist (and ``find`` knows them)."""
    partial: bool = False
    """Listings show every second machine, and say that this is not all."""
    launches: list[Launch] = field(default_factory=list)
    """What was asked to be made, in order."""
    created: list[MemberName] = field(default_factory=list)
    destroyed: list[MemberName] = field(default_factory=list)
    unmarked: list[MemberName] = field(default_factory=list)
    outputs: dict[MemberName, bytes] = field(default_factory=dict)
    """What machines wrote on their consoles."""
    before_create: Callable[[MemberName], None] = lambda name: None
    before_destroy: Callable[[MemberName], None] = lambda name: None

    def __post_init__(self) -> None:
        self.simulation = Simulation(CALM, self.clock())
        self._turn = RLock()

    def output(self, name: MemberName, lines: int) -> bytes | None:
        with self.faults.around("output"):
            return self.outputs.get(name)

    def list(self, group: GroupId) -> Listing:
        with self.faults.around("list"):
            answer = self._ask(lambda now: self.simulation.list(None, now))
            seen = tuple(server for server in answer.servers if server.name not in self.hidden)
            if self.partial:
                return Listing(servers=seen[::2], complete=False, because="one host does not answer")
            return replace(answer, servers=seen)

    def find(self, name: MemberName) -> Server | None:
        with self.faults.around("find"):
            return self._ask(lambda now: self.simulation.find(name, now))

    def create(self, launch: Launch) -> Server:
        name = launch.id.name
        with self.instants.around(f"create {name}"), self.faults.around("create"):
            self.before_create(name)
            self.launches.append(launch)
            with self._turn:
                made = self.simulation.made
                try:
                    return self._ask(lambda now: self.simulation.create(name, now, launch.claim))
                finally:
                    self.created += [name] * (self.simulation.made - made)

    def claim(self, name: MemberName, claim: Claim) -> None:
        with self.faults.around("claim"):
            self._ask(lambda now: self.simulation.claim(name, claim, now))

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        with self.instants.around(f"destroy {name}"), self.faults.around("destroy"):
            self.before_destroy(name)
            self.destroyed.append(name)
            self._ask(lambda now: self.simulation.destroy(name, now, grace=grace))

    def list_all(self) -> Listing:
        return self.list(GroupId(""))

    fixed_marks = ""

    def foreign_member(self, named: str) -> Server | None:
        with self.faults.around("foreign_member"):
            found = self._ask(lambda now: self.simulation.known(named, now))
            if found is not None and LaunchId.parse(found.name) is not None:
                raise Permanent(f"{named} bears the mark {found.name}")
            return found

    def mark(self, id: str, launch: LaunchId) -> Server:
        with self.instants.around(f"mark {launch.name}"), self.faults.around("mark"):
            return self._ask(lambda now: self.simulation.rename(id, launch.name, now))

    def unmark(self, name: MemberName) -> None:
        with self.instants.around(f"unmark {name}"), self.faults.around("unmark"):
            self.unmarked.append(name)
            server = self._ask(lambda now: self.simulation.find(name, now))
            if server is not None:
                self._ask(lambda now: self.simulation.rename(server.id, server.id, now))

    def parts(self, group: GroupId) -> PartListing:
        with self.faults.around("parts"):
            mark = LaunchId(installation=INSTALLATION, group=group, sequence=1).name.rpartition("-")[0]
            return self._ask(lambda now: self.simulation.ask_parts(lambda parts: parts.of(mark), now))

    def all_parts(self) -> PartListing:
        with self.faults.around("parts"):
            return self._ask(lambda now: self.simulation.ask_parts(lambda parts: parts.of(None), now))

    def find_part(self, member: MemberName, name: PartName) -> MadePart | None:
        with self.faults.around("find_part"):
            return self._ask(lambda now: self.simulation.ask_parts(lambda parts: parts.find(member, name), now))

    def make_part(self, member: MemberName, part: MemberPart, profile: Profile) -> None:
        with self.instants.around(f"make {part.name} of {member}"), self.faults.around("make_part"):
            self._ask(lambda now: self.simulation.make_part(member, part.name, now))

    def remove_part(self, member: MemberName, name: PartName) -> None:
        with self.instants.around(f"remove {name} of {member}"), self.faults.around("remove_part"):
            self._ask(lambda now: self.simulation.drop_part(member, name, now, retain=False))

    def release_part(self, member: MemberName, name: PartName) -> None:
        with self.instants.around(f"release {name} of {member}"), self.faults.around("release_part"):
            self._ask(lambda now: self.simulation.drop_part(member, name, now, retain=True))

    def _ask(self, ask: Callable[[Instant], ScriptedAnswer[T]]) -> T:
        with self._turn:
            answer = ask(self.clock())
        if isinstance(answer.given, DriverError):
            raise answer.given
        return answer.given

    # How it behaves

    def behave(self, **changes: Any) -> None:
        self.simulation.behaviour = replace(self.simulation.behaviour, **changes)

    @property
    def build_time(self) -> Seconds:
        return self.simulation.behaviour.boot.median

    @build_time.setter
    def build_time(self, seconds: Seconds) -> None:
        self.behave(boot=BootTime(median=seconds, p95=seconds))

    @property
    def stop_time(self) -> Seconds:
        return self.simulation.behaviour.stop

    @stop_time.setter
    def stop_time(self, seconds: Seconds) -> None:
        self.behave(stop=seconds)

    def calm(self) -> None:
        """From now on nothing goes wrong, nor does what lay ahead of machines; what has gone wrong stays so."""
        self.simulation.behaviour = replace(CALM, boot=self.simulation.behaviour.boot)
        now = self.clock()
        for machine in self.machines.values():
            turns = tuple((at, state) for at, state in machine.turns if at <= now or state in _WELL)
            going = turns[-1][1] is ServerState.DELETING
            self.simulation.put(replace(machine, turns=turns, gone_at=machine.gone_at if going else None))

    # What befalls it

    @property
    def machines(self) -> Mapping[MemberName, SimulatedMachine]:
        """Every machine, ours or foreign, in the order of creation."""
        with self._turn:
            now = self.simulation.advance(self.clock())
            return {MemberName(machine.name): machine for machine in self.simulation.machines(now)}

    def add(self, name: MemberName) -> SimulatedMachine:
        """Put a machine there, ours or a foreign one."""
        with self._turn:
            return self.simulation.add(name, self.simulation.advance(self.clock()))

    def die(self, name: MemberName) -> None:
        with self._turn:
            self.simulation.put(self.machines[name].gone(self.clock()))

    def go(self, name: MemberName, seconds: Seconds) -> None:
        """Delete it, as another client would."""
        with self._turn:
            now = self.clock()
            machine = self.machines[name].turned(ServerState.DELETING, now)
            self.simulation.put(machine.gone(Instant(now + seconds)))

    def say(self, name: MemberName, state: ServerState) -> None:
        with self._turn:
            self.simulation.put(self.machines[name].turned(state, self.clock()))

    def state(self, name: MemberName) -> ServerState | None:
        """What it is now; ``None``: not there."""
        machine = self.machines.get(name)
        server = None if machine is None else machine.view(self.clock()).server
        return None if server is None else server.state

    def answers_at(self, address: str) -> bool:
        """Whether a machine that is there, and not broken, has this address."""
        views = (machine.view(self.clock()).server for machine in self.machines.values())
        return any(server is not None and server.address == address and server.state in _ANSWERS for server in views)

    def ours(self, installation: str, group: GroupId) -> set[MemberName]:
        launches = ((name, LaunchId.parse(name)) for name in self.machines)
        return {name for name, mark in launches if mark and (mark.installation, mark.group) == (installation, group)}


@dataclass
class FakeBalancer:
    """Registrations by name; a drained member has work in hand for ``busy`` seconds."""

    clock: FakeClock
    faults: Faults = field(default_factory=Faults)
    instants: Instants = field(default_factory=Instants)
    busy: Seconds = 5.0
    states: dict[MemberName, RegistrationState] = field(default_factory=dict)
    addresses: dict[MemberName, tuple[str, int]] = field(default_factory=dict)
    drained: dict[MemberName, Instant] = field(default_factory=dict)
    health: dict[MemberName, Health] = field(default_factory=dict)
    """What its check says of those that it is known to check."""
    lives: int = 1
    foreign: dict[tuple[str, int], str] = field(default_factory=dict)
    """Who else sits there, by address and port."""
    looks: int = 0
    """How often it was asked which life this is."""
    ordered: Callable[[str, MemberName, bool], None] = lambda call, member, already: None
    """Told of every order: the call, about which member, and whether that is so already."""

    def registrations(self) -> Mapping[MemberName, Registration]:
        with self.faults.around("registrations"):
            return {
                name: Registration(
                    member=name, state=state, connections=self._connections(name), health=self.health.get(name)
                )
                for name, state in self.states.items()
            }

    def occupants(self) -> Mapping[tuple[str, int], str]:
        with self.faults.around("occupants"):
            return self.foreign | {self.addresses[name]: name for name in self.states if name in self.addresses}

    def join(self, member: MemberName, address: str, port: int) -> None:
        self.ordered("join", member, self.addresses.get(member) == (address, port) and member in self.states)
        with self.instants.around(f"join {member}"), self.faults.around("join"):
            self.states.setdefault(member, RegistrationState.PARKED)
            self.addresses[member] = (address, port)

    def enable(self, member: MemberName) -> None:
        self.ordered("enable", member, self.states.get(member) is RegistrationState.SERVING)
        with self.instants.around(f"enable {member}"), self.faults.around("enable"):
            if member not in self.states:
                raise Transient(f"{member} is not registered")
            self.states[member] = RegistrationState.SERVING

    def drain(self, member: MemberName) -> None:
        self.ordered("drain", member, self.states.get(member) is RegistrationState.DRAINING)
        with self.instants.around(f"drain {member}"), self.faults.around("drain"):
            if member in self.states:
                self.states[member] = RegistrationState.DRAINING
                self.drained.setdefault(member, self.clock())

    def leave(self, member: MemberName) -> None:
        self.ordered("leave", member, member not in self.states)
        with self.instants.around(f"leave {member}"), self.faults.around("leave"):
            self.states.pop(member, None)
            self.drained.pop(member, None)

    def incarnation(self) -> str:
        self.looks += 1
        return str(self.lives)

    def reload(self) -> None:
        """Forget all members, as a balancer does that is reloaded without state."""
        self.states.clear()
        self.drained.clear()
        self.lives += 1

    def _connections(self, name: MemberName) -> int:
        since = self.drained.get(name)
        return 0 if since is not None and self.clock() - since >= self.busy else 1
