"""NetScaler's client for counters: statistics, requested side by side; failures are values."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from collector.clients.http.client import HttpClient, HttpRequest, HttpResponse
from collector.clients.http.failures import HttpFailure, of_server
from collector.clients.nitro.parsing import NitroAnswer, NitroFailure
from collector.clients.nitro.session import LOGOUT, NitroCall, NitroLogin, NitroSession, headers
from collector.samples import Reply
from collector.targets import Round
from config.errors import TrimtabError
from config.model.access import HttpAccess
from config.units import Seconds

_ABREAST = 8
"""Requests under way at the same time: an appliance limits connections (errors 446 and 447)."""
_FAREWELL: Seconds = 2.0
_ERRORS = frozenset(range(400, 600))
"""Statuses whose body holds NITRO's own error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAnswer(NitroAnswer):
    """An answer and its time."""

    at: float
    """When it arrived, in steady seconds."""


class AsyncNitroClient:
    """Logs in at the first request, stays logged in, and logs out when it is closed.

    Args:
        login: the address and the user.
        http: sends the requests; its owner closes it.
    """

    def __init__(self, login: NitroLogin, http: HttpClient) -> None:
        self._login = login
        self._http = http
        self._session = NitroSession(login.user)
        self._entering = asyncio.Lock()
        self._attempts = 0
        self._in_vain: HttpFailure | None = None
        self._abreast = asyncio.Semaphore(_ABREAST)

    async def get(self, call: NitroCall, poll: Round, *, within: Seconds) -> TimedAnswer | HttpFailure:
        """Read statistics; log in first if necessary, and once more if the session has ended.

        Args:
            call: must only read.
            poll: gives the clock and the password.
            within: how long each answer may take.
        """
        over: str | None = None
        for _ in range(2):
            token = await self._enter(poll, within, over)
            if isinstance(token, HttpFailure):
                return token
            async with self._abreast:
                found = await self._sent(call, token, within)
            if not (isinstance(found, NitroFailure) and found.expired):
                return _failure(found) if isinstance(found, NitroFailure) else found
            over = token
        async with self._entering:
            return _failure(self._session.over_at_once(over, poll.clock().steady))

    async def close(self) -> None:
        """Log out; if the appliance does not answer within two seconds, it ends the session by itself later."""
        token, self._session.token = self._session.token, None
        if token is not None:
            await self._sent(LOGOUT, token, _FAREWELL)

    async def _enter(self, poll: Round, within: Seconds, over: str | None) -> str | HttpFailure:
        """Return the session's token; log in if there is none, or if it is the one that has ended."""
        before = self._attempts
        async with self._entering:
            if self._session.token is not None and self._session.token != over:
                return self._session.token
            if self._attempts != before and self._in_vain is not None:
                return self._in_vain  # another task has tried while we waited
            found = await self._log_in(poll, within)
            self._attempts += 1
            self._in_vain = found if isinstance(found, HttpFailure) else None
            return found

    async def _log_in(self, poll: Round, within: Seconds) -> str | HttpFailure:
        try:
            password = poll.read_secret(self._login.password)
        except (TrimtabError, OSError) as error:
            return HttpFailure(reply=Reply.AUTH, detail=str(error))
        call = self._session.login(password, poll.clock().steady)
        if isinstance(call, NitroFailure):
            return _failure(call)
        answer = await self._sent(call, None, within)
        if isinstance(answer, HttpFailure):
            return answer
        found = self._session.opened(answer, poll.clock().steady)
        return _failure(found) if isinstance(found, NitroFailure) else found

    async def _sent(
        self, call: NitroCall, token: str | None, within: Seconds
    ) -> TimedAnswer | NitroFailure | HttpFailure:
        question = HttpRequest(
            url=call.url(self._login),
            access=HttpAccess(trust=self._login.trust),
            timeout=within,
            method=call.method,
            headers=headers(token),
            body=call.raw,
            accept=_ERRORS,
        )
        answer = await self._http.ask(question)
        if not isinstance(answer, HttpResponse):
            return of_server(answer)
        found = self._session.read(answer.status, answer.body, token)
        if isinstance(found, NitroFailure):
            return found
        return TimedAnswer(document=found.document, doubt=found.doubt, at=answer.at)


def _failure(failure: NitroFailure) -> HttpFailure:
    return HttpFailure(reply=failure.reply, detail=failure.detail)
