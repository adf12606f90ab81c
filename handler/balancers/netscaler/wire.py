"""Calls to one NetScaler over NITRO, each within one deadline, in a session that is renewed when it is over.

A refused password is not tried again for a while, unless it has changed: an appliance locks users out.

Source: NITRO REST API reference, "Performing Login and Logout Operations".
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp

from collector.clients.circuits import Circuits, endpoint_of, nobody, sending
from config.causes import Cause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef
from config.model.balancers import NetscalerBalancer
from config.units import Instant, Seconds
from handler.balancers.netscaler.answers import (
    FORBIDDEN,
    MISSING,
    NOT_PRIMARY,
    WRONG_PASSWORD,
    Refusal,
    Said,
    Thing,
    Unreadable,
    decode,
    is_expired,
    shown,
    text,
)

GROUPS = "name a service group that `show servicegroup` lists, or add it"
_AT_MOST = 16 * 2**20
_LOCKED_FOR: Seconds = 300.0
"""How long a refused password is not tried again: appliances count tries over some minutes."""
_LONGEST_WAIT: Seconds = 3600.0
_TOKEN = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+")
"""Source: RFC 6265, 4.1.1."""
_PASSES = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request."""

    path: str
    """Below ``/nitro/v1``, escaped."""
    method: str = "GET"
    query: Mapping[str, str] = field(default_factory=dict)
    body: Thing | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    status: int
    body: bytes = field(repr=False)
    retry_after: str = ""
    date: str | None = None


