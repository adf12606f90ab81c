"""What messages of clouds say. Those of Nova are as oslo.messaging 18.3.1 sent them over RabbitMQ."""

from __future__ import annotations

import json

import pytest

from collector.clients.amqp.subscription import BusMessage
from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.buses import cloudstack, nova
from handler.ingest.buses.reading import NO_NEWS, Reading
from handler.ingest.capabilities.events import CloudNews

_ENVELOPE = (
    b'{"oslo.version": "2.0", "oslo.message": "{\\"message_id\\": \\"9f8f050b-5451-4cd2-b77a-caf5ac20dfb7\\", '
    b'\\"publisher_id\\": \\"compute.host1\\", \\"event_type\\": \\"compute.instance.delete.end\\", \\"priority\\": '
    b'\\"INFO\\", \\"payload\\": {\\"instance_id\\": \\"u-1\\", \\"display_name\\": \\"web-k3f9ab-7\\", \\"state\\": '
    b'\\"deleted\\"}, \\"timestamp\\": \\"2026-11-27 02:49:25.873270\\", \\"_unique_id\\": '
    b'\\"4d5af4ea3bdd4133bc057e2b758065d5\\"}"}'
)
_BARE = (
    b'{"message_id": "c3036363-13f6-405f-a1fe-5440c57dc88b", "publisher_id": "compute.host1", "event_type": '
    b'"instance.delete.end", "priority": "INFO", "payload": {"nova_object.name": "InstanceActionPayload", '
    b'"nova_object.data": {"uuid": "u-1", "display_name": "web-k3f9ab-7"}}, "timestamp": "2026-11-27 02:49:27.317957", '
    b'"_unique_id": "176e11d2a14e46fda481a4181c95198b"}'
)
_SERVER = CloudNews(member="web-k3f9ab-7", machine="u-1")
_UNREADABLE = None


def of_nova(kind: object, payload: object) -> bytes:
    return json.dumps({"event_type": kind, "payload": payload}).encode()


_NOVA: dict[str, tuple[bytes, Reading | None]] = {
    "unversioned in an envelope": (_ENVELOPE, _SERVER),
    "versioned without one": (_BARE, _SERVER),
    "of a server without a name": (of_nova("instance.update", {"uuid": "u-1"}), CloudNews(machine="u-1")),
    "before it happens": (of_nova("instance.delete.start", {"uuid": "u-1"}), NO_NEWS),
    "of the hourly audit": (of_nova("compute.instance.exists", {"instance_id": "u-1"}), NO_NEWS),
    "of another service": (of_nova("volume.create.end", {"volume_id": "v-1"}), NO_NEWS),
    "of a flavor": (of_nova("flavor.create", {}), NO_NEWS),
    "without a server": (of_nova("instance.update", {}), _UNREADABLE),
    "with a payload that is no object": (of_nova("instance.update", ["u-1"]), _UNREADABLE),
    "with a type that is no text": (of_nova(7, {}), _UNREADABLE),
    "in another envelope": (b'{"oslo.version": "3.0", "oslo.message": "{}"}', _UNREADABLE),
    "in an envelope of no JSON": (b'{"oslo.version": "2.0", "oslo.message": "{"}', _UNREADABLE),
    "empty": (b"", _UNREADABLE),
    "no object": (b"[]", _UNREADABLE),
    "no text": (b"\xff\xfe", _UNREADABLE),
    "nested deep": (b"[" * 100_000, _UNREADABLE),
}


@pytest.mark.parametrize(("body", "reading"), _NOVA.values(), ids=_NOVA)
def test_a_notification_of_nova_names_its_server(body: bytes, reading: Reading | None) -> None:
    read = nova.read(BusMessage(routing_key="notifications.info", body=body))

    assert (None if isinstance(read, UnreadablePayload) else read) == reading


_STATE = "management-server.ResourceStateEvent.AgentReportStopped.VirtualMachine.u-1"
_ACTION = "management-server.ActionEvent.VM-STOP.VirtualMachine.{}"
_AFTER = b'{"resource": "VirtualMachine", "id": "u-1", "new-state": "Stopped", "status": "postStateTransitionEvent"}'
_CLOUDSTACK: dict[str, tuple[str, bytes, Reading | None]] = {
    "after a change of state": (_STATE, _AFTER, CloudNews(machine="u-1")),
    "before it": (_STATE, _AFTER.replace(b"post", b"pre"), NO_NEWS),
    "of older servers, which give no stage": (_STATE, b'{"id": "u-1"}', CloudNews(machine="u-1")),
    "of an action that is over": (_ACTION.format("u-1"), b'{"status": "Completed"}', CloudNews(machine="u-1")),
    "of an action that begins": (_ACTION.format("u-1"), b'{"status": "Started"}', NO_NEWS),
    "named in the body": (_ACTION.format("*"), b'{"entityuuid": "u-1"}', CloudNews(machine="u-1")),
    "named as an entity": (_ACTION.format("*"), b'{"VirtualMachine": "u-1"}', CloudNews(machine="u-1")),
    "named nowhere": (_ACTION.format("*"), b"{}", NO_NEWS),
    "named by a number": (_ACTION.format("*"), b'{"entityuuid": 1}', NO_NEWS),
    "with a stage that is no text": (_STATE, b'{"status": ["Started"]}', CloudNews(machine="u-1")),
    "of a volume": (_STATE.replace("VirtualMachine", "Volume"), _AFTER, NO_NEWS),
    "with another routing key": ("u-1", _AFTER, _UNREADABLE),
    "with no JSON": (_STATE, b"?", _UNREADABLE),
    "with a list": (_STATE, b"[]", _UNREADABLE),
}


@pytest.mark.parametrize(("key", "body", "reading"), _CLOUDSTACK.values(), ids=_CLOUDSTACK)
def test_an_event_of_cloudstack_names_its_machine(key: str, body: bytes, reading: Reading | None) -> None:
    read = cloudstack.read(BusMessage(routing_key=key, body=body))

    assert (None if isinstance(read, UnreadablePayload) else read) == reading
