"""How hosts with libvirt are reached, and what members on them are made of."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class AddressSource(enum.Enum):
    """Where the address of a member is learned from."""

    LEASES = "leases"
    """The DHCP server of a network of libvirt's own."""
    AGENT = "agent"
    """QEMU's agent in the guest."""
    ARP = "arp"
    """The host's table of neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtHost:
    """One host."""

    name: str
    """As the file calls it; empty: the cloud is this host alone."""
    uri: str
    """libvirt's own address of it."""

    @property
    def is_local(self) -> bool:
        """Whether it is the machine that Trimtab runs on.

        >>> LibvirtHost(name="", uri="qemu:///system").is_local, LibvirtHost(name="", uri="qemu+tls://h1/system").is_local
        (True, False)
        """
        return ":///" in self.uri


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtRecipe:
    """What a domain is made of. Pools and volumes have the same names on all hosts."""

    base_pool: str
    base: str
    """The volume that a member's disk begins as: it holds what the member changes, and reads the rest from there."""
    memory: int
    """Bytes."""
    vcpus: int
    pool: str | None = None
    """Where members' disks are; ``None``: where the base is."""
    disk: int | None = None
    """Bytes; ``None``: as the base."""
    networks: tuple[str, ...] = ()
    user_data: str = ""
    domain: str = ""
    """XML that the rest is put into; empty: that of the driver."""
