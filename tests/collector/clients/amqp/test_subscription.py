"""Listening to a real RabbitMQ, which the tests of this file share."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import pytest

from collector.clients.amqp.subscription import BusMessage, listen
from config.errors import Permanent, Transient
from config.model.access import SecretRef, Trust
from config.model.clouds import EventBus
from handler.ingest.buses import nova
from handler.ingest.capabilities.events import CloudNews
from tests.support.rabbitmq import EXCHANGE, IN_URL, PASSWORD, Broker, running
from tests.support.real_clouds import OSLO
from tests.support.waiting import PATIENT

pytestmark = pytest.mark.real("rabbitmq-server")

_KEY = "management-server.ResourceStateEvent.AgentReportStopped.VirtualMachine.u-1"
_NOTIFIER = """
import json, sys
import oslo_messaging
from oslo_config import cfg

conf = cfg.ConfigOpts()
conf([])
oslo_messaging.set_transport_defaults("nova")
transport = oslo_messaging.get_notification_transport(conf, url=sys.argv[1])
topics = ["notifications", "versioned_notifications"]
notifier = oslo_messaging.Notifier(transport, publisher_id="compute.host", driver=sys.argv[2], topics=topics, retry=3)
for kind, payload in json.load(sys.stdin):
    notifier.info({}, kind, payload)
