"""One HTTP client for every source that asks over HTTP: bounded, with total deadlines, and failures as values.

Many members are asked at once, so it is asynchronous, and connections are kept. Redirects are not followed: they would
carry credentials to undeclared places. A request may be confined to addresses that `config.model.outbound` allows: each
is judged when it is connected to, so it does not matter how it is written, and what a name server says next. Answers
are bounded in size, after decompression. A server that asks us to wait (``Retry-After``) gets no request until then.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, assert_never

import aiohttp

from collector.clients.http.failures import HttpFailure as HttpFailure  # noqa: PLC0414  sources import it from here
from collector.clients.http.failures import failure_of, no_authority, retry_after
from collector.clients.http.failures import refused as refused  # noqa: PLC0414  likewise
from collector.clients.http.names import HttpNameLookup, confined_socket
from collector.clients.http.parsing import Parser
from collector.samples import Reply
from config.errors import TrimtabError
from config.model.access import Basic, BearerToken, HttpAccess, SecretRef, Trust
from config.model.outbound import Outbound
from config.units import Moment, Seconds

_IN_FLIGHT = 512
_KEPT: Seconds = 75.0
"""How long an idle connection is kept: longer than the usual interval, so that the next poll finds it."""
_NAMES_KEPT = 60
"""Seconds for which the address of a name is used again."""
LARGEST = 16 * 1024 * 1024
"""Largest answer, in bytes, of a server that answers for many members."""
_CHUNK = 65536
_LARGE_AT_ONCE = 16
"""How many answers longer than a chunk are read at the same time."""
_OK = 200
_OK_AND_MORE = 299
_WAITING = frozenset({429, 503})
"""Statuses for which ``Retry-After`` is defined. Source: RFC 9110, 10.2.3; RFC 6585, 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request."""

    url: str
    access: HttpAccess
    timeout: Seconds
    """In total: name lookup, connection, and the answer to its last byte."""
    method: str = "GET"
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: bytes | None = field(default=None, repr=False)
    accept: frozenset[int] = frozenset()
    """Statuses beside 200 to 299 whose body the caller reads itself."""
    only_reads: bool = False
    """A POST that changes nothing on the server, so that it may be sent twice, like a GET."""
    largest: int = LARGEST
    """Largest answer, in bytes, after decompression."""
    outbound: Outbound | None = None
    """Where it may lead; ``None``: anywhere."""
    status_only: bool = False
    """Only the status matters: the body is not read."""
    raised_by: str = ""
    """The YAML key that raises the limit; empty: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)
    at: float
    """When the last byte arrived, in steady seconds."""


class _Trusting(NamedTuple):
    """Trusted certificates, as read from a file."""

    context: ssl.SSLContext
    changed: int
    """When the file of certificates was last changed, in nanoseconds; 0: it has none."""


class _Held(NamedTuple):
    """A server that asked us to wait."""

    until: float
    """Steady seconds."""
    failure: HttpFailure


