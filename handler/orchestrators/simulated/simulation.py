"""A simulated cloud: servers over a clock that is an argument. No thread, disk, network or wall clock is touched.

It gets each request with its time, and returns the answer and how long that takes. Servers carry their complete life
from the beginning (`machines`), and chance follows from a seed (`random_events`): the same calls at the same instants
get the same answers, whatever else happens in between.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Never, TypeVar

from config.causes import FailureCause
from config.errors import DriverError, Full, Permanent, Transient
from config.model.simulation import LIES, Behaviour, CallFaults, Incident, ScriptedEvent
from config.units import Instant, Seconds
from handler.orchestrators.simulated.machines import MachineView, SimulatedMachine
from handler.orchestrators.simulated.played_parts import PlayedParts
from handler.orchestrators.simulated.random_events import Fault, draw, fault_of, new_machine
from handler.planning.headroom import UsageLimit
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import Listing, Server, ServerState

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer(Generic[T_co]):
    """The result of a call, and how long it takes."""

    takes: Seconds
    given: T_co | DriverError
    """An error is raised when the time is over."""


class Simulation:
    """The servers of one cloud, of all groups and foreign ones. Calls come one at a time.

    Its time never goes back: if a caller's does, it stands still until that has caught up.
    """

    def __init__(self, behaviour: Behaviour, began: Instant) -> None:
        self.behaviour = behaviour
        """May be exchanged at any time; servers that were made keep the life that they were given."""
        self.began = began
        self.until = began
        """Everything scripted up to then has happened."""
        self.latest = began
        """The latest instant that is known to have been."""
        self.made = 0
        """Servers ever created."""
        self.parts = PlayedParts()
        self._machines: dict[str, SimulatedMachine] = {}
        self._marks: dict[str, dict[str, MachineView]] = {}
        """By mark and name: each server's view in the last listing."""
        self._ends: list[tuple[float, str]] = []
        self._asked: Counter[tuple[str, str]] = Counter()
        self._calls: deque[Instant] = deque()
        self._changed: dict[str, SimulatedMachine] = {}
        self._lied: dict[tuple[int, Incident], frozenset[str]] = {}
        """By a wrong answer and its place in the script: the servers that it concerns."""

    # Requests

    def list(self, mark: str | None, now: Instant) -> ScriptedAnswer[Listing]:
        """Show the servers of one mark, or, with ``None``, all of them, as they were ``lag`` seconds ago."""
        now = self.advance(now)
        if (refused := self._refused(now)) is not None:
            return refused
        faults = self.behaviour.listing
        takes = self.behaviour.call + faults.takes
        shown = tuple(self._bent(self._shown(mark, Instant(now - faults.lag)), now))
        match fault_of(faults, self._chance("list", mark or "")):
            case Fault.PARTIAL:
                listing = Listing(servers=shown[::2], complete=False, because="a host does not answer")
            case Fault.TRUNCATED:
                listing = Listing(servers=shown[::2], complete=True)
            case _:
                listing = Listing(servers=shown, complete=True)
        return ScriptedAnswer(takes=takes, given=listing)

    def find(self, name: str, now: Instant) -> ScriptedAnswer[Server | None]:
        """Find one server; unlike a listing, the answer is never old."""
        now = self.advance(now)
        if (refused := self._refused(now)) is not None:
            return refused
        lie = self.lies(now).get(name)
        if lie is ScriptedEvent.HIDE:
            return ScriptedAnswer(
                takes=self.behaviour.call, given=Transient(f"the cloud does not say whether {name} is there")
            )
        seen = () if lie is ScriptedEvent.DENY else filter(None, [self._seen(name, now)])
        return ScriptedAnswer(takes=self.behaviour.call, given=next(self._bent(seen, now), None))

    def create(self, name: str, now: Instant, claim: Claim | None = None) -> ScriptedAnswer[Server]:
        """Create a server with a claim, or return the existing one with the name."""
        now = self.advance(now)
        if (refused := self._refused(now)) is not None:
            return refused
        wrong = fault_of(self.behaviour.create, self._chance("create", name))
        if wrong is Fault.ERROR:
            return ScriptedAnswer(takes=self.behaviour.call, given=Transient(f"the cloud could not make {name}"))
        seen = self._seen(name, now)
        if seen is None and self._is_full(now):
            full = Full(f"the quota of {self.behaviour.quota} servers is used up", cause=FailureCause.QUOTA)
            return ScriptedAnswer(takes=self.behaviour.call, given=full)
        made = self.add(name, now).view(now).server if seen is None else seen
        if made is None:
            raise AssertionError(f"{name} is gone as soon as it is made")
        if seen is None and claim is not None:
            self.put(replace(self._machines[name], claim=claim.text))
            made = replace(made, claim=claim)
        return self._outcome(wrong, made, f"the cloud could not make {name}")

    def known(self, named: str, now: Instant) -> ScriptedAnswer[Server | None]:
        """Ask for one server by its id or, if none has it, by its name."""
        now = self.advance(now)
        if (refused := self._refused(now)) is not None:
            return refused
        machine = self._with_id(named, now)
        seen = self._seen(named, now) if machine is None else machine.view(now).server
        return ScriptedAnswer(takes=self.behaviour.call, given=seen)

    def rename(self, id: str, name: str, now: Instant) -> ScriptedAnswer[Server]:
        """Call a server by another name; one that has a name of Trimtab's form gives it up only for its own id.

        It fails as creations do. Listings that are late show it under its old name for a while.
        """
        now = self.advance(now)
        if (refused := self._refused(now)) is not None:
            return refused
        machine, failed = self._with_id(id, now), f"the cloud could not call {id} {name}"
        wrong = fault_of(self.behaviour.create, self._chance("rename", name))
        if wrong is Fault.ERROR:
            return ScriptedAnswer(takes=self.behaviour.call, given=Transient(failed))
        if machine is None:
            return ScriptedAnswer(takes=self.behaviour.call, given=Permanent(f"there is no server {id}"))
        if name not in {machine.name, id} and LaunchId.parse(machine.name) is not None:
            return ScriptedAnswer(takes=self.behaviour.call, given=Permanent(f"{id} bears the mark {machine.name}"))
        if machine.name != name:
            self.put(machine.gone(now))
            machine = replace(machine, name=name)
            self.put(machine)
        server = machine.view(now).server
        if server is None:
            raise AssertionError(f"{id} is gone as soon as it is called {name}")
        return self._outcome(wrong, server, failed)

    def destroy(self, name: str, now: Instant, *, grace: Seconds) -> ScriptedAnswer[None]:
        """Begin to remove a server; one that is not there, or is going already, stays as it is."""
        now = self.advance(now)
        if (refused := self._refused(now)) is not None:
            return refused
        wrong = fault_of(self.behaviour.destroy, self._chance("destroy", name))
        if wrong is Fault.ERROR:
            return ScriptedAnswer(takes=self.behaviour.call, given=Transient(f"the cloud could not remove {name}"))
        seen = self._seen(name, now)
        if seen is not None and seen.state is not ServerState.DELETING:
            stop = Instant(now + min(self.behaviour.stop, grace))
            self.put(self._machines[name].turned(ServerState.DELETING, now).gone(stop))
        return self._outcome(wrong, None, f"the cloud could not remove {name}")

    def claim(self, name: str, claim: Claim, now: Instant) -> ScriptedAnswer[None]:
        """Write a claim on a server, if it is there; it fails as creations do."""
        now = self.advance(now)
        if (refused := self._refused(now)) is not None:
            return refused
        failed = f"the cloud could not write a claim on {name}"
        wrong = fault_of(self.behaviour.create, self._chance("claim", name))
        if wrong is Fault.ERROR:
            return ScriptedAnswer(takes=self.behaviour.call, given=Transient(failed))
        if self._seen(name, now) is not None:
            self.put(replace(self._machines[name], claim=claim.text))
        return self._outcome(wrong, None, failed)

    def quota(self, now: Instant) -> ScriptedAnswer[UsageLimit]:
        """Return the quota of servers, and how many exist, of any owner."""
        now = self.advance(now)
        if (refused := self._refused(now)) is not None:
            return refused
        used = UsageLimit(what="servers", used=len(self.machines(now)), most=self.behaviour.quota)
        return ScriptedAnswer(takes=self.behaviour.call, given=used)

    def ask_parts(self, ask: Callable[[PlayedParts], T], now: Instant) -> ScriptedAnswer[T]:
        """Read parts; the answer is never old and never wrong."""
        if (refused := self._refused(self.advance(now))) is not None:
            return refused
        return ScriptedAnswer(takes=self.behaviour.call, given=ask(self.parts))

    def make_part(self, member: str, name: str, now: Instant) -> ScriptedAnswer[None]:
        """Make a part, unless it is there; as creations go here."""
        faults = self.behaviour.create
        return self._part_changed("create", faults, f"{name} of {member}", now, lambda: self.parts.make(member, name))

    def drop_part(self, member: str, name: str, now: Instant, *, retain: bool) -> ScriptedAnswer[None]:
        """Remove a part, or take its mark off, if it is there; as removals go here."""
        faults, drop = self.behaviour.destroy, self.parts.release if retain else self.parts.remove
        return self._part_changed("destroy", faults, f"{name} of {member}", now, lambda: drop(member, name))

    def _part_changed(
        self, call: str, faults: CallFaults, part: str, now: Instant, change: Callable[[], None]
    ) -> ScriptedAnswer[None]:
        if (refused := self._refused(self.advance(now))) is not None:
            return refused
        failed = f"the cloud could not {call} the part {part}"
        wrong = fault_of(faults, self._chance(call, part))
        if wrong is Fault.ERROR:
            return ScriptedAnswer(takes=self.behaviour.call, given=Transient(failed))
        change()
        return self._outcome(wrong, None, failed)

    # Events

    def add(self, name: str, now: Instant) -> SimulatedMachine:
        """Create a server, for any caller."""
        self.made += 1
        machine = new_machine(self.behaviour, name, self.made, now)
        self.put(machine)
        return machine

    def put(self, machine: SimulatedMachine) -> None:
        """Set a server to a stored value, whatever it was."""
        self._machines[machine.name] = self._changed[machine.name] = machine
        self._marks.setdefault(machine.mark, {})[machine.name] = _UNSEEN
        self.made, self.latest = max(self.made, machine.number), max(self.latest, machine.turns[0][0])
        if machine.gone_at is not None:
            heapq.heappush(self._ends, (machine.gone_at, machine.name))

    def advance(self, now: Instant) -> Instant:
        """Apply all scripted events up to now, and forget servers that have been gone for long enough.

        Returns:
            The cloud's time.
        """
        now = self.latest = max(self.latest, now)
        for number, incident in enumerate(self.behaviour.script):
            at = Instant(self.began + incident.at)
            if self.until < at <= now and incident.what in {ScriptedEvent.ERROR, ScriptedEvent.VANISH}:
                self._befall(number, incident, at)
        self.until = now
        while self._ends and self._ends[0][0] + self.behaviour.listing.lag <= now:
            _, name = heapq.heappop(self._ends)
            machine = self._machines.get(name)
            if machine is not None and not machine.there(now):
                self._forget(machine)
        return now

    def changes(self) -> tuple[SimulatedMachine, ...]:
        """Return servers that have changed since the last call, to be stored."""
        changed = tuple(self._changed.values())
        self._changed.clear()
        return changed

    def machine(self, name: str) -> SimulatedMachine | None:
        """Return a server's complete life; ``None``: there is none of this name, or it has been gone for long."""
        return self._machines.get(name)

    @property
    def size(self) -> int:
        """How many servers it knows of: those that exist, and those that listings may still show."""
        return len(self._machines)

    def machines(self, now: Instant) -> tuple[SimulatedMachine, ...]:
        """Return all existing servers, in the order of creation."""
        alive = (machine for machine in self._machines.values() if machine.there(now))
        return tuple(sorted(alive, key=lambda machine: machine.number))

    # Inside

    def _shown(self, mark: str | None, at: Instant) -> Iterator[Server]:
        for key in self._marks if mark is None else [mark]:
            views = self._marks.get(key, {})
            for name, last in views.items():
                if last.since <= at < last.until:
                    server = last.server
                else:
                    views[name] = view = self._machines[name].view(at)
                    server = view.server
                if server is not None:
                    yield server

    def _bent(self, servers: Iterable[Server], now: Instant) -> Iterator[Server]:
        """Yield servers with the scripted wrong answers applied."""
        lies = self.lies(now)
        for server in servers:
            match lies.get(server.name):
                case None:
                    yield server
                case ScriptedEvent.DELETING:
                    state = ServerState.DELETING
                    yield replace(server, state=state, raw_state=state.value)
                case _:
                    pass

    def lies(self, now: Instant) -> Mapping[str, ScriptedEvent]:
        """Return the wrong answers by server: each concerns the servers that existed when it began."""
        lies: dict[str, ScriptedEvent] = {}
        for number, incident in enumerate(self.behaviour.script):
            since = now - self.began - incident.at
            if incident.what in LIES and 0 <= since < incident.lasts:
                lie = number, incident
                if lie not in self._lied:
                    self._lied[lie] = frozenset(machine.name for machine in self._hit(number, incident, now))
                lies |= dict.fromkeys(self._lied[lie], incident.what)
        return lies

    def _with_id(self, id: str, now: Instant) -> SimulatedMachine | None:
        return next((machine for machine in self.machines(now) if machine.id == id), None)

    def _seen(self, name: str, now: Instant) -> Server | None:
        machine = self._machines.get(name)
        return None if machine is None else machine.view(now).server

    def _refused(self, now: Instant) -> ScriptedAnswer[Never] | None:
        """Return a failure that any call may meet; ``None``: the call can be carried out."""
        for incident in self.behaviour.script:
            since = now - self.began - incident.at
            if incident.what is ScriptedEvent.OUTAGE and 0 <= since < incident.lasts:
                return ScriptedAnswer(takes=self.behaviour.timeout, given=Transient("the cloud does not answer"))
        limit = self.behaviour.rate_limit
        if limit is None:
            return None
        while self._calls and self._calls[0] <= now - limit.per:
            self._calls.popleft()
        if len(self._calls) >= limit.calls:
            wait = self._calls[0] + limit.per - now
            return ScriptedAnswer(takes=self.behaviour.call, given=Transient("too many calls", retry_after=wait))
        self._calls.append(now)
        return None

    def _outcome(self, wrong: Fault | None, given: T, failed: str) -> ScriptedAnswer[T]:
        """Answer a call that was carried out."""
        match wrong:
            case Fault.FALSE_ERROR:
                return ScriptedAnswer(takes=self.behaviour.call, given=Transient(failed))
            case Fault.TIMEOUT:
                return ScriptedAnswer(takes=self.behaviour.timeout, given=Transient("the answer did not come in time"))
            case _:
                return ScriptedAnswer(takes=self.behaviour.call, given=given)

    def _chance(self, call: str, about: str) -> float:
        """Draw a new number for each call about the same subject."""
        self._asked[call, about] += 1
        return draw(self.behaviour.seed, call, about, self._asked[call, about])

    def _is_full(self, now: Instant) -> bool:
        quota = self.behaviour.quota
        return quota is not None and len(self._machines) >= quota and len(self.machines(now)) >= quota

    def _hit(self, number: int, incident: Incident, at: Instant) -> Sequence[SimulatedMachine]:
        alive, seed = self.machines(at), self.behaviour.seed
        count = math.ceil(incident.share * len(alive)) if incident.share else incident.count
        return sorted(alive, key=lambda machine: draw(seed, "script", number, machine.name))[:count]

    def _befall(self, number: int, incident: Incident, at: Instant) -> None:
        for machine in self._hit(number, incident, at):
            vanishes = incident.what is ScriptedEvent.VANISH
            self.put(machine.gone(at) if vanishes else machine.turned(ServerState.ERROR, at))

    def _forget(self, machine: SimulatedMachine) -> None:
        del self._machines[machine.name], self._marks[machine.mark][machine.name]
        for call in ("create", "destroy", "rename", "claim"):
            self._asked.pop((call, machine.name), None)


_UNSEEN = MachineView(server=None, since=math.inf, until=-math.inf)
