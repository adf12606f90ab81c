"""``/login`` and ``/logout``: the page, whose name and password become a session; the browser keeps its cookie."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass, replace
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup

from handler.identity.actors import Actor
from handler.identity.audit import AuditResult, entry_by
from handler.ingest.request_rates import peer_key
from handler.operations.facade import Operations
from handler.users.login import LoggedIn, NotLoggedIn, TooManyTries
from handler.users.oidc import LOGGED_OUT
from handler.web.gate import COOKIE
from handler.web.needs import actor_of, session_of
from handler.web.pages.assets import read_assets
from handler.web.pages.frame import NO_LOGIN, PAGE_HEADERS, Visitor, document, page_of
from handler.web.pages.layout import PageTemplate
from handler.web.problems import ProblemType, problem_response
from handler.web.session_cookie import LOGIN, LOGOUT, SessionCookie, form_of, own_path

_SEE_OTHER = 303
_WRONG = "Name or password is wrong, or the user is disabled."
_BY_SOCKET = "a browser logs in over TCP; the unix socket needs no login"
_NAME_AT_MOST = 64


_TEMPLATE = PageTemplate("login.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginForm:
    """What the page shows."""

    there_are_users: bool
    by_provider: bool = False
    """A provider can be logged in with, too."""
    is_done: bool = False
    """A person has logged in, and the page leads on by itself."""
    is_out: bool = False
    """A person has logged out."""
    provider_logout: str = ""
    """The page of the provider on which a person logs out there, too; empty: there is none, or no need."""
    message: str = ""
    """Why the last try failed; empty: there was none."""
    user: str = ""
    """The name that was tried."""
    then: str = "/"
    """Where a person goes who has logged in."""


def login_form(form: LoginForm) -> Markup:
    """Return the content of the page."""
    return _TEMPLATE("login", form)


def build_login(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, desk = APIRouter(include_in_schema=False), LoginDesk(operations)

    @routes.get(LOGIN)
    async def form(request: Request, then: str = "/", state: str = "") -> Response:
        if session_of(request) is not None:
            return RedirectResponse(own_path(then), _SEE_OTHER)
        shown = LoginForm(there_are_users=operations.users.known.exist, is_out=state == LOGGED_OUT, then=own_path(then))
        return desk.page(shown)

    @routes.post(LOGIN)
    async def log_in(request: Request) -> Response:
        return await desk.log_in(request, form_of(await request.body()))

    @routes.post(LOGOUT)
    async def log_out(request: Request) -> Response:
        return desk.log_out(request)

    return routes


def to_login(request: Request) -> Response:
    """Lead a browser to the login, and from there back to the page that it wants."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    there = LOGIN if wanted == "/" else f"{LOGIN}?then={quote(wanted, safe='')}"
    return RedirectResponse(there, _SEE_OTHER, {"Cache-Control": "no-store"})


class LoginDesk:
    """Logs persons in and out; the audit trail has both, and who tried in vain."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._version = read_assets().version

    async def log_in(self, request: Request, form: dict[str, str]) -> Response:
        """Make a session of a form's name and password."""
        cookie: SessionCookie | None = request.scope.get(COOKIE)
        if cookie is None:
            return problem_response(ProblemType.REFUSED, _BY_SOCKET)
        user, then = form.get("user", "").strip()[:_NAME_AT_MOST], own_path(form.get("then", "/"))
        if not self._operations.users.known.exist:
            return self.page(LoginForm(there_are_users=False))
        caller = actor_of(request)
        outcome = await self._operations.users.login.log_in(user, form.get("password", ""), peer_of(caller))
        shown = LoginForm(there_are_users=True, user=user, then=then, message=_WRONG)
        match outcome:
            case LoggedIn(cookie=value):
                self.audit(replace(caller, name=user), "login")  # another user's session may be there already
                return RedirectResponse(then, _SEE_OTHER, {"Set-Cookie": cookie.holding(value)})
            case NotLoggedIn(known=known):
                self._operations.attempts.note(caller, f"login as {user}" if known else "login", "wrong")
                return self.page(shown, 403)
            case TooManyTries(wait=wait):
                seconds = math.ceil(wait)
                message = f"Too many wrong passwords for this name or from here: wait {seconds} s."
                return self.page(
                    LoginForm(there_are_users=True, user=user, then=then, message=message),
                    429,
                    {"Retry-After": str(seconds)},
                )

    def log_out(self, request: Request) -> Response:
        """End the session of a request."""
        cookie: SessionCookie | None = request.scope.get(COOKIE)
        if cookie is None:
            return problem_response(ProblemType.REFUSED, _BY_SOCKET)
        session, ended = session_of(request), {"Set-Cookie": cookie.ended()}
        if session is not None:
            self._operations.users.sessions.end(cookie.value_in(request.headers.get("cookie", "")))
            self.audit(actor_of(request), "logout")
        back = own_address(request, cookie, LOGIN)
        there = (
            self._operations.users.oidc.logout_address(back) if session is not None and session.by_provider else None
        )
        if there is None:
            return RedirectResponse(LOGIN, _SEE_OTHER, ended)
        return self.page(LoginForm(there_are_users=True, is_out=True, provider_logout=there), 200, ended)

    def page(self, form: LoginForm, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        """Answer with the page of the login."""
        form = replace(form, by_provider=self._operations.users.oidc.is_offered)
        return self.framed("Log in · Trimtab", login_form(form), status, headers)

    def framed(
        self,
        title: str,
        content: Markup,
        status: int,
        headers: dict[str, str] | None = None,
        visitor: Visitor = NO_LOGIN,
    ) -> Response:
        """Answer with a page of this content."""
        frame = page_of(
            title,
            group=None,
            stopped=None,
            now=self._operations.now(),
            stream="",
            assets=self._version,
            scripts=(),
            visitor=visitor,
        )
        return HTMLResponse(document(frame, content), status, PAGE_HEADERS | (headers or {}))

    def audit(self, actor: Actor, act: str) -> None:
        """Write into the audit trail what was done."""
        self._operations.trail.post(entry_by(actor, self._operations.now(), act, AuditResult.DONE))


def own_address(request: Request, cookie: SessionCookie, path: str) -> str:
    """Return the address of a path of the console, by the host that the browser came by."""
    return f"{'https' if cookie.secure else 'http'}://{request.headers.get('host', '')}{path}"


def peer_of(caller: Actor) -> object:
    """Return what the attempts of a caller are counted by: a network, where an address alone says little."""
    try:
        return peer_key(ipaddress.ip_address(caller.origin.peer))
    except ValueError:
        return caller.origin.peer