class HttpClient:
    """Keeps connections between polls; for one event loop.

    Args:
        clock: read when an answer has arrived.
        read_secret: turns a reference into the secret; raises `TrimtabError` or `OSError` if it is missing.
    """

    def __init__(self, *, clock: Callable[[], Moment], read_secret: Callable[[SecretRef], str]) -> None:
        self._clock = clock
        self._read_secret = read_secret
        self._sessions: dict[Outbound | None, aiohttp.ClientSession] = {}
        """By where their connections may lead: of those that are confined, the newest rule's alone."""
        self._names: HttpNameLookup | None = None
        self._slots = asyncio.Semaphore(_IN_FLIGHT)
        self._trusting: dict[Trust, asyncio.Task[_Trusting]] = {}
        self._held: dict[str, _Held] = {}
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self.parser = Parser(clock)
        """Where long answers are parsed; closed together with the client."""

    async def ask(self, question: HttpRequest) -> HttpResponse | HttpFailure:
        """Send a request and wait for the complete answer or the timeout. Failures are values, never exceptions.

        The timeout starts when a slot is free: many silent servers never use up the time of one that answers.
        """
        if (held := self._waits(question.url)) is not None:
            return held
        async with self._slots:
            try:
                async with asyncio.timeout(question.timeout):
                    return await self._asked(question)
            except TimeoutError:
                return HttpFailure(reply=Reply.TIMEOUT, detail=f"no complete answer within {question.timeout:g} s")

    async def close(self) -> None:
        """Close every connection. Closing again does nothing."""
        for reading in self._trusting.values():
            reading.cancel()
        self._trusting = {}
        self.parser.close()
        for session in self._sessions.values():
            await session.close()
        self._sessions = {}
        if self._names is not None:
            await self._names.close()
            self._names = None

    async def _asked(self, question: HttpRequest) -> HttpResponse | HttpFailure:
        try:
            headers = {**question.headers, **self._identity(question.access)}
        except (TrimtabError, OSError) as error:
            return HttpFailure(reply=Reply.AUTH, detail=str(error))
        try:
            trusted = await self._context(question)
        except OSError as error:  # ssl.SSLError is one
            return no_authority(question.access.trust.ca, error)
        try:
            return await self._twice(question, headers, trusted)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            failure = failure_of(error)
        if failure.reply is Reply.UNTRUSTED:
            await self._forget_what_changed(question.access.trust)
        return failure

    async def _twice(
        self, question: HttpRequest, headers: Mapping[str, str], trusted: ssl.SSLContext | bool
    ) -> HttpResponse | HttpFailure:
        """Send again if the server closed a kept connection just as we used it; aiohttp does so for GET."""
        try:
            return await self._exchange(question, headers, trusted)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if isinstance(error, aiohttp.ClientConnectorError) or not question.only_reads:
                raise
        return await self._exchange(question, headers, trusted)

    async def _exchange(
        self, question: HttpRequest, headers: Mapping[str, str], trusted: ssl.SSLContext | bool
    ) -> HttpResponse | HttpFailure:
        session = await self._opened(question.outbound)
        async with session.request(
            question.method,
            question.url,
            params=question.query or None,
            headers=headers,
            data=question.body,
            ssl=trusted,
            allow_redirects=False,
        ) as response:
            raw = bytearray() if question.status_only else await self._body(response, question.largest)
            if len(raw) > question.largest:
                return _too_long(question)
            response_headers = {name.lower(): value for name, value in response.headers.items()}
            if response.status in _WAITING:
                self._hold(question.url, response.status, response_headers)
            if not _OK <= response.status <= _OK_AND_MORE and response.status not in question.accept:
                return refused(response.status)
            at = self._clock().steady
            body = await _unpacked(bytes(raw), response_headers.get("content-encoding", ""), question.largest)
            if len(body) > question.largest:
                return _too_long(question)
            if response.status > _OK_AND_MORE:
                body = _masked(body, headers)
            return HttpResponse(status=response.status, headers=response_headers, body=body, at=at)

    async def _body(self, response: aiohttp.ClientResponse, largest: int) -> bytearray:
        """Read an answer, or one chunk past its limit. Few long ones are read at the same time, to bound memory."""
        raw = bytearray()
        async with contextlib.AsyncExitStack() as held:
            async for chunk in response.content.iter_chunked(_CHUNK):
                if len(raw) <= _CHUNK < len(raw) + len(chunk):
                    await held.enter_async_context(self._large)
                raw += chunk
                if len(raw) > largest:
                    break
        return raw

    async def _opened(self, outbound: Outbound | None) -> aiohttp.ClientSession:
        if outbound not in self._sessions:
            if self._names is None:
                self._names = HttpNameLookup()
            stale = [each for each in self._sessions if each is not None and outbound is not None]
            self._sessions[outbound] = _session(self._names, outbound)
            for each in stale:  # a connection that is kept was judged by another rule
                await self._sessions.pop(each).close()
        return self._sessions[outbound]

    def _identity(self, access: HttpAccess) -> Mapping[str, str]:
        """Return the headers that identify us.

        Raises:
            TrimtabError, OSError: a secret is missing.
        """
        match access.credentials:
            case None:
                return {}
            case Basic(user=user, password=password):
                pair = f"{user}:{self._read_secret(password)}".encode(errors="surrogateescape")
                return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
            case BearerToken(token=token):
                return {"Authorization": f"Bearer {_sendable(self._read_secret(token), token)}"}
            case _:
                assert_never(access.credentials)

    async def _context(self, question: HttpRequest) -> ssl.SSLContext | bool:
        """Return the trusted certificates; read once, in a thread: reading the system's takes 20 ms.

        Raises:
            OSError: the file of certificates cannot be read, or holds none.
        """
        if not question.url.startswith("https:"):
            return True
        trust = question.access.trust
        if trust not in self._trusting:
            self._trusting[trust] = asyncio.create_task(asyncio.to_thread(_read_trust, trust))
        reading = self._trusting[trust]
        try:
            return (await asyncio.shield(reading)).context
        except OSError:
            self._trusting.pop(trust, None)
            raise

    async def _forget_what_changed(self, trust: Trust) -> None:
        """Read a certificate file again for the next request if it has changed."""
        reading = self._trusting.get(trust)
        if reading is not None and reading.done() and _changed(trust) != reading.result().changed:
            del self._trusting[trust]

    def _hold(self, url: str, status: int, headers: Mapping[str, str]) -> None:
        now = self._clock()
        wait = retry_after(headers, now)
        if wait is None:
            return
        failure = refused(status)
        detail = f"{failure.detail}, and asks to wait {wait:.0f} s"
        self._held = {place: held for place, held in self._held.items() if held.until > now.steady}
        self._held[url] = _Held(until=now.steady + wait, failure=HttpFailure(reply=failure.reply, detail=detail))

    def _waits(self, url: str) -> HttpFailure | None:
        held = self._held.get(url)
        return held.failure if held is not None and self._clock().steady < held.until else None


