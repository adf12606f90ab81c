"""``/tokens``: the tokens and key pairs of the person who looks. Each change needs the person's password."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from config.errors import Refused
from handler.operations.authorising import Forbidden
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.operations.registry import perform
from handler.users.login import TooManyTries
from handler.users.sessions import Session
from handler.web.needs import actor_of, session_of
from handler.web.pages.declared_routes import visitor_of
from handler.web.pages.login_routes import LoginDesk, peer_of, to_login
from handler.web.pages.user_forms import credential_act_of
from handler.web.pages.user_routes import rotating_of, secret_in, status_of
from handler.web.pages.users import NewSecret, UserFacts, own_page
from handler.web.session_cookie import TOKENS, form_of

_SEE_OTHER: Final = 303
_FORBIDDEN: Final = 403
_TOO_MANY: Final = 429
_WRONG: Final = "The password is wrong. If you have none, an administrator changes your tokens."


def build_own_tokens(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, desk = APIRouter(include_in_schema=False), _OwnDesk(operations)

    @routes.get(TOKENS)
    async def own(request: Request) -> Response:
        session = session_of(request)
        return to_login(request) if session is None else await desk.page(request, session)

    @routes.post(TOKENS)
    async def sent(request: Request) -> Response:
        session = session_of(request)
        return to_login(request) if session is None else await desk.sent(request, session)

    return routes


class _OwnDesk:
    """Shows a person's own tokens and key pairs, and changes them for one who shows the password again."""

    def __init__(self, operations: Operations) -> None:
        self._operations, self._desk = operations, LoginDesk(operations)

    async def page(
        self,
        request: Request,
        session: Session,
        status: int = 200,
        *,
        made: NewSecret | None = None,
        message: str = "",
        wait: int | None = None,
    ) -> Response:
        """Answer with the page.

        Args:
            request: the visitor's.
            session: likewise.
            status: of the answer.
            made: a secret to show, this one time.
            message: why a form was refused; empty: none was.
            wait: seconds until another try; ``None``: it may be at once.
        """
        operations, name = self._operations, session.user
        facts = UserFacts(
            user=operations.users.user(name),
            tokens=operations.users.tokens_of(name),
            pairs=tuple((pair, operations.keys.opens(pair)) for pair in operations.keys.pairs_of(name)),
            csrf=session.csrf,
            now=operations.now(),
            made=made,
            message=message,
        )
        markup = await asyncio.to_thread(own_page, facts)
        headers = None if wait is None else {"Retry-After": str(wait)}
        return self._desk.framed("Your tokens · Trimtab", markup, status, headers, visitor_of(request))

    async def sent(self, request: Request, session: Session) -> Response:
        """Carry out what a form says, if the password is right, and show the secret if one is made; or say why not."""
        users, texts, caller = self._operations.users, form_of(await request.body()), actor_of(request)
        proof = await users.login.proves(session.user, texts.get("now", ""), peer_of(caller))
        if isinstance(proof, TooManyTries):
            wait = math.ceil(proof.wait)
            message = f"Too many wrong passwords: wait {wait} s."
            return await self.page(request, session, _TOO_MANY, message=message, wait=wait)
        if not proof:
            self._operations.attempts.note(caller, "change of the own tokens", "wrong")
            return await self.page(request, session, _FORBIDDEN, message=_WRONG)
        try:
            rotating = rotating_of(users.tokens_of(session.user), self._operations.keys.pairs_of(session.user))
            wanted = credential_act_of(session.user, texts, rotating)
            outcome = await perform(self._operations, wanted, replace(caller, is_proved=True))
        except (Refused, NoSuch, Forbidden) as error:
            return await self.page(request, session, status_of(error), message=str(error))
        made = secret_in(outcome) if isinstance(outcome, Mapping) else None
        if made is not None:
            return await self.page(request, session, made=made)
        return RedirectResponse(TOKENS, _SEE_OTHER)
