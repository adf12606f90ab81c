from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import pytest

from collector.clients.amqp.subscription import BusMessage
from collector.clients.circuit import Position
from config.errors import Permanent, Refused, Transient
from config.model.access import SecretRef
from config.model.clouds import EventBus, EventFormat
from config.units import CloudId, Instant, Moment, Monotonic, Seconds
from handler.ingest.buses.listening import LARGEST, BusListeners, BusSurroundings
from handler.ingest.buses.reading import BusResult
from handler.ingest.capabilities.events import CloudNews

STACK = CloudId("stack")
BUS = EventBus(
    cloud=STACK,
    format=EventFormat.CLOUDSTACK,
    url="amqp://rabbit/",
    user="trimtab",
    password=SecretRef(env="BUS"),
    exchange="cloudstack-events",
    bindings=("#",),
)
STOPPED = BusMessage(routing_key="ms.ResourceStateEvent.Stopped.VirtualMachine.u-1", body=b"{}")


class Stage:
    """Buses that end as the test says, and time that passes when it says so."""

    def __init__(self, *ends: Exception, lasting: Seconds = 0.0) -> None:
        self.ends = list(ends)
        self.lasting = lasting
        self.now = 1000.0
        self.tried: list[tuple[str, str]] = []
        self.pauses: list[Seconds] = []
        self.counted: Counter[BusResult] = Counter()
        self.concerned: list[CloudNews] = []
        self.take: Callable[[BusMessage], None] = lambda _: None
        self.listeners = BusListeners(
            BusSurroundings(
                listen=self.listen,
                read_secret=self.secret,
                clock=lambda: Moment(wall=Instant(self.now), steady=Monotonic(self.now)),
                concern=self.concern,
                count=lambda _, result: self.counted.update([result]),
                pause=self.pause,
            )
        )

    async def listen(
        self, bus: EventBus, password: str, connected: Callable[[], None], take: Callable[[BusMessage], None]
    ) -> None:
        self.tried.append((bus.url, password))
        if self.ends and not isinstance(self.ends[0], Refused) and not self.lasting:
            raise self.ends.pop(0)
        connected()
        self.take = take
        self.now += self.lasting
        if self.ends:
            raise self.ends.pop(0)
        await asyncio.Event().wait()

    def secret(self, _: SecretRef) -> str:
        if self.ends and isinstance(self.ends[0], Refused):
            raise self.ends.pop(0)
        return "secret"

    def concern(self, cloud: CloudId, news: CloudNews) -> bool:
        assert cloud == STACK
        self.concerned.append(news)
        return news.machine == "u-1"

    async def pause(self, seconds: Seconds) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def play(self, scene: Callable[[], Coroutine[Any, Any, None]], buses: Sequence[EventBus] = (BUS,)) -> None:
        async def whole() -> None:
            await self.listeners.use({bus.cloud: bus for bus in buses})
            await settle()
            await scene()
            await self.listeners.stop()
            assert self.listeners.statuses() == ()

        asyncio.run(whole())


async def settle() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


def test_a_bus_that_is_away_is_tried_again_after_pauses_that_double_up_to_a_minute() -> None:
    stage = Stage(*(Transient("no route") for _ in range(9)))

    async def scene() -> None:
        assert stage.pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
        assert stage.listeners.connected() == {STACK: True}

    stage.play(scene)


def test_a_connection_that_lasted_begins_the_pauses_anew() -> None:
    stage = Stage(Transient("lost"), Transient("lost"), Transient("lost"), lasting=60.0)

    async def scene() -> None:
        assert stage.pauses == [1.0, 1.0, 1.0]

    stage.play(scene)


def test_a_connection_that_breaks_at_once_does_not() -> None:
    stage = Stage(Transient("lost"), Transient("lost"), Transient("lost"), lasting=0.1)

    async def scene() -> None:
        assert stage.pauses == [1.0, 2.0, 4.0]

    stage.play(scene)


@pytest.mark.parametrize("error", [Transient("no route"), Permanent("no exchange"), Refused("no password")])
def test_the_status_says_since_when_and_why_events_are_not_heard(error: Transient | Permanent | Refused) -> None:
    stage = Stage(error)
    waits = asyncio.Event()

    async def hangs(_: Seconds) -> None:
        await waits.wait()

    stage.listeners = BusListeners(replace(stage.listeners._around, pause=hangs))

    async def scene() -> None:
        (status,) = stage.listeners.statuses()
        assert (status.endpoint, status.position) == ("amqp://rabbit/", Position.OPEN)
        assert "events of stack are not heard since 1970-01-01 00:16:40 UTC" in status.because
        assert str(error) in status.because
        assert stage.listeners.connected() == {STACK: False}
        waits.set()
        await settle()
        (status,) = stage.listeners.statuses()
        assert (status.position, status.because) == (Position.CLOSED, "")

    stage.play(scene)


def test_a_listening_that_fails_through_a_defect_is_not_shown_as_connected() -> None:
    stage = Stage(ValueError("a defect"), lasting=0.1)
    waits = asyncio.Event()

    async def hangs(_: Seconds) -> None:
        await waits.wait()

    stage.listeners = BusListeners(replace(stage.listeners._around, pause=hangs))

    async def scene() -> None:
        assert stage.listeners.connected() == {STACK: False}

    stage.play(scene)


def test_each_message_is_counted_by_what_became_of_it() -> None:
    stage = Stage()

    async def scene() -> None:
        large = replace(STOPPED, body=b" " * (LARGEST + 1))
        foreign = replace(STOPPED, routing_key=STOPPED.routing_key.replace("u-1", "u-2"))
        volume = replace(STOPPED, routing_key=STOPPED.routing_key.replace("VirtualMachine", "Volume"))
        for message in (STOPPED, STOPPED, foreign, volume, replace(STOPPED, body=b"?"), large):
            stage.take(message)
        assert stage.counted == {
            BusResult.LOOKED: 2,
            BusResult.FOREIGN: 1,
            BusResult.NO_NEWS: 1,
            BusResult.UNREADABLE: 1,
            BusResult.TOO_LARGE: 1,
        }
        assert stage.concerned == [CloudNews(machine="u-1"), CloudNews(machine="u-1"), CloudNews(machine="u-2")]

    stage.play(scene)


def test_a_reload_goes_on_listening_to_a_bus_that_is_declared_as_before() -> None:
    stage = Stage()

    async def scene() -> None:
        other = replace(BUS, cloud=CloudId("other"), url="amqp://other/")
        await stage.listeners.use({STACK: BUS, other.cloud: other})
        await settle()
        assert stage.tried == [("amqp://rabbit/", "secret"), ("amqp://other/", "secret")]
        moved = replace(BUS, url="amqp://moved/")
        await stage.listeners.use({STACK: moved})
        await settle()
        assert stage.tried[2:] == [("amqp://moved/", "secret")]
        assert [status.endpoint for status in stage.listeners.statuses()] == ["amqp://moved/"]

    stage.play(scene)
