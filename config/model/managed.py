"""A balancer that Trimtab makes itself: load balancer, listener, pool and health monitor, or a rule, as declared.

Source: the properties of Senlin's load-balancing policy 1.1, and Octavia's API v2 for what may go together. Durations
are in seconds; Senlin's page says milliseconds of ``delay`` and ``timeout``, and passes them on as seconds.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from config.model.clouds import Cloud
from config.model.made_rule import MadeRule
from config.units import BalancerId, CloudId, Seconds

OF_MADE = ("vip", "loadbalancer", "rule", "listener", "pool", "health_monitor", "lb_status_timeout")
"""Keys of a balancer that Trimtab makes, besides the cloud that it makes it on."""


class Protocol(enum.Enum):
    """What a listener takes in, or a pool hands on."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"
    TCP = "TCP"
    UDP = "UDP"


HANDS_ON: Mapping[Protocol, frozenset[Protocol]] = {
    Protocol.HTTP: frozenset({Protocol.HTTP}),
    Protocol.HTTPS: frozenset({Protocol.HTTPS, Protocol.TCP}),
    Protocol.TCP: frozenset({Protocol.HTTP, Protocol.HTTPS, Protocol.TCP}),
    Protocol.UDP: frozenset({Protocol.UDP}),
}
"""Protocol of a listener → those that its pool may have (Octavia, "Protocol Combinations")."""


class Method(enum.Enum):
    """Which member gets the next connection."""

    ROUND_ROBIN = "ROUND_ROBIN"
    LEAST_CONNECTIONS = "LEAST_CONNECTIONS"
    SOURCE_IP = "SOURCE_IP"
    SOURCE_IP_PORT = "SOURCE_IP_PORT"


class Persistence(enum.Enum):
    """By what a client is known again."""

    SOURCE_IP = "SOURCE_IP"
    HTTP_COOKIE = "HTTP_COOKIE"
    APP_COOKIE = "APP_COOKIE"


class Probe(enum.Enum):
    """How members are asked whether they are well."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"
    PING = "PING"
    TCP = "TCP"
    TLS_HELLO = "TLS-HELLO"
    UDP_CONNECT = "UDP-CONNECT"


WITH_REQUESTS = frozenset({Probe.HTTP, Probe.HTTPS})
"""Probes that ask for a page."""


class ProbeMethod(enum.Enum):
    """The method of a probe's request."""

    GET = "GET"
    HEAD = "HEAD"
    OPTIONS = "OPTIONS"
    POST = "POST"
    PUT = "PUT"
    DELETE = "DELETE"
    PATCH = "PATCH"
    TRACE = "TRACE"
    CONNECT = "CONNECT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vip:
    """Where clients come in."""

    subnet: str | None = None
    network: str | None = None
    """By name or id, as the subnet; one of them, or both."""
    address: str | None = None
    """``None``: the cloud chooses."""
    admin_state_up: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSpec:
    """The protocol and port that the balancer accepts."""

    protocol: Protocol = Protocol.HTTP
    port: int = 80
    connection_limit: int | None = None
    """At once; ``None``: no limit."""
    admin_state_up: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPersistence:
    """One client stays with one member."""

    kind: Persistence
    cookie_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec:
    """The members behind the listener, and how they are addressed."""

    id: str | None = None
    """One that exists; the rest but ``subnet`` is then as it is there."""
    protocol: Protocol = Protocol.HTTP
    lb_method: Method = Method.ROUND_ROBIN
    session_persistence: SessionPersistence | None = None
    subnet: str | None = None
    """Of the members' addresses, by name or id; ``None``: that of the VIP."""
    admin_state_up: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthMonitor:
    """How the balancer checks the members. Times are whole seconds."""

    id: str | None = None
    """One that exists; the rest is then as it is there."""
    kind: Probe = Probe.PING
    delay: Seconds = 10.0
    timeout: Seconds = 5.0
    max_retries: int = 3
    http_method: ProbeMethod = ProbeMethod.GET
    url_path: str = "/"
    expected_codes: str = "200"
    admin_state_up: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedBalancer:
    """Made when a group first needs it, and deleted when none does any more; what exists already is only used."""

    id: BalancerId
    on: CloudId
    cloud: Cloud | None
    """``None``: there is none of that name, which `config.checks.catalogue` refuses."""
    loadbalancer: str | None = None
    """One that exists, by name or id."""
    vip: Vip | None = None
    """``None`` where the load balancer exists."""
    listener: ListenerSpec = ListenerSpec()
    pool: PoolSpec = PoolSpec()
    health_monitor: HealthMonitor | None = None
    rule: MadeRule | None = None
    """On CloudStack, where all of the above means nothing."""
    lb_status_timeout: Seconds = 300.0
    """How long a part may be pending before that is an error."""


class ManagedPart(enum.Enum):
    """What a managed balancer is made of, in the order of making; it is deleted in the reverse one.

    Octavia has the first four, CloudStack the others.
    """

    LOADBALANCER = "loadbalancer"
    LISTENER = "listener"
    POOL = "pool"
    HEALTHMONITOR = "healthmonitor"
    ADDRESS = "address"
    RULE = "rule"
    STICKINESS = "stickiness"
    HEALTHCHECK = "healthcheck"


def made_parts(declared: ManagedBalancer) -> tuple[ManagedPart, ...]:
    """Those of a balancer's parts that Trimtab makes, and only those: what the file names exists without it.

    A pool that exists has its listener.
    """
    if declared.rule is not None:
        return _made_of(declared.rule)
    pool, monitor = declared.pool, declared.health_monitor
    own = {
        ManagedPart.LOADBALANCER: declared.loadbalancer is None,
        ManagedPart.LISTENER: pool.id is None,
        ManagedPart.POOL: pool.id is None,
        ManagedPart.HEALTHMONITOR: monitor is not None and monitor.id is None,
    }
    return tuple(part for part, is_made in own.items() if is_made)


def _made_of(rule: MadeRule) -> tuple[ManagedPart, ...]:
    own = {
        ManagedPart.ADDRESS: rule.address is None,
        ManagedPart.RULE: True,
        ManagedPart.STICKINESS: rule.stickiness is not None,
        ManagedPart.HEALTHCHECK: rule.health_check is not None,
    }
    return tuple(part for part, is_made in own.items() if is_made)


def pinned_address(declared: ManagedBalancer) -> str | None:
    """The address that the file names; ``None``: the cloud chooses one."""
    if declared.rule is not None:
        return declared.rule.address
    if declared.vip is not None:
        return declared.vip.address
    return f"of load balancer {declared.loadbalancer}" if declared.loadbalancer else None