def _session(names: HttpNameLookup, outbound: Outbound | None) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0,
            keepalive_timeout=_KEPT,
            ttl_dns_cache=_NAMES_KEPT,
            resolver=names,
            socket_factory=None if outbound is None else partial(confined_socket, outbound),
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(),
        headers={"User-Agent": "trimtab", "Accept-Encoding": "gzip"},
        auto_decompress=False,  # aiohttp does not notice gzip that is cut short
    )


def _too_long(question: HttpRequest) -> HttpFailure:
    hint = f": raise {question.raised_by} if all of it is needed" if question.raised_by else ""
    return HttpFailure(reply=Reply.MALFORMED, detail=f"the answer is longer than {question.largest} bytes{hint}")


async def _unpacked(raw: bytes, encoding: str, largest: int) -> bytes:
    """Undo gzip, the only encoding that we accept; never unpack more than ``largest`` bytes.

    Raises:
        ClientPayloadError: the answer has another encoding, is garbled, or is cut short.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return raw
        case "gzip" | "x-gzip" if len(raw) < _CHUNK:
            return _gunzipped(raw, largest)
        case "gzip" | "x-gzip":
            return await asyncio.to_thread(_gunzipped, raw, largest)
        case _:
            raise aiohttp.ClientPayloadError("an encoding that was not requested")


def _gunzipped(raw: bytes, largest: int) -> bytes:
    """Unpack one or several members of gzip (RFC 1952, 2.2); one byte more than ``largest`` says that there is more."""
    body, rest = bytearray(), raw
    while rest and len(body) <= largest:
        unpacking = zlib.decompressobj(_GZIP)
        try:
            body += unpacking.decompress(rest, largest + 1 - len(body))
        except zlib.error as error:
            raise aiohttp.ClientPayloadError("not gzip") from error
        if not unpacking.eof and len(body) <= largest:
            raise aiohttp.ClientPayloadError("gzip that is cut short")
        rest = unpacking.unused_data
    return bytes(body)


_GZIP = 16 + zlib.MAX_WBITS


def _masked(body: bytes, sent: Mapping[str, str]) -> bytes:
    """Mask our credentials: an error may repeat them, and its text is shown to people."""
    credential = sent.get("Authorization", "").partition(" ")[2]
    return body.replace(credential.encode(), b"***") if credential else body


def _sendable(token: str, ref: SecretRef) -> str:
    """Check that a token fits in a header, which is one line of ASCII; never show the token.

    Raises:
        TrimtabError: the token cannot be sent.
    """
    if token.isascii() and token.isprintable():
        return token
    raise TrimtabError(f"the token in {ref.place} cannot be sent: it is not one line of plain ASCII")


def _read_trust(trust: Trust) -> _Trusting:
    if trust.insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return _Trusting(context, 0)
    changed = _changed(trust)
    return _Trusting(ssl.create_default_context(cafile=trust.ca), changed)


def _changed(trust: Trust) -> int:
    if trust.ca is None:
        return 0
    try:
        return Path(trust.ca).stat().st_mtime_ns
    except OSError:
        return 0
