"""One balancer of several HAProxy processes that serve alike: a member serves once it does on all of them.

The driver combines their states so that convergence acts correctly on each:

* a member that gets work from some and not from others is PARTLY served: it is enabled if it stays, drained if it
leaves;
* a member that is registered with some only counts as registered, so that no member is destroyed that a process still
knows; enabling it registers it with the rest;
* its connections are the sum over all, and unknown if one process does not report them;
* its health is FAILING only if every process that checks it agrees: if they differ it is UNKNOWN.

A process that cannot be read makes the balancer unreadable; changes still go to all the others. While it does not
answer, members come into service on those that do (`handler.ports.balancer.PartlyRead`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from collector.clients.circuits import Circuits
from config.errors import DriverError, NotFound, Permanent, Transient, Unsent
from config.model.balancers import HaproxyBalancer
from config.units import MemberName
from handler.balancers.haproxy.driver import HaproxyDriver
from handler.balancers.haproxy.runtime import Runtime
from handler.balancers.haproxy.slots import HaproxySlots
from handler.balancers.registrations import ours
from handler.planning.world import Health, Registration, RegistrationState
from handler.ports.balancer import (
    Balancer,
    Batched,
    Correcting,
    ListsForeignMembers,
    MemberMove,
    PartlyRead,
    PartlyUnsent,
    RegistrationChange,
)


class OneOf(Balancer, ListsForeignMembers, Batched, Protocol):
    """A process that lists the user of each address, and accepts many changes at once."""


def haproxy(declaration: HaproxyBalancer, circuits: Circuits | None = None) -> Balancer:
    """Return the driver of a declared HAProxy, of one process or of several."""
    runtimes = [Runtime(socket, declaration.backend, circuits=circuits) for socket in declaration.sockets]
    processes = [_one(runtime, declaration) for runtime in runtimes]
    return processes[0] if len(processes) == 1 else HaproxySeveral(processes)


def _one(runtime: Runtime, declaration: HaproxyBalancer) -> OneOf:
    if declaration.template is None:
        return HaproxyDriver(runtime)
    return HaproxySlots(runtime, declaration.template)


class HaproxySeveral:
    """The `Balancer` of a `HaproxyBalancer` with several sockets."""

    def __init__(self, processes: Sequence[OneOf]) -> None:
        self._processes = tuple(processes)

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return all members that are registered with any of them.

        Raises:
            NotFound: every process lacks the backend. If only some lack it, the balancer is unreadable.
            PartlyRead: some processes do not answer, and the others do.
        """
        return _combined(self._read())

    def _read(self) -> Sequence[Mapping[MemberName, Registration]]:
        read: list[Mapping[MemberName, Registration]] = []
        failures: list[DriverError] = []
        for process in self._processes:
            try:
                read.append(process.registrations())
            except DriverError as failure:
                failures.append(failure)
        lacking = [failure for failure in failures if isinstance(failure, NotFound)]
        if len(lacking) == len(self._processes):
            raise NotFound("; ".join(map(str, lacking)), cause=lacking[0].cause)
        if failures:
            gravest = _gravest(failures)
            if read and isinstance(gravest, Transient):
                kind = PartlyUnsent if isinstance(gravest, Unsent) else PartlyRead
                raise kind(str(gravest), registrations=_combined(read), retry_after=gravest.retry_after)
            raise gravest if not isinstance(gravest, NotFound) else Permanent(str(gravest), cause=gravest.cause)
        return read

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Register the member with every process."""
        self._everywhere(lambda process: process.join(member, address, port))

    def enable(self, member: MemberName) -> None:
        """Have every process give the member work, even those that have forgotten it."""
        places = [_place_of(ours(member), process.occupants()) for process in self._processes]
        known = next((place for place in places if place is not None), None)
        if known is None:
            raise Transient(f"{member} is not a server of any of the processes: it must join first")
        for process, place in zip(self._processes, places, strict=True):
            if place is None:
                process.join(member, *known)
        self._everywhere(lambda process: process.enable(member))

    def drain(self, member: MemberName) -> None:
        """Have no process give the member new work."""
        self._everywhere(lambda process: process.drain(member))

    def leave(self, member: MemberName) -> None:
        """Have every process forget the member."""
        self._everywhere(lambda process: process.leave(member))

    def deregister(self, member: MemberName) -> None:
        """As `handler.ports.balancer.Reverting`; a dynamic server is deleted as ever."""
        self._everywhere(lambda process: process.leave(member))

    def correct(self) -> None:
        """As `handler.ports.balancer.Correcting`, on every process that can."""
        self._everywhere(lambda process: process.correct() if isinstance(process, Correcting) else None)

    def apply(self, changes: Sequence[RegistrationChange]) -> Sequence[DriverError | None]:
        """Make changes on every process, each on one connection; those that have forgotten a member register it again.

        Raises:
            DriverError: no process answered.
        """
        reminders = self._reminders(changes)
        outcomes = [self._apply_on(process, changes, reminders[process]) for process in self._processes]
        if all(isinstance(answers, DriverError) for answers in outcomes):
            raise _gravest([answers for answers in outcomes if isinstance(answers, DriverError)])
        each = [[answers] * len(changes) if isinstance(answers, DriverError) else answers for answers in outcomes]
        failures = ([failure for failure in failed if failure is not None] for failed in zip(*each, strict=True))
        return [_gravest(failed) if failed else None for failed in failures]

    def _apply_on(
        self, process: OneOf, changes: Sequence[RegistrationChange], reminders: Sequence[RegistrationChange]
    ) -> Sequence[DriverError | None] | DriverError:
        try:
            return process.apply([*reminders, *changes])[len(reminders) :]
        except DriverError as failure:
            return failure

    def _reminders(self, changes: Sequence[RegistrationChange]) -> Mapping[OneOf, Sequence[RegistrationChange]]:
        """Return the joins of members that are to get work but that some processes do not know."""
        enabled = {change.member for change in changes if change.move is MemberMove.ENABLE}
        places = {process: _places(process, enabled) for process in self._processes}
        known = {member: place for each in places.values() for member, place in each.items()}
        return {
            process: [
                RegistrationChange(move=MemberMove.JOIN, member=each, at=at)
                for each, at in known.items()
                if each not in here
            ]
            for process, here in places.items()
        }

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Return all registrations with any of them, foreign ones included."""
        return {place: name for process in reversed(self._processes) for place, name in process.occupants().items()}

    def incarnation(self) -> str:
        """Return a value that changes with that of any process."""
        return " ".join(process.incarnation() for process in self._processes)

    def _everywhere(self, change: Callable[[OneOf], None]) -> None:
        """Make a change on all, even if some fail; raise a permanent failure before a transient one."""
        failures: list[DriverError] = []
        for process in self._processes:
            try:
                change(process)
            except DriverError as failure:
                failures.append(failure)
        if failures:
            raise _gravest(failures)


