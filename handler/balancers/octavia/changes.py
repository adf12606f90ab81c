"""Combine changes of members of one pool into one batch. Pure.

Octavia takes one change of a tree at a time, and a batch takes about as long as a single change: so waiting changes are
combined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from config.errors import DriverError, Permanent, Transient
from config.units import MemberName
from handler.balancers.octavia.parsing import PoolMember, shortest
from handler.balancers.registrations import ours
from handler.planning.world import RegistrationState
from handler.ports.balancer import MemberMove, RegistrationChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """Values for a new member, and for one that is to serve."""

    subnet: str | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """The requests to Octavia, and the changes that are refused before them."""

    put: tuple[Mapping[str, object], ...] = ()
    """Members of a batch, each with all its attributes, in the order of their names."""
    delete: tuple[str, ...] = ()
    """Ids."""
    refused: Mapping[int, DriverError] = field(default_factory=dict)
    """Place in the sequence of changes → why not."""


@dataclass(slots=True, kw_only=True)
class _Draft:
    """The pool after the changes."""

    entries: list[PoolMember]
    stock: Stock
    put: dict[tuple[str, int], PoolMember] = field(default_factory=dict)
    delete: list[str] = field(default_factory=list)

    def registrations(self, member: MemberName) -> list[PoolMember]:
        return [entry for entry in self.entries if entry.name == member]

    def apply(self, change: RegistrationChange) -> None:
        member = ours(change.member)
        match change.move:
            case MemberMove.JOIN:
                self._join(member, *(change.at or ("", 0)))
            case MemberMove.ENABLE:
                self._enable(member)
            case MemberMove.DRAIN:
                self._drain(member)
            case MemberMove.LEAVE:
                for entry in self.registrations(member):
                    self._remove(entry)
            case _:
                assert_never(change.move)

    def _enable(self, member: MemberName) -> None:
        registered = self.registrations(member)
        if not registered:
            raise Transient(f"{member} is not in the pool: it must join first")
        for entry in registered:
            if entry.state is not RegistrationState.SERVING:
                self._set(replace(entry, up=True, weight=self.stock.weight))

    def _drain(self, member: MemberName) -> None:
        for entry in self.registrations(member):
            if entry.state is not RegistrationState.DRAINING:
                self._set(replace(entry, up=True, weight=0))

    def _join(self, member: MemberName, address: str, port: int) -> None:
        place = (shortest(address), port)
        if not place[0]:
            raise Permanent(f"{member} has the address {address!r}: Octavia is given IP addresses only")
        there = [entry for entry in self.entries if (entry.address, entry.port) == place]
        for entry in there:
            if entry.name != member:
                raise _taken(entry, place)
        for entry in self.registrations(member):
            if entry not in there:  # it moved
                self._remove(entry)
        if there:
            return
        subnet = () if self.stock.subnet is None else (("subnet_id", self.stock.subnet),)
        new = PoolMember(id="", name=member, address=place[0], port=port, weight=0, up=False, operating="", kept=subnet)
        self._set(new)

    def _set(self, entry: PoolMember) -> None:
        place = (entry.address, entry.port)
        self.entries = [each for each in self.entries if (each.address, each.port) != place] + [entry]
        self.put[place] = entry

    def _remove(self, entry: PoolMember) -> None:
        self.entries.remove(entry)
        self.put.pop((entry.address, entry.port), None)
        if entry.id:
            self.delete.append(entry.id)


def planned(entries: Iterable[PoolMember], changes: Sequence[RegistrationChange], stock: Stock) -> PoolPlan:
    """Return the requests that make all changes, in order. Changes that are already in place need none.

    If a member's change is refused, so are its later ones.

    >>> def join(n: int) -> RegistrationChange:
    ...     return RegistrationChange(move=MemberMove.JOIN, member=f"web-k3f9ab-{n}", at=(f"10.0.0.{n}", 80))
    >>> joins = [join(1), join(2)]
    >>> [entry["weight"] for entry in planned((), joins, Stock()).put]
    [0, 0]
    """
    draft, refused = _Draft(entries=list(entries), stock=stock), {}
    failed: dict[MemberName, DriverError] = {}
    for place, change in enumerate(changes):
        try:
            if change.member not in failed:
                draft.apply(change)
        except DriverError as error:
            failed[change.member] = error
        if change.member in failed:
            refused[place] = failed[change.member]
    put = tuple(_encoded(entry) for entry in sorted(draft.put.values(), key=lambda entry: entry.name))
    return PoolPlan(put=put, delete=tuple(draft.delete), refused=refused)


def _encoded(entry: PoolMember) -> Mapping[str, object]:
    """Return one member of a batch. Omitted attributes go back to their defaults."""
    return {
        **dict(entry.kept),
        "name": entry.name,
        "address": entry.address,
        "protocol_port": entry.port,
        "weight": entry.weight,
        "admin_state_up": entry.up,
    }


def _taken(entry: PoolMember, place: tuple[str, int]) -> DriverError:
    where = f"{place[0]} port {place[1]}"
    if entry.member is None:
        return Permanent(f"{where} belongs to {entry.name or entry.id}: foreign registrations are never touched")
    return Transient(f"{where} still belongs to {entry.name}")
