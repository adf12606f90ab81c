"""Balancers that are reached over a network, as the core sees them."""

from __future__ import annotations

from dataclasses import dataclass

from config.model.access import BY_SYSTEM, SecretRef, Trust
from config.model.clouds import CloudstackCloud
from config.units import BalancerId, Seconds


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
