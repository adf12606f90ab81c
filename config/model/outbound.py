"""Where URLs that are declared over the API may lead: public addresses, and those that the file allows. Pure.

A person who may declare counters over the API need not be one who may have the daemon send requests into the network
that it stands in. So each address is judged as it is connected to, whatever the URL or a name server calls it.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

NEVER: Final[tuple[_Network, ...]] = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # this host, on any network
            "169.254.0.0/16",  # link-local; metadata of most clouds
            "100.100.100.200/32",  # metadata of Alibaba Cloud
            "168.63.129.16/32",  # metadata of Azure
            "192.0.0.192/32",  # metadata of Oracle Cloud
            "224.0.0.0/4",  # multicast
            "255.255.255.255/32",
            "::/128",
            "fe80::/10",  # link-local
            "fd00:ec2::254/128",  # metadata of AWS
            "fd20:ce::254/128",  # metadata of Google Cloud
            "ff00::/8",  # multicast
        ),
    )
)
"""Networks that no list of a file allows."""
_GLOBAL = ipaddress.IPv6Network("2000::/3")
"""The only part of IPv6 from which public addresses are given out. Source: IANA's registry of IPv6 address space."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Holds an IPv4 address in its last 32 bits. Source: RFC 6052, 2.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbound:
    """What URLs of the API may lead to besides public addresses."""

    allow_private: tuple[str, ...] = ()
    """Networks, in CIDR notation."""

    def allows(self, address: str) -> bool:
        """Return whether a numeric address, with or without a scope, may be connected to.

        >>> Outbound().allows("93.184.216.34"), Outbound().allows("10.0.0.5")
        (True, False)
        >>> Outbound(allow_private=("10.0.0.0/8",)).allows("::ffff:10.0.0.5")
        True
        """
        try:
            judged = _embedded(ipaddress.ip_address(address.partition("%")[0]))
        except ValueError:
            return False
        if any(judged in network for network in NEVER):
            return False
        return _is_public(judged) or any(judged in network for network in _networks(self.allow_private))


def _embedded(address: _Address) -> _Address:
    """Return the IPv4 address that an IPv6 address leads to, or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_public(address: _Address) -> bool:
    return address.is_global and (isinstance(address, ipaddress.IPv4Address) or address in _GLOBAL)


@lru_cache(maxsize=16)
def _networks(written: tuple[str, ...]) -> tuple[_Network, ...]:
    return tuple(map(ipaddress.ip_network, written))
