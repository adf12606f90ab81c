"""A request that travels from a standby to the holder as text, and its answer on the way back."""

from __future__ import annotations

import base64
import enum
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never
from urllib.parse import unquote

from config.errors import Refused
from config.units import Instant
from handler.ingest.alerts.receiver import PROVED_AT
from handler.web.gate import READING, App, Message, Scope

Headers: TypeAlias = tuple[tuple[str, str], ...]


ANSWER_AT_MOST = 4 * 1024 * 1024
"""Bytes of what is read over TCP through a standby; for more, the holder itself is asked."""


class CannotRelay(Refused):
    """This worker cannot have the holder asked. Nothing was done, so the caller may ask the holder itself."""


class Listener(enum.Enum):
    """The socket of the standby that a request came over. It decides what the caller may be taken for."""

    UNIX = "unix"
    """Its mode lets the local administrator alone in."""
    TCP = "tcp"
    """Its callers are what their credentials say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedRequest:
    """A request as a standby took it in."""

    listener: Listener
    scheme: str
    """``http`` or ``https``."""
    method: str
    path: str
    """As it was sent, in escapes."""
    query: str
    peer: str
    """Over TCP the address of the client, over the unix socket the account on that machine."""
    headers: Headers = field(repr=False)
    body: bytes = field(repr=False)
    proved_at: Instant | None = None
    """When the standby found its signature genuine and fresh, and answered it; ``None``: the holder judges by now."""

    @property
    def text(self) -> str:
        """All of it as JSON."""
        head = [self.listener.value, self.scheme, self.method, self.path, self.query, self.peer]
        proved = [] if self.proved_at is None else [self.proved_at]
        return json.dumps([*head, self.headers, _written(self.body), *proved])

    @classmethod
    def of(cls, text: str) -> RelayedRequest:
        """Read what `text` has written."""
        listener, scheme, method, path, query, peer, headers, body, *proved = json.loads(text)
        return cls(
            listener=Listener(listener),
            scheme=scheme,
            method=method,
            path=path,
            query=query,
            peer=peer,
            headers=_pairs(headers),
            body=base64.b64decode(body),
            proved_at=Instant(proved[0]) if proved else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedAnswer:
    """What the holder answers."""

    status: int
    headers: Headers = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """All of it as JSON."""
        return json.dumps([self.status, self.headers, _written(self.body)])

    @classmethod
    def of(cls, text: str) -> RelayedAnswer:
        """Read what `text` has written."""
        status, headers, body = json.loads(text)
        return cls(status=status, headers=_pairs(headers), body=base64.b64decode(body))


@dataclass(frozen=True, slots=True)
class AnswerTooLong:
    """The holder was only asked to read, and its answer is longer than `ANSWER_AT_MOST`: it was not kept."""


HolderAnswer: TypeAlias = RelayedAnswer | AnswerTooLong
_TOO_LONG = "too long"

Relay: TypeAlias = Callable[[RelayedRequest], Awaitable[HolderAnswer]]
"""Has the holder carry a request out. Raises `Refused` or `StoreError`, with words for the caller."""


def text_of(answer: HolderAnswer) -> str:
    """Return what the holder answers as text."""
    match answer:
        case RelayedAnswer():
            return answer.text
        case AnswerTooLong():
            return _TOO_LONG
        case _:
            assert_never(answer)


def answer_of(text: str) -> HolderAnswer:
    """Read what `text_of` has written."""
    return AnswerTooLong() if text == _TOO_LONG else RelayedAnswer.of(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedApps:
    """What answers requests from standbys on the holder, under the rules of the socket that each came over."""

    unix: App = field(repr=False)
    tcp: App = field(repr=False)

    def of(self, listener: Listener) -> App:
        """Return the application for requests that came over this socket of a standby."""
        match listener:
            case Listener.UNIX:
                return self.unix
            case Listener.TCP:
                return self.tcp
            case _:
                assert_never(listener)


def request_of(scope: Scope, body: bytes, listener: Listener) -> RelayedRequest:
    """Return a request with its body."""
    path = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
    return RelayedRequest(
        listener=listener,
        scheme=scope.get("scheme", "http"),
        method=scope["method"],
        path=path.decode("latin-1"),
        query=scope.get("query_string", b"").decode("latin-1"),
        peer=str((scope.get("client") or ("",))[0]),
        headers=_decoded(scope["headers"]),
        body=body,
    )


async def answered_by(apps: RelayedApps, request: RelayedRequest, worker: str) -> HolderAnswer:
    """Have a request answered as if it came over a connection of its own, and keep the whole answer.

    The local administrator of another machine is named with its ``worker``.
    """
    is_tcp = request.listener is Listener.TCP
    peer = request.peer if is_tcp else f"{request.peer} on worker {worker}"
    unread: list[Message] = [{"type": "http.request", "body": request.body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        return unread.pop() if unread else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await apps.of(request.listener)(_scope_of(request, peer), receive, send)
    start = next(message for message in sent if message["type"] == "http.response.start")
    body = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    if is_tcp and request.method in READING and len(body) > ANSWER_AT_MOST:
        return AnswerTooLong()
    return RelayedAnswer(status=start["status"], headers=_decoded(start.get("headers", ())), body=body)


def _scope_of(request: RelayedRequest, peer: str) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": request.scheme,
        "method": request.method,
        "path": unquote(request.path),
        "raw_path": request.path.encode("latin-1"),
        "query_string": request.query.encode("latin-1"),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers],
        "client": (peer, 0),
        "server": None,
        PROVED_AT: request.proved_at,
    }


def _decoded(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _pairs(headers: list[list[str]]) -> Headers:
    return tuple((name, value) for name, value in headers)


def _written(body: bytes) -> str:
    return base64.b64encode(body).decode()
