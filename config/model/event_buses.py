"""The message bus on which a cloud publishes what happens to its machines, as the daemon sees it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.model.access import BY_SYSTEM, SecretRef, Trust
from config.units import CloudId, Seconds


class EventFormat(enum.Enum):
    """Which cloud's messages the bus carries."""

    NOVA = "nova"
    """Notifications of OpenStack's Nova, versioned and unversioned, as oslo.messaging sends them."""
    CLOUDSTACK = "cloudstack"
    """Events of CloudStack's management server, as its RabbitMQ event bus sends them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBus:
    """Where to listen, and to what."""

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
