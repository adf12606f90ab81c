"""The circuits of all endpoints that drivers call. Any thread may call.

An endpoint is a place, not a service of ours: whoever calls the same one, for a cloud, for a balancer or for another
project, shares its circuit. The rule is in `collector.clients.circuit`.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from collector.clients.circuit import (
    Circuit,
    CircuitCall,
    CircuitRefusal,
    Closed,
    FailureRun,
    Position,
    answered,
    begun,
    failed,
    overdue,
)
from config.errors import Unsent
from config.units import Instant, Moment, Monotonic, Seconds

_FORGOTTEN_AFTER: Seconds = 3600.0
"""Without a call. It may have been declared no more."""
_PORTS = {"http": 80, "https": 443}
_VERSION = re.compile(r"v\d[\w.]*")
_BROKEN = range(500, 600)
_GATEWAYS = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointStatus:
    """One endpoint for a person."""

    endpoint: str
    position: Position
    because: str
    """Why it is left alone; empty: it is not."""
    unsent: int
    """Calls that were not sent, since it was first called."""


_NEW = Circuit()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    used: Monotonic
    circuit: Circuit = _NEW
    unsent: int = 0


class Sending:
    """One call that is made. Whoever makes it tells what became of it; of whom nothing is heard, it failed."""

    def __init__(self) -> None:
        self.how: str | None = "it was broken off"

    def heard(self, nobody: str | None = None) -> None:
        """Tell of an answer, if only a refusal; ``nobody``: how it shows that it is none, if it does."""
        self.how = nobody

    def failed(self, how: str) -> None:
        """Tell that nobody did, and how that showed."""
        self.how = how


class Circuits:
    """Says whether an endpoint may be called. ``clock`` is read at each call's beginning and end."""

    def __init__(self, clock: Callable[[], Moment]) -> None:
        self._clock = clock
        self._turn = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    @contextlib.contextmanager
    def sending(self, endpoint: str, within: Seconds) -> Iterator[Sending]:
        """Around one call.

        Args:
            endpoint: as people are told of it; see `endpoint_of`.
            within: how long the call may take, all of it.

        Raises:
            Unsent: it may not be made now.
        """
        call = self._begun(endpoint, within)
        sending = Sending()
        try:
            yield sending
        finally:
            self._ended(endpoint, call, sending.how)

    def told(self) -> tuple[EndpointStatus, ...]:
        """Every endpoint that was called not long ago."""
        now = self._clock()
        with self._turn:
            self._entries = {
                endpoint: replace(entry, circuit=overdue(entry.circuit, now))
                for endpoint, entry in self._entries.items()
                if entry.circuit.under_way or now.steady - entry.used < _FORGOTTEN_AFTER
            }
            entries = sorted(self._entries.items())
        return tuple(_status(endpoint, entry, now) for endpoint, entry in entries)

    def _begun(self, endpoint: str, within: Seconds) -> CircuitCall:
        now = self._clock()
        with self._turn:
            entry = self._entries.get(endpoint, _Entry(used=now.steady))
            circuit, call = begun(entry.circuit, now, within)
            unsent = entry.unsent + isinstance(call, CircuitRefusal)
            self._entries[endpoint] = _Entry(used=now.steady, circuit=circuit, unsent=unsent)
        if isinstance(call, CircuitRefusal):
            raise Unsent(_words(endpoint, call, now), retry_after=call.again_in)
        return call

    def _ended(self, endpoint: str, call: CircuitCall, how: str | None) -> None:
        now = self._clock()
        with self._turn:
            entry = self._entries.get(endpoint, _Entry(used=now.steady))
            circuit = answered(entry.circuit, call) if how is None else failed(entry.circuit, call, how, now)
            self._entries[endpoint] = replace(entry, used=now.steady, circuit=circuit)


@contextlib.contextmanager
def sending(circuits: Circuits | None, endpoint: str, within: Seconds) -> Iterator[Sending]:
    """Around one call, where there are circuits and where there are none. Raises as `Circuits.sending`."""
    if circuits is None:
        yield Sending()
        return
    with circuits.sending(endpoint, within) as one:
        yield one


def endpoint_of(url: str) -> str:
    """What answers at an address, or does not: scheme, host, port, and what the path begins with.

    Of several services behind one port, that tells which it is; a version tells nothing.

    >>> endpoint_of("https://user:secret@Cloud.example/client/api?signature=x")
    'https://cloud.example:443/client'
    >>> endpoint_of("http://cloud.example/compute/v2.1/servers/detail?limit=100")
    'http://cloud.example:80/compute'
    >>> endpoint_of("http://[2001:db8::1]:8774/v2.1/servers")
    'http://[2001:db8::1]:8774'
    """
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or _PORTS.get(parts.scheme, 0)
    first = parts.path.lstrip("/").partition("/")[0]
    service = "" if not first or _VERSION.fullmatch(first) else f"/{first}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}{service}"


def nobody(status: int, body: bytes, wish: Seconds | None) -> str | None:
    """Why an answer of HTTP is not by the service that was asked, but by what stands before it; ``None``: it is.

    Services say in JSON what is wrong with them, OneFlow in plain text; a gateway answers with a page, or in its own
    text. Whoever asks to be left alone for a while is there.

    >>> nobody(502, b"upstream connect error", None), nobody(500, b"<html>Internal Server Error", None)
    ('HTTP 502', 'HTTP 500')
    >>> nobody(500, b'{"computeFault": {"code": 500}}', None), nobody(500, b"Service cannot be scaled", None)
    (None, None)
    >>> nobody(503, b"busy", 7.0), nobody(404, b"<html>", None)
    (None, None)
    """
    if status not in _BROKEN or wish is not None:
        return None
    try:
        said: object = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    is_text = status not in _GATEWAYS and bool(body.strip()) and not body.lstrip().startswith(b"<")
    return None if is_text or (isinstance(said, Mapping) and said) else f"HTTP {status}"


def _status(endpoint: str, entry: _Entry, now: Moment) -> EndpointStatus:
    state = entry.circuit.state
    because = ""
    if not isinstance(state, Closed):
        again_in = getattr(state, "until", now.steady) - now.steady
        probing = entry.circuit.position is Position.HALF_OPEN
        because = _words(endpoint, CircuitRefusal(row=state.row, again_in=again_in, probing=probing), now)
    return EndpointStatus(endpoint=endpoint, position=entry.circuit.position, because=because, unsent=entry.unsent)


def _words(endpoint: str, refusal: CircuitRefusal, now: Moment) -> str:
    return f"{endpoint} is left alone: {_row(refusal.row)}; {_next(refusal, now)}"


def _row(row: FailureRun) -> str:
    return f"{row.count} calls in a row failed since {_at(row.since.wall)}, the last: {row.last}"


def _next(refusal: CircuitRefusal, now: Moment) -> str:
    if refusal.probing:
        return "one is being tried now"
    return f"the next is tried at {_at(Instant(now.wall + max(refusal.again_in, 0.0)))}"


def _at(instant: Instant) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
