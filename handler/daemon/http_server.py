"""The web server of one listening socket: uvicorn, which runs only when there is something to do.

uvicorn's own loop runs ten times a second, to see whether it is to end and to renew the date that answers bear. A
worker that stands by answers hardly anything, and that was most of what it cost. Here an event ends the server, and the
date is made when an answer asks for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from email.utils import formatdate

import uvicorn
from uvicorn.server import ServerState

from config.units import Seconds
from handler.daemon.connections import Connections
from handler.runtime import clock

_HANDSHAKE_WITHIN: Seconds = 5.0
_SHUTDOWN_WITHIN: Seconds = 2.0


class _State(ServerState):
    """What the connections of a server share. The date that their answers bear is made once in each second."""

    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self.connections = connections
        self._second = -1

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers of an answer that begins now."""
        second = int(clock.wall())
        if second != self._second:
            self._second, self._headers = second, [(b"date", formatdate(second, usegmt=True).encode())]
        return self._headers

    @default_headers.setter
    def default_headers(self, value: list[tuple[bytes, bytes]]) -> None:
        """Begin with those of uvicorn: none."""
        self._headers = value


class HttpServer(uvicorn.Server):
    """A server that leaves signals to the daemon, and gives TLS handshakes little time."""

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(config)
        self.connections = Connections()
        """Those that are open."""
        self.server_state = _State(self.connections)
        self._tls = tls
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Begin to end: nothing more is accepted, and requests under way are answered."""
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        """Run until `end`."""
        await self._ending.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on the sockets. A connection is ours to limit only once its handshake is over."""
        if self._tls is None:
            await super().startup(sockets)
            return
        await self.lifespan.startup()
        config, loop = self.config, asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            return config.http_protocol_class(  # type: ignore[call-arg]
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            )

        self.servers = [
            await loop.create_server(
                protocol,
                sock=each,
                ssl=self._tls,
                backlog=config.backlog,
                ssl_handshake_timeout=_HANDSHAKE_WITHIN,
                ssl_shutdown_timeout=_SHUTDOWN_WITHIN,
            )
            for each in sockets or ()
        ]
        self.started = True
