"""One pool of Octavia as a balancer. Members bear launch ids as names.

A parked member is administratively down with weight 0; a draining one is up with weight 0. Octavia reports connections
of listeners only: a member's number is unknown.

Note [One change at a time]: while anything in a load balancer's tree is changing, the whole tree is immutable. Waiting
calls wait together, and the one whose turn comes makes all their changes in one batch.

Source: Octavia API v2, version discovery, ``provisioning_status`` of pools and load balancers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from collector.clients.circuits import Circuits
from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.session import LOAD_BALANCER
from config.causes import REMEDIES, FailureCause
from config.errors import DriverError, Permanent, Transient
from config.model.access import SecretRef
from config.model.openstack import OctaviaBalancer
from config.units import CloudId, Instant, MemberName, Seconds
from handler.balancers.octavia.changes import Stock, planned
from handler.balancers.octavia.parsing import Tree
from handler.balancers.octavia.pool import OctaviaPool, PoolReference, wait
from handler.planning.world import Registration
from handler.ports.balancer import MemberMove, RegistrationChange
from handler.ports.examination import About, Check, Look, fine, look_at_clock, unknown

_REMEDY = REMEDIES[FailureCause.BALANCER]


def checks_of(
    name: str, connection: OpenstackConnection, pool: OctaviaPool, clock: Callable[[], Instant]
) -> Sequence[Check]:
    """Checks of one pool; ``name``: the balancer's id in the file."""
    named = partial(Check, about=About.BALANCER, name=name, remedy=_REMEDY)
    return (
        named(what="version", look=partial(_version, connection)),
        named(what="clock", look=partial(_clock, connection, clock)),
        named(what="state", look=partial(_state, pool)),
    )


def _version(connection: OpenstackConnection) -> Look:
    offered = connection.offered(LOAD_BALANCER)
    return fine(f"Octavia {offered[0]}.{offered[1]}") if offered else unknown("Octavia does not report its version")


def _clock(connection: OpenstackConnection, clock: Callable[[], Instant]) -> Look:
    connection.offered(LOAD_BALANCER)  # log in before the clocks are compared: a login may take a while
    return look_at_clock(lambda: connection.ask(LOAD_BALANCER, "GET", "/lbaas/pools?fields=id&limit=1").date, clock)


def _state(pool: OctaviaPool) -> Look:
    if pool.state() is Tree.ACTIVE:
        return fine("pool and load balancer take changes")
    return unknown("pool or load balancer is being changed now, and takes no changes meanwhile")


@dataclass(slots=True, kw_only=True, eq=False)
class _Waiting:
    """A call that waits for its change to be made."""

    change: RegistrationChange
    done: bool = False
    """Its end is known: it is made, or ``error`` says why not."""
    error: DriverError | None = None

    def answer(self) -> DriverError | None:
        """Return its error; ``None``: it is made. A change without a known end may yet be made: that is an error."""
        return self.error if self.done else Transient("the change was begun, and is not known to be made yet")


