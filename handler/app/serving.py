"""Listens for the daemon: a unix socket for changes, TCP loopback for reading and for bearers of the token."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from config.errors import Refused
from handler.hooks.receiver import Intake, Receiver
from handler.pushes.receiver import Intake as PushIntake
from handler.pushes.receiver import Receiver as PushReceiver
from handler.pushes.receiver import is_push
from handler.web.api import build
from handler.web.daemon import Daemon
from handler.web.gate import Access, App, Gate, Receive, Scope, Send

_UNIX_PATH_AT_MOST = 107
_CONNECTIONS = 512
"""Of each door."""
_HEAD_WITHIN = 10.0
"""Seconds from the connection, or from the last answer, to the end of a request's head."""
_HEAD_AT_MOST = 16 * 1024
"""Bytes of a request's head that does not end; the parser itself knows no bound."""
_LOOPBACK = frozenset({"127.0.0.1", "::1"})


class _Server(uvicorn.Server):
    """A server that leaves signals to the daemon, which has more than one thing to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Connection(HttpToolsProtocol):
    """One connection, of a bounded number; it is not kept for a client that never finishes its request's head.

    One timer serves all its requests: one of each would keep every request's memory for as long as it runs.
    """

    _timer: asyncio.TimerHandle | None = None
    _due = 0.0
    """When the next request's head must be here, by the loop's clock."""
    _answered: object = None
    """The request before it."""
    _head: int | None = 0
    """Bytes of the head that is being read, if one is."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, or turn it away."""
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS:
            transport.abort()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take more of it; of a head only so much."""
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > _HEAD_AT_MOST and not self.transport.is_closing():
            self.send_400_response("The request's head is too long.")

    def on_headers_complete(self) -> None:
        """The head is here."""
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What comes now is another head."""
        self._head = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The next request may come."""
        super().on_response_complete()
        self._await_head()

    def _await_head(self) -> None:
        self._due, self._answered = self.loop.time() + _HEAD_WITHIN, self.cycle
        if self._timer is None:
            self._timer = self.loop.call_at(self._due, self._end_if_idle)

    def _end_if_idle(self) -> None:
        self._timer = None
        if self.cycle is not self._answered:
            return  # the response's end begins the next wait
        if self.loop.time() < self._due:
            self._timer = self.loop.call_at(self._due, self._end_if_idle)
        else:
            self.transport.close()


def bind_unix(path: Path) -> socket.socket:
    """Bind the daemon's own door, mode 0600 from its first instant.

    Raises:
        Refused: the path is too long for a unix socket (107 bytes), or cannot be bound.
    """
    if len(str(path).encode()) > _UNIX_PATH_AT_MOST:
        raise Refused(f"{path} is too long for a unix socket (107 bytes): name a shorter state directory with --state")
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    try:
        door.bind(str(draft))
        draft.chmod(0o600)
        draft.rename(path)  # nobody can connect before the mode is right
    except OSError as error:
        door.close()
        raise Refused(f"cannot listen on {path}: {error.strerror}") from error
    return door


def bind_tcp(host: str, port: int) -> socket.socket:
    """Bind the reading door.

    Raises:
        Refused: not a loopback address (TLS and users do not exist yet), or the port is taken.
    """
    if host not in _LOOPBACK:
        raise Refused(
            f"will not listen on {host}: only 127.0.0.1 or ::1 until TLS and users exist; put a proxy before it"
        )
    door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((host, port))
    except OSError as error:
        door.close()
        raise Refused(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from error
    return door


@contextlib.asynccontextmanager
async def serving(
    daemon: Daemon, intakes: tuple[Intake, PushIntake], unix: socket.socket, tcp: socket.socket, token: str
) -> AsyncIterator[None]:
    """Serve both doors while the block runs; ``intakes`` take alerts and pushed values."""
    app, hooks = build(daemon), _either(Receiver(intakes[0]), PushReceiver(intakes[1]))
    port = tcp.getsockname()[1]
    doors = ((unix, Access(trusted=True)), (tcp, Access(trusted=False, port=port, token=token)))
    servers = [(_Server(_config(Gate(app, access, hooks))), door) for door, access in doors]
    tasks = [asyncio.create_task(server.serve(sockets=[door])) for server, door in servers]
    try:
        while not all(server.started for server, _ in servers):
            if any(task.done() for task in tasks):
                raise Refused("the web server did not start: see the lines above in the log")
            await asyncio.sleep(0.01)
        yield
    finally:
        daemon.pulse.close()  # or streams of events would be waited for
        for server, _ in servers:
            server.should_exit = True
        await asyncio.gather(*tasks, return_exceptions=True)


def _either(alerts: App, pushes: App) -> App:
    async def chosen(scope: Scope, receive: Receive, send: Send) -> None:
        await (pushes if is_push(scope["path"]) else alerts)(scope, receive, send)

    return chosen


def _config(app: Gate) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nobody's word for who they are
        timeout_graceful_shutdown=3,
    )
