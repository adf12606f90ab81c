"""How many requests a second each peer and each token may make. Pure: the clock is an argument.

A peer on the loopback has no limit of its own: every local program, and every client of a local proxy that is not
declared, has that address. Such clients have `RequestTurns`, and the room that admission makes.

Each allowance fills up evenly, and holds a burst. It is kept for as many peers as fit; the one unused for longest goes
first, which gives it a new burst at worst.
"""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from config.units import Seconds

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_KEPT = 4_096
_V6_PREFIX = 64
"""An address of IPv6 counts with its network: one client has all addresses of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many requests a sender may make in the long run, and how many at once."""

    per_second: float
    burst: float


PEER = Rate(per_second=50.0, burst=200.0)
"""Of one address beyond this machine, reading included."""
TOKEN = Rate(per_second=2_000.0, burst=4_000.0)
"""Of one webhook for alerts or events: twice the flood that the whole daemon is measured with."""


API_TOKEN = Rate(per_second=1_000.0, burst=2_000.0)
"""Of one token of a user, reading included: a fifth of what a core answers."""


class Allowances:
    """What is left of a rate for each key."""

    def __init__(self, rate: Rate, kept: int = _KEPT) -> None:
        self._rate = rate
        self._kept = kept
        self._left: OrderedDict[Hashable, tuple[float, Seconds]] = OrderedDict()

    def wait(self, key: Hashable, now: Seconds) -> int | None:
        """Take one request; ``None``: it may pass, else the whole seconds after which another try may."""
        left, at = self._left.pop(key, (self._rate.burst, now))
        left = min(left + max(now - at, 0.0) * self._rate.per_second, self._rate.burst)
        passes = left >= 1.0
        self._left[key] = (left - 1.0 if passes else left, now)
        while len(self._left) > self._kept:
            self._left.popitem(last=False)
        return None if passes else max(math.ceil((1.0 - left) / self._rate.per_second), 1)


class RequestRates:
    """The allowances of peers of one socket."""

    def __init__(self, rate: Rate = PEER, kept: int = _KEPT) -> None:
        self._peers = Allowances(rate, kept)

    def wait(self, peer: Address | None, now: Seconds) -> int | None:
        """Take a request of a peer, as `Allowances.wait`; ``None`` as the peer: the unix socket."""
        if peer is None or peer.is_loopback:
            return None
        return self._peers.wait(peer_key(peer), now)


def peer_key(peer: Address) -> Hashable:
    """Return what counts as one peer: an address, of IPv6 the network that one client has.

    >>> peer_key(ipaddress.ip_address("2001:db8::1")) == peer_key(ipaddress.ip_address("2001:db8::2"))
    True
    """
    if isinstance(peer, ipaddress.IPv6Address):
        return int(peer) >> (128 - _V6_PREFIX)
    return peer
