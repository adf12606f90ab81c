"""Domains as a host shows them, and as planning sees them. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from collector.clients.libvirt.messages import DomainRef, Interface
from config.units import Instant, MemberName, Seconds
from handler.orchestrators.libvirt.marks import DomainMark
from handler.orchestrators.libvirt.states import ACTIVE, domain_state
from handler.planning.world import Server, ServerState

_UNFINISHED_AFTER: Seconds = 120.0
"""A domain that was defined so long ago and never started was given up half-way: it counts as broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtMachine:
    """One domain of one host that bears a mark."""

    host: str
    """Empty: the only host."""
    domain: DomainRef
    mark: DomainMark
    state: tuple[int, int]
    """libvirt's, and its reason."""
    address: str | None = None

    @property
    def runs(self) -> bool:
        """Whether it has a running emulator, whatever its guest does."""
        return self.state[0] in ACTIVE

    def member(self, installation: str) -> MemberName | None:
        """Return which member of this installation it is; ``None``: it is foreign."""
        own = self.mark.launch.installation == installation
        return self.mark.member(self.domain.name, self.domain.uuid) if own else None

    def server(self, now: Instant) -> Server:
        """Return it as planning sees it."""
        words, state = self._seen(now)
        return Server(
            name=self.mark.launch.name,
            id=str(self.domain.uuid),
            state=state,
            address=self.address,
            created_at=self.mark.made,
            raw_state=words,
            zone=self.host or None,
            claim=self.mark.claim,
        )

    def _seen(self, now: Instant) -> tuple[str, ServerState]:
        """A member that leaves and is off is not DELETING any more: the next call may remove it at once."""
        words, state = domain_state(*self.state)
        if self.mark.leaving is not None and self.runs:
            return f"{words}, asked to stop", ServerState.DELETING
        if self.mark.unfinished and not self.runs:
            given_up = now - self.mark.made > _UNFINISHED_AFTER
            return ("defined, and never started", ServerState.ERROR) if given_up else ("defined", ServerState.BUILDING)
        return words, state


def foreign_server(host: str, domain: DomainRef, state: tuple[int, int], now: Instant) -> Server:
    """Return a domain without a mark as planning sees it, under its own name. libvirt does not say how old it is."""
    words, meaning = domain_state(*state)
    return Server(
        name=MemberName(domain.name),
        id=str(domain.uuid),
        state=meaning,
        address=None,
        created_at=now,
        raw_state=words,
        zone=host or None,
    )


def address_in(interfaces: Sequence[Interface]) -> str | None:
    """Return a member's address: of its first interface with one, IPv4 before IPv6.

    >>> address_in([Interface("lo", ("127.0.0.1",)), Interface("vnet0", ("fe80::1", "2001:db8::7", "10.0.0.7"))])
    '10.0.0.7'
    >>> address_in([Interface("vnet0", ("fe80::1",))]) is None
    True
    """
    for interface in interfaces:
        known = sorted(_reachable(interface.addresses), key=lambda address: address.version)
        if known:
            return str(known[0])
    return None


def _reachable(addresses: Iterable[str]) -> Iterable[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    for written in addresses:
        try:
            address = ipaddress.ip_address(written)
        except ValueError:
            continue
        if not (address.is_loopback or address.is_link_local or address.is_unspecified):
            yield address


def without_copies(machines: Iterable[LibvirtMachine]) -> Sequence[LibvirtMachine]:
    """Keep one domain of each member, the running one: a migration may leave a copy behind that is off."""
    kept: dict[MemberName, LibvirtMachine] = {}
    for machine in machines:
        before = kept.get(machine.mark.launch.name)
        if before is None or (machine.runs and not before.runs):
            kept[machine.mark.launch.name] = machine
    return tuple(kept.values())
