"""``/password``: a person who is logged in changes the password; all other sessions of the user end."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from config.errors import Refused
from handler.operations.facade import Operations
from handler.users.login import TooManyTries
from handler.users.sessions import Session
from handler.web.gate import COOKIE
from handler.web.needs import actor_of, session_of
from handler.web.pages.frame import Visitor
from handler.web.pages.layout import PageTemplate
from handler.web.pages.login_routes import LoginDesk, peer_of, to_login
from handler.web.session_cookie import PASSWORD, SessionCookie, form_of

_TEMPLATE = PageTemplate("password.html")
_SEE_OTHER = 303
_WRONG = "The password now is wrong. If you have none, an administrator sets the first."


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordForm:
    """What the page shows."""

    user: str
    csrf: str
    message: str = ""
    """Why the last try failed; empty: there was none."""


def build_password(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, desk = APIRouter(include_in_schema=False), _PasswordDesk(operations)

    @routes.get(PASSWORD)
    async def form(request: Request) -> Response:
        session = session_of(request)
        return to_login(request) if session is None else desk.page(session)

    @routes.post(PASSWORD)
    async def change(request: Request) -> Response:
        session, cookie = session_of(request), request.scope.get(COOKIE)
        if session is None or cookie is None:
            return to_login(request)
        return await desk.change(request, session, cookie, form_of(await request.body()))

    return routes


class _PasswordDesk:
    """Changes passwords of persons who show the one that they have; the audit trail has it, and tries in vain."""

    def __init__(self, operations: Operations) -> None:
        self._operations, self._desk = operations, LoginDesk(operations)

    def page(self, session: Session, message: str = "", status: int = 200, wait: int | None = None) -> Response:
        """Answer with the page."""
        shown = _TEMPLATE("password", PasswordForm(user=session.user, csrf=session.csrf, message=message))
        headers = None if wait is None else {"Retry-After": str(wait)}
        visitor = Visitor(name=session.user, csrf=session.csrf)
        return self._desk.framed("Password · Trimtab", shown, status, headers, visitor)

    async def change(self, request: Request, session: Session, cookie: SessionCookie, form: dict[str, str]) -> Response:
        """Change the password; the person's own session goes on as a new one."""
        users, caller, user = self._operations.users, actor_of(request), session.user
        if form.get("new", "") != form.get("again", ""):
            return self.page(session, "The new password is not the same both times.", 409)
        before = users.password_of(user)  # what the proof is about: another one that comes meanwhile is not replaced
        proof = await users.login.proves(user, form.get("now", ""), peer_of(caller))
        if isinstance(proof, TooManyTries):
            wait = math.ceil(proof.wait)
            return self.page(session, f"Too many wrong passwords: wait {wait} s.", 429, wait)
        if not proof:
            self._operations.attempts.note(caller, "change of the own password", "wrong")
            return self.page(session, _WRONG, 403)
        try:
            await users.give_password(user, form.get("new", ""), instead_of=before)
        except Refused as error:
            return self.page(session, f"This cannot be it: {error}.", 409)
        self._desk.audit(caller, "change of the own password")
        kept, _ = users.sessions.begin(user, by_provider=session.by_provider)
        return RedirectResponse("/", _SEE_OTHER, {"Set-Cookie": cookie.holding(kept)})
