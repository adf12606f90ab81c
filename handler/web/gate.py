"""The gate before every request: it checks Host, token, content type and length.

It finds the actor (`callers`), and refuses a change without a credential; what an actor may do is decided before each
operation and route (`needs`). Over TCP the Host header must name this machine,
so that no web page can trick a browser into sending requests; and a request of a browser's session that changes
something must prove that a page of this daemon makes it (`session_cookie`). Webhooks and pushed values have tokens of
their own and a larger bound: the gate passes them on to their applications.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import re
from collections.abc import Awaitable, Callable, Hashable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from config.bounds import MOST_BYTES
from handler.identity.actors import Actor, Way
from handler.ingest.addresses import is_ingest, kinds_of
from handler.operations.address import BASE, FILE, reason_of
from handler.users.attempts import RefusedAttempts
from handler.users.known import KnownUsers
from handler.users.sessions import Session, Sessions
from handler.web.callers import NOT_ACCEPTED, Access, Callers
from handler.web.problems import Header, ProblemType, send_problem
from handler.web.session_cookie import (
    BY_PROVIDER,
    FORM,
    FROM_PROVIDER,
    LOGIN,
    LOGOUT,
    PASSWORD,
    TOKENS,
    is_foreign,
    is_form,
    shown_csrf,
)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Refusal = tuple[ProblemType, str] | tuple[ProblemType, str, Header]
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
FILE_AT_MOST = 2 * MOST_BYTES
"""For a whole file, over the unix socket: in JSON it takes more than on the disk."""
_DRAINED_AT_MOST = 4 * 1024 * 1024
_FRAMING = frozenset({"content-length", "transfer-encoding"})
_JSON = frozenset({"application/json"})
_FORM = frozenset({FORM})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
PUBLIC = frozenset(
    {
        "/healthz",
        "/readyz",
        "/static/{name}",
        "/api/v1/problems",
        LOGIN,
        LOGOUT,
        PASSWORD,
        TOKENS,
        BY_PROVIDER,
        FROM_PROVIDER,
    }
)
"""Routes that need nothing: whether the daemon is well, without names, files of pages, the table of problems, and how
a person logs in and out, and changes password and tokens of the session's own user."""
SESSION = "trimtab.session"
"""Key of the scope: the `Session` that the actor comes from; ``None``: it comes from none."""
COOKIE = "trimtab.cookie"
"""Key of the scope: the `SessionCookie` of the socket that the request came over; ``None``: the unix socket."""
AGAIN = "trimtab.again"
"""Key of the scope: returns the actor as it is now, for answers that last; ``None``: its token is not accepted now."""
DEPTH_AT_MOST = 32
"""Arrays and objects within each other in a body of the API."""
_API = "/api/v1/"
STREAM = "/events"
"""What pages ask for by themselves: no sign of a person."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


class UnreadBody(enum.Enum):
    """Why a request has no body."""

    CUT_OFF = "cut off"
    """The connection ended before the body did."""
    TOO_LONG = "too long"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request's head, as it is judged."""

    headers: Mapping[str, str]
    """By lower-case names."""
    hooked: bool
    """It is for webhooks or pushed values, which have tokens of their own."""
    kinds: frozenset[str] | None
    """What its body may be; ``None``: anything."""
    at_most: int
    """Bytes of its body."""
    session: Session | None
    """That of its cookie."""

    @property
    def is_bare(self) -> bool:
        """It was complete with its head (RFC 9112, 6.3)."""
        return self.headers.keys().isdisjoint(_FRAMING)

    def session_of(self, actor: Actor) -> Session | None:
        """Return the session that an actor comes from."""
        return self.session if actor.origin.way is Way.SESSION else None


