from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from handler.daemon.connections import (
    PEER_CONNECTIONS,
    Connections,
    ConnectionSweep,
    ProxiedConnection,
    TrackedConnection,
)
from handler.web.admission import READ_AT_LEAST, WITHIN, WaitPhase
from tests.support.waiting import PATIENT

CLOSING = WITHIN[WaitPhase.CLOSING] or 0.0


class Wire:
    """A transport to a peer, as far as a connection and its sweep ask it anything."""

    def __init__(self, peer: str, *, unread: int = 0, closing: bool = False) -> None:
        self._peer = peer
        self.unread = unread
        self.closing = closing
        self.ended = asyncio.Event()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return {"peername": (self._peer, 1234), "sockname": ("192.0.2.1", 8460)}.get(name, default)

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.closing or self.ended.is_set()

    def abort(self) -> None:
        self.ended.set()

    @property
    def aborted(self) -> bool:
        return self.ended.is_set()


class Loop:
    """The part of an event loop that a connection uses before the first request."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now


class Listener:
    """A server's connections, without sockets."""

    def __init__(self, kind: type[TrackedConnection] = TrackedConnection, *, closing_within: float = CLOSING) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            raise AssertionError("no request is sent")

        self.loop = Loop()
        self.state = ServerState()
        self.state.connections = connections = Connections()
        self._kind = kind
        self._config = uvicorn.Config(app, http=kind, ws="none", lifespan="off", log_config=None)
        self._config.load()
        self.sweeping = ConnectionSweep(connections, "tcp", {**WITHIN, WaitPhase.CLOSING: closing_within})

    def accept(self, wire: Wire) -> Wire:
        self._kind(self._config, self.state, {}, self.loop).connection_made(wire)  # type: ignore[arg-type]
        return wire

    def sweep(self, after: float, *, late: float = 0.0) -> None:
        self.loop.now += after
        self.sweeping.sweep(self.loop.now, late)


def connected(kind: type[TrackedConnection], *peers: str) -> list[bool]:
    """Whether each of these peers, in turn, keeps its connection to one server."""
    listener = Listener(kind)
    return [not wire.aborted for wire in [listener.accept(Wire(peer)) for peer in peers]]


def test_another_machine_keeps_the_connections_that_it_has_and_gets_only_so_many() -> None:
    many = ["198.51.100.7"] * (PEER_CONNECTIONS + 2)
    assert connected(TrackedConnection, *many, "198.51.100.8") == [True] * PEER_CONNECTIONS + [False, False, True]


def test_this_machine_and_a_trusted_proxy_have_no_limit_of_their_own() -> None:
    assert all(connected(TrackedConnection, *["127.0.0.1"] * (PEER_CONNECTIONS + 2)))
    assert all(connected(ProxiedConnection, *["198.51.100.7"] * (PEER_CONNECTIONS + 2)))


def test_a_client_that_reads_a_long_answer_at_a_fair_pace_is_sent_all_of_it() -> None:
    listener = Listener()
    wire = listener.accept(Wire("127.0.0.1", unread=10 * READ_AT_LEAST, closing=True))
    listener.sweep(after=0.0)
    while wire.unread:
        wire.unread -= READ_AT_LEAST
        listener.sweep(after=CLOSING - 0.1)
    assert not wire.aborted


def test_a_client_that_takes_a_long_answer_in_drops_is_let_go() -> None:
    listener = Listener()
    wire = listener.accept(Wire("127.0.0.1", unread=10 * READ_AT_LEAST, closing=True))
    listener.sweep(after=0.0)
    wire.unread -= READ_AT_LEAST - 1
    listener.sweep(after=CLOSING)
    assert wire.aborted


def test_a_client_is_not_blamed_for_a_while_in_which_the_daemon_itself_stood_still() -> None:
    listener = Listener()
    wire = listener.accept(Wire("127.0.0.1", unread=1, closing=True))
    listener.sweep(after=0.0)
    listener.sweep(after=CLOSING + 1.0, late=1.5)
    assert not wire.aborted
    listener.sweep(after=0.5)
    assert wire.aborted


def test_a_connection_that_comes_after_a_while_without_any_is_swept_like_others() -> None:
    async def aborted() -> None:
        listener = Listener(closing_within=0.0)
        listener.loop = asyncio.get_running_loop()  # type: ignore[assignment]
        sweeping = asyncio.create_task(listener.sweeping.run())
        for _ in range(2):
            await asyncio.sleep(0)  # it waits
            wire = listener.accept(Wire("127.0.0.1", closing=True))
            async with asyncio.timeout(PATIENT):
                await wire.ended.wait()
            listener.state.connections.clear()
        sweeping.cancel()

    asyncio.run(aborted())
