"""A load-balancer rule of CloudStack that Trimtab makes: address, rule, stickiness and health check, as declared.

Source: CloudStack API 4.22, createLoadBalancerRule, createLBStickinessPolicy, createLBHealthCheckPolicy,
associateIpAddress.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.units import Seconds


class Algorithm(enum.Enum):
    """Which member gets the next connection."""

    ROUNDROBIN = "roundrobin"
    LEASTCONN = "leastconn"
    SOURCE = "source"


class RuleProtocol(enum.Enum):
    """What the rule takes in and hands on."""

    TCP = "tcp"
    UDP = "udp"
    TCP_PROXY = "tcp-proxy"
    """TCP; members learn the client's address by the PROXY protocol."""
    SSL = "ssl"
    """Decrypted by the provider, with a certificate that a person assigns."""


class StickinessMethod(enum.Enum):
    """By what a client is known again."""

    LB_COOKIE = "LbCookie"
    APP_COOKIE = "AppCookie"
    SOURCE_BASED = "SourceBased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stickiness:
    """One client stays with one member."""

    method: StickinessMethod
    parameters: tuple[tuple[str, str], ...] = ()
    """As the provider has them, sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """How the provider checks members: it requests a page. Times are whole seconds."""

    path: str = "/"
    interval: Seconds = 5.0
    timeout: Seconds = 2.0
    healthy: int = 2
    """So many answers in a row make a member well."""
    unhealthy: int = 10
    """So many failures in a row make it ill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRule:
    """One public port, and the members' port that it leads to."""

    private_port: int
    public_port: int = 80
    network: str | None = None
    """The members' network, by name or id; needed where the address is acquired."""
    address: str | None = None
    """One that the account has, by id or as it is written; ``None``: acquired for this, and released with it."""
    protocol: RuleProtocol | None = None
    """``None``: the provider's own, which is TCP."""
    algorithm: Algorithm = Algorithm.ROUNDROBIN
    cidrs: tuple[str, ...] = ()
    """Networks from which clients may connect; empty: every network."""
    open_firewall: bool | None = None
    """Whether the address's firewall is opened for it; ``None``: as CloudStack does, not in a VPC and else yes."""
    stickiness: Stickiness | None = None
    health_check: HealthCheck | None = None
