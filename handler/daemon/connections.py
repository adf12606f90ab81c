"""The connections of the daemon: a bounded number on each listening socket, and none waits for its client for ever.

It raises its limit of open files and sockets to the most allowed, and reports when that is too little. A session with
an SNMP agent keeps a socket, and one of v3 a second descriptor for gufo-snmp. They are kept up to a third of the limit
(`collector.sources.snmp`); beyond that each poll opens and closes them, which costs more but loses nothing.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from config.model.catalogue import Catalogue
from config.units import Seconds
from handler import logs
from handler.runtime.loops import Guard
from handler.web.admission import READ_AT_LEAST, WITHIN, WaitPhase, evicted, is_elsewhere, is_overdue
from handler.web.gate import BEARER, READING

_OTHER_DESCRIPTORS = 200
"""For the store, HTTP, balancers, and everything else that is open."""


def take_all_descriptors() -> int:
    """Raise this process's soft limit to the hard one, which needs no privilege, and return it.

    The usual soft limit of 1,024 is there for programs that call select(2).
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def wanted_descriptors(catalogue: Catalogue) -> int:
    """Return how many make polling cheap with every group at its max.

    >>> from types import SimpleNamespace
    >>> wanted_descriptors(SimpleNamespace(groups={"web": SimpleNamespace(maximum=2000)}))
    6200
    """
    return 3 * sum(group.maximum for group in catalogue.groups.values()) + _OTHER_DESCRIPTORS


CONNECTIONS = 512
"""The most connections of each listening socket."""
PEER_CONNECTIONS = 64
"""The most of one peer that is another machine; it is refused more, and keeps those that it has."""
_EVICTED_AT_ONCE = 16
"""Choosing looks at every connection, so it makes room for several at a time."""
_HEAD_AT_MOST = 16 * 1024
"""The most bytes of a request's head; the parser itself has no bound."""
_SWEPT_EVERY: Seconds = 0.5
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of a unix socket's peer (unix(7), SO_PEERCRED)."""


