"""Listens to the message buses of clouds, and comes back to each after every loss.

A bus that is away is no reason for anything but a line in the log, a metric and the status: groups are looked at in
turn, as they are without a bus.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, assert_never

from collector.clients.amqp.subscription import BusMessage
from collector.clients.circuit import Position
from collector.clients.circuits import EndpointStatus
from config.errors import Permanent, Refused, Transient
from config.model.access import SecretRef
from config.model.clouds import EventBus, EventFormat
from config.units import CloudId, Instant, Moment, Monotonic, Seconds
from handler import logs
from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.buses import cloudstack, nova
from handler.ingest.buses.reading import BusResult, NoNews, Reading
from handler.ingest.capabilities.events import CloudNews
from handler.runtime.loops import Guard

LARGEST = 256 * 1024
"""Bytes of a message. Nova's have some 10 KiB."""
_FIRST_PAUSE: Seconds = 1.0
_LONGEST_PAUSE: Seconds = 60.0


class Listen(Protocol):
    """Listens until the connection ends: `collector.clients.amqp.subscription.listen`."""

    def __call__(
        self, bus: EventBus, password: str, connected: Callable[[], None], take: Callable[[BusMessage], None]
    ) -> Awaitable[None]:
        """Raise `Transient` or `Permanent` when that is over."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BusSurroundings:
    """What every listening needs."""

    listen: Listen
    read_secret: Callable[[SecretRef], str]
    clock: Callable[[], Moment]
    concern: Callable[[CloudId, CloudNews], bool]
    """Has the cloud's groups looked at that an event concerns; returns whether there is one."""
    count: Callable[[CloudId, BusResult], None]
    pause: Callable[[Seconds], Awaitable[object]] = asyncio.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class _Away:
    since: Instant
    because: str


class BusListener:
    """Listens to one bus until it is cancelled."""

    def __init__(self, bus: EventBus, around: BusSurroundings) -> None:
        self.bus = bus
        self._around = around
        self._away: _Away | None = _Away(since=around.clock().wall, because="it is being connected to")
        self._connected_at: Monotonic | None = None
        self._unreadable = False

    @property
    def is_connected(self) -> bool:
        """Whether messages can come now."""
        return self._away is None

    @property
    def status(self) -> EndpointStatus:
        """Say for people whether the bus is listened to."""
        because, position = "", Position.CLOSED
        if self._away is not None:
            since = datetime.fromtimestamp(self._away.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            without = "its groups are looked at in turn alone"
            because = f"events of {self.bus.cloud} are not heard since {since}, and {without}: {self._away.because}"
            position = Position.OPEN
        return EndpointStatus(endpoint=self.bus.url, position=position, because=because, unsent=0)

    async def run(self) -> None:
        """Listen, and connect anew after every loss: after a second first, then after twice as long each time."""
        pause, guard = _FIRST_PAUSE, Guard("event_bus", cloud=self.bus.cloud)
        while True:
            self._connected_at = None
            await guard.run(self._listen)
            if self._away is None:
                self._is_away("the listening failed: the log says how")
            pause = _FIRST_PAUSE if self._lasted() >= _LONGEST_PAUSE else pause
            await self._around.pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _lasted(self) -> Seconds:
        """Return how long the last connection has been there; 0: there was none."""
        return 0.0 if self._connected_at is None else self._around.clock().steady - self._connected_at

    async def _listen(self) -> None:
        try:
            password = self._around.read_secret(self.bus.password)
            await self._around.listen(self.bus, password, self._connected, self.take)
        except (Transient, Permanent, Refused) as error:
            self._is_away(str(error))

    def take(self, message: BusMessage) -> None:
        """Have the group looked at that a message concerns, and count it."""
        self._around.count(self.bus.cloud, self._taken(message))

    def _taken(self, message: BusMessage) -> BusResult:
        if len(message.body) > LARGEST:
            return BusResult.TOO_LARGE
        reading = _read(self.bus.format, message)
        match reading:
            case NoNews():
                return BusResult.NO_NEWS
            case UnreadablePayload():
                if not self._unreadable:  # once for each listening: such a sender sends many
                    logs.warn("bus_message_unreadable", cloud=self.bus.cloud, why=reading.message)
                self._unreadable = True
                return BusResult.UNREADABLE
            case CloudNews():
                return BusResult.LOOKED if self._around.concern(self.bus.cloud, reading) else BusResult.FOREIGN
            case _:
                assert_never(reading)

    def _connected(self) -> None:
        self._away, self._connected_at = None, self._around.clock().steady
        logs.say("event_bus_connected", cloud=self.bus.cloud)

    def _is_away(self, because: str) -> None:
        before = self._away
        if before is None or before.because != because:
            logs.warn("event_bus_away", cloud=self.bus.cloud, error=because, note="its groups are looked at in turn")
        since = self._around.clock().wall if before is None else before.since
        self._away = _Away(since=since, because=because)


class BusListeners:
    """The listening to all buses that are declared. Lives on the event loop."""

    def __init__(self, around: BusSurroundings) -> None:
        self._around = around
        self._running: dict[CloudId, tuple[BusListener, asyncio.Task[None]]] = {}

    async def use(self, buses: Mapping[CloudId, EventBus]) -> None:
        """Listen to these and no others; to one that is declared as before the listening goes on."""
        await self._end(cloud for cloud, (listener, _) in self._running.items() if buses.get(cloud) != listener.bus)
        for cloud in buses.keys() - self._running.keys():
            listener = BusListener(buses[cloud], self._around)
            self._running[cloud] = listener, asyncio.create_task(listener.run(), name=f"event-bus-{cloud}")

    async def stop(self) -> None:
        """Listen to none any more."""
        await self._end(self._running)

    def connected(self) -> Mapping[CloudId, bool]:
        """Return of each cloud with a bus whether its messages can come now."""
        return {cloud: listener.is_connected for cloud, (listener, _) in sorted(self._running.items())}

    def statuses(self) -> tuple[EndpointStatus, ...]:
        """Say for people which buses are listened to."""
        return tuple(listener.status for listener, _ in self._running.values())

    async def _end(self, clouds: Iterable[CloudId]) -> None:
        tasks = [self._running.pop(cloud)[1] for cloud in tuple(clouds)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _read(format: EventFormat, message: BusMessage) -> Reading:
    match format:
        case EventFormat.NOVA:
            return nova.read(message)
        case EventFormat.CLOUDSTACK:
            return cloudstack.read(message)
        case _:
            assert_never(format)
