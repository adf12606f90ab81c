"""What a push is answered: what was taken, or what was not understood and what would be. No answer names a token.

Senders that retry do so at 5xx: so 503 is for what passes by itself, and 4xx for what only a person can put right.
OneGate's clients show a body as it is, so theirs is plain text, and empty when all is well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType

from handler.ingest.pushes.judging import PushRefusal, PushResult
from handler.ingest.pushes.pushed_values import UnreadablePush

RETRY_AFTER = 2
"""Seconds."""

_STATUS: Mapping[PushResult, HTTPStatus] = MappingProxyType(
    {
        PushResult.ACCEPTED: HTTPStatus.OK,
        PushResult.UNREADABLE: HTTPStatus.BAD_REQUEST,
        PushResult.UNKNOWN_NAME: HTTPStatus.BAD_REQUEST,
        PushResult.UNKNOWN_MEMBER: HTTPStatus.BAD_REQUEST,
        PushResult.UNCLEAR: HTTPStatus.BAD_REQUEST,
        PushResult.STALE: HTTPStatus.BAD_REQUEST,
        PushResult.NOT_PERMITTED: HTTPStatus.FORBIDDEN,
        PushResult.NOT_READY: HTTPStatus.SERVICE_UNAVAILABLE,
        PushResult.OVERLOADED: HTTPStatus.SERVICE_UNAVAILABLE,
        PushResult.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        PushResult.UNKNOWN_TOKEN: HTTPStatus.UNAUTHORIZED,
    }
)

UNKNOWN_TOKEN = PushRefusal(
    result=PushResult.UNKNOWN_TOKEN,
    message="no such token: a member's is in its TRIMTAB_PUSH_TOKEN, a group's is made by 'trimtab hook new --push'",
)
TOO_OFTEN = PushRefusal(
    result=PushResult.OVERLOADED, message="too many pushes with this token: send more values in one"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushReply:
    """An answer to be sent."""

    result: PushResult
    taken: int = 0
    """Values."""
    error: str = ""

    @property
    def status(self) -> int:
        """Of HTTP."""
        return _STATUS[self.result].value


def refused(refusal: PushRefusal | UnreadablePush) -> PushReply:
    """Nothing is taken."""
    if isinstance(refusal, UnreadablePush):
        result = PushResult.TOO_LARGE if refusal.too_large else PushResult.UNREADABLE
        return PushReply(result=result, error=refusal.message)
    return PushReply(result=refusal.result, error=refusal.message)


def encoded(reply: PushReply, *, plain: bool) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The answer's headers and body; ``plain`` as OneGate words it."""
    if plain:
        kind, body = b"text/plain; charset=utf-8", reply.error.encode()
    else:
        document = {"error": reply.error} if reply.error else {"taken": reply.taken}
        kind, body = b"application/json", json.dumps(document).encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if reply.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append((b"retry-after", str(RETRY_AFTER).encode()))
    if reply.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    return headers, body