"""
_UNVERSIONED = {"instance_id": "u-1", "display_name": "web-k3f9ab-7"}
_NOTIFICATIONS = [
    ("compute.instance.delete.end", _UNVERSIONED),
    ("instance.delete.end", {"nova_object.data": {"uuid": "u-1", "display_name": "web-k3f9ab-7"}}),
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with running() as one:
        one.declare()
        yield one


class Heard:
    """What came while a listening went on."""

    def __init__(self) -> None:
        self.messages: list[BusMessage] = []
        self.connected = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENT):
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def listening(bus: EventBus) -> AsyncIterator[Heard]:
    heard = Heard()
    heard.task = asyncio.create_task(listen(bus, PASSWORD, heard.connected.set, heard.messages.append))
    try:
        await heard.until(lambda: heard.connected.is_set() or heard.task is None or heard.task.done())
        if heard.task.done():
            heard.task.result()
        yield heard
    finally:
        heard.task.cancel()
        await asyncio.gather(heard.task, return_exceptions=True)


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def refusal(bus: EventBus, password: str = PASSWORD) -> Transient | Permanent:
    async def ends() -> None:
        async with asyncio.timeout(PATIENT):
            await listen(bus, password, lambda: None, lambda _: None)

    with pytest.raises((Transient, Permanent)) as caught:
        asyncio.run(ends())
    return caught.value


def test_messages_that_a_binding_fits_come_and_others_do_not(broker: Broker) -> None:
    async def scene() -> None:
        async with listening(broker.bus()) as heard, broker.channel() as sender:
            await sender.basic_publish(
                b"other", exchange=EXCHANGE, routing_key=_KEY.replace("VirtualMachine", "Volume")
            )
            await sender.basic_publish(b"first", exchange=EXCHANGE, routing_key=_KEY)
            await sender.basic_publish(b"", exchange=EXCHANGE, routing_key=_KEY)
            await heard.until(lambda: len(heard.messages) == 2)
            assert heard.messages == [
                BusMessage(routing_key=_KEY, body=b"first"),
                BusMessage(routing_key=_KEY, body=b""),
            ]

    play(scene)


def test_a_bus_is_reached_with_tls_by_the_authority_that_is_named(broker: Broker) -> None:
    url = f"amqps://127.0.0.1:{broker.tls_port}/"

    async def scene() -> None:
        async with listening(broker.bus(url=url, trust=Trust(ca=str(broker.ca)))) as heard:
            assert heard.connected.is_set()

    play(scene)
    assert "certificate verify failed" in str(refusal(broker.bus(url=url)))


def test_nothing_piles_up_at_the_broker_once_nothing_listens(broker: Broker) -> None:
    async def scene() -> None:
        async with listening(broker.bus()):
            pass
        async with broker.channel() as sender:
            await sender.basic_publish(b"missed", exchange=EXCHANGE, routing_key=_KEY)
        async with listening(broker.bus()) as heard, broker.channel() as sender:
            await sender.basic_publish(b"heard", exchange=EXCHANGE, routing_key=_KEY)
            await heard.until(lambda: heard.messages)
            assert [message.body for message in heard.messages] == [b"heard"]

    play(scene)


def test_a_message_of_any_size_and_the_ones_after_it_come(broker: Broker) -> None:
    async def scene() -> None:
        async with listening(broker.bus()) as heard, broker.channel() as sender:
            for body in (b"x" * 20_000_000, *(b"%d" % each for each in range(200))):
                await sender.basic_publish(body, exchange=EXCHANGE, routing_key=_KEY)
            await heard.until(lambda: len(heard.messages) == 201)
            assert heard.messages[-1].body == b"199"

    play(scene)


_REFUSED = {
    "password": (
        {"password": SecretRef(env="BUS")},
        Permanent,
        "refuses the user trimtab with the password in",
    ),
    "exchange": ({"exchange": "none"}, Permanent, "has no exchange none"),
    "host": ({"url": "amqp://127.0.0.1:{port}/none"}, Permanent, "refuses its virtual host"),
    "port": ({"url": "amqp://127.0.0.1:1/"}, Transient, "cannot be listened to"),
    "ca": ({"url": "amqps://127.0.0.1:1/", "trust": Trust(ca="/none.pem")}, Permanent, "/none.pem"),
}


@pytest.mark.parametrize(("given", "kind", "words"), _REFUSED.values(), ids=_REFUSED)
def test_a_bus_that_cannot_be_listened_to_says_why_without_the_password(
    broker: Broker, given: dict[str, Any], kind: type[Exception], words: str
) -> None:
    if "url" in given:
        given = given | {"url": given["url"].format(port=broker.port)}
    password = "another" if "password" in given else PASSWORD

    error = refusal(broker.bus(**given), password)

    assert type(error) is kind
    assert words in str(error)
    assert password not in str(error)


def test_the_exchange_of_a_cloud_is_never_made(broker: Broker) -> None:
    refusal(broker.bus(exchange="nova-of-another-cell"))
    assert "has no exchange" in str(refusal(broker.bus(exchange="nova-of-another-cell")))


@pytest.mark.bed("oslo")
@pytest.mark.parametrize("driver", ["messaging", "messagingv2"])
def test_notifications_that_oslo_messaging_sends_are_read(broker: Broker, driver: str) -> None:
    url = f"rabbit://{IN_URL}@127.0.0.1:{broker.port}//"
    command = [OSLO, "-c", _NOTIFIER, url, driver]
    given = json.dumps(_NOTIFICATIONS).encode()
    subprocess.run(command, input=given, check=True, capture_output=True)  # it makes its exchange

    async def scene() -> None:
        bus = broker.bus(exchange="nova", bindings=("notifications.*", "versioned_notifications.*"))
        async with listening(bus) as heard:
            await asyncio.to_thread(subprocess.run, command, input=given, check=True, capture_output=True)
            await heard.until(lambda: len(heard.messages) == 4)
            assert {nova.read(message) for message in heard.messages} == {
                CloudNews(member="web-k3f9ab-7", machine="u-1")
            }

    play(scene)


def test_a_connection_that_breaks_ends_the_listening(broker: Broker) -> None:
    async def scene() -> None:
        pipes: list[asyncio.StreamWriter] = []

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            ahead, back = await asyncio.open_connection("127.0.0.1", broker.port)
            pipes.extend((writer, back))
            await asyncio.gather(_pump(reader, back), _pump(ahead, writer))

        async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with listening(broker.bus(url=f"amqp://127.0.0.1:{port}/")) as heard:
                for pipe in pipes:
                    pipe.transport.abort()
                assert heard.task is not None
                await asyncio.wait({heard.task}, timeout=PATIENT)
                assert isinstance(heard.task.exception(), Transient)
                assert "ended the connection" in str(heard.task.exception())

    play(scene)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
