"""``/hooks/alerts`` as plain ASGI without a framework, since alerts come in floods when things go wrong.

The token is the last part of the path (``/hooks/alerts/<token>``) or, better where the sender can, a bearer token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

from config.units import Instant
from handler.ingest.alerts.replies import AlertReply, encoded

PATH = "/hooks/alerts"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_JSON = (b"content-type", b"application/json")
METHODS = frozenset({"POST", "PUT"})
PROVED_AT = "trimtab.proved_at"
"""Key of the scope: when another worker proved the signature and answered 202; ``None``: this one is the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """One request, as it came."""

    token: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    """By lower-case name."""
    body: bytes = field(repr=False)
    proved_at: Instant | None = None
    """When another worker proved the signature, by the time of which it is judged; ``None``: by this moment."""


class AlertIntake(Protocol):
    """The handler of alerts."""

    async def take(self, request: WebhookRequest) -> AlertReply:
        """Do all that a request asks for, and answer once that is on disk."""
        ...


class AlertReceiver:
    """The ASGI application. The body has been read, and bounded, by the gate."""

    def __init__(self, intake: AlertIntake) -> None:
        self._intake = intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] not in METHODS:
            await _send(send, HTTPStatus.METHOD_NOT_ALLOWED, b'{"error": "POST or PUT"}', (b"allow", b"POST, PUT"))
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        body = (await receive()).get("body", b"")
        token, proved_at = token_in(scope["path"], headers), scope.get(PROVED_AT)
        request = WebhookRequest(token=token, headers=headers, body=body, proved_at=proved_at)
        reply = await self._intake.take(request)
        await _send(send, reply.status, encoded(reply), *reply.headers)


def token_in(path: str, headers: Mapping[str, str]) -> str:
    """Return the token of the path if it has one, else of the header; empty if there is none."""
    in_path = path.removeprefix(PATH).strip("/")
    if in_path:
        return in_path
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


async def _send(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length, *headers]})
    await send({"type": "http.response.body", "body": body})
