"""A cloud and a balancer in memory, at the ports, with scripted faults and time that is an argument."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from config.errors import DriverError, Transient
from config.units import GroupId, Instant, MemberName, Seconds
from handler.launches import LaunchId
from handler.orchestrators.interface import Launch
from handler.world import Listing, Seat, SeatState, Server, ServerState
from tests.support.worlds import NOW


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


@dataclass
class Machine:
    name: MemberName
    id: str
    created_at: Instant
    built_at: Instant
    gone_at: Instant | None = None
    state: ServerState | None = None
    """What it is said to be, whatever it does."""

    def seen(self, now: Instant) -> Server:
        state = self.state or (ServerState.BUILDING if now < self.built_at else ServerState.RUNNING)
        state = ServerState.DELETING if self.gone_at is not None else state
        number = int(self.id.removeprefix("vm-"))
        return Server(
            name=self.name,
            id=self.id,
            state=state,
            address=None if state is ServerState.BUILDING else f"10.0.{number // 250}.{number % 250 + 1}",
            created_at=self.created_at,
            raw_state=state.value,
        )


@dataclass
class FakeCloud:
    """Machines by name. ``list`` shows all of them under any mark: telling them apart is not left to the driver."""

    clock: FakeClock
    faults: Faults = field(default_factory=Faults)
    instants: Instants = field(default_factory=Instants)
    build_time: Seconds = 0.0
    stop_time: Seconds = 0.0
    machines: dict[MemberName, Machine] = field(default_factory=dict)
    hidden: set[MemberName] = field(default_factory=set)
    """Not on listings yet, though they exist (and ``find`` knows them)."""
    partial: bool = False
    """Listings show every second machine, and say that this is not all."""
    made: int = 0
    created: list[MemberName] = field(default_factory=list)
    destroyed: list[MemberName] = field(default_factory=list)
    before_destroy: Callable[[MemberName], None] = lambda name: None

    def list(self, group: GroupId) -> Listing:
        with self.faults.around("list"):
            self._settle()
            servers = [machine.seen(self.clock()) for machine in self.machines.values()]
            seen = tuple(server for server in servers if server.name not in self.hidden)
            if self.partial:
                return Listing(servers=seen[::2], complete=False, because="one host does not answer")
            return Listing(servers=seen, complete=True)

    def find(self, name: MemberName) -> Server | None:
        with self.faults.around("find"):
            self._settle()
            machine = self.machines.get(name)
            return None if machine is None else machine.seen(self.clock())

    def create(self, launch: Launch) -> Server:
        name = launch.id.name
        with self.instants.around(f"create {name}"), self.faults.around("create"):
            self._settle()
            if name not in self.machines:
                self.created.append(name)
                self.add(name)
            return self.machines[name].seen(self.clock())

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        with self.instants.around(f"destroy {name}"), self.faults.around("destroy"):
            self.before_destroy(name)
            self.destroyed.append(name)
            machine = self.machines.get(name)
            if machine is not None and machine.gone_at is None:
                machine.gone_at = Instant(self.clock() + self.stop_time)
            self._settle()

    # What befalls it

    def add(self, name: MemberName) -> Machine:
        """Put a machine there, ours or a stranger's."""
        self.made += 1
        now = self.clock()
        machine = Machine(name=name, id=f"vm-{self.made}", created_at=now, built_at=Instant(now + self.build_time))
        self.machines[name] = machine
        return machine

    def die(self, name: MemberName) -> None:
        del self.machines[name]

    def say(self, name: MemberName, state: ServerState) -> None:
        self.machines[name].state = state

    def ours(self, installation: str, group: GroupId) -> set[MemberName]:
        launches = ((name, LaunchId.parse(name)) for name in self.machines)
        return {name for name, mark in launches if mark and (mark.installation, mark.group) == (installation, group)}

    def _settle(self) -> None:
        now = self.clock()
        for machine in tuple(self.machines.values()):
            if machine.gone_at is not None and machine.gone_at <= now:
                del self.machines[machine.name]


@dataclass
class FakeBalancer:
    """Seats by name; a drained member has work in hand for ``busy`` seconds."""

    clock: FakeClock
    faults: Faults = field(default_factory=Faults)
    instants: Instants = field(default_factory=Instants)
    busy: Seconds = 5.0
    states: dict[MemberName, SeatState] = field(default_factory=dict)
    addresses: dict[MemberName, tuple[str, int]] = field(default_factory=dict)
    drained: dict[MemberName, Instant] = field(default_factory=dict)
    lives: int = 1
    looks: int = 0
    """How often it was asked which life this is."""

    def seats(self) -> Mapping[MemberName, Seat]:
        with self.faults.around("seats"):
            return {
                name: Seat(member=name, state=state, connections=self._connections(name))
                for name, state in self.states.items()
            }

    def join(self, member: MemberName, address: str, port: int) -> None:
        with self.instants.around(f"join {member}"), self.faults.around("join"):
            self.states.setdefault(member, SeatState.PARKED)
            self.addresses[member] = (address, port)

    def enable(self, member: MemberName) -> None:
        with self.instants.around(f"enable {member}"), self.faults.around("enable"):
            if member not in self.states:
                raise Transient(f"{member} has no seat")
            self.states[member] = SeatState.SERVING

    def drain(self, member: MemberName) -> None:
        with self.instants.around(f"drain {member}"), self.faults.around("drain"):
            if member in self.states:
                self.states[member] = SeatState.DRAINING
                self.drained.setdefault(member, self.clock())

    def leave(self, member: MemberName) -> None:
        with self.instants.around(f"leave {member}"), self.faults.around("leave"):
            self.states.pop(member, None)
            self.drained.pop(member, None)

    def incarnation(self) -> str:
        self.looks += 1
        return str(self.lives)

    def reload(self) -> None:
        """Forget everybody, as a balancer does that is reloaded without state."""
        self.states.clear()
        self.drained.clear()
        self.lives += 1

    def _connections(self, name: MemberName) -> int:
        since = self.drained.get(name)
        return 0 if since is not None and self.clock() - since >= self.busy else 1
