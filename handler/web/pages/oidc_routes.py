"""``/login/oidc``: to the provider of identities and back, where what it proves becomes a session.

The browser comes back from another site, and does not send a ``Strict`` cookie along while it follows redirects from
there. So the answer is a page of ours that leads on by itself: what is loaded next is asked for by this origin.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from config.errors import Refused
from handler.operations.facade import Operations
from handler.users.login import LoggedIn, NotLoggedIn, TooManyTries
from handler.users.oidc_flow import OidcFlow, Unproved
from handler.web.gate import COOKIE
from handler.web.needs import actor_of
from handler.web.pages.login_routes import LoginDesk, LoginForm, own_address, peer_of
from handler.web.problems import ProblemType, problem_response
from handler.web.session_cookie import BY_PROVIDER, FROM_PROVIDER, SessionCookie, own_path

_SEE_OTHER = 303
_BY_SOCKET = "a browser logs in over TCP; the unix socket needs no login"
_NO_ONE = "You are not among those who may log in here: an administrator maps accounts to users."
_BEGIN_AGAIN = "This login is over, or was begun elsewhere: begin again."


def build_oidc(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, desk = APIRouter(include_in_schema=False), _OidcDesk(operations)

    @routes.get(BY_PROVIDER)
    async def there(request: Request, then: str = "/") -> Response:
        return await desk.begin(request, own_path(then))

    @routes.get(FROM_PROVIDER)
    async def back(request: Request) -> Response:
        return await desk.finish(request)

    return routes


class _OidcDesk:
    """Sends persons to the provider, and logs in those that it proves; the audit trail has who tried in vain."""

    def __init__(self, operations: Operations) -> None:
        self._operations, self._desk = operations, LoginDesk(operations)

    async def begin(self, request: Request, then: str) -> Response:
        cookie: SessionCookie | None = request.scope.get(COOKIE)
        if cookie is None:
            return problem_response(ProblemType.REFUSED, _BY_SOCKET)
        if not self._operations.users.known.exist:
            return self._desk.page(LoginForm(there_are_users=False))
        try:
            flow, address = await self._operations.users.oidc.begin(then, own_address(request, cookie, FROM_PROVIDER))
        except Refused as error:
            return self._refuse(then, f"{error}.", 503)
        headers = {"Set-Cookie": cookie.flow_holding(flow.text), "Cache-Control": "no-store"}
        return RedirectResponse(address, _SEE_OTHER, headers)

    async def finish(self, request: Request) -> Response:
        cookie: SessionCookie | None = request.scope.get(COOKIE)
        if cookie is None:
            return problem_response(ProblemType.REFUSED, _BY_SOCKET)
        flow = OidcFlow.of(cookie.flow_in(request.headers.get("cookie", "")))
        if flow is None:
            return self._refuse("/", _BEGIN_AGAIN, 403)
        answer = await self._finished(request, flow, cookie)
        answer.headers.append("Set-Cookie", cookie.flow_holding(""))
        return answer

    async def _finished(self, request: Request, flow: OidcFlow, cookie: SessionCookie) -> Response:
        caller, then = actor_of(request), own_path(flow.then)
        try:
            outcome = await self._operations.users.oidc.finish(
                flow, dict(request.query_params), own_address(request, cookie, FROM_PROVIDER), peer_of(caller)
            )
        except Unproved as error:
            self._operations.attempts.note(caller, "login with a provider", str(error))
            return self._refuse(then, f"The login failed: {error}.", 403)
        except Refused as error:
            return self._refuse(then, f"{error}.", 503)
        match outcome:
            case LoggedIn(user=user, cookie=value):
                self._desk.audit(replace(caller, name=user), "login with a provider")
                leading = {"Refresh": f"0; url={then}", "Set-Cookie": cookie.holding(value)}
                return self._desk.page(
                    LoginForm(there_are_users=True, user=user, then=then, is_done=True), 200, leading
                )
            case NotLoggedIn():
                self._operations.attempts.note(caller, "login with a provider", "mapped to no user who may log in")
                return self._refuse(then, _NO_ONE, 403)
            case TooManyTries(wait=wait):
                seconds = math.ceil(wait)
                headers = {"Retry-After": str(seconds)}
                return self._refuse(then, f"Too many failed logins from here: wait {seconds} s.", 429, headers)

    def _refuse(self, then: str, message: str, status: int, headers: dict[str, str] | None = None) -> Response:
        return self._desk.page(LoginForm(there_are_users=True, then=then, message=message), status, headers)
