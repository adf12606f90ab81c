"""The kinds of cloud that members come from, how to reach each, and the message bus on which it publishes events."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from config.model.access import BY_SYSTEM, SecretRef, Trust
from config.model.libvirt import AddressSource, LibvirtHost
from config.model.openstack import OpenstackAccess
from config.model.pacing import STOCK, Budget
from config.model.simulation import Behaviour
from config.units import CloudId, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """How much may be asked of a cloud (creates, removals, questions by name), by all groups together."""

    count: int
    """So many in a burst, and then evenly so many…; at least 2: one to ask about a member, one to do something."""
    per: Seconds = 1.0
    at_once: int = 8
    """So many side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCloud:
    """Members are processes of this machine, each on a loopback address of its own."""

    id: CloudId
    budget: Budget = STOCK
    calls: Calls | None = None
    """``None``: as many as come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedCloud:
    """Members are simulated inside Trimtab."""

    id: CloudId
    behaviour: Behaviour = field(default_factory=Behaviour)
    budget: Budget = STOCK
    calls: Calls | None = None
    """``None``: as many as come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackCloud:
    """Members are virtual machines of one CloudStack account."""

    id: CloudId
    endpoint: str
    api_key: SecretRef
    secret: SecretRef
    trust: Trust = BY_SYSTEM
    timeout: Seconds = 15.0
    """For one answer, all of it."""
    job_timeout: Seconds = 120.0
    """How long a job is waited for; it goes on after that."""
    expunge: bool = False
    """Removed machines cannot be recovered."""
    project: str | None = None
    """The project that owns them, by name or id; ``None``: the account's own, of no project."""
    budget: Budget = STOCK
    calls: Calls | None = None
    """``None``: as many as come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaCloud:
    """Members are virtual machines of one user of OpenNebula."""

    id: CloudId
    endpoint: str
    user: str
    password: SecretRef
    trust: Trust = BY_SYSTEM
    timeout: Seconds = 15.0
    """For one answer, all of it."""
    network: str | None = None
    """Where members are reached; ``None``: by their first interface."""
    hard: bool = False
    """Removed machines are not asked to stop."""
    budget: Budget = STOCK
    calls: Calls | None = None
    """``None``: as many as come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneflowCloud:
    """Members are nodes of roles of OneFlow services that exist."""

    id: CloudId
    endpoint: str
    """OneFlow's server."""
    nebula: OpennebulaCloud
    """The cloud of its machines, and the user that owns the services. OneFlow knows the user by the same name."""
    vm_name: str
    """How OneFlow's server names machines: its ``vm_name_template``."""
    budget: Budget = STOCK
    calls: Calls | None = None
    """``None``: as many as come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenstackCloud:
    """Members are servers of one OpenStack project."""

    id: CloudId
    access: OpenstackAccess
    budget: Budget = STOCK
    calls: Calls | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtCloud:
    """Members are domains of one host with libvirt, or of several that no cloud stands above."""

    id: CloudId
    hosts: tuple[LibvirtHost, ...]
    trust: Trust = BY_SYSTEM
    certificate: str | None = None
    """A file with the certificate that hosts know Trimtab by."""
    key: str | None = None
    """The file with its private key."""
    timeout: Seconds = 15.0
    """For one answer, all of it."""
    addresses: AddressSource = AddressSource.LEASES
    memory: float = 1.0
    """How much memory guests of a host may have together, as a share of its own."""
    budget: Budget = STOCK
    calls: Calls | None = None
    """``None``: as many as come."""


Cloud = ProcessCloud | SimulatedCloud | CloudstackCloud | OpennebulaCloud | OneflowCloud | OpenstackCloud | LibvirtCloud
"""Closed union of the kinds of cloud."""


class EventFormat(enum.Enum):
    """Which cloud's messages the bus carries."""

    NOVA = "nova"
    """Notifications of OpenStack's Nova, versioned and unversioned, as oslo.messaging sends them."""
    CLOUDSTACK = "cloudstack"
    """Events of CloudStack's management server, as its RabbitMQ event bus sends them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBus:
    """The message bus on which a cloud publishes what happens to its machines."""

    cloud: CloudId
    """Whose groups the events concern."""
    format: EventFormat
    url: str
    """``amqp`` or ``amqps``; host, perhaps a port, and the virtual host as its path. No user and no password."""
    user: str
    password: SecretRef
    exchange: str
    """It belongs to the cloud: Trimtab never makes it."""
    bindings: tuple[str, ...]
    """Patterns of the routing keys that are listened to."""
    trust: Trust = BY_SYSTEM
    timeout: Seconds = 10.0
    """For all of connecting."""