class Gate:
    """ASGI middleware; refuses requests before the application sees them."""

    def __init__(  # noqa: PLR0913  # what callers show, and what is known of them
        self,
        app: App,
        access: Access,
        hooks: App | None = None,
        users: KnownUsers | None = None,
        attempts: RefusedAttempts | None = None,
        *,
        sessions: Sessions | None = None,
        token_wait: Callable[[Hashable], int | None] = lambda token: None,
    ) -> None:
        """Make a gate; ``token_wait`` takes a request of a token, and returns the seconds that it has to wait."""
        self._app = app
        self._access = access
        self._hooks = hooks
        self._callers = Callers(access, users, sessions)
        self._attempts = attempts
        self._token_wait = token_wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or read its body and pass it on."""
        if scope["type"] != "http":
            return  # only HTTP is served
        if [key for key, _ in scope["headers"]].count(b"host") > 1:
            await send_problem(send, ProblemType.MALFORMED, "more than one Host header")
            return
        asked = self._asked(scope)
        actor = self._admitted(scope, asked)
        if not isinstance(actor, Actor):
            if asked.hooked:  # else an unfinished sender never reads the answer
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(BODY_WITHIN):
                        await read_body(receive, 0)
            await self._refuse(scope, send, actor)
            return
        body = await _wanted_body(scope, receive, asked)
        if not isinstance(body, bytes):
            if body is not None:
                await send_problem(send, *body)
            return
        actor = self._still(scope, asked, actor, body)
        if not isinstance(actor, Actor):
            await self._refuse(scope, send, actor)
            return
        session = asked.session_of(actor)
        scope[SESSION], scope[COOKIE] = session, None if self._access.trusted else self._access.cookie
        scope[AGAIN] = partial(self._again, scope, asked)
        scope[BEARER] = actor.origin.way is not Way.NONE
        because = reason_of(asked.headers.get("x-trimtab-reason", ""))
        scope[ACTOR] = replace(actor, because=because) if because else actor
        app = self._hooks if asked.hooked and self._hooks is not None else self._app
        await app(scope, _replay(body, receive), send)

    def _asked(self, scope: Scope) -> _Asked:
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        path, hooked = scope["path"], self._hooks is not None and is_ingest(scope["path"])
        return _Asked(
            headers=headers,
            hooked=hooked,
            kinds=kinds_of(path, headers) if hooked else _FORM if is_form(path) else _JSON,
            at_most=body_at_most(path, trusted=self._access.trusted, hooked=hooked),
            session=self._callers.session(headers.get("cookie", ""), by_person=path != STREAM),
        )

    def _admitted(self, scope: Scope, asked: _Asked) -> Actor | Refusal:
        misdirected = self._misdirected(asked.headers)
        if misdirected is not None:
            return misdirected
        actor = self._actor(scope, asked, asked.session)
        if actor is None:
            return ProblemType.UNAUTHENTICATED, NOT_ACCEPTED
        if actor.origin.way in {Way.TOKEN, Way.SESSION}:
            wait = self._token_wait((actor.name, actor.origin.way, actor.origin.credential))
            if wait is not None:
                return ProblemType.TOO_MANY, "too many requests with this token", (b"retry-after", str(wait).encode())
        if scope["method"] in READING:
            return actor
        if actor.origin.way is Way.NONE and not asked.hooked and scope["path"] not in PUBLIC:
            return ProblemType.UNAUTHENTICATED, self._callers.needs
        return unfit_body(asked.headers, asked.at_most, asked.kinds) or actor

    def _actor(self, scope: Scope, asked: _Asked, session: Session | None) -> Actor | None:
        """Return the actor; of a webhook's request one without a credential, since its token is no user's."""
        peer = _peer(scope)
        if asked.hooked and not self._access.trusted:
            return self._callers.unknown(peer)
        return self._callers.actor(asked.headers.get("authorization", ""), peer, session)

    def _still(self, scope: Scope, asked: _Asked, actor: Actor, body: bytes) -> Actor | Refusal:
        """Return the actor now that the body is there: what it has shown may have ended while the body came in."""
        now = actor if asked.is_bare else self._again(scope, asked)
        if now is None:
            return ProblemType.UNAUTHENTICATED, NOT_ACCEPTED
        if now.origin.way is Way.NONE and actor.origin.way is not Way.NONE:
            return ProblemType.UNAUTHENTICATED, self._callers.needs
        return now if asked.hooked else _forged(scope, asked.headers, body, asked.session_of(now)) or now

    def _again(self, scope: Scope, asked: _Asked) -> Actor | None:
        """Return the actor as it is now. An answer that lasts keeps no session alive."""
        session = self._callers.session(asked.headers.get("cookie", ""), by_person=False)
        return self._actor(scope, asked, session)

    async def _refuse(self, scope: Scope, send: Send, refusal: Refusal) -> None:
        self._note(scope, refusal)
        await send_problem(send, *refusal)

    def _note(self, scope: Scope, refusal: Refusal) -> None:
        """Have the audit trail tell of a caller without an accepted credential, or a page of another origin."""
        problem, error, *_ = refusal
        if problem in {ProblemType.UNAUTHENTICATED, ProblemType.FORBIDDEN} and self._attempts is not None:
            self._attempts.note(self._callers.unknown(_peer(scope)), f"{scope['method']} {scope['path']}", error)

    def _misdirected(self, headers: Mapping[str, str]) -> Refusal | None:
        if self._access.trusted or self._access.serves(headers.get("host", "")):
            return None
        return (
            ProblemType.MISDIRECTED,
            "the Host header does not name this machine; use 127.0.0.1 or localhost with the port",
        )


def body_at_most(path: str, *, trusted: bool, hooked: bool) -> int:
    """Return the most bytes that a request's body may have.

    Args:
        path: of the request.
        trusted: it comes over the unix socket.
        hooked: it is for webhooks or pushed values.
    """
    if trusted and path == BASE + FILE:
        return FILE_AT_MOST
    return PAYLOAD_AT_MOST if hooked or path == CHECK else BODY_AT_MOST


def _forged(scope: Scope, headers: Mapping[str, str], body: bytes, session: Session | None) -> Refusal | None:
    """Return why a browser's request that changes something may have been made by a page of another origin."""
    if scope["method"] in READING or (session is None and not is_form(scope["path"])):
        return None
    if is_foreign(headers):
        return ProblemType.FORBIDDEN, "a page of another origin made this request"
    if session is not None and scope["path"] != LOGIN and not session.proves(shown_csrf(headers, body)):
        return (
            ProblemType.FORBIDDEN,
            "this request lacks its session's CSRF token (X-Trimtab-CSRF): load the page again",
        )
    return None


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def unfit_body(headers: Mapping[str, str], at_most: int, kinds: frozenset[str] | None) -> Refusal | None:
    """Return why a body with these headers is not read; ``None``: it is.

    Args:
        headers: by lower-case name.
        at_most: bytes.
        kinds: the content types that it may have; ``None``: any.
    """
    length = headers.get("content-length", "0")
    if kinds is not None and (length != "0" or "transfer-encoding" in headers):
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in kinds:
            return ProblemType.WRONG_CONTENT, f"the body must be {' or '.join(sorted(kinds - {''}))}"
    if not (length.isascii() and length.isdigit()) or int(length) > at_most:
        return ProblemType.TOO_LONG, f"the body is longer than {at_most} bytes"
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


