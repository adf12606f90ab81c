"""Which connections a listening socket keeps, and for how long each may wait. Pure: the clock is an argument.

Everything on the loopback comes from one address, so a limit per peer would keep out the very clients that it is to
protect. It refuses nothing here: when a socket is full, a new connection takes the place of the idlest one of the peer
that holds most. A client that asks at once is answered, however many others stand there.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from types import MappingProxyType
from typing import Protocol, TypeVar

from config.units import Seconds


class WaitPhase(enum.Enum):
    """What a connection waits for."""

    HEAD = "head"
    """The client, to send a request's head. Also between two requests."""
    BODY = "body"
    """The client, to send a request's body."""
    ANSWER = "answer"
    """Trimtab, to answer; or the answer is a stream that goes on."""
    STALLED = "stalled"
    """The client, to read what has been answered."""
    CLOSING = "closing"
    """The client, to read the rest before the end."""


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

A body has its deadline at the gate, which answers 408; this one is for what the gate does not read.
"""


class AdmittedConnection(Protocol):
    """What admission knows of a connection."""

    @property
    def peer(self) -> str:
        """The client's address; empty on the unix socket."""
        ...

    @property
    def phase(self) -> WaitPhase:
        """What it waits for."""
        ...

    @property
    def since(self) -> Seconds:
        """When that began, by a steady clock."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether its last request bore the token, or came over the unix socket."""
        ...

    @property
    def reads(self) -> bool:
        """Whether its request changes nothing: to cut it off does no harm."""
        ...


_Kept = TypeVar("_Kept", bound=AdmittedConnection)


def is_overdue(
    connection: AdmittedConnection, now: Seconds, within: Mapping[WaitPhase, Seconds | None] = WITHIN
) -> bool:
    """Whether a connection has been in its phase for too long."""
    limit = within[connection.phase]
    return limit is not None and now - connection.since >= limit


def evicted(connections: Iterable[_Kept], at_most: int) -> list[_Kept]:
    """Choose up to so many connections that make room for new ones, the idlest first.

    First those that wait for their client and have shown no token, then those that have; last reading requests that
    are being answered without a token. A request that may change something, or bears the token, is never cut off while
    it is being answered. Within each kind, the peer that holds most connections loses first.
    """
    known = list(connections)
    held = Counter(each.peer for each in known)
    ranked = [(rank, -held[each.peer], each.since, index) for index, each in enumerate(known)
              if (rank := _rank(each)) is not None]  # fmt: skip
    return [known[index] for *_, index in nsmallest(at_most, ranked)]


def _rank(connection: AdmittedConnection) -> int | None:
    """How soon it is given up; ``None``: never."""
    if connection.phase is not WaitPhase.ANSWER:
        return 1 if connection.trusted else 0
    return 2 if connection.reads and not connection.trusted else None
