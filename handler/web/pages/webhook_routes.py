"""``/webhooks``: the webhooks of the visitor's groups. Its forms need no script; each is one operation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from config.errors import Refused
from handler.identity.actors import Actor
from handler.operations.address import right_of
from handler.operations.authorising import Forbidden
from handler.operations.daemon_operations import RevokeHook
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.operations.registry import perform
from handler.ports.alerts import StoredHook
from handler.web.needs import KEEPS_HOOKS, actor_of
from handler.web.pages.declared_routes import visitor_of
from handler.web.pages.login_routes import LoginDesk
from handler.web.pages.webhooks import IssuedToken, WebhookFacts, wanted_of, webhooks_page
from handler.web.session_cookie import WEBHOOKS, form_of

_SEE_OTHER: Final = 303
_FORBIDDEN: Final = 403
_CONFLICT: Final = 409


def build_webhooks(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, desk = APIRouter(include_in_schema=False), _WebhookDesk(operations)

    @routes.get(WEBHOOKS, dependencies=[KEEPS_HOOKS])
    async def webhooks(request: Request) -> Response:
        return await desk.page(request)

    @routes.post(WEBHOOKS, dependencies=[KEEPS_HOOKS])
    async def sent(request: Request) -> Response:
        return await desk.sent(request)

    return routes


class _WebhookDesk:
    """Shows the page, and carries out what its forms say."""

    def __init__(self, operations: Operations) -> None:
        self._operations, self._desk = operations, LoginDesk(operations)

    async def page(
        self,
        request: Request,
        status: int = 200,
        *,
        made: IssuedToken | None = None,
        message: str = "",
        texts: Mapping[str, str] | None = None,
    ) -> Response:
        """Answer with the page.

        Args:
            request: the visitor's.
            status: of the answer.
            made: a token to show, this one time.
            message: why a form was refused; empty: none was.
            texts: the form of a new webhook that was refused.
        """
        actor, visitor = actor_of(request), visitor_of(request)
        facts = WebhookFacts(
            hooks=self._operations.webhooks.seen_by(actor.grants),
            may_change=lambda hook: self._may_change(actor, hook),
            csrf=visitor.csrf,
            made=made,
            message=message,
            texts=texts or {},
        )
        markup = await asyncio.to_thread(webhooks_page, facts)
        return self._desk.framed("Webhooks · Trimtab", markup, status, visitor=visitor)

    async def sent(self, request: Request) -> Response:
        """Carry out what a form says, and show the token if one is made; or say why not."""
        texts, actor = form_of(await request.body()), actor_of(request)
        try:
            wanted = wanted_of(texts, self._operations.webhooks.seen_by(actor.grants))
            outcome = await perform(self._operations, wanted, actor)
        except (Refused, NoSuch, Forbidden) as error:
            status = _FORBIDDEN if isinstance(error, Forbidden) else _CONFLICT
            again = texts if texts.get("act") == "make" else None
            return await self.page(request, status, message=str(error), texts=again)
        if isinstance(outcome, Mapping) and "token" in outcome:
            made = IssuedToken(name=str(outcome["name"]), token=str(outcome["token"]), path=str(outcome["path"]))
            return await self.page(request, made=made)
        return RedirectResponse(WEBHOOKS, _SEE_OTHER)

    def _may_change(self, actor: Actor, hook: StoredHook) -> bool:
        return self._operations.authorising.allows(actor, right_of(RevokeHook(name=hook.name)))
