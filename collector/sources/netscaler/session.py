"""One session with a NetScaler, shared by everybody who asks it as the same user.

Logging in costs an appliance more than an answer, sessions are few, and users are locked out after some wrong
passwords. So there is one session per address and user; whoever finds it over renews it for all; and a refused password
is tried again only after a while that doubles, or when it has changed.

Source: NITRO REST API reference, "Performing Login and Logout Operations"; cookies: RFC 6265, 4.1.1.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import assert_never

from collector.clients.http.client import Answer, HttpClient, Question
from collector.clients.http.failures import Failure, of_server
from collector.samples import Reply
from collector.source import Round
from collector.sources.netscaler.answers import Answered, Expired, decode, text
from config.errors import TrimtabError
from config.model.access import HttpAccess, NetscalerStats, SecretRef, Trust
from config.units import Seconds

_ABREAST = 8
"""Questions under way at once: an appliance limits connections (errors 446 and 447)."""
_FIRST_WAIT: Seconds = 60.0
_LONGEST_WAIT: Seconds = 960.0
_FAREWELL: Seconds = 2.0
_TOKEN = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+")
_ERRORS = frozenset(range(400, 600))
"""Statuses whose body says more than they do."""
_JSON: Mapping[str, str] = MappingProxyType({"Content-Type": "application/json"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where and as whom to log in: what sources share a session by."""

    url: str
    user: str
    password: SecretRef
    trust: Trust

    @classmethod
    def of(cls, source: NetscalerStats) -> Door:
        """The door of one source."""
        return cls(url=source.url, user=source.user, password=source.password, trust=source.trust)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Denial:
    """A password that was refused."""

    password: str = field(repr=False)
    until: float
    """Steady seconds before which it is not tried again."""
    wait: Seconds
    said: str


class Session:
    """Logs in when somebody asks, stays logged in, and logs out when it is closed.

    Args:
        door: where and as whom.
        http: closed by whoever made it.
    """

    def __init__(self, door: Door, http: HttpClient) -> None:
        self._door = door
        self._http = http
        self._access = HttpAccess(trust=door.trust)
        self._token: str | None = None
        self._told = ""
        """The password that the session was begun with."""
        self._denial: _Denial | None = None
        self._entering = asyncio.Lock()
        self._attempts = 0
        self._in_vain: Failure | None = None
        self._abreast = asyncio.Semaphore(_ABREAST)

    async def get(
        self, path: str, asked: Round, *, within: Seconds, query: tuple[tuple[str, str], ...] = ()
    ) -> Answered | Failure:
        """Ask for statistics, logging in before where that is due; once again if the session turns out to be over.

        Args:
            path: below ``/nitro/v1``, escaped.
            asked: for the clock and the password.
            within: how long each answer may take.
            query: of the address.
        """
        over: str | None = None
        for _ in range(2):
            token = await self._enter(asked, within, over)
            if isinstance(token, Failure):
                return token
            found = await self._ask(path, query, token, within)
            if not isinstance(found, Expired):
                return found
            over = token
        return await self._give_up(asked, over)

    async def close(self) -> None:
        """Log out, if the appliance takes note within two seconds; else the session ends there by itself."""
        token, self._token = self._token, None
        if token is not None:
            body = json.dumps({"logout": {}}).encode()
            await self._send("config/logout", _FAREWELL, headers=_cookie(token), body=body)

    async def _ask(
        self, path: str, query: tuple[tuple[str, str], ...], token: str, within: Seconds
    ) -> Answered | Expired | Failure:
        async with self._abreast:
            found = await self._send(path, within, headers=_cookie(token), query=query)
        if isinstance(found, Answered):
            self._denial = None
        return _without(self._told, _without(token, found))

    async def _enter(self, asked: Round, within: Seconds, over: str | None) -> str | Failure:
        """The token of the session; a new one if there is none, or if it is the one that is over."""
        before = self._attempts
        async with self._entering:
            if self._token is not None and self._token != over:
                return self._token
            if self._attempts != before and self._in_vain is not None:
                return self._in_vain  # somebody has tried while we waited
            self._token = None
            try:
                password = asked.read_secret(self._door.password)
            except (TrimtabError, OSError) as error:
                return Failure(reply=Reply.AUTH, said=str(error))
            found = self._denied(asked, password) or await self._log_in(asked, password, within)
            self._attempts += 1
            self._token, self._in_vain = (found, None) if isinstance(found, str) else (None, found)
            return found

    async def _log_in(self, asked: Round, password: str, within: Seconds) -> str | Failure:
        self._told = password
        body = json.dumps({"login": {"username": self._door.user, "password": password}}).encode()
        found = _without(password, await self._send("config/login", within, headers=_JSON, body=body))
        match found:
            case Answered():
                token = text(found.document, "sessionid")
                if _TOKEN.fullmatch(token) is None:
                    return Failure(reply=Reply.MALFORMED, said="the answer to the login holds no session")
                return token
            case Failure(reply=Reply.AUTH) | Expired(code=0):
                return self._deny(asked, password, found.said)
            case Failure():
                return found
            case Expired():  # whoever checks passwords for the appliance has not answered it
                return Failure(reply=Reply.UNREACHABLE, said=found.said)
            case _:
                assert_never(found)

    async def _give_up(self, asked: Round, token: str | None) -> Failure:
        """A new session that is over at once is as good as a refused password: no third one for a while."""
        async with self._entering:
            if self._token == token:
                self._token = None
            try:
                password = asked.read_secret(self._door.password)
            except (TrimtabError, OSError) as error:
                return Failure(reply=Reply.AUTH, said=str(error))
            return self._deny(asked, password, "every new session is over at once")

    def _denied(self, asked: Round, password: str) -> Failure | None:
        denial = self._denial
        if denial is None or denial.password != password:
            self._denial = None
            return None
        left = denial.until - asked.clock().steady
        if left <= 0:
            return None
        return Failure(reply=Reply.AUTH, said=f"{denial.said}; not tried again for {left:.0f} s")

    def _deny(self, asked: Round, password: str, said: str) -> Failure:
        wait = _FIRST_WAIT if self._denial is None else min(2 * self._denial.wait, _LONGEST_WAIT)
        self._denial = _Denial(password=password, until=asked.clock().steady + wait, wait=wait, said=said)
        return Failure(reply=Reply.AUTH, said=said)

    async def _send(
        self,
        path: str,
        within: Seconds,
        *,
        headers: Mapping[str, str],
        query: tuple[tuple[str, str], ...] = (),
        body: bytes | None = None,
    ) -> Answered | Expired | Failure:
        question = Question(
            url=f"{self._door.url}/nitro/v1/{path}",
            access=self._access,
            timeout=within,
            method="GET" if body is None else "POST",
            query=query,
            headers=headers,
            body=body,
            accept=_ERRORS,
        )
        answer = await self._http.ask(question)
        return decode(answer) if isinstance(answer, Answer) else of_server(answer)


def _cookie(token: str) -> Mapping[str, str]:
    return {**_JSON, "Cookie": f"NITRO_AUTH_TOKEN={token}"}


def _without(secret: str, found: Answered | Expired | Failure) -> Answered | Expired | Failure:
    """An appliance that repeats what it was told must not bring it into a log."""
    if isinstance(found, Answered):
        return replace(found, doubt=found.doubt.replace(secret, "...") if secret else found.doubt)
    return replace(found, said=found.said.replace(secret, "...") if secret else found.said)
