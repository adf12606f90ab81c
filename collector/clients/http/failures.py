"""Classify failed HTTP requests: a kind, and words without secrets.

The words are ours and the operating system's. The server's text is not repeated: it may hold our credentials.
"""

from __future__ import annotations

import errno
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import MappingProxyType

import aiohttp

from collector.clients.http.names import Confined
from collector.samples import Reply
from config.units import Moment, Seconds

_LONGEST_WAIT: Seconds = 300.0
"""The longest ``Retry-After`` that is respected."""
_BY_STATUS: Mapping[int, Reply] = MappingProxyType(
    {
        401: Reply.AUTH,
        403: Reply.AUTH,
        404: Reply.NO_SUCH_COUNTER,
        407: Reply.AUTH,
        408: Reply.TIMEOUT,
        410: Reply.NO_SUCH_COUNTER,
        429: Reply.RATE_LIMITED,
        503: Reply.UNREACHABLE,
        504: Reply.TIMEOUT,
    }
)
_MOVED = frozenset({301, 302, 303, 307, 308})
_SERVER_ERROR = 500
_OF_MEMBERS = frozenset({Reply.REFUSED, Reply.TIMEOUT, Reply.NO_SUCH_COUNTER})


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFailure:
    """Why there is no answer, as a kind and in words without secrets."""

    reply: Reply
    detail: str


def refused(status: int) -> HttpFailure:
    """Classify an HTTP status that is not success; in our words, not the server's.

    >>> refused(503)
    HttpFailure(reply=<Reply.UNREACHABLE: 6>, detail='HTTP 503 Service Unavailable')
    """
    kind = _BY_STATUS.get(status) or (Reply.UNREACHABLE if status >= _SERVER_ERROR else Reply.MALFORMED)
    known = status in HTTPStatus._value2member_map_
    detail = f"HTTP {status} {HTTPStatus(status).phrase}" if known else f"HTTP {status}"
    return HttpFailure(reply=kind, detail=f"{detail}: redirects are not followed" if status in _MOVED else detail)


def of_server(failure: HttpFailure) -> HttpFailure:
    """Rename a failure of a server that answers for many members: no member itself refused or timed out.

    >>> of_server(refused(404))
    HttpFailure(reply=<Reply.UNREACHABLE: 6>, detail='HTTP 404 Not Found')
    """
    return HttpFailure(reply=Reply.UNREACHABLE, detail=failure.detail) if failure.reply in _OF_MEMBERS else failure


def retry_after(headers: Mapping[str, str], now: Moment) -> Seconds | None:
    """Return how long the server asks us to wait, at most five minutes; ``None``: it does not.

    Source: RFC 9110, 10.2.3.

    A date is compared with the server's own ``Date``, since its clock may not be ours.

    >>> from config.units import Instant, Monotonic
    >>> now = Moment(wall=Instant(0.0), steady=Monotonic(0.0))
    >>> retry_after({"retry-after": "120"}, now), retry_after({"retry-after": "later"}, now)
    (120.0, None)
    >>> date = {"date": "Fri, 21 Nov 2025 06:00:00 GMT", "retry-after": "Fri, 21 Nov 2025 06:00:30 GMT"}
    >>> retry_after(date, now)
    30.0
    """
    asked = headers.get("retry-after", "").strip()
    if asked.isascii() and asked.isdigit():
        wait = float(asked)
    elif (until := instant_of(asked)) is not None:
        wait = until - (instant_of(headers.get("date", "")) or now.wall)
    else:
        return None
    return min(max(wait, 0.0), _LONGEST_WAIT)


def instant_of(date: str) -> float | None:
    """Read a date as HTTP writes it, in seconds since the epoch; ``None``: it is none. Source: RFC 9110, 5.6.7."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def failure_of(error: Exception) -> HttpFailure:
    """Classify an exception of a request."""
    if isinstance(error, aiohttp.ClientConnectorError | OSError):
        return _no_connection(error)
    kinds: Mapping[type[Exception], tuple[Reply, str]] = {
        aiohttp.ServerDisconnectedError: (Reply.UNREACHABLE, "the connection was closed before an answer"),
        aiohttp.ClientPayloadError: (Reply.MALFORMED, "the answer is cut short or cannot be decompressed"),
        aiohttp.InvalidURL: (Reply.MALFORMED, "the address is malformed"),
        aiohttp.ClientResponseError: (Reply.MALFORMED, "the endpoint does not speak HTTP"),
    }
    unread = Reply.MALFORMED, f"the answer cannot be read ({type(error).__name__})"
    reply, detail = next((kind for cause, kind in kinds.items() if isinstance(error, cause)), unread)
    return HttpFailure(reply=reply, detail=detail)


def no_authority(ca: str | None, error: OSError) -> HttpFailure:
    """Classify a failure to read the file of trusted certificates."""
    why = "it holds no certificate" if isinstance(error, ssl.SSLError) else _words(error)
    return HttpFailure(reply=Reply.UNTRUSTED, detail=f"{ca} cannot be used as ca: {why}")


def _no_connection(error: Exception) -> HttpFailure:
    match error:
        case aiohttp.ClientConnectorCertificateError(certificate_error=ssl.SSLCertVerificationError() as cause):
            return HttpFailure(reply=Reply.UNTRUSTED, detail=cause.verify_message)
        case aiohttp.ClientConnectorDNSError(os_error=cause):
            return HttpFailure(reply=Reply.UNREACHABLE, detail=f"host name lookup: {cause.strerror or 'failed'}")
        case aiohttp.ClientConnectorSSLError(os_error=cause):
            return HttpFailure(reply=Reply.MALFORMED, detail=f"no TLS: {_words(cause)}")
        case aiohttp.ClientConnectorError(os_error=cause) if cause.errno == errno.ECONNREFUSED:
            return HttpFailure(reply=Reply.REFUSED, detail=_words(cause))
        case aiohttp.ClientConnectorError(os_error=cause):
            return HttpFailure(reply=Reply.UNREACHABLE, detail=_words(cause))
        case _:
            return HttpFailure(reply=Reply.UNREACHABLE, detail=_words(error))


def _words(error: Exception) -> str:
    """Return the operating system's text; aiohttp's own would hold the address."""
    if isinstance(error, Confined):
        return str(error)
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)
    return type(error).__name__
