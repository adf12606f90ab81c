"""List the domains of one host: which bear a mark, their states and addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from collector.clients.libvirt.client import LibvirtClient
from collector.clients.libvirt.messages import DomainRef, Fault, LibvirtError
from config.model.libvirt import AddressSource
from handler.orchestrators.libvirt.machines import LibvirtMachine, address_in
from handler.orchestrators.libvirt.marks import NAMESPACE, DomainMark, mark_of

SOURCES: Final[Mapping[AddressSource, int]] = MappingProxyType(
    {AddressSource.LEASES: 0, AddressSource.AGENT: 1, AddressSource.ARP: 2}
)
"""libvirt's numbers of them (``virDomainInterfaceAddressesSource``)."""
_UNREAD = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostListing:
    """All domains of one host."""

    machines: tuple[LibvirtMachine, ...]
    """Those with a mark, of any installation; state and address only of this one's."""
    others: tuple[DomainRef, ...]
    """Those without, and copies of members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReader:
    """Lists the domains of one host."""

    host: str
    client: LibvirtClient
    about: str
    source: AddressSource
    installation: str

    def read(self) -> HostListing:
        """List them. A domain that disappears meanwhile is not among them.

        Raises:
            DriverError: not all could be read.
        """
        domains = self.client.domains()
        marked: list[tuple[DomainRef, DomainMark]] = []
        others: list[DomainRef] = []
        for domain, answer in zip(domains, self.client.metadata(domains, NAMESPACE), strict=True):
            if isinstance(answer, LibvirtError) and answer.code == Fault.NO_DOMAIN:
                continue
            mark = self._mark(domain, answer)
            if mark is None:
                others.append(domain)
            else:
                marked.append((domain, mark))
        machines = [LibvirtMachine(host=self.host, domain=domain, mark=mark, state=_UNREAD) for domain, mark in marked]
        ours = [machine for machine in machines if machine.member(self.installation) is not None]
        theirs = [machine for machine in machines if machine.member(self.installation) is None]
        return HostListing(machines=(*self._with_addresses(self._with_states(ours)), *theirs), others=tuple(others))

    def with_address(self, machine: LibvirtMachine) -> LibvirtMachine:
        """Read the address of one domain."""
        return self._with_addresses([machine])[0]

    def _mark(self, domain: DomainRef, answer: str | LibvirtError) -> DomainMark | None:
        if isinstance(answer, LibvirtError):
            if answer.code == Fault.NO_DOMAIN_METADATA:
                return None
            raise answer.failure(f"{self.about}: {domain.name}")
        mark = mark_of(answer)
        return mark if mark is not None and mark.member(domain.name, domain.uuid) is not None else None

    def _with_states(self, machines: Sequence[LibvirtMachine]) -> Sequence[LibvirtMachine]:
        answers = self.client.states([machine.domain for machine in machines])
        read: list[LibvirtMachine] = []
        for machine, answer in zip(machines, answers, strict=True):
            if not isinstance(answer, LibvirtError):
                read.append(replace(machine, state=answer))
            elif answer.code != Fault.NO_DOMAIN:
                raise answer.failure(f"{self.about}: {machine.domain.name}")
        return read

    def _with_addresses(self, machines: Sequence[LibvirtMachine]) -> Sequence[LibvirtMachine]:
        """A guest without an agent, or without a lease, has no address yet: that is no failure."""
        running = [machine.domain for machine in machines if machine.runs]
        answers = dict(zip(running, self.client.interfaces(running, SOURCES[self.source]), strict=True))
        read: list[LibvirtMachine] = []
        for machine in machines:
            answer = answers.get(machine.domain)
            known = None if answer is None or isinstance(answer, LibvirtError) else address_in(answer)
            read.append(replace(machine, address=known))
        return read