async def _wanted_body(scope: Scope, receive: Receive, asked: _Asked) -> bytes | Refusal | None:
    """Return the body; or why the request goes no further; ``None``: its client is gone."""
    try:
        async with asyncio.timeout(None if asked.is_bare else BODY_WITHIN):
            body = await read_body(receive, asked.at_most)
    except TimeoutError:
        return ProblemType.TOO_SLOW, f"the body was not complete within {BODY_WITHIN:.0f} s"
    if body is UnreadBody.CUT_OFF:
        return None  # half a body may mean something else
    if body is UnreadBody.TOO_LONG:
        return ProblemType.TOO_LONG, f"the body is longer than {asked.at_most} bytes"
    if scope["path"].startswith(_API) and is_deep(body):
        return ProblemType.MALFORMED, f"the body is nested more than {DEPTH_AT_MOST} deep"
    return body


async def read_body(receive: Receive, at_most: int) -> bytes | UnreadBody:
    """Read the body to its end, whatever its headers say; of one that is too long, read and drop some more."""
    parts: list[bytes] = []
    size = 0
    while size <= max(at_most, _DRAINED_AT_MOST):
        message = await receive()
        if message["type"] == "http.disconnect":
            return UnreadBody.CUT_OFF
        size += len(message.get("body", b""))
        if size <= at_most:
            parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return b"".join(parts) if size <= at_most else UnreadBody.TOO_LONG


def _replay(body: bytes, receive: Receive) -> Receive:
    is_read = False

    async def again() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
