"""The key ``events`` of OpenStack and CloudStack, as it is written: the message bus that their events come over."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from config.document.addresses import BusUrl
from config.document.declared import key, must
from config.document.scalars import BusWord, PositiveSpan, Text
from config.document.sources import SecretDocument, TrustingDocument
from config.model.clouds import EventBus, EventFormat
from config.units import CloudId

_MACHINES = ("*.*.*.VirtualMachine.*",)
"""Routing keys of CloudStack: source, category, type, kind of resource, its id."""


class EventsDocument(TrustingDocument):
    """How the message bus of a cloud (RabbitMQ) is reached."""

    hidden: ClassVar[frozenset[str]] = frozenset({"url", "password"})

    url: BusUrl = must("Its address; the path is the virtual host.", "amqps://rabbit.example.org:5671/")
    user: Text = must("A user who may make queues of its own, and bind them to the exchange.", "trimtab")
    password: SecretDocument = must("Where the user's password is kept.", {"file": "/etc/trimtab/rabbit.password"})
    timeout: PositiveSpan = key("How long connecting may take, all of it.", "10s", default="10s")

    def _bus(self, cloud: CloudId, format: EventFormat, exchange: str, bindings: tuple[str, ...]) -> EventBus:
        return EventBus(
            cloud=cloud,
            format=format,
            url=self.url,
            user=self.user,
            password=self.password.ref,
            exchange=exchange,
            bindings=bindings,
            trust=self.trust,
            timeout=self.timeout,
        )


class NovaEventsDocument(EventsDocument):
    """The message bus on which Nova publishes notifications."""

    exchange: BusWord = key("Nova's control_exchange.", "nova", default="nova")
    topics: Annotated[list[BusWord], Field(min_length=1, max_length=10)] = key(
        "Topics of its notifications.", ["notifications"], default=["notifications", "versioned_notifications"]
    )

    def bus(self, cloud: CloudId) -> EventBus:
        """As the daemon sees it."""
        return self._bus(cloud, EventFormat.NOVA, self.exchange, tuple(f"{topic}.*" for topic in self.topics))


class CloudstackEventsDocument(EventsDocument):
    """The message bus on which CloudStack publishes events."""

    exchange: BusWord = key("The exchange of its event bus.", "cloudstack-events", default="cloudstack-events")

    def bus(self, cloud: CloudId) -> EventBus:
        """As the daemon sees it."""
        return self._bus(cloud, EventFormat.CLOUDSTACK, self.exchange, _MACHINES)


EXAMPLE = {
    "url": "amqps://rabbit.example.org:5671/",
    "user": "trimtab",
    "password": {"file": "/etc/trimtab/rabbit.password"},
}
