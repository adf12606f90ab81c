"""The gate before every request: it checks Host, token, content type and length.

It finds the actor (`callers`), and refuses a change without a credential; what an actor may do is decided before each
operation and route (`needs`). Over TCP the Host header must name this machine,
so that no web page can trick a browser into sending requests. Webhooks and pushed values have tokens of their own and a
larger bound: the gate passes them on to their applications.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import re
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from dataclasses import replace
from functools import partial
from typing import Any

from handler.identity.actors import BECAUSE_AT_MOST, Actor, Way
from handler.ingest.addresses import is_ingest, kinds_of
from handler.users.attempts import RefusedAttempts
from handler.users.known import KnownUsers
from handler.web.callers import NOT_ACCEPTED, Access, Callers
from handler.web.problems import Header, Problem, send_problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Refusal = tuple[Problem, str] | tuple[Problem, str, Header]
"""Why a request goes no further, in general and in detail."""
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_AT_MOST = 64 * 1024
BODY_WITHIN = 10.0
"""Seconds."""
BEARER = "trimtab.bearer"
"""Key of the scope: whether the request has a credential, or came over the unix socket."""
ACTOR = "trimtab.actor"
"""Key of the scope: the `Actor` that asks."""
CHECK = "/api/v1/hooks/check"
PAYLOAD_AT_MOST = 256 * 1024
"""For alerts, pushed values, and saved payloads that are checked."""
_DRAINED_AT_MOST = 4 * 1024 * 1024
_JSON = frozenset({"application/json"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
PUBLIC = frozenset({"/healthz", "/readyz", "/static/{name}", "/api/v1/problems"})
"""Routes that need nothing: whether the daemon is well, without names, files of pages, and the table of problems."""
AGAIN = "trimtab.again"
"""Key of the scope: returns the actor as it is now, for answers that last; ``None``: its token is not accepted now."""
DEPTH_AT_MOST = 32
"""Arrays and objects within each other in a body of the API."""
_API = "/api/v1/"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


class _Unread(enum.Enum):
    """Why a request has no body."""

    CUT_OFF = "cut off"
    """The connection ended before the body did."""
    TOO_LONG = "too long"


class Gate:
    """ASGI middleware; refuses requests before the application sees them."""

    def __init__(
        self,
        app: App,
        access: Access,
        hooks: App | None = None,
        users: KnownUsers | None = None,
        attempts: RefusedAttempts | None = None,
        *,
        token_wait: Callable[[Hashable], int | None] = lambda token: None,
    ) -> None:
        """Make a gate; ``token_wait`` takes a request of a token, and returns the seconds that it has to wait."""
        self._app = app
        self._access = access
        self._hooks = hooks
        self._callers = Callers(access, users)
        self._attempts = attempts
        self._token_wait = token_wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or read its body and pass it on."""
        if scope["type"] != "http":
            return  # only HTTP is served
        if sum(key == b"host" for key, _ in scope["headers"]) > 1:
            await send_problem(send, Problem.MALFORMED, "more than one Host header")
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        hooked = self._hooks is not None and is_ingest(scope["path"])
        kinds = kinds_of(scope["path"], headers) if hooked else _JSON
        at_most = PAYLOAD_AT_MOST if hooked or scope["path"] == CHECK else BODY_AT_MOST
        actor = self._admitted(scope, headers, at_most, kinds, hooked=hooked)
        if not isinstance(actor, Actor):
            if hooked:  # else an unfinished sender never reads the answer
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(BODY_WITHIN):
                        await _read(receive, 0)
            self._note(scope, actor)
            await send_problem(send, *actor)
            return
        body = await _wanted_body(scope, receive, at_most)
        if not isinstance(body, bytes):
            if body is not None:
                await send_problem(send, *body)
            return
        scope[AGAIN] = partial(self._actor, scope, headers.get("authorization", ""), hooked=hooked)
        scope[BEARER] = actor.origin.way is not Way.NONE
        scope[ACTOR] = replace(actor, because=headers.get("x-trimtab-reason", "")[:BECAUSE_AT_MOST])
        app = self._hooks if hooked and self._hooks is not None else self._app
        await app(scope, _replay(body, receive), send)

    def _admitted(
        self, scope: Scope, headers: dict[str, str], at_most: int, kinds: frozenset[str] | None, *, hooked: bool
    ) -> Actor | Refusal:
        misdirected = self._misdirected(headers)
        if misdirected is not None:
            return misdirected
        actor = self._actor(scope, headers.get("authorization", ""), hooked=hooked)
        if actor is None:
            return Problem.UNAUTHENTICATED, NOT_ACCEPTED
        if actor.origin.way is Way.TOKEN:
            wait = self._token_wait((actor.name, actor.origin.credential))
            if wait is not None:
                return Problem.TOO_MANY, "too many requests with this token", (b"retry-after", str(wait).encode())
        if scope["method"] in READING or scope["path"] in PUBLIC:
            return actor
        if actor.origin.way is Way.NONE and not hooked:
            return Problem.UNAUTHENTICATED, self._callers.needs
        return _unfit_body(headers, at_most, kinds) or actor

    def _actor(self, scope: Scope, authorization: str, *, hooked: bool) -> Actor | None:
        """Return the actor; of a webhook's request one without a credential, since its token is no user's."""
        peer = _peer(scope)
        if hooked and not self._access.trusted:
            return self._callers.unknown(peer)
        return self._callers.actor(authorization, peer)

    def _note(self, scope: Scope, refusal: Refusal) -> None:
        """Have the audit trail tell of a caller without an accepted credential."""
        problem, error, *_ = refusal
        if problem is Problem.UNAUTHENTICATED and self._attempts is not None:
            self._attempts.note(self._callers.unknown(_peer(scope)), f"{scope['method']} {scope['path']}", error)

    def _misdirected(self, headers: dict[str, str]) -> Refusal | None:
        if self._access.trusted or self._access.serves(headers.get("host", "")):
            return None
        return (
            Problem.MISDIRECTED,
            "the Host header does not name this machine; use 127.0.0.1 or localhost with the port",
        )


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def _unfit_body(headers: dict[str, str], at_most: int, kinds: frozenset[str] | None) -> Refusal | None:
    length = headers.get("content-length", "0")
    if kinds is not None and (length != "0" or "transfer-encoding" in headers):
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in kinds:
            return Problem.WRONG_CONTENT, f"the body must be {' or '.join(sorted(kinds - {''}))}"
    if not (length.isascii() and length.isdigit()) or int(length) > at_most:
        return Problem.TOO_LONG, f"the body is longer than {at_most} bytes"
    return None


