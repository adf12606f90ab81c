"""The circuits of all endpoints that drivers call. Any thread may call.

An endpoint is an address, not a declared service: all clouds, balancers and projects that call the same address share
its circuit. The rule is in `collector.clients.circuit`.
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
"""An endpoint without a call for so long is forgotten: the file may no longer declare it."""
_SOON: Seconds = 1.0
_PORTS = {"http": 80, "https": 443}
_VERSION = re.compile(r"v\d[\w.]*")
_BROKEN = range(500, 600)
_GATEWAYS = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointStatus:
    """The circuit of one endpoint, for people."""

    endpoint: str
    position: Position
    because: str
    """Why calls are held back; empty: they are not."""
    unsent: int
    """Calls that were not sent, since the endpoint was first called."""


_NEW = Circuit()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    used: Monotonic
    circuit: Circuit = _NEW
    unsent: int = 0


class Sending:
    """One call under way. The caller reports how it ended; a call without a report has failed."""

    def __init__(self) -> None:
        self.how: str | None = "the call was interrupted"

    def answered(self, gateway: str | None = None) -> None:
        """Report an answer, a refusal included; ``gateway``: the error of a gateway that answered instead."""
        self.how = gateway

    def failed(self, how: str) -> None:
        """Report that no answer came, and how the call failed."""
        self.how = how


def _nothing() -> str:
    return ""


class Circuits:
    """Decides whether an endpoint may be called.

    Args:
        clock: is read when a call begins and ends.
        held_back: returns why nothing may be sent to any endpoint now; empty: it may.
    """

    def __init__(self, clock: Callable[[], Moment], held_back: Callable[[], str] = _nothing) -> None:
        self._clock = clock
        self._held_back = held_back
        self._turn = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    @contextlib.contextmanager
    def sending(self, endpoint: str, within: Seconds) -> Iterator[Sending]:
        """Wrap one call.

        Args:
            endpoint: its name in messages; see `endpoint_of`.
            within: how long the call may take in total.

        Raises:
            Unsent: the call may not be made now.
        """
        call = self._begun(endpoint, within)
        sending = Sending()
        try:
            yield sending
        finally:
            self._ended(endpoint, call, sending.how)

    def check(self, endpoint: str) -> None:
        """Look once more, just before the first byte: threads may have been stopped since the call began.

        Raises:
            Unsent: nothing may be sent now.
        """
        why = self._held_back()
        if why:
            raise Unsent(f"nothing is sent to {endpoint}: {why}", retry_after=_SOON)

    def statuses(self) -> tuple[EndpointStatus, ...]:
        """Return the status of every endpoint that was called recently."""
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
        self.check(endpoint)
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
    """Wrap one call, with or without circuits. Raises as `Circuits.sending`."""
    if circuits is None:
        yield Sending()
        return
    with circuits.sending(endpoint, within) as one:
        yield one


def endpoint_of(url: str) -> str:
    """Return the endpoint of an address: scheme, host, port, and the first part of the path.

    The path tells apart several services behind one port; a version is left out.

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


def gateway_error(status: int, body: bytes, pause: Seconds | None) -> str | None:
    """Return why an HTTP answer is a gateway's and not the service's; ``None``: the service answered.

    Services describe their errors in JSON, OneFlow in plain text; a gateway answers with a page, or in its own text. An
    answer that asks for a pause (``Retry-After``) comes from the service.

    >>> gateway_error(502, b"upstream connect error", None), gateway_error(500, b"<html>Internal Server Error", None)
    ('HTTP 502', 'HTTP 500')
    >>> gateway_error(500, b'{"computeFault": {"code": 500}}', None), gateway_error(500, b"cannot be scaled", None)
    (None, None)
    >>> gateway_error(503, b"busy", 7.0), gateway_error(404, b"<html>", None)
    (None, None)
    """
    if status not in _BROKEN or pause is not None:
        return None
    try:
        decoded: object = json.loads(body)
    except (ValueError, RecursionError):
        decoded = None
    is_text = status not in _GATEWAYS and bool(body.strip()) and not body.lstrip().startswith(b"<")
    return None if is_text or (isinstance(decoded, Mapping) and decoded) else f"HTTP {status}"


def _status(endpoint: str, entry: _Entry, now: Moment) -> EndpointStatus:
    state = entry.circuit.state
    because = ""
    if not isinstance(state, Closed):
        again_in = getattr(state, "until", now.steady) - now.steady
        probing = entry.circuit.position is Position.HALF_OPEN
        because = _words(endpoint, CircuitRefusal(row=state.row, again_in=again_in, probing=probing), now)
    return EndpointStatus(endpoint=endpoint, position=entry.circuit.position, because=because, unsent=entry.unsent)


def _words(endpoint: str, refusal: CircuitRefusal, now: Moment) -> str:
    return f"calls to {endpoint} are held back: {_row(refusal.row)}; {_next(refusal, now)}"


def _row(row: FailureRun) -> str:
    return f"{row.count} calls in a row failed since {_at(row.since.wall)}, the last: {row.last}"


def _next(refusal: CircuitRefusal, now: Moment) -> str:
    if refusal.probing:
        return "a call is being tried now"
    return f"the next call is tried at {_at(Instant(now.wall + max(refusal.again_in, 0.0)))}"


def _at(instant: Instant) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
