"""A simulated balancer: created part by part, with delays, and immutable meanwhile, as Octavia is.

It serves no traffic. A file keeps its state, so that it outlives the daemon as a real one would.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from config.build.wire import name_of
from config.errors import Permanent, Transient
from config.model.managed import ManagedBalancer, ManagedPart
from config.units import Instant, MemberName, Seconds
from handler.balancers.registrations import ours
from handler.planning.launches import LaunchId
from handler.planning.provisioning import PartStatus, Provision, needed_parts
from handler.planning.world import Registration, RegistrationState

_MAKING: Seconds = 3.0

_ABOVE = {
    ManagedPart.LISTENER: ManagedPart.LOADBALANCER,
    ManagedPart.POOL: ManagedPart.LISTENER,
    ManagedPart.HEALTHMONITOR: ManagedPart.POOL,
}


@dataclass(slots=True, kw_only=True)
class SimulatedBalancerState:
    """The state of one balancer: parts and registrations by name."""

    parts: dict[str, str] = field(default_factory=dict)
    """The id of each created part."""
    registrations: dict[str, list[Any]] = field(default_factory=dict, metadata={"wire": "seats"})
    """State, address and port of each registration, foreign ones included."""
    made: int = 0
    """How many parts were ever created."""
    busy_until: float = 0.0
    """Nothing can be changed before."""
    changing: str = ""
    """The part that is being created until then."""


class SimulatedBalancer:
    """The `Provisioner` of a `ManagedBalancer` on a simulated cloud.

    Args:
        declared: the declaration; parts that it names as existing do exist.
        clock: its time.
        file: keeps its state; ``None``: the state ends with this object.
        making: how long the creation of a part takes.
        changing: for how long it is pending after a change of members.
    """

    def __init__(
        self,
        declared: ManagedBalancer,
        clock: Callable[[], Instant],
        file: Path | None = None,
        *,
        making: Seconds = _MAKING,
        changing: Seconds = 0.0,
    ) -> None:
        self._declared = declared
        self._clock, self._file = clock, file
        self._making, self._changing = making, changing
        self._turn = threading.RLock()
        self.scene = SimulatedBalancerState() if file is None or not file.exists() else _read(file)

    @property
    def declared(self) -> ManagedBalancer:
        """Return the declaration."""
        return self._declared

    # Parts

    def parts(self) -> Mapping[ManagedPart, PartStatus]:
        """Return the existing parts: all are pending while one is."""
        with self._turn:
            found = {part: self._id(part) for part in needed_parts(self._declared)}
            return {part: self._status(part, known) for part, known in found.items() if known is not None}

    def create(self, part: ManagedPart, found: Mapping[ManagedPart, PartStatus]) -> None:
        """Begin to create a part."""
        with self._turn:
            if self._id(part) is not None:
                return
            above = _ABOVE.get(part)
            if above is not None and self._id(above) is None:
                raise Transient(f"a {part.value} needs a {above.value}, and there is none yet")
            with self._changed(part.value, self._making):
                self.scene.made += 1
                self.scene.parts[part.value] = f"{part.value}-{self.scene.made}"

    def delete(self, part: ManagedPart, id: str) -> None:
        """Delete a part."""
        with self._turn:
            if self.scene.parts.get(part.value) != id:
                return
            below = [
                other.value for other, above in _ABOVE.items() if above is part and other.value in self.scene.parts
            ]
            if below:
                raise Permanent(f"a {part.value} cannot be deleted before its {below[0]}")
            with self._changed(part.value, self._changing):
                del self.scene.parts[part.value]
                if part is ManagedPart.POOL:
                    self.scene.registrations.clear()

    def is_gone(self, part: ManagedPart, id: str) -> bool:
        """Return whether there is no such part."""
        with self._turn:
            return self.scene.parts.get(part.value) != id

    def foreign(self) -> tuple[str, ...]:
        """Return registrations whose name is not a launch id."""
        with self._turn:
            return tuple(sorted(name for name in self.scene.registrations if LaunchId.parse(name) is None))

    # Registrations

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return all registrations under launch ids."""
        with self._turn:
            return {
                MemberName(name): Registration(
                    member=MemberName(name), state=RegistrationState(state), connections=0, id=f"seat-{name}"
                )
                for name, (state, *_) in self.scene.registrations.items()
                if LaunchId.parse(name) is not None
            }

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Return all registrations."""
        with self._turn:
            return {(address, port): name for name, (_, address, port) in self.scene.registrations.items()}

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Register a member, parked."""
        with self._turn:
            if self._id(ManagedPart.POOL) is None:
                raise Transient(f"balancer {self._declared.id} has no pool yet")
            state = self.scene.registrations.get(ours(member), [RegistrationState.PARKED.value])[0]
            self._register(member, [state, address, port])

    def enable(self, member: MemberName) -> None:
        """Give it work."""
        with self._turn:
            if ours(member) not in self.scene.registrations:
                raise Transient(f"{member} is not registered: it must join first")
            self._register(member, [RegistrationState.SERVING.value, *self.scene.registrations[member][1:]])

    def drain(self, member: MemberName) -> None:
        """Give it no new work."""
        with self._turn:
            if ours(member) in self.scene.registrations:
                self._register(member, [RegistrationState.DRAINING.value, *self.scene.registrations[member][1:]])

    def leave(self, member: MemberName) -> None:
        """Deregister it."""
        with self._turn:
            if ours(member) in self.scene.registrations:
                with self._changed("", self._changing):
                    del self.scene.registrations[member]

    def incarnation(self) -> str:
        """Return the pool's id."""
        with self._turn:
            return self._id(ManagedPart.POOL) or ""

    # Inside

    def _register(self, member: MemberName, registration: list[Any]) -> None:
        if self.scene.registrations.get(member) != registration:
            with self._changed("", self._changing):
                self.scene.registrations[member] = registration

    def _id(self, part: ManagedPart) -> str | None:
        given = {
            ManagedPart.LOADBALANCER: self._declared.loadbalancer,
            ManagedPart.POOL: self._declared.pool.id,
            ManagedPart.LISTENER: None if self._declared.pool.id is None else f"listener of {self._declared.pool.id}",
            ManagedPart.HEALTHMONITOR: None
            if self._declared.health_monitor is None
            else self._declared.health_monitor.id,
        }
        return given[part] or self.scene.parts.get(part.value)

    def _status(self, part: ManagedPart, known: str) -> PartStatus:
        if not self._is_pending():
            return PartStatus(id=known, state=Provision.ACTIVE, word="ACTIVE")
        word = "PENDING_CREATE" if self.scene.changing == part.value else "PENDING_UPDATE"
        return PartStatus(id=known, state=Provision.PENDING, word=word)

    def _is_pending(self) -> bool:
        return self._clock() < self.scene.busy_until

    @contextmanager
    def _changed(self, what: str, pending: Seconds) -> Iterator[None]:
        if self._is_pending():
            raise Transient(f"balancer {self._declared.id} is immutable: it is being changed", retry_after=1.0)
        yield
        self.scene.busy_until, self.scene.changing = self._clock() + pending, what
        if self._file is not None:
            draft = self._file.with_suffix(".draft")
            draft.write_text(json.dumps({name_of(each): getattr(self.scene, each.name) for each in fields(self.scene)}))
            draft.replace(self._file)


def _read(file: Path) -> SimulatedBalancerState:
    kept = json.loads(file.read_text())
    state = fields(SimulatedBalancerState)
    return SimulatedBalancerState(**{each.name: kept[name_of(each)] for each in state if name_of(each) in kept})
