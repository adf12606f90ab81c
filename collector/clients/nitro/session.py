"""One session with a NetScaler as one user: how it begins, and when a refused password is tried again. Pure.

A login costs an appliance more than an answer, sessions are few, and some wrong passwords lock the user out. So all
callers with the same user share one session, the first that finds it ended renews it for all, and a refused password is
tried again only after a wait that doubles, or when the password has changed.

Source: NITRO REST API reference, "Performing Login and Logout Operations"; cookies: RFC 6265, 4.1.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from collector.clients.nitro.parsing import NitroAnswer, NitroFailure, Thing, decode, text
from collector.samples import Reply
from config.model.access import NetscalerStats, SecretRef, Trust
from config.model.balancers import NetscalerBalancer
from config.units import Seconds

_FIRST_WAIT: Seconds = 60.0
_LONGEST_WAIT: Seconds = 960.0
_TOKEN = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NitroLogin:
    """The address and user of a login: sources with equal logins share a session."""

    url: str
    user: str
    password: SecretRef
    trust: Trust

    @classmethod
    def of(cls, declaration: NetscalerStats | NetscalerBalancer) -> NitroLogin:
        """Return the login of a source or of a balancer."""
        return cls(url=declaration.url, user=declaration.user, password=declaration.password, trust=declaration.trust)


@dataclass(frozen=True, slots=True, kw_only=True)
class NitroCall:
    """One request."""

    path: str
    """Below ``/nitro/v1``, escaped."""
    method: str = "GET"
    query: Mapping[str, str] = field(default_factory=dict)
    body: Thing | None = field(default=None, repr=False)

    def url(self, login: NitroLogin) -> str:
        """Return the address; appliances expect the separators of ``args`` unescaped.

        >>> call = NitroCall(path="config/x", query={"args": "servername:a/b,port:80"})
        >>> call.url(NitroLogin(url="http://ns", user="u", password=SecretRef(env="P"), trust=Trust()))
        'http://ns/nitro/v1/config/x?args=servername:a%2Fb,port:80'
        """
        query = f"?{urlencode(self.query, safe=':,')}" if self.query else ""
        return f"{login.url}/nitro/v1/{self.path}{query}"

    @property
    def raw(self) -> bytes | None:
        """Return the encoded body."""
        return None if self.body is None else json.dumps(self.body).encode()


LOGOUT = NitroCall(path="config/logout", method="POST", body={"logout": {}})


def headers(token: str | None) -> Mapping[str, str]:
    """Return the headers of a call; ``token`` is ``None`` before the session begins."""
    cookie = {} if token is None else {"Cookie": f"NITRO_AUTH_TOKEN={token}"}
    return {"Content-Type": "application/json", **cookie}


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied(NitroFailure):
    """The user cannot log in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Denial:
    """A password that was refused."""

    password: str = field(repr=False)
    until: float
    """Not tried again before, by the caller's clock."""
    wait: Seconds
    failure: NitroFailure


class NitroSession:
    """Holds the token and the refused password. Callers must let one login run at a time."""

    def __init__(self, user: str) -> None:
        self._user = user
        self.token: str | None = None
        self._password = ""
        """The password that began the session."""
        self._denial: _Denial | None = None

    def login(self, password: str, now: float) -> NitroCall | NitroFailure:
        """Return the call that begins a session, or why the password is not tried now."""
        self.token = None
        if self._denial is not None and self._denial.password != password:
            self._denial = None
        if self._denial is not None and (left := self._denial.until - now) > 0:
            failure = self._denial.failure
            return replace(failure, detail=f"{failure.detail}; not tried again for {left:.0f} s")
        self._password = password
        body = {"login": {"username": self._user, "password": password}}
        return NitroCall(path="config/login", method="POST", body=body)

    def opened(self, found: NitroAnswer | NitroFailure, now: float) -> str | NitroFailure:
        """Read the session's token from the answer to a login."""
        if isinstance(found, NitroAnswer):
            token = text(found.document, "sessionid")
            if _TOKEN.fullmatch(token) is None:
                return NitroFailure(detail="the answer to the login holds no session", reply=Reply.MALFORMED)
            self.token = token
            return token
        if found.reply is Reply.AUTH:
            denied = Denied(code=found.code, status=found.status, detail=found.detail, reply=found.reply)
            return self._deny(denied, now)
        return found

    def read(self, status: int, body: bytes, token: str | None) -> NitroAnswer | NitroFailure:
        """Read an answer. Secrets that the appliance repeats are masked, since the text may reach a log.

        Args:
            status: the HTTP status.
            body: the raw body.
            token: sent with the request; ``None``: the request was the login.
        """
        found = decode(status, body)
        if isinstance(found, NitroAnswer):
            if token is not None:
                self._denial = None
            return replace(found, doubt=self._masked(found.doubt, token))
        return replace(found, detail=self._masked(found.detail, token))

    def over_at_once(self, token: str | None, now: float) -> NitroFailure:
        """Treat a new session that ends at once like a refused password: no third login for a while."""
        if self.token == token:
            self.token = None
        return self._deny(NitroFailure(detail="every new session ends at once", reply=Reply.AUTH), now)

    def _deny(self, failure: NitroFailure, now: float) -> NitroFailure:
        wait = _FIRST_WAIT if self._denial is None else min(2 * self._denial.wait, _LONGEST_WAIT)
        self._denial = _Denial(password=self._password, until=now + wait, wait=wait, failure=failure)
        return failure

    def _masked(self, detail: str, token: str | None) -> str:
        for secret in (token, self._password):
            detail = detail.replace(secret, "…") if secret else detail
        return detail
