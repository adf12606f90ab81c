"""The hosts of one cloud, and what they answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.clients.libvirt.client import LibvirtClient
from collector.clients.libvirt.messages import DomainRef
from config.errors import DriverError, Transient
from config.units import MemberName, Seconds
from handler.orchestrators.libvirt.listing import HostListing, HostReader
from handler.orchestrators.libvirt.machines import LibvirtMachine
from handler.orchestrators.libvirt.making import LibvirtMaker
from handler.planning.headroom import UsageLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDriver:
    """What is done on one host."""

    client: LibvirtClient
    reader: HostReader
    maker: LibvirtMaker

    def listed(self) -> HostListing | DriverError:
        """List its domains, or say why that is not possible."""
        try:
            return self.reader.read()
        except DriverError as error:
            return error

    def limit(self) -> UsageLimit | DriverError:
        """Return the memory of its guests, or why it is not known."""
        try:
            return self.maker.room.limit()
        except DriverError as error:
            return error


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsReading:
    """What the hosts answered."""

    hosts: Mapping[str, HostListing | DriverError]

    @property
    def answered(self) -> Mapping[str, HostListing]:
        """The hosts that answered."""
        return {name: host for name, host in self.hosts.items() if isinstance(host, HostListing)}

    @property
    def machines(self) -> Sequence[LibvirtMachine]:
        """All domains with a mark, of any installation."""
        return [machine for host in self.answered.values() for machine in host.machines]

    @property
    def others(self) -> Sequence[tuple[str, DomainRef]]:
        """All domains without a mark, and where each is."""
        return [(name, domain) for name, host in self.answered.items() for domain in host.others]

    @property
    def failures(self) -> Sequence[DriverError]:
        """Why hosts did not answer."""
        return [host for host in self.hosts.values() if isinstance(host, DriverError)]

    @property
    def because(self) -> str:
        """Why it is incomplete; empty: it is complete."""
        return "; ".join(map(str, self.failures))

    @property
    def uncertain(self) -> DriverError:
        """Why nothing is certain: what all hosts refuse needs a person, and a host that is silent may answer later."""
        passing = [error for error in self.failures if isinstance(error, Transient)]
        if not self.answered and (not passing or len(self.failures) == 1):
            return self.failures[0]
        return Transient(self.because, retry_after=_soonest(passing))

    def of(self, name: MemberName, installation: str) -> Sequence[LibvirtMachine]:
        """Return the domains of a member, the running one first."""
        found = (machine for machine in self.machines if machine.member(installation) == name)
        return sorted(found, key=lambda machine: not machine.runs)


def _soonest(failures: Sequence[Transient]) -> Seconds | None:
    return min((each.retry_after for each in failures if each.retry_after is not None), default=None)
