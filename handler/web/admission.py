"""Which connections a listening socket keeps, and for how long each may wait. Pure: the clock is an argument.

All connections on the loopback have one address, so a limit per peer would keep out the very clients that it is to
protect. So nothing is refused here: when a socket is full, a new connection replaces the idlest one of the peer with
most connections. A client that sends its request at once is answered, however many idle connections there are.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from ipaddress import ip_address
from types import MappingProxyType
from typing import Protocol, TypeVar

from config.units import Seconds


class WaitPhase(enum.Enum):
    """The event that a connection waits for."""

    HEAD = "head"
    """The client is to send a request's head. Also between two requests."""
    BODY = "body"
    """The client is to send a request's body."""
    ANSWER = "answer"
    """Trimtab is to answer; or the answer is a stream that goes on."""
    STALLED = "stalled"
    """The client is to read the answer."""
    CLOSING = "closing"
    """The client is to read the rest before the connection ends."""


WITHIN: Mapping[WaitPhase, Seconds | None] = MappingProxyType(
    {
        WaitPhase.HEAD: 10.0,
        WaitPhase.BODY: 15.0,
        WaitPhase.ANSWER: None,
        WaitPhase.STALLED: 10.0,
        WaitPhase.CLOSING: 5.0,
    }
)
"""How long a connection may be in a phase; ``None``: as long as it takes.

The gate has its own deadline for a body and answers 408; this one is for bodies that the gate does not read.
"""

READ_AT_LEAST = 1024 * 1024
"""Bytes of an answer that a client reads before its time begins again: many thousand groups are 6 MB of metrics."""


class AdmittedConnection(Protocol):
    """What admission needs to know of a connection."""

    @property
    def peer(self) -> str:
        """The client's address; empty on the unix socket."""
        ...

    @property
    def phase(self) -> WaitPhase:
        """The event that it waits for."""
        ...

    @property
    def since(self) -> Seconds:
        """When the phase began, by a steady clock."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether its last request had the token or came over the unix socket."""
        ...

    @property
    def reads(self) -> bool:
        """Whether its request changes nothing, so that ending it does no harm."""
        ...


_Kept = TypeVar("_Kept", bound=AdmittedConnection)


def is_elsewhere(peer: str) -> bool:
    """Tell whether a client's address is another machine's; empty, on the unix socket, it is not.

    >>> is_elsewhere("192.0.2.7"), is_elsewhere("127.0.0.1"), is_elsewhere("")
    (True, False, False)
    """
    try:
        return not ip_address(peer).is_loopback
    except ValueError:
        return False


def is_overdue(
    connection: AdmittedConnection, now: Seconds, within: Mapping[WaitPhase, Seconds | None] = WITHIN
) -> bool:
    """Tell whether a connection has been in its phase for too long."""
    limit = within[connection.phase]
    return limit is not None and now - connection.since >= limit


def evicted(connections: Iterable[_Kept], at_most: int) -> list[_Kept]:
    """Choose up to ``at_most`` connections to end, so that new ones find room; the idlest first.

    First those that wait for their client and have sent no token, then those that have; last, reading requests without
    a token that are being answered. A request that has the token or may change something is never ended while it is
    being answered. Within each kind, the peer with most connections loses first.
    """
    known = list(connections)
    held = Counter(each.peer for each in known)
    ranked = [(rank, -held[each.peer], each.since, index) for index, each in enumerate(known)
              if (rank := _rank(each)) is not None]  # fmt: skip
    return [known[index] for *_, index in nsmallest(at_most, ranked)]


def _rank(connection: AdmittedConnection) -> int | None:
    """Return a rank among those to end; ``None``: never end it."""
    if connection.phase is not WaitPhase.ANSWER:
        return 1 if connection.trusted else 0
    return 2 if connection.reads and not connection.trusted else None