def is_deep(body: bytes) -> bool:
    r"""Tell whether JSON has more arrays and objects within each other than a body may; of other text, anything.

    >>> is_deep(b"[" * 33), is_deep(b"[" * 32), is_deep(b"[]" * 99), is_deep(b'"' + b"[" * 99 + b'\\""')
    (True, False, False, False)
    """
    if body.count(b"[") + body.count(b"{") <= DEPTH_AT_MOST:
        return False
    depth = 0
    for found in _BRACKET.finditer(_STRING.sub(b"", body)):
        depth += 1 if found[0] in b"[{" else -1
        if depth > DEPTH_AT_MOST:
            return True
    return False


async def _wanted_body(scope: Scope, receive: Receive, at_most: int) -> bytes | Refusal | None:
    """Return the body; or why the request goes no further; ``None``: its client is gone."""
    try:
        async with asyncio.timeout(BODY_WITHIN):
            body = await _read(receive, at_most)
    except TimeoutError:
        return Problem.TOO_SLOW, f"the body was not complete within {BODY_WITHIN:.0f} s"
    if body is _Unread.CUT_OFF:
        return None  # half a body may mean something else
    if body is _Unread.TOO_LONG:
        return Problem.TOO_LONG, f"the body is longer than {at_most} bytes"
    if scope["path"].startswith(_API) and is_deep(body):
        return Problem.MALFORMED, f"the body is nested more than {DEPTH_AT_MOST} deep"
    return body


async def _read(receive: Receive, at_most: int) -> bytes | _Unread:
    """Read the body to its end, whatever its headers say; of one that is too long, read and drop some more."""
    parts: list[bytes] = []
    size = 0
    while size <= _DRAINED_AT_MOST:
        message = await receive()
        if message["type"] == "http.disconnect":
            return _Unread.CUT_OFF
        size += len(message.get("body", b""))
        if size <= at_most:
            parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return b"".join(parts) if size <= at_most else _Unread.TOO_LONG


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
