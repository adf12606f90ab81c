"""Read an event of CloudStack's event bus: which virtual machine it is about. It is never evidence by itself.

The routing key has five parts: source, category, type, kind of resource, and its id, with ``*`` for what is not known.
The body is a flat object: a change of state has ``status`` before and after it, an action each of its stages.

Source: CloudStack's ``RabbitMQEventBus``, ``UserVmStateListener`` and ``ActionEventUtils`` (4.18 to 4.20).
"""

from __future__ import annotations

from collector.clients.amqp.subscription import BusMessage
from handler.ingest.alerts import json_shapes
from handler.ingest.alerts.json_shapes import WrongShape, outline
from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.buses.reading import NO_NEWS, Reading
from handler.ingest.capabilities.events import CloudNews

_PARTS = 5
_KIND, _ID = 3, 4
_MACHINE = "VirtualMachine"
_UNKNOWN = "*"
_IN_BODY = ("entityuuid", _MACHINE)
"""Keys of an action's body that may name the machine where its routing key does not."""
_BEFORE = frozenset({"preStateTransitionEvent", "Scheduled", "Started"})
"""Nothing has changed yet; another event follows when it has."""


def read(message: BusMessage) -> Reading:
    """Read an event. Total."""
    key = message.routing_key.split(".")
    try:
        if len(key) != _PARTS:
            raise WrongShape(f"understood a routing key of {len(key)} parts")
        if key[_KIND] != _MACHINE:
            return NO_NEWS
        body = json_shapes.parsed(message.body)
        if not isinstance(body, dict):
            raise WrongShape(f"understood {outline(body)}")
    except WrongShape as error:
        return UnreadablePayload(message=f"{error}; expected an event of CloudStack")
    if str(body.get("status")) in _BEFORE:
        return NO_NEWS
    machine = key[_ID] if key[_ID] != _UNKNOWN else next(filter(None, map(body.get, _IN_BODY)), None)
    return CloudNews(machine=machine) if isinstance(machine, str) else NO_NEWS
