"""Listen for the daemon: a unix socket for changes, TCP loopback for reading and for requests with the token."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import uvicorn

from config.errors import Refused
from config.units import Seconds
from handler.daemon.connections import ConnectionSweep, TrackedConnection
from handler.ingest.alerts.receiver import AlertReceiver
from handler.ingest.intake import Ingest
from handler.ingest.pushes.receiver import PushReceiver, is_push
from handler.operations.facade import Operations
from handler.web.admission import WITHIN, WaitPhase
from handler.web.api import build
from handler.web.callers import Access
from handler.web.gate import App, Gate, Receive, Scope, Send
from handler.web.turns import RequestTurns

_UNIX_PATH_AT_MOST = 107
_ACCEPTED_AT_ONCE = 64
"""Connections that the event loop accepts in one turn."""
_WAITING = 1024
"""Connections that the kernel queues until they are accepted."""
_UNREAD_AT_MOST = 128 * 1024
"""Bytes of answers that the kernel keeps for a client that does not read."""
_LOOPBACK = frozenset({"127.0.0.1", "::1"})


class _Server(uvicorn.Server):
    """A server that leaves signals to the daemon, which has more to stop than this server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind_unix(path: Path) -> socket.socket:
    """Bind the daemon's unix socket, with mode 0600 from its first instant.

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
        draft.rename(path)  # no client can connect before the mode is right
    except OSError as error:
        door.close()
        raise Refused(f"cannot listen on {path}: {error.strerror}") from error
    return door


def bind_tcp(host: str, port: int) -> socket.socket:
    """Bind the TCP socket.

    Raises:
        Refused: not a loopback address (TLS and users do not exist yet), or the port is taken.
    """
    if host not in _LOOPBACK:
        raise Refused(
            f"will not listen on {host}: only 127.0.0.1 or ::1 until TLS and users exist; put a proxy before it"
        )
    door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_AT_MOST)  # connections inherit it
    try:
        door.bind((host, port))
    except OSError as error:
        door.close()
        raise Refused(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from error
    return door


@contextlib.asynccontextmanager
async def serving(  # what is served, where, and to which users
    operations: Operations,
    ingest: Ingest,
    unix: socket.socket,
    tcp: socket.socket,
    token: str,
    *,
    within: Mapping[WaitPhase, Seconds | None] = WITHIN,
) -> AsyncIterator[None]:
    """Serve both sockets while the block runs; ``ingest`` takes alerts and pushed values."""
    app, hooks = RequestTurns(build(operations)), _either(AlertReceiver(ingest.alerting), PushReceiver(ingest.pushing))
    port = tcp.getsockname()[1]
    doors = ((unix, Access(trusted=True)), (tcp, Access(trusted=False, port=port, token=token)))
    servers = [
        (_Server(_config(Gate(app, access, hooks, operations.users.known, operations.attempts))), door)
        for door, access in doors
    ]
    tasks = [asyncio.create_task(server.serve(sockets=[door])) for server, door in servers]
    sweeps: list[asyncio.Task[None]] = []
    try:
        while not all(server.started for server, _ in servers):
            if any(task.done() for task in tasks):
                raise Refused("the web server did not start: see the earlier lines of the log")
            await asyncio.sleep(0.01)
        for (server, door), name in zip(servers, ("unix socket", "TCP"), strict=True):
            door.listen(_WAITING)
            sweeps.append(asyncio.create_task(ConnectionSweep(server.server_state.connections, name, within).run()))
        yield
    finally:
        for sweep in sweeps:
            sweep.cancel()
        operations.pulse.close()  # else the stop waits for streams of events
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
        http=TrackedConnection,
        backlog=_ACCEPTED_AT_ONCE,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # never trust a client's own account of its address
        timeout_graceful_shutdown=3,
    )
