"""Listen for the daemon: a unix socket for changes, TCP loopback for reading and for requests with the token."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvicorn

from config.errors import Refused
from config.model.daemon import ListenOn
from config.units import Seconds
from handler.cloudstack_api.service import CloudstackCommands
from handler.daemon.certificate import ServerCertificate
from handler.daemon.connections import ConnectionSweep, ProxiedConnection, TrackedConnection
from handler.daemon.http_server import HttpServer
from handler.engine.engine import Engine
from handler.ingest.addresses import receiver_of
from handler.ingest.alerts.receiver import AlertReceiver
from handler.ingest.pushes.receiver import PushReceiver
from handler.ingest.request_rates import API_TOKEN, Allowances, RequestRates
from handler.operations.facade import Operations
from handler.web.admission import WITHIN, WaitPhase
from handler.web.api import build
from handler.web.callers import Access
from handler.web.capabilities import CapabilityReceiver
from handler.web.cloudstack import CloudstackReceiver
from handler.web.edge import Edge
from handler.web.gate import App, Gate, Receive, Scope, Send
from handler.web.relayed import RelayedApps
from handler.web.turns import RequestTurns

_UNIX_PATH_AT_MOST = 107
_ACCEPTED_AT_ONCE = 64
"""Connections that the event loop accepts in one turn."""
_WAITING = 1024
"""Connections that the kernel queues until they are accepted."""
_UNREAD_AT_MOST = 128 * 1024
"""Bytes of answers that the kernel keeps for a client that does not read."""
_NAMED_OTHERWISE = frozenset({"0.0.0.0", "::", "127.0.0.1", "::1", "localhost"})  # noqa: S104  # compared, not bound
"""Addresses that stand for every one, and those of the loopback, which need the port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What protects the TCP socket."""

    listen: ListenOn = field(default_factory=ListenOn)
    certificate: ServerCertificate | None = None
    """In force; ``None``: requests come in clear."""

    def names(self) -> frozenset[str]:
        """Return the names that clients may use, besides those of the loopback."""
        shown = frozenset[str]() if self.certificate is None else self.certificate.facts.names
        return shown.union(self.listen.names, {self.listen.host} - _NAMED_OTHERWISE)


IN_CLEAR = Protection()


def edge_of(app: App, protection: Protection, rates: RequestRates, clock: Callable[[], Seconds]) -> Edge:
    """Return what lies before an application on the TCP socket."""
    encrypted = protection.certificate is not None
    return Edge(app, trusted=protection.listen.trusted, encrypted=encrypted, rates=rates, clock=clock)


def bind_unix(path: Path) -> socket.socket:
    """Bind the daemon's unix socket, with mode 0600 from its first instant.

    Raises:
        Refused: the path is too long for a unix socket (107 bytes), or cannot be bound.
    """
    if len(str(path).encode()) > _UNIX_PATH_AT_MOST:
        raise Refused(f"{path} is too long for a unix socket (107 bytes): name a shorter state directory with --state")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    try:
        listener.bind(str(draft))
        draft.chmod(0o600)
        draft.rename(path)  # no client can connect before the mode is right
    except OSError as error:
        listener.close()
        raise Refused(f"cannot listen on {path}: {error.strerror}") from error
    return listener


def bind_tcp(host: str, port: int, *, protected: bool = False) -> socket.socket:
    """Bind the TCP socket; nothing is accepted until `serving`.

    Args:
        host: an address, or a name of this machine.
        port: 0 takes any that is free.
        protected: TLS, or a proxy that encrypts, is declared.

    Raises:
        Refused: other machines reach the address, and nothing encrypts; or the port is taken.
    """
    if ListenOn(host=host, port=port).is_exposed and not protected:
        raise Refused(
            f"will not listen on {host}: other machines reach it, and nothing encrypts: declare listen with "
            "certificate and key, or with behind_proxy; or listen on 127.0.0.1 and put a proxy before it"
        )
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_AT_MOST)  # connections inherit it
    # And this: else the kernel keeps an answer's body back until the client acknowledges its head, for 40 ms and more.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Refused(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port, or under listen"
        ) from error
    return listener


@contextlib.asynccontextmanager
async def serving(  # noqa: PLR0913  # what is served, where, and to which users
    operations: Operations,
    engine: Engine,
    unix: socket.socket,
    tcp: socket.socket,
    token: str,
    *,
    within: Mapping[WaitPhase, Seconds | None] = WITHIN,
    protection: Protection = IN_CLEAR,
) -> AsyncIterator[RelayedApps]:
    """Serve both sockets while the block runs; the engine takes alerts and pushed values.

    Yields what answers requests that standbys pass on; of those over TCP, the peer is the one that the standby saw.
    """
    app, clock = RequestTurns(build(operations)), asyncio.get_running_loop().time
    alerts: App = AlertReceiver(engine.ingest.alerting)
    pushes: App = PushReceiver(engine.ingest.pushing)
    capabilities: App = CapabilityReceiver(operations.capabilities)
    cloudstack: App = CloudstackReceiver(CloudstackCommands(engine, operations, clock), app)

    async def hooks(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        chosen = receiver_of(path, alerts=alerts, pushes=pushes, capabilities=capabilities, cloudstack=cloudstack)
        await chosen(scope, receive, send)

    port = tcp.getsockname()[1]
    known, attempts = operations.users.known, operations.attempts
    access = Access(
        trusted=False, port=port, token=token, names=protection.names, secure=protection.listen.is_protected
    )
    tokens, rates = Allowances(API_TOKEN), RequestRates()

    def gate(access: Access) -> Gate:
        sessions, token_wait = operations.users.sessions, lambda token: tokens.wait(token, clock())
        return Gate(app, access, hooks, known, attempts, sessions=sessions, token_wait=token_wait)

    edge = edge_of(gate(access), protection, rates, clock)
    relayed = edge_of(gate(replace(access, host_checked=True)), IN_CLEAR, rates, clock)
    over_unix = Gate(app, Access(trusted=True), hooks, known, attempts)
    async with served(over_unix, edge, unix, tcp, within=within, protection=protection):
        try:
            yield RelayedApps(unix=over_unix, tcp=relayed)
        finally:
            operations.pulse.close()  # else the stop waits for streams of events


@contextlib.asynccontextmanager
async def served(  # what is served, and where
    over_unix: App,
    over_tcp: App,
    unix: socket.socket,
    tcp: socket.socket,
    *,
    within: Mapping[WaitPhase, Seconds | None] = WITHIN,
    protection: Protection = IN_CLEAR,
) -> AsyncIterator[None]:
    """Serve an application on each socket while the block runs, and close both sockets."""
    kind = ProxiedConnection if protection.listen.trusted else TrackedConnection
    tls = None if protection.certificate is None else protection.certificate.context
    servers = [(HttpServer(_config(over_unix)), unix), (HttpServer(_config(over_tcp, kind), tls), tcp)]
    tasks = [asyncio.create_task(server.serve(sockets=[listener])) for server, listener in servers]
    sweeps: list[asyncio.Task[None]] = []
    try:
        while not all(server.started for server, _ in servers):
            if any(task.done() for task in tasks):
                raise Refused("the web server did not start: see the earlier lines of the log")
            await asyncio.sleep(0.01)
        for (server, listener), name in zip(servers, ("unix socket", "TCP"), strict=True):
            listener.listen(_WAITING)
            sweeps.append(asyncio.create_task(ConnectionSweep(server.connections, name, within).run()))
        yield
    finally:
        for sweep in sweeps:
            sweep.cancel()
        for server, _ in servers:
            server.end()
        await asyncio.gather(*tasks, return_exceptions=True)


def refuse_without_users(listen: ListenOn, users_exist: bool) -> None:
    """Refuse to let other machines in as long as every one of them could read everything.

    Raises:
        Refused: other machines reach the address, and the store has no users.
    """
    if listen.is_exposed and not users_exist:
        raise Refused(
            f"will not listen on {listen.host}: other machines reach it, and the store has no users: listen on "
            "127.0.0.1 first ('trimtab run --host 127.0.0.1'), make one with 'trimtab user init', and start again"
        )


def _config(app: App, kind: type[TrackedConnection] = TrackedConnection) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=kind,
        backlog=_ACCEPTED_AT_ONCE,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # never trust a client's own account of its address
        timeout_graceful_shutdown=3,
    )