class TrackedConnection(HttpToolsProtocol):
    """One connection. `ConnectionSweep` ends it when it is overdue; a new one that finds no room has idle ones make it.

    It has no timer: a timer for each request would keep the request's memory while it runs.
    """

    peers_at_most: ClassVar[int | None] = PEER_CONNECTIONS
    """The most connections of one peer that is another machine."""
    peer = ""
    phase = WaitPhase.HEAD
    since: Seconds = 0.0
    _head: int | None = 0
    """Bytes read of the present head, if one is being read."""
    _stalled = False
    _unread = 0
    """Bytes of an answer that its client had not read when `since` was set."""

    @property
    def trusted(self) -> bool:
        """Whether its last request had the token or came over the unix socket."""
        return bool(getattr(self.cycle, "scope", {}).get(BEARER))  # there is no cycle before the first request

    @property
    def reads(self) -> bool:
        """Whether its request changes nothing; not checked for several requests at once."""
        return not self.pipeline and getattr(self.cycle, "scope", {}).get("method") in READING

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection if there is room or room can be made, else close it."""
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        self.client = self.client or _account(transport)
        self.since = self.loop.time()
        if self._outnumbers():
            self.transport.abort()
        elif len(self.connections) > CONNECTIONS:
            self._make_room()

    def _outnumbers(self) -> bool:
        """Tell whether the connection's peer, if it is another machine, has as many as one may."""
        if self.peers_at_most is None or not is_elsewhere(self.peer):
            return False
        same = sum(each.peer == self.peer for each in self.connections if isinstance(each, TrackedConnection))
        return bool(same > self.peers_at_most)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the phase."""
        super().connection_lost(exc)
        self._stalled = False

    def data_received(self, data: bytes) -> None:
        """Take more of a request; limit the length of its head."""
        if self.transport.is_closing():
            return  # data after the last answer, or after the connection was ended
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > _HEAD_AT_MOST and not self.transport.is_closing():
            self.send_400_response("The request's head is too long.")

    def on_headers_complete(self) -> None:
        """Begin a request."""
        self._head = None
        super().on_headers_complete()
        self.look()

    def on_message_complete(self) -> None:
        """Count the following bytes as another head."""
        self._head = 0
        super().on_message_complete()
        self.look()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self.look()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._stalled = True
        self.look()

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        super().resume_writing()
        self._stalled = False
        self.look()

    def look(self) -> None:
        """Note the present phase, and its start if it has changed or the client has read a good part of an answer."""
        phase, unread = self._phase(), self.transport.get_write_buffer_size()
        if phase is not self.phase or self._unread - unread >= READ_AT_LEAST:
            self.phase, self.since, self._unread = phase, self.loop.time(), unread

    def _phase(self) -> WaitPhase:
        if self.transport.is_closing():
            return WaitPhase.CLOSING
        if self._stalled:
            return WaitPhase.STALLED
        if self.pipeline:
            return WaitPhase.ANSWER
        if getattr(self.cycle, "response_complete", True):
            return WaitPhase.HEAD
        return WaitPhase.BODY if self.cycle.more_body else WaitPhase.ANSWER

    def end(self) -> None:
        """Close the connection; data that its client does not read in time is lost."""
        if self.transport.is_closing() or self._stalled:
            self.transport.abort()
        else:
            self.transport.close()
        self.look()

    def _make_room(self) -> None:
        others = (each for each in self.connections if each is not self and isinstance(each, TrackedConnection))
        given_up = evicted(others, _EVICTED_AT_ONCE)
        for connection in given_up:
            connection.transport.abort()
            self.connections.discard(connection)  # its `connection_lost` runs only in the loop's next turn
        if not given_up:
            self.transport.abort()


def _account(transport: asyncio.Transport) -> tuple[str, int] | None:
    """Return the account at the other end of a unix socket, as the kernel knows it; it has the place of an address."""
    other: socket.socket | None = transport.get_extra_info("socket")
    if other is None or other.family is not socket.AF_UNIX:
        return None
    _, uid, _ = _CREDENTIALS.unpack(other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return f"uid {uid}", 0


class ProxiedConnection(TrackedConnection):
    """A connection of a proxy, which speaks for many clients."""

    peers_at_most = None


class Connections(set[Any]):
    """The connections of one server. While there are none, `come` waits for the next."""

    def __init__(self) -> None:
        super().__init__()
        self._came = asyncio.Event()
        self._came_at: Seconds = 0.0

    def add(self, connection: HttpToolsProtocol) -> None:
        """Take in one that was accepted."""
        if not self:
            self._came_at = connection.loop.time()
            self._came.set()
        super().add(connection)

    async def come(self) -> Seconds:
        """Wait for the next; returns when it came, by the loop's clock. It may have gone meanwhile."""
        self._came.clear()
        await self._came.wait()
        return self._came_at


class ConnectionSweep:
    """Ends overdue connections of one server, and logs once when it is full and once when it is not any more."""

    def __init__(
        self, connections: Connections, name: str, within: Mapping[WaitPhase, Seconds | None] = WITHIN
    ) -> None:
        self._connections = connections
        self._name = name
        self._within = within
        self._full = False

    async def run(self) -> None:
        """Sweep until cancelled, while there are connections."""
        guard, loop = Guard("sweep", listener=self._name), asyncio.get_running_loop()
        while True:
            if self._connections:
                due = loop.time() + _SWEPT_EVERY
                await asyncio.sleep(_SWEPT_EVERY)
            else:
                due = await self._connections.come()
            now = loop.time()
            await guard.run(partial(self._swept, now, now - due))

    async def _swept(self, now: Seconds, late: Seconds) -> None:
        self.sweep(now, late)

    def sweep(self, now: Seconds, late: Seconds) -> None:
        """Look at every connection once. For ``late`` the loop did not run: no client could be served, none waited."""
        connections = [each for each in self._connections if isinstance(each, TrackedConnection)]
        for connection in connections:
            connection.since = min(now, connection.since + late)
            connection.look()
            if is_overdue(connection, now, self._within):
                connection.end()
        self._log(len(connections))

    def _log(self, count: int) -> None:
        if count >= CONNECTIONS - _EVICTED_AT_ONCE and not self._full:
            self._full = True
            logs.warn(
                "connections_full", listener=self._name, connections=count, note="the idlest make room for new ones"
            )
        elif count < CONNECTIONS // 2 and self._full:
            self._full = False
            logs.say("connections_free", listener=self._name, connections=count)
