"""One HTTP client for every source that asks over HTTP: bounded, with total deadlines, and failures as values.

Many members are asked at once, so it is asynchronous, and connections are kept. Redirects are not followed: they would
carry credentials to places that nobody declared. Answers are bounded in size, after decompression.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

import aiohttp

from collector.samples import Reply
from config.access import Basic, Bearer, HttpAccess, SecretRef, Trust
from config.errors import TrimtabError
from config.units import Moment, Seconds

_IN_FLIGHT = 256
_LARGEST = 16 * 1024 * 1024
_CHUNK = 65536
_OK = 200
_OK_AND_MORE = 299
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
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request."""

    url: str
    access: HttpAccess
    timeout: Seconds
    """For everything together: the name, the connection, the answer's last byte."""
    method: str = "GET"
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: bytes | None = field(default=None, repr=False)
    accept: frozenset[int] = frozenset()
    """Statuses beside 200 to 299 whose body the asker wants to read for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back whole."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)
    at: float
    """Steady seconds at which its last byte arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no answer, as a kind and in words without secrets."""

    reply: Reply
    said: str


class HttpClient:
    """Keeps connections between polls; for one event loop.

    Args:
        clock: read when an answer has arrived.
        read_secret: turns a reference into the secret; raises `TrimtabError` or `OSError` where it is not there.
    """

    def __init__(self, *, clock: Callable[[], Moment], read_secret: Callable[[SecretRef], str]) -> None:
        self._clock = clock
        self._read_secret = read_secret
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[Trust, ssl.SSLContext] = {}

    async def ask(self, question: Question) -> Answer | Failure:
        """Ask, and wait for the whole answer or the end of the question's time. Failures are never exceptions."""
        try:
            headers = {**question.headers, **self._identity(question.access)}
            trusted = self._context(question.access.trust)
        except (TrimtabError, OSError) as error:  # ssl.SSLError is an OSError
            return Failure(reply=Reply.AUTH, said=str(error))
        try:
            async with asyncio.timeout(question.timeout):
                return await self._exchange(question, headers, trusted)
        except TimeoutError:
            return Failure(reply=Reply.TIMEOUT, said=f"no whole answer within {question.timeout:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Failure(reply=_kind(error), said=_words(error))

    async def close(self) -> None:
        """Give back every connection."""
        if self._session is not None:
            await self._session.close()

    async def _exchange(
        self, question: Question, headers: Mapping[str, str], trusted: ssl.SSLContext
    ) -> Answer | Failure:
        async with self._opened().request(
            question.method,
            question.url,
            params=question.query or None,
            headers=headers,
            data=question.body,
            ssl=trusted,
            allow_redirects=False,
        ) as response:
            body = bytearray()
            async for chunk in response.content.iter_chunked(_CHUNK):
                body += chunk
                if len(body) > _LARGEST:
                    return Failure(reply=Reply.MALFORMED, said=f"the answer is longer than {_LARGEST} bytes")
            if not _OK <= response.status <= _OK_AND_MORE and response.status not in question.accept:
                return refused(response.status, response.reason or "")
            return Answer(
                status=response.status,
                headers={name.lower(): value for name, value in response.headers.items()},
                body=bytes(body),
                at=self._clock().steady,
            )

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_IN_FLIGHT, ttl_dns_cache=60),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(),
                headers={"User-Agent": "trimtab"},
            )
        return self._session

    def _identity(self, access: HttpAccess) -> Mapping[str, str]:
        match access.credentials:
            case None:
                return {}
            case Basic(user=user, password=password):
                pair = base64.b64encode(f"{user}:{self._read_secret(password)}".encode()).decode()
                return {"Authorization": f"Basic {pair}"}
            case Bearer(token=token):
                return {"Authorization": f"Bearer {self._read_secret(token)}"}
            case _:
                assert_never(access.credentials)

    def _context(self, trust: Trust) -> ssl.SSLContext:
        if trust not in self._contexts:
            context = ssl.create_default_context(cafile=trust.ca)
            if trust.insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            self._contexts[trust] = context
        return self._contexts[trust]


def refused(status: int, reason: str = "") -> Failure:
    """What a status means that is no success, for who has accepted it and finds nothing better in the body."""
    kind = _BY_STATUS.get(status) or (Reply.UNREACHABLE if status >= _SERVER_ERROR else Reply.MALFORMED)
    return Failure(reply=kind, said=f"HTTP {status} {reason}".strip())


def _kind(error: Exception) -> Reply:
    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            return Reply.UNTRUSTED
        case ConnectionRefusedError():
            return Reply.REFUSED
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()):
            return Reply.REFUSED
        case aiohttp.ClientConnectorError() | aiohttp.ServerDisconnectedError() | OSError():
            return Reply.UNREACHABLE
        case _:
            return Reply.MALFORMED


def _words(error: Exception) -> str:
    with contextlib.suppress(AttributeError):
        return str(error.certificate_error)  # type: ignore[attr-defined]  # of ClientConnectorCertificateError
    return str(error) or type(error).__name__
