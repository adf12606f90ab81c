"""A member's side: stay registered with the holder, and start and stop accepting on its orders.

    await keep_seat(Path("state/edge.sock"), "web-k3f9ab-12", start=start, stop=stop, active=active)

Standard library only, so that a member needs nothing else of Trimtab.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from handler.balancers.shared_listener.holder_socket import ConnectionLost, HolderSocket
from handler.balancers.shared_listener.protocol import (
    Active,
    Dismiss,
    Hello,
    LastOrder,
    Message,
    ProtocolError,
    RefusedMessage,
    Start,
    Stop,
    Stopped,
    Welcome,
)

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 0.8
"""Seconds between attempts. A holder that replaces another waits longer than this for members to come back."""

_LOOK = 0.2
"""Seconds between two reads of the number of connections."""

_LOOKS_PER_REPORT = 25
"""An unchanged number is reported every so many reads."""

_SETTLE = 0.05
"""Seconds: a connection taken in the last turn of the event loop reaches its handler some turns later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The member program's part of a registration."""

    start: Callable[[socket.socket], Awaitable[None]]
    """Accept from this non-blocking listening socket; close it when stopped. Do not lower its backlog: with asyncio,
    ``create_server(sock=…, backlog=1024)``."""
    stop: Callable[[], Awaitable[None]]
    """Accept no more, and return at once; open connections go on."""
    active: Callable[[], int]
    """Return the number of open connections."""


async def keep_registered(
    control: Path,
    name: str,
    *,
    start: Callable[[socket.socket], Awaitable[None]],
    stop: Callable[[], Awaitable[None]],
    active: Callable[[], int],
) -> None:
    """Stay registered as ``name`` for ever: reconnect when the holder restarts, and give it its listening socket back.

    The end of a holder changes nothing: a serving member goes on. Ends only by cancellation, which leaves the
    member serving as it was, or by an exception of ``start``, ``stop`` or ``active``, which passes through.
    """
    registration = _Registration(name=name, work=Work(start=start, stop=stop, active=active))
    pause = _FIRST_PAUSE
    try:
        while True:
            wire = await _connect(control)
            if wire is not None:
                try:
                    await registration.converse(wire)
                except (ConnectionLost, ProtocolError):
                    pause = _FIRST_PAUSE if registration.welcomed else pause
                finally:
                    wire.close()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
    finally:
        registration.forget_socket()


async def _connect(control: Path) -> HolderSocket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, str(control))
    except OSError:
        connection.close()
        return None
    return HolderSocket(connection)


@dataclass(slots=True, kw_only=True)
class _Registration:
    name: str
    work: Work
    was: LastOrder | None = None
    of: str | None = None
    copy: socket.socket | None = None
    """Our copy, to give back; the member program has another."""
    given: socket.socket | None = None
    """The member program's copy, which it closes itself."""
    welcomed: bool = False
    """Whether the holder has welcomed us on the present connection."""

    async def converse(self, wire: HolderSocket) -> None:
        self.welcomed = False
        wire.send(Hello(registration=self.name, was=self.was, of=self.of, socket=self.copy is not None), self.copy)
        reported, looks = -1, 0
        while True:
            try:
                async with asyncio.timeout(_LOOK):
                    order, carried = await wire.receive()
            except TimeoutError:
                looks += 1
                connections = self.work.active()
                if self.welcomed and (connections != reported or looks % _LOOKS_PER_REPORT == 0):
                    wire.send(Active(connections=connections))
                    reported = connections
                continue
            await self.obey(order, carried, wire)

    async def obey(self, order: Message, carried: socket.socket | None, wire: HolderSocket) -> None:
        match order:
            case Welcome(holder=holder):
                self.of, self.welcomed = holder, True
            case Start() if carried is not None:
                await self.begin(carried)
            case Stop():
                await self.cease()
                self.was = "draining"
                await asyncio.sleep(_SETTLE)
                wire.send(Stopped(connections=self.work.active()))
            case Dismiss():
                await self.cease()
                self.was = None
                self.forget_socket()
            case RefusedMessage(why=why):
                raise ConnectionLost(why)
            case _:
                raise ProtocolError(f"a member cannot obey {order}")

    async def begin(self, listening: socket.socket) -> None:
        await self.cease()
        self.forget_socket()
        self.copy = listening
        self.given = listening.dup()
        self.given.setblocking(False)
        await self.work.start(self.given)
        self.was = "serving"

    async def cease(self) -> None:
        # Note [Accepted while closing]: an asyncio server that closes drops connections accepted in the same turn of
        # the
        # event loop, since a transport cannot attach to a closed server. So accepting ends some turns before `stop`.
        if self.was != "serving":
            return
        if self.given is not None and self.given.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self.given)
            await asyncio.sleep(_SETTLE)
        await self.work.stop()

    def forget_socket(self) -> None:
        if self.copy is not None:
            self.copy.close()
            self.copy = None
