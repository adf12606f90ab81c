"""Read a notification of Nova: which server it is about. It says where to look, and is never evidence by itself.

oslo.messaging puts a notification into an envelope, whose message is JSON in text; its older driver sends it without.
Unversioned notifications have the server in ``payload``, versioned ones in ``nova_object.data`` of it.

Source: oslo.messaging's "Notification driver" (``messagingv2``, ``messaging``); Nova's "Notifications in Nova".
"""

from __future__ import annotations

from collections.abc import Mapping

from collector.clients.amqp.subscription import BusMessage
from handler.ingest.alerts import json_shapes
from handler.ingest.alerts.json_shapes import WrongShape, outline
from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.buses.reading import NO_NEWS, Reading
from handler.ingest.capabilities.events import CloudNews

_VERSION, _MESSAGE = "oslo.version", "oslo.message"
_SERVERS = ("instance.", "compute.instance.")
_WITHOUT_NEWS = (".start", ".exists")
"""Last parts of types: something is about to happen, or is as it was."""
_DATA = "nova_object.data"


def read(message: BusMessage) -> Reading:
    """Read a notification. Total."""
    try:
        notification = _object(_unpacked(_object(json_shapes.parsed(message.body), "it")), "its message")
        kind = json_shapes.text(notification.get("event_type"), "event_type")
        if not kind.startswith(_SERVERS) or kind.endswith(_WITHOUT_NEWS):
            return NO_NEWS
        payload = _object(notification.get("payload"), "payload")
        server = _object(payload[_DATA], _DATA) if _DATA in payload else payload
        machine = json_shapes.text(server.get("uuid", server.get("instance_id")), "the server's id")
        name = server.get("display_name")
        return CloudNews(member=name if isinstance(name, str) and name else None, machine=machine)
    except WrongShape as error:
        return UnreadablePayload(message=f"{error}; expected a notification of Nova")


def _unpacked(sent: Mapping[str, object]) -> object:
    if _VERSION not in sent:
        return sent
    if not json_shapes.text(sent[_VERSION], _VERSION).startswith("2."):
        raise WrongShape(f"understood an envelope of another {_VERSION} than 2")
    return json_shapes.parsed(json_shapes.text(sent.get(_MESSAGE), _MESSAGE).encode("utf-8", "surrogatepass"))


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise WrongShape(f"{what} is no object: understood {outline(value)}")
    return value