class OctaviaDriver:
    """The `Balancer` of an `OctaviaBalancer`. Sends nothing before the first call."""

    def __init__(
        self,
        declaration: OctaviaBalancer,
        read_secret: Callable[[SecretRef], str],
        clock: Callable[[], Instant],
        wait: Callable[[Seconds], None] = wait,
        circuits: Circuits | None = None,
    ) -> None:
        self._within = declaration.lb_status_timeout
        self._stock = Stock(subnet=declaration.subnet, weight=declaration.weight)
        if declaration.access is None:
            raise Permanent(f"{declaration.id}: {declaration.cloud} is no cloud of OpenStack")
        self._clock = clock
        self._connection = connection = OpenstackConnection(
            CloudId(declaration.id), declaration.access, read_secret, circuits
        )
        place = PoolReference(pool=declaration.pool, load_balancer=declaration.load_balancer)
        self._pool = OctaviaPool(connection, place, self._within, clock, wait)
        self._turn, self._lock = threading.Lock(), threading.Lock()
        self._waiting: list[_Waiting] = []

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return the pool's members under launch ids, with their health."""
        return {
            entry.member: Registration(
                member=entry.member, state=entry.state, connections=None, health=entry.health, id=entry.id
            )
            for entry in self._pool.members()
            if entry.member is not None
        }

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Return everything in the pool, foreign members included."""
        return {(entry.address, entry.port): entry.name or entry.id for entry in self._pool.members()}

    def checks(self, name: str) -> Sequence[Check]:
        """As `handler.ports.examination.Inspected`."""
        return checks_of(name, self._connection, self._pool, self._clock)

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Add a member that is down. One with that name and another address is removed first."""
        self._change(RegistrationChange(move=MemberMove.JOIN, member=member, at=(address, port)))

    def enable(self, member: MemberName) -> None:
        """Put it up, with its weight."""
        self._change(RegistrationChange(move=MemberMove.ENABLE, member=member))

    def drain(self, member: MemberName) -> None:
        """Let it finish its current work: weight 0. It still serves clients that a cookie binds to it."""
        self._change(RegistrationChange(move=MemberMove.DRAIN, member=member))

    def leave(self, member: MemberName) -> None:
        """Delete it."""
        self._change(RegistrationChange(move=MemberMove.LEAVE, member=member))

    def apply(self, changes: Sequence[RegistrationChange]) -> Sequence[DriverError | None]:
        """Make all changes in one batch, with those of other waiting calls; only deletions are made one by one."""
        waiting = [_Waiting(change=change) for change in changes]
        self._turn_of(waiting)
        return [one.answer() for one in waiting]

    def incarnation(self) -> str:
        """Return the pool's id: Octavia forgets no members, unless the pool is created again."""
        return self._pool.present()

    def _change(self, change: RegistrationChange) -> None:
        (error,) = self.apply([change])
        if error is not None:
            raise error

    def _turn_of(self, waiting: Sequence[_Waiting]) -> None:
        """Wait until another call has made these changes, or make them when the turn comes."""
        with self._lock:
            self._waiting += waiting
        if not self._turn.acquire(timeout=2 * self._within):
            self._withdraw(waiting, Transient(f"others are being changed for {2 * self._within:.0f} s"))
            return
        try:
            if not all(one.done for one in waiting):
                self._make_all()
        finally:
            self._withdraw(waiting, Transient("the change was not made"))
            self._turn.release()

    def _withdraw(self, waiting: Sequence[_Waiting], why: DriverError) -> None:
        """End those of these changes that no call has begun: none may make them later."""
        with self._lock:
            withdrawn = [one for one in self._waiting if one in waiting]
            self._waiting = [one for one in self._waiting if one not in waiting]
        _end(withdrawn, why)

    def _make_all(self) -> None:
        """Make the changes of all waiting calls, and of those that arrive while the tree is busy."""
        busy = self._settled()
        with self._lock:
            together, self._waiting = self._waiting, []
        try:
            if busy is None:
                self._make_together(together)
        finally:
            left = [one for one in together if not one.done]
            _end(left, busy or Transient("the batch was broken off: the change may be made or not"))

    def _make_together(self, together: Sequence[_Waiting]) -> None:
        try:
            self._make(together)
        except Permanent as error:
            self._make_singly(together, error)
        except DriverError as error:
            _end(together, error)
        else:
            _end(together, None)

    def _settled(self) -> DriverError | None:
        """Wait until the tree is settled, so that reads are current; return why that failed."""
        try:
            self._pool.settle()
        except DriverError as error:
            return error
        return None

    def _make_singly(self, together: Sequence[_Waiting], refused: Permanent) -> None:
        """Find the member for which a batch is refused."""
        by_member: dict[MemberName, list[_Waiting]] = {}
        for waiting in together:
            by_member.setdefault(waiting.change.member, []).append(waiting)
        if len(by_member) == 1:
            _end(together, refused)
            return
        for of_one in by_member.values():
            try:
                self._make(of_one)
            except DriverError as error:
                _end(of_one, error)
            else:
                _end(of_one, None)

    def _make(self, together: Sequence[_Waiting]) -> None:
        registered = self._pool.members()
        plan = planned(registered, [waiting.change for waiting in together], self._stock)
        for place, error in plan.refused.items():
            together[place].error = error
        if plan.put:
            self._pool.put(plan.put, mind=registered)
        for member in plan.delete:
            self._pool.delete(member)


def _end(together: Sequence[_Waiting], error: DriverError | None) -> None:
    for waiting in together:
        waiting.error = waiting.error or error
        waiting.done = True  # last: another thread reads the error once this is set
