"""Entity tags of answers, and 304 for a reader that has the answer already (RFC 9110).

Every JSON answer to a ``GET`` below ``/api/v1`` has an ``ETag``: a digest of its text, unless the route gives a better
one. Work is not saved, bytes are: a list of a thousand groups that has not changed costs its reader nothing.
"""

from __future__ import annotations

import base64
import hashlib

from handler.operations.address import BASE
from handler.operations.size_tags import matches_none
from handler.web.gate import App, Message, Receive, Scope, Send

_AT_MOST = 1024 * 1024
"""Longer answers have no tag: a digest of them takes milliseconds."""
_KEPT = frozenset({b"etag", b"cache-control", b"link", b"vary"})
"""Headers that a 304 repeats."""
_CACHING = (b"cache-control", b"private, no-cache")
"""Kept by the caller alone, and asked for again each time."""


def body_tag(body: bytes, begin: str = "") -> str:
    """Return the tag of an answer's text; ``begin`` stands before the digest."""
    digest = base64.urlsafe_b64encode(hashlib.blake2b(body, digest_size=12).digest()).decode()
    return f'"{begin}{digest}"'


class Conditional:
    """ASGI middleware of the application."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; its answer gets a tag, or 304 instead of a body."""
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(BASE):
            await self._app(scope, receive, send)
            return
        seen = b",".join(value for name, value in scope["headers"] if name == b"if-none-match").decode("latin-1")
        await self._app(scope, receive, _Answer(send, seen).send)


class _Answer:
    """Holds the head of an answer back until its body is there, since the tag is made of it."""

    def __init__(self, send: Send, seen: str) -> None:
        self._send = send
        self._seen = seen
        self._head: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:  # noqa: PLR2004
            self._head = message
            return
        if self._head is not None:
            head, self._head = self._head, None
            body = message.get("body", b"")
            if not message.get("more_body", False) and len(body) <= _AT_MOST:
                head, body = _conditional(head, body, self._seen)
                message = {"type": "http.response.body", "body": body}
            await self._send(head)
        await self._send(message)


def _conditional(head: Message, body: bytes, seen: str) -> tuple[Message, bytes]:
    """Return head and body with a tag, or those of 304."""
    headers = list(head["headers"])
    known = dict(headers)
    tag = known[b"etag"].decode("latin-1") if b"etag" in known else body_tag(body)
    if b"etag" not in known:
        headers.append((b"etag", tag.encode()))
    if b"cache-control" not in known:
        headers.append(_CACHING)
    if not seen or matches_none(seen, tag):
        return {**head, "headers": headers}, body
    return {**head, "status": 304, "headers": [pair for pair in headers if pair[0] in _KEPT]}, b""
