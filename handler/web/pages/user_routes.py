"""``/users`` and ``/users/{user}``: users, roles, tokens and key pairs. Forms need no script; each is one operation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from config.errors import Refused
from handler.operations.authorising import Forbidden
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.operations.registry import perform
from handler.operations.user_operations import DeleteUser
from handler.ports.credentials import StoredKeyPair
from handler.ports.identity import StoredToken
from handler.web.needs import MANAGES_USER, MANAGES_USERS, actor_of
from handler.web.pages.declared_routes import visitor_of
from handler.web.pages.login_routes import LoginDesk
from handler.web.pages.user_forms import new_user_of, user_act_of
from handler.web.pages.users import NewSecret, UserFacts, UsersFacts, user_href, user_page, users_page
from handler.web.session_cookie import USERS, form_of

_SEE_OTHER: Final = 303
_FORBIDDEN: Final = 403
_CONFLICT: Final = 409


def build_users(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, desk = APIRouter(include_in_schema=False), _UserDesk(operations)

    @routes.get(USERS, dependencies=[MANAGES_USERS])
    async def users(request: Request) -> Response:
        return await desk.users(request)

    @routes.post(USERS, dependencies=[MANAGES_USERS])
    async def added(request: Request) -> Response:
        return await desk.added(request)

    @routes.get(f"{USERS}/{{user}}", dependencies=[MANAGES_USER])
    async def user(request: Request, user: str) -> Response:
        return await desk.user(request, user)

    @routes.post(f"{USERS}/{{user}}", dependencies=[MANAGES_USER])
    async def sent(request: Request, user: str) -> Response:
        return await desk.sent(request, user)

    return routes


class _UserDesk:
    """Shows the pages, and carries out what their forms say."""

    def __init__(self, operations: Operations) -> None:
        self._operations, self._desk = operations, LoginDesk(operations)

    async def users(
        self, request: Request, status: int = 200, *, message: str = "", texts: Mapping[str, str] | None = None
    ) -> Response:
        """Answer with the users that the visitor manages.

        Args:
            request: the visitor's.
            status: of the answer.
            message: why a form was refused; empty: none was.
            texts: the form of a new user that was refused.
        """
        visitor = visitor_of(request)
        known = self._operations.users.all(actor_of(request).grants)
        facts = UsersFacts(users=known, csrf=visitor.csrf, message=message, texts=texts or {})
        markup = await asyncio.to_thread(users_page, facts)
        return self._desk.framed("Users · Trimtab", markup, status, visitor=visitor)

    async def added(self, request: Request) -> Response:
        """Make the user that a form names, and lead to its page; or say why not."""
        texts = form_of(await request.body())
        try:
            outcome = await perform(self._operations, new_user_of(texts), actor_of(request))
        except (Refused, NoSuch, Forbidden) as error:
            return await self.users(request, status_of(error), message=str(error), texts=texts)
        name = str(outcome["name"]) if isinstance(outcome, Mapping) else ""
        return RedirectResponse(user_href(name), _SEE_OTHER)

    async def user(
        self, request: Request, user: str, status: int = 200, *, made: NewSecret | None = None, message: str = ""
    ) -> Response:
        """Answer with one user's page.

        Args:
            request: the visitor's.
            user: the name.
            status: of the answer.
            made: a secret to show, this one time.
            message: why a form was refused; empty: none was.
        """
        operations, visitor, grants = self._operations, visitor_of(request), actor_of(request).grants
        facts = UserFacts(
            user=operations.users.user(user),
            tokens=operations.users.tokens(user, grants),
            pairs=tuple((pair, operations.keys.opens(pair)) for pair in operations.keys.pairs(user, grants)),
            csrf=visitor.csrf,
            now=operations.now(),
            made=made,
            message=message,
        )
        markup = await asyncio.to_thread(user_page, facts)
        return self._desk.framed(f"{user} · Trimtab", markup, status, visitor=visitor)

    async def sent(self, request: Request, user: str) -> Response:
        """Carry out what a form says, and show the secret if one is made; or say why not."""
        texts, actor = form_of(await request.body()), actor_of(request)
        try:
            tokens = self._operations.users.tokens(user, actor.grants)
            rotating = rotating_of(tokens, self._operations.keys.pairs(user, actor.grants))
            wanted = user_act_of(user, texts, rotating)
            outcome = await perform(self._operations, wanted, actor)
        except (Refused, NoSuch, Forbidden) as error:
            return await self.user(request, user, status_of(error), message=str(error))
        if isinstance(wanted, DeleteUser):
            return RedirectResponse(USERS, _SEE_OTHER)
        made = secret_in(outcome) if isinstance(outcome, Mapping) else None
        return (
            RedirectResponse(user_href(user), _SEE_OTHER) if made is None else await self.user(request, user, made=made)
        )


def rotating_of(tokens: Iterable[StoredToken], pairs: Iterable[StoredKeyPair]) -> frozenset[tuple[str, str]]:
    """Return those that have two secrets now, as kind and name."""
    return frozenset(
        {
            *(("token", each.name) for each in tokens if each.old_digest is not None),
            *(("pair", each.name) for each in pairs if each.old_api_key is not None),
        }
    )


def secret_in(outcome: Mapping[str, object]) -> NewSecret | None:
    """Return what an outcome shows once; ``None``: it shows nothing."""
    if "token" in outcome:
        return NewSecret(title=f"The token {outcome['name']}", parts=(("Token", str(outcome["token"])),))
    if "secret_key" in outcome:
        parts = (("API key", str(outcome["api_key"])), ("Secret key", str(outcome["secret_key"])))
        return NewSecret(title=f"The key pair {outcome['name']}", parts=parts)
    return None


def status_of(error: Exception) -> int:
    """Return the status of the answer to a form that was refused."""
    return _FORBIDDEN if isinstance(error, Forbidden) else _CONFLICT