class NitroWire:
    """Speaks with one appliance as one user.

    Args:
        declaration: where, as whom, and how long an answer may take.
        read_secret: reads the password whenever somebody logs in.
        clock: for how long a refused password is left alone.
        circuits: those of all endpoints.
    """

    def __init__(
        self,
        declaration: NetscalerBalancer,
        read_secret: Callable[[SecretRef], str],
        clock: Callable[[], Instant],
        circuits: Circuits | None = None,
    ) -> None:
        self._there = declaration
        self._circuits = circuits
        self._read_secret = read_secret
        self._clock = clock
        self._entering = threading.Lock()
        self._token: str | None = None
        self._denied: tuple[str, Instant] | None = None
        """A password that was refused, and until when it is not tried again."""

    def ask(self, call: Call) -> Said | Refusal:
        """Make one call, logging in before where that is due; once more if the session turns out to be over.

        Raises:
            Transient: no answer, or none of NITRO's. What was asked for may have been done.
            Permanent: we may not come in.
        """
        token = self._enter(None)
        found = self._once(call, token)
        if isinstance(found, Refusal) and is_expired(found):
            found = self._once(call, self._enter(token))
        return found

    def must(self, call: Call) -> Said:
        """Make one call that has to succeed."""
        found = self.ask(call)
        if isinstance(found, Refusal):
            raise self.error(found)
        return found

    def whole(self, call: Call) -> Thing:
        """Read something. What the appliance itself doubts is not used."""
        return self.whole_of(self.ask(call))

    def whole_of(self, found: Said | Refusal) -> Thing:
        """Take an answer that has to be whole."""
        if isinstance(found, Refusal):
            raise self.error(found)
        if found.doubt:
            raise Transient(f"{self._about}: the answer is not whole: {found.doubt}")
        return found.document

    def date(self, call: Call) -> str | None:
        """The field Date of an answer; ``None``: it has none. Raises as `must`."""
        answer = self._sent(call, self._enter(None))
        found = self._decoded(answer)
        if isinstance(found, Refusal):
            raise self.error(found)
        return answer.date

    def error(self, refusal: Refusal) -> DriverError:
        """What a refusal means to whoever asked."""
        if refusal.code == NOT_PRIMARY or "secondary" in refusal.said.lower():
            return Permanent(
                f"{self._about}: this node is the secondary of a pair, which takes no changes ({refusal.said}): "
                "declare the address that follows the primary, a SNIP with management access"
            )
        if refusal.code in FORBIDDEN:
            denied = f"{self._about}: {self._there.user} may not do that ({refusal.said})"
            return Permanent(denied, cause=Cause.CREDENTIALS, mend="extend its policy")
        if refusal.code in WRONG_PASSWORD:
            return Permanent(f"{self._about}: {refusal.said}")
        if refusal.code in MISSING:
            return Permanent(f"{self._about}: {refusal.said}", cause=Cause.POOL, mend=GROUPS)
        return Transient(f"{self._about}: {refusal.said}")

    def _enter(self, over: str | None) -> str:
        """The token of the session; a new one if there is none, or if it is the one that is over."""
        with self._entering:
            if self._token is None or self._token == over:
                self._token = None
                self._token = self._log_in()
            return self._token

    def _log_in(self) -> str:
        try:
            password = self._read_secret(self._there.password)
        except (TrimtabError, OSError) as error:
            raise Permanent(f"{self._about}: {error}") from None
        if self._denied is not None and self._denied[0] == password and self._clock() < self._denied[1]:
            left = self._denied[1] - self._clock()
            raise Permanent(f"{self._about}: the password was refused, and is not tried again for {left:.0f} s")
        body = {"login": {"username": self._there.user, "password": password}}
        found = self._decoded(self._sent(Call(path="config/login", method="POST", body=body), None))
        if isinstance(found, Refusal):
            said = found.said.replace(password, "…") if password else found.said
            if found.code in WRONG_PASSWORD or is_expired(found):
                self._denied = password, Instant(self._clock() + _LOCKED_FOR)
                refused = f"{self._about}: {self._there.user} cannot log in: {said}"
                raise Permanent(refused, cause=Cause.CREDENTIALS, mend="correct user and password in the file")
            raise self.error(Refusal(code=found.code, status=found.status, said=said))
        token = text(found.document, "sessionid")
        if _TOKEN.fullmatch(token) is None:
            raise Transient(f"{self._about}: the answer to the login holds no session")
        self._denied = None
        return token

    def _once(self, call: Call, token: str) -> Said | Refusal:
        return self._decoded(self._sent(call, token))

    def _decoded(self, answer: _Answer) -> Said | Refusal:
        try:
            found = decode(answer.status, answer.body)
        except Unreadable as problem:
            raise Transient(f"{self._about}: {problem}") from None
        if isinstance(found, Refusal) and answer.status in _PASSES:
            raise Transient(f"{self._about}: {found.said}", retry_after=_wish(answer.retry_after))
        return found

    def _sent(self, call: Call, token: str | None) -> _Answer:
        trusted = self._trusted()
        with sending(self._circuits, endpoint_of(self._there.url), self._there.timeout) as one:
            try:
                answer = asyncio.run(self._exchange(call, token, trusted))
            except (aiohttp.ClientError, OSError, ValueError) as problem:  # TimeoutError and ssl.SSLError are OSErrors
                one.failed(type(problem).__name__)
                said = shown(str(problem)) or "too slow"
                raise Transient(f"{self._about} does not answer: {said}") from None
            one.heard(nobody(answer.status, answer.body, _wish(answer.retry_after)))
            return answer

    async def _exchange(self, call: Call, token: str | None, trusted: ssl.SSLContext | bool) -> _Answer:
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Cookie"] = f"NITRO_AUTH_TOKEN={token}"
        async with (
            asyncio.timeout(self._there.timeout),
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(
                call.method,
                f"{self._there.url}/nitro/v1/{call.path}",
                params=call.query or None,
                data=None if call.body is None else json.dumps(call.body).encode(),
                headers=headers,
                ssl=trusted,
                allow_redirects=False,
            ) as response,
        ):
            body = bytearray()
            async for piece in response.content.iter_chunked(65536):
                body += piece
                if len(body) > _AT_MOST:
                    raise ValueError(f"an answer of more than {_AT_MOST} bytes")
            return _Answer(
                status=response.status,
                body=bytes(body),
                retry_after=response.headers.get("Retry-After", ""),
                date=response.headers.get("Date"),
            )

    def _trusted(self) -> ssl.SSLContext | bool:
        trust = self._there.trust
        if trust.insecure:
            return False
        try:
            return True if trust.ca is None else ssl.create_default_context(cafile=trust.ca)
        except OSError as problem:  # ssl.SSLError is one: what stands there is no certificate
            why = problem.strerror or type(problem).__name__
            said = f"{self._about}: the certificates of ca, {trust.ca}, cannot be read: {shown(why)}"
            raise Permanent(said, cause=Cause.CREDENTIALS, mend="name a PEM file that Trimtab may read") from None

    @property
    def _about(self) -> str:
        return f"{self._there.id}: NetScaler"


def _wish(said: str) -> Seconds | None:
    """How long the other side wishes to be left alone; only as seconds, of the two forms of RFC 9110, 10.2.3."""
    return min(float(said), _LONGEST_WAIT) if said.isdecimal() and said.isascii() else None
