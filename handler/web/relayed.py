"""A request that travels from a standby to the holder as text, and its answer on the way back."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import unquote

from handler.web.gate import App, Message, Scope

_Headers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedRequest:
    """A request over the unix socket of a standby."""

    method: str
    path: str
    """As it was sent, in escapes."""
    query: str
    peer: str
    """Who asks on that machine."""
    headers: _Headers = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """All of it as JSON."""
        return json.dumps([self.method, self.path, self.query, self.peer, self.headers, _written(self.body)])

    @classmethod
    def of(cls, text: str) -> RelayedRequest:
        """Read what `text` has written."""
        method, path, query, peer, headers, body = json.loads(text)
        return cls(
            method=method,
            path=path,
            query=query,
            peer=peer,
            headers=_pairs(headers),
            body=base64.b64decode(body),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedAnswer:
    """What the holder answers."""

    status: int
    headers: _Headers = field(repr=False)
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


Relay: TypeAlias = Callable[[RelayedRequest], Awaitable[RelayedAnswer]]
"""Has the holder carry a request out. Raises `Refused` or `StoreError`, with words for the caller."""


def request_of(scope: Scope, body: bytes) -> RelayedRequest:
    """Return a request with its body."""
    path = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
    return RelayedRequest(
        method=scope["method"],
        path=path.decode("latin-1"),
        query=scope.get("query_string", b"").decode("latin-1"),
        peer=str((scope.get("client") or ("",))[0]),
        headers=_decoded(scope["headers"]),
        body=body,
    )


async def answered_by(app: App, request: RelayedRequest, peer: str) -> RelayedAnswer:
    """Have an application answer a request as if it came over a connection from ``peer``, and keep the whole answer."""
    unread: list[Message] = [{"type": "http.request", "body": request.body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        return unread.pop() if unread else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(_scope_of(request, peer), receive, send)
    start = next(message for message in sent if message["type"] == "http.response.start")
    body = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    return RelayedAnswer(status=start["status"], headers=_decoded(start.get("headers", ())), body=body)


def _scope_of(request: RelayedRequest, peer: str) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": request.method,
        "path": unquote(request.path),
        "raw_path": request.path.encode("latin-1"),
        "query_string": request.query.encode("latin-1"),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers],
        "client": (peer, 0),
        "server": None,
    }


def _decoded(headers: Iterable[tuple[bytes, bytes]]) -> _Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _pairs(headers: list[list[str]]) -> _Headers:
    return tuple((name, value) for name, value in headers)


def _written(body: bytes) -> str:
    return base64.b64encode(body).decode()
