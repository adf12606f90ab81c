"""Statistics of one NetScaler, for counters: asked side by side, and failures as values."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from collector.clients.http.client import Answer, HttpClient, Question
from collector.clients.http.failures import Failure, of_server
from collector.clients.nitro.answers import Refusal, Said
from collector.clients.nitro.session import LOGOUT, Call, Login, Session, headers
from collector.samples import Reply
from collector.targets import Round
from config.errors import TrimtabError
from config.model.access import HttpAccess
from config.units import Seconds

_ABREAST = 8
"""Questions under way at once: an appliance limits connections (errors 446 and 447)."""
_FAREWELL: Seconds = 2.0
_ERRORS = frozenset(range(400, 600))
"""Statuses whose body says more than they do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Said):
    """What was said, and when."""

    at: float
    """Steady seconds at which it arrived."""


class AsyncNitroClient:
    """Logs in when somebody asks, stays logged in, and logs out when it is closed.

    Args:
        login: where and as whom.
        http: closed by whoever made it.
    """

    def __init__(self, login: Login, http: HttpClient) -> None:
        self._login = login
        self._http = http
        self._session = Session(login.user)
        self._entering = asyncio.Lock()
        self._attempts = 0
        self._in_vain: Failure | None = None
        self._abreast = asyncio.Semaphore(_ABREAST)

    async def get(self, call: Call, asked: Round, *, within: Seconds) -> Answered | Failure:
        """Ask for statistics, logging in before where that is due; once again if the session turns out to be over.

        Args:
            call: that changes nothing.
            asked: for the clock and the password.
            within: how long each answer may take.
        """
        over: str | None = None
        for _ in range(2):
            token = await self._enter(asked, within, over)
            if isinstance(token, Failure):
                return token
            async with self._abreast:
                found = await self._sent(call, token, within)
            if not (isinstance(found, Refusal) and found.expired):
                return _failure(found) if isinstance(found, Refusal) else found
            over = token
        async with self._entering:
            return _failure(self._session.over_at_once(over, asked.clock().steady))

    async def close(self) -> None:
        """Log out, if the appliance takes note within two seconds; else the session ends there by itself."""
        token, self._session.token = self._session.token, None
        if token is not None:
            await self._sent(LOGOUT, token, _FAREWELL)

    async def _enter(self, asked: Round, within: Seconds, over: str | None) -> str | Failure:
        """The token of the session; a new one if there is none, or if it is the one that is over."""
        before = self._attempts
        async with self._entering:
            if self._session.token is not None and self._session.token != over:
                return self._session.token
            if self._attempts != before and self._in_vain is not None:
                return self._in_vain  # somebody has tried while we waited
            found = await self._log_in(asked, within)
            self._attempts += 1
            self._in_vain = found if isinstance(found, Failure) else None
            return found

    async def _log_in(self, asked: Round, within: Seconds) -> str | Failure:
        try:
            password = asked.read_secret(self._login.password)
        except (TrimtabError, OSError) as error:
            return Failure(reply=Reply.AUTH, said=str(error))
        call = self._session.login(password, asked.clock().steady)
        if isinstance(call, Refusal):
            return _failure(call)
        answer = await self._sent(call, None, within)
        if isinstance(answer, Failure):
            return answer
        found = self._session.opened(answer, asked.clock().steady)
        return _failure(found) if isinstance(found, Refusal) else found

    async def _sent(self, call: Call, token: str | None, within: Seconds) -> Answered | Refusal | Failure:
        question = Question(
            url=call.url(self._login),
            access=HttpAccess(trust=self._login.trust),
            timeout=within,
            method=call.method,
            headers=headers(token),
            body=call.raw,
            accept=_ERRORS,
        )
        answer = await self._http.ask(question)
        if not isinstance(answer, Answer):
            return of_server(answer)
        found = self._session.heard(answer.status, answer.body, token)
        if isinstance(found, Refusal):
            return found
        return Answered(document=found.document, doubt=found.doubt, at=answer.at)


def _failure(refusal: Refusal) -> Failure:
    return Failure(reply=refusal.reply, said=refusal.said)
