"""Balancers, one kind a class, as the core sees them."""

from __future__ import annotations

from dataclasses import dataclass

from config.model.access import BY_SYSTEM, SecretRef, Trust
from config.model.clouds import CloudstackCloud
from config.model.managed import ManagedBalancer
from config.model.openstack import OctaviaBalancer
from config.units import (
    BalancerId,
    Seconds,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetscalerBalancer:
    """One service group of a NetScaler, steered over NITRO."""

    id: BalancerId
    url: str
    """``https://NSIP``; what ``/nitro/v1`` is added to."""
    user: str
    password: SecretRef
    service_group: str
    delay: Seconds | None = None
    """After so long the appliance itself closes what a drained member has left; ``None``: it waits for ever."""
    save: bool = False
    """Have the appliance keep over its restart what was changed."""
    trust: Trust = BY_SYSTEM
    timeout: Seconds = 10.0
    """For one answer, all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackRuleBalancer:
    """One load-balancer rule of a CloudStack account."""

    id: BalancerId
    rule: str
    """Name or id."""
    cloud: CloudstackCloud
    """The account, as it is reached for this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedListener:
    """A holder process owns the listening socket and hands it to members (SCM_RIGHTS)."""

    id: BalancerId
    address: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTemplate:
    """Servers that HAProxy has from the start, for members to be put into."""

    prefix: str
    """Its servers are called this and a number."""
    map: str
    """HAProxy's map of addresses to members: ``address:port`` → member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxyBalancer:
    """One backend of one HAProxy, or of several that serve alike, steered over runtime sockets."""

    id: BalancerId
    socket: str
    """A path, or ``host:port``."""
    backend: str
    further: tuple[str, ...] = ()
    """The sockets of the other processes."""
    template: ServerTemplate | None = None
    """``None``: members are dynamic servers."""

    @property
    def sockets(self) -> tuple[str, ...]:
        """One for each process."""
        return (self.socket, *self.further)


Balancer = (
    SharedListener | HaproxyBalancer | NetscalerBalancer | OctaviaBalancer | CloudstackRuleBalancer | ManagedBalancer
)
