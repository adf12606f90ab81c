"""Carry a request with an ``Idempotency-Key`` out once, and answer its repetitions with what the first one got."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from types import MappingProxyType
from typing import assert_never

from fastapi import Request
from fastapi.responses import Response

from config.errors import Refused, StoreError
from config.units import Instant, Seconds
from handler import logs
from handler.identity.actors import Actor
from handler.identity.rights import Verb
from handler.operations.address import Address
from handler.operations.authorising import Forbidden
from handler.operations.lookup import NoSuch
from handler.operations.repeats import (
    BODY_AT_MOST,
    Again,
    EarlierAnswer,
    Repetition,
    caller_of,
    fingerprint_of,
    judged,
    key_of,
)
from handler.ports.identity import CallStore, StoredCall
from handler.web.problems import MEDIA, ProblemType, problem_of_error, problem_response

LASTS: Seconds = 24 * 3600.0
"""How long a key is kept."""
AT_MOST = 1000
"""Keys of one caller that are kept: the newest."""
KEY, KEY_NAME = "idempotency-key", "Idempotency-Key"
_INTERRUPTED = (
    "the daemon ended or failed while it carried the first request with this key out: look at what it asked for, and "
    "repeat it with a new key if it was not done"
)
_NOT_KEPT = (
    "the request with this key was carried out, and its answer is not kept: it is long, or held a secret that is shown "
    "once (rotate the token to get another one)"
)
_PROBLEMS = MappingProxyType(
    {
        Repetition.OTHER: (
            ProblemType.KEY_REUSED,
            "this key was used for another request: a new request needs a new key",
        ),
        Repetition.RUNNING: (
            ProblemType.STILL_RUNNING,
            "the first request with this key is being carried out: ask again",
        ),
        Repetition.UNKNOWN: (ProblemType.OUTCOME_UNKNOWN, _INTERRUPTED),
        Repetition.NOT_KEPT: (ProblemType.ANSWER_NOT_KEPT, _NOT_KEPT),
    }
)
Act = Callable[[], Awaitable[Response]]


def is_keyed(address: Address) -> bool:
    """Tell whether an operation takes a key: it is a POST, and does more than look."""
    return address.method == "POST" and address.verb is not Verb.EXAMINE


class Repeats:
    """Knows the keys of requests. What is being carried out is in memory, the rest in the store."""

    def __init__(self, store: CallStore, now: Callable[[], Instant]) -> None:
        self._store = store
        self._now = now
        self._running = Counter[tuple[str, str]]()

    async def once(self, request: Request, actor: Actor, address: Address, act: Act) -> Response:
        """Carry a request out, or answer what the first with its key was answered.

        Raises:
            StoreError: the store cannot be written; nothing was done.
            Exception: what ``act`` raises and is no refusal; the key is then of no more use.
        """
        caller, key = caller_of(actor), key_of(request.headers[KEY])
        body = await request.body()
        mark = fingerprint_of(request.method, request.url.path, request.scope.get("query_string", b""), body)
        self._running[caller, key] += 1
        try:
            call = StoredCall(caller=caller, key=key, fingerprint=mark, at=self._now())
            found = await asyncio.to_thread(self._store.begin_call, call, LASTS, AT_MOST)
            running = self._running[caller, key] > 1
            match judged(found, mark, running=running, recognised=address.recognises):
                case Again():
                    return await self._carried_out(call, address, act)
                case EarlierAnswer(status, text):
                    media = MEDIA if status >= 400 else "application/json"  # noqa: PLR2004
                    return Response(text, status, {"Idempotency-Replayed": "true"}, media)
                case Repetition() as why:
                    return problem_response(*_PROBLEMS[why])
                case unknown:
                    assert_never(unknown)
        finally:
            self._running[caller, key] -= 1
            if not self._running[caller, key]:
                del self._running[caller, key]

    async def _carried_out(self, call: StoredCall, address: Address, act: Act) -> Response:
        try:
            answer = await act()
        except Forbidden:
            await asyncio.to_thread(self._store.forget_call, call.caller, call.key)
            raise
        except (Refused, NoSuch) as error:
            answer = problem_response(problem_of_error(error), str(error))
        text = bytes(answer.body).decode()
        kept = None if address.secret or len(text) > BODY_AT_MOST else text
        try:
            await asyncio.to_thread(self._store.end_call, call.caller, call.key, answer.status_code, kept)
        except StoreError as error:  # it is done, so it is answered; a repetition gets "not known"
            logs.warn("answer_unkept", caller=call.caller, error=str(error))
        return answer