def _combined(read: Sequence[Mapping[MemberName, Registration]]) -> Mapping[MemberName, Registration]:
    """Return all members that are registered with any of these processes."""
    members = dict.fromkeys(member for registrations in read for member in registrations)
    return {member: together(member, [registrations.get(member) for registrations in read]) for member in members}


def _gravest(failures: Sequence[DriverError]) -> DriverError:
    """Return a permanent failure before a transient one."""
    return min(failures, key=lambda failed: not isinstance(failed, Permanent))


def _places(process: OneOf, members: Collection[MemberName]) -> Mapping[MemberName, tuple[str, int]]:
    """Return the addresses of members in a process; empty: no member is asked for, or it does not answer."""
    try:
        occupants = process.occupants() if members else {}
    except DriverError:  # the changes there fail by themselves
        return {}
    return {MemberName(name): place for place, name in occupants.items() if name in members}


def _place_of(member: MemberName, occupants: Mapping[tuple[str, int], str]) -> tuple[str, int] | None:
    return next((place for place, name in occupants.items() if name == member), None)


def together(member: MemberName, registrations: Iterable[Registration | None]) -> Registration:
    """Combine a member's registrations with all processes; ``None``: it is not registered there. At least one is."""
    places = tuple(registrations)
    there = [registration for registration in places if registration is not None]
    counts = [registration.connections for registration in there]
    return Registration(
        member=member,
        state=_state([None if registration is None else registration.state for registration in places]),
        connections=None if None in counts else sum(count for count in counts if count is not None),
        health=_health(registration.health for registration in there),
        note="; ".join(dict.fromkeys(registration.note for registration in there if registration.note)),
    )


def _state(states: Iterable[RegistrationState | None]) -> RegistrationState:
    states_seen = set(states)
    if states_seen == {RegistrationState.SERVING}:
        return RegistrationState.SERVING
    if states_seen & {RegistrationState.SERVING, RegistrationState.PARTLY}:
        return RegistrationState.PARTLY
    return RegistrationState.DRAINING if RegistrationState.DRAINING in states_seen else RegistrationState.PARKED


def _health(reports: Iterable[Health | None]) -> Health | None:
    checked = {health for health in reports if health is not None}
    if not checked:
        return None
    return checked.pop() if len(checked) == 1 else Health.UNKNOWN
