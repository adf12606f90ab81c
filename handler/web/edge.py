"""What lies before the gate of a TCP socket: the proxies that may connect, limits of each peer, and security headers.

A proxy that is trusted says in ``X-Forwarded-For`` which client it speaks for. That header of any other peer is worth
nothing, and where proxies are declared no other peer may connect at all.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from config.units import Seconds
from handler.ingest.request_rates import RequestRates, peer_key
from handler.web.gate import App, Message, Receive, Scope, Send
from handler.web.problems import Header, ProblemType, send_problem

_FORWARDED = b"x-forwarded-for"
_AT_MOST = 20
"""Entries of that header that are looked at; the nearest come last."""
_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_PEERS_KEPT = 1_024
"""Addresses of connections that are not read anew with each request; what headers say is not kept."""
_STRICT = (b"strict-transport-security", b"max-age=31536000")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a request goes no further."""

    problem: ProblemType
    error: str
    headers: tuple[Header, ...] = ()


STREAM = "/events"
STREAMS = 8
"""Streams of events of one peer that is another machine; all of them together have a limit, too."""
_STREAMS_TAKEN = Refusal(
    problem=ProblemType.TOO_MANY,
    error=f"this address has {STREAMS} streams of events already: close a page",
    headers=((b"retry-after", b"10"),),
)


class Edge:
    """ASGI middleware, the first of a TCP socket."""

    def __init__(
        self,
        app: App,
        *,
        trusted: Sequence[str] = (),
        encrypted: bool = False,
        rates: RequestRates,
        clock: Callable[[], Seconds],
    ) -> None:
        self._app = app
        self._trusted = tuple(ipaddress.ip_network(each) for each in trusted)
        self._added = (*_HEADERS, _STRICT) if encrypted or trusted else _HEADERS
        self._rates = rates
        self._streams: Counter[Hashable] = Counter()
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on under its client's address; either way its answer has the headers."""
        if scope["type"] != "http":
            return  # only HTTP is served
        sending = self._with_headers(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(sending, refusal)
        elif scope["path"] == STREAM:
            await self._streamed(scope, receive, sending)
        else:
            await self._app(scope, receive, sending)

    async def _streamed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request for a stream on, if its peer has not as many as one may."""
        peer = address_of(scope)
        if peer is None or peer.is_loopback:
            await self._app(scope, receive, send)
            return
        key = peer_key(peer)
        if self._streams[key] >= STREAMS:
            await _answer(send, _STREAMS_TAKEN)
            return
        self._streams[key] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._streams[key] -= 1
            if not self._streams[key]:
                del self._streams[key]

    def _refusal(self, scope: Scope) -> Refusal | None:
        peer = address_of(scope)
        if self._trusted:
            if peer is None or not is_within(peer, self._trusted):
                return Refusal(problem=ProblemType.FORBIDDEN, error="only the proxies that 'listen' trusts may connect")
            peer = forwarded(scope, peer, self._trusted)
            scope["client"] = (str(peer), 0)
        wait = self._rates.wait(peer, self._clock())
        if wait is None:
            return None
        return Refusal(
            problem=ProblemType.TOO_MANY,
            error="too many requests from this address",
            headers=((b"retry-after", str(wait).encode()),),
        )

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                names = {name.lower() for name, _ in given}
                message["headers"] = [*given, *(pair for pair in self._added if pair[0] not in names)]
            await send(message)

        return sending


def address_of(scope: Scope) -> Address | None:
    """Return the peer's address; ``None``: it has none that can be read."""
    client = scope.get("client")
    return None if client is None else _peer(client[0])


def forwarded(scope: Scope, peer: Address, trusted: Sequence[Network]) -> Address:
    """Return the client of a trusted proxy: the nearest address in its headers that is no trusted proxy itself."""
    addresses = b",".join(value for name, value in scope["headers"] if name == _FORWARDED).decode("latin-1")
    for each in reversed(addresses.split(",")[-_AT_MOST:]):
        found = _parsed(each.strip())
        if found is None:
            return peer
        peer = found
        if not is_within(found, trusted):
            return found
    return peer


def is_within(address: Address, networks: Sequence[Network]) -> bool:
    """Tell whether an address is in one of the networks."""
    return any(address.version == network.version and address in network for network in networks)


def _parsed(text: str) -> Address | None:
    try:
        found = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return found if mapped is None else mapped


_peer = lru_cache(_PEERS_KEPT)(_parsed)


async def _answer(send: Send, refusal: Refusal) -> None:
    await send_problem(send, refusal.problem, refusal.error, (b"connection", b"close"), *refusal.headers)
