"""How many requests over TCP a standby has the holder asked at once.

Each of them is a row in the store and work for the holder. Requests beyond the limits are refused at once, and may be
tried again: so a flood on a standby neither fills the table nor delays what comes over unix sockets, which needs no
room. A peer on the loopback has no limit of its own, as in `RequestRates`.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Hashable, Iterator

from handler.ingest.request_rates import Address, peer_key
from handler.web.gate import Refusal
from handler.web.problems import ProblemType

AT_ONCE = 32
OF_PEER = 8
"""Requests of one peer that is another machine."""
_FULL = ProblemType.BUSY, f"{AT_ONCE} requests wait for the holder at this standby: try again, or ask the holder itself"
_TAKEN = ProblemType.TOO_MANY, f"{OF_PEER} requests of this address wait for the holder already"


class RelayRoom:
    """The requests of one TCP socket that wait for the holder."""

    def __init__(self) -> None:
        self._waiting: Counter[Hashable] = Counter()

    @contextlib.contextmanager
    def taken(self, peer: Address | None) -> Iterator[Refusal | None]:
        """Take room for a request of a peer while the block runs; yields why there is none, ``None``: there is."""
        key = None if peer is None or peer.is_loopback else peer_key(peer)
        refusal = self._refusal(key)
        if refusal is not None:
            yield refusal
            return
        self._waiting[key] += 1
        try:
            yield None
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]

    def _refusal(self, key: Hashable) -> Refusal | None:
        if self._waiting.total() >= AT_ONCE:
            return _FULL
        return _TAKEN if key is not None and self._waiting[key] >= OF_PEER else None
