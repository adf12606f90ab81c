"""Listens to a message bus over AMQP 0-9-1, as RabbitMQ speaks it.

Nothing of the cloud's is touched. The exchange must be there, and is never made: one with other settings would keep the
cloud's own services out. The queue is our own, exclusive and deleted with the connection, so nothing piles up while
nothing listens; it is bounded, so nothing piles up at the broker while we are slow, and the oldest messages go.

Source: the AMQP 0-9-1 specification; RabbitMQ's "Queue Length Limit".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.errors import Permanent, Transient
from config.model.clouds import EventBus

if TYPE_CHECKING:
    from aiormq.abc import AbstractChannel, DeliveredMessage
    from pamqp.common import FieldValue

_AHEAD = 4
"""Messages that the broker sends before the first of them is acknowledged: all that is ever in memory at once."""
_QUEUE_LIMITS: dict[str, FieldValue] = {"x-max-length": 1_000, "x-max-length-bytes": 8 * 1024 * 1024}
_GOODBYE = 1.0
"""Seconds for closing the connection."""
_HEARTBEAT = 20
"""Seconds; a connection without any sign of life for three times as long is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusMessage:
    """One message, as it was published."""

    routing_key: str
    body: bytes


async def listen(
    bus: EventBus, password: str, connected: Callable[[], None], take: Callable[[BusMessage], None]
) -> None:
    """Hand over every message that comes, until the connection ends. Never returns.

    Args:
        bus: where to listen, and to what.
        password: of its user.
        connected: is called once messages can come.
        take: takes a message; never raises.

    Raises:
        Transient: the bus cannot be reached, or the connection ended.
        Permanent: it refuses the user, the virtual host or the exchange.
    """
    import aiormq  # most files name no bus

    logging.getLogger("aiormq").setLevel(logging.CRITICAL)  # the caller reports what is wrong, once
    connection = aiormq.Connection(_address(bus, password), context=_encryption(bus))
    try:
        async with asyncio.timeout(bus.timeout):
            await connection.connect()
            channel = await connection.channel(publisher_confirms=False)
            ended = await _subscribed(channel, bus, take)
        connected()
        await ended.wait()
    except TimeoutError as error:
        raise Transient(f"{_place(bus)} did not answer within {bus.timeout:g} s") from error
    except (aiormq.exceptions.AMQPError, OSError, RuntimeError) as error:
        raise _failure(bus, error) from error
    finally:
        with contextlib.suppress(Exception):
            await connection.close(timeout=_GOODBYE)
    raise Transient(f"{_place(bus)} ended the connection")


def _failure(bus: EventBus, error: Exception) -> Transient | Permanent:
    """Say what is wrong in an operator's words, and whether it passes by itself."""
    from aiormq import exceptions

    match error:
        case exceptions.ChannelNotFoundEntity():
            remedy = "it is there once the cloud has published something, and Trimtab never makes it"
            return Permanent(f"{_place(bus)} has no exchange {bus.exchange}: {remedy}")
        case exceptions.AuthenticationError() | exceptions.ProbableAuthenticationError():
            return Permanent(f"{_place(bus)} refuses the user {bus.user} with the password in {bus.password.place}")
        case exceptions.InvalidFrameError():  # it closes the connection instead of opening it
            return Permanent(f"{_place(bus)} refuses its virtual host: is there one, and may {bus.user} use it?")
        case exceptions.ChannelAccessRefused() | exceptions.ConnectionNotAllowed():
            return Permanent(f"{_place(bus)} refuses what the user {bus.user} asks for: {error}")
        case _:
            return Transient(f"{_place(bus)} cannot be listened to: {str(error) or type(error).__name__}")


async def _subscribed(channel: AbstractChannel, bus: EventBus, take: Callable[[BusMessage], None]) -> asyncio.Event:
    """Bind a queue of our own to the exchange, and have its messages taken; the event is set when that is over."""
    ended = asyncio.Event()

    async def deliver(message: DeliveredMessage) -> None:
        body = message.body
        take(BusMessage(routing_key=message.routing_key or "", body=bytes(body)))
        if message.delivery_tag is not None:
            await channel.basic_ack(message.delivery_tag, wait=False)

    await channel.exchange_declare(bus.exchange, passive=True)
    queue = (await channel.queue_declare(exclusive=True, auto_delete=True, arguments=_QUEUE_LIMITS)).queue or ""
    for pattern in bus.bindings:
        await channel.queue_bind(queue, bus.exchange, pattern)
    await channel.basic_qos(prefetch_count=_AHEAD)
    channel.closing.add_done_callback(lambda _: ended.set())
    channel.on_consumer_cancel_callbacks.add(lambda _: ended.set())
    await channel.basic_consume(queue, deliver)
    return ended


def _address(bus: EventBus, password: str) -> str:
    scheme, _, rest = bus.url.partition("://")
    user, password = urllib.parse.quote(bus.user, safe=""), urllib.parse.quote(password, safe="")
    return f"{scheme}://{user}:{password}@{rest}?name=trimtab&heartbeat={_HEARTBEAT}"


def _encryption(bus: EventBus) -> ssl.SSLContext | None:
    """Return how the connection is encrypted; ``None``: it is not. Raises `Permanent`."""
    if not bus.url.startswith("amqps:"):
        return None
    try:
        context = ssl.create_default_context(cafile=bus.trust.ca)
    except OSError as error:
        raise Permanent(f"the certificates in {bus.trust.ca} cannot be read: {error}") from error
    if bus.trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _place(bus: EventBus) -> str:
    return f"the message bus {bus.url}"
