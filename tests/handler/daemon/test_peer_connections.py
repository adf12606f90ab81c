from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from handler.daemon.connections import PEER_CONNECTIONS, ProxiedConnection, TrackedConnection


class Wire:
    """A transport to a peer, as far as a connection asks it anything before the first request."""

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self.aborted = False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return {"peername": (self._peer, 1234), "sockname": ("192.0.2.1", 8460)}.get(name, default)

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


def connected(kind: type[TrackedConnection], *peers: str) -> list[bool]:
    """Whether each of these peers, in turn, keeps its connection to one server."""

    async def scene() -> list[bool]:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            raise AssertionError("no request is sent")

        config, state = uvicorn.Config(app, http=kind, ws="none", lifespan="off", log_config=None), ServerState()
        config.load()
        wires = [Wire(peer) for peer in peers]
        for wire in wires:
            connection = kind(config, state, {}, asyncio.get_running_loop())
            connection.connection_made(wire)  # type: ignore[arg-type]
        return [not wire.aborted for wire in wires]

    return asyncio.run(scene())


def test_another_machine_keeps_the_connections_that_it_has_and_gets_only_so_many() -> None:
    many = ["198.51.100.7"] * (PEER_CONNECTIONS + 2)
    assert connected(TrackedConnection, *many, "198.51.100.8") == [True] * PEER_CONNECTIONS + [False, False, True]


def test_this_machine_and_a_trusted_proxy_have_no_limit_of_their_own() -> None:
    assert all(connected(TrackedConnection, *["127.0.0.1"] * (PEER_CONNECTIONS + 2)))
    assert all(connected(ProxiedConnection, *["198.51.100.7"] * (PEER_CONNECTIONS + 2)))
