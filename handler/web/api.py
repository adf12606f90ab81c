"""The application: ``/api/v1``, ``/metrics``, ``/healthz``, ``/readyz``, the console, and how errors are answered."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from config.errors import Refused, StoreError
from handler.identity.actors import Way
from handler.identity.rights import Verb
from handler.operations.address import BASE
from handler.operations.authorising import Forbidden, may
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.web.conditional import Conditional
from handler.web.declarations import declaration_routes
from handler.web.description import api_router, describe, measuring
from handler.web.discovery import build_discovery
from handler.web.group_answers import GroupAnswers, GroupReading
from handler.web.needs import MEASURES, actor_of, grants_of
from handler.web.operating import Performing, operation_routes
from handler.web.own_metrics import of_own_groups
from handler.web.pages.act_routes import build_acts
from handler.web.pages.declared_routes import build_declared
from handler.web.pages.installation_routes import build_installation
from handler.web.pages.login_routes import build_login, to_login
from handler.web.pages.oidc_routes import build_oidc
from handler.web.pages.own_token_routes import build_own_tokens
from handler.web.pages.password_routes import build_password
from handler.web.pages.routes import build_pages
from handler.web.pages.tuning_routes import build_tuning
from handler.web.pages.user_routes import build_users
from handler.web.pages.webhook_routes import build_webhooks
from handler.web.paging import BadCursor
from handler.web.problems import PATH, ProblemType, problem_of_error, problem_of_status, problem_response, table
from handler.web.reading import reading_routes
from handler.web.recent import build_recent
from handler.web.render import plain

_METHODS = ("GET", "PUT", "POST", "DELETE")


def build(operations: Operations) -> FastAPI:
    """Make the application; the listener puts the gate before it."""
    app = FastAPI(title="Trimtab", version="1", openapi_url=f"{BASE}/openapi.json", docs_url=None, redoc_url=None)
    app.router.redirect_slashes = False  # an address whose last name is empty is none
    app.state.authorising, app.state.attempts = operations.authorising, operations.attempts
    app.state.performing = Performing(operations)
    # Each request is compared with one route after the other: those that are read most come first.
    for router in (
        *reading_routes(operations),
        build_recent(operations),
        declaration_routes(operations),
        _problems(),
        operation_routes(),
        _health(operations),
        build_discovery(operations),
        build_pages(operations),
        build_acts(operations),
        build_declared(operations),
        build_installation(operations),
        build_webhooks(operations),
        build_users(operations),
        build_tuning(operations),
        build_login(operations),
        build_oidc(operations),
        build_password(operations),
        build_own_tokens(operations),
    ):
        app.router.routes.extend(router.routes)  # `include_router` would make every route once more
    describe(app)
    for kind in (NoSuch, Refused, StoreError, BadCursor):
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(Forbidden, _forbidden)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _unserved)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(GroupReading, authorising=operations.authorising, answers=GroupAnswers(operations))
    app.add_middleware(Conditional)
    return app


async def _refused(_: Request, error: Exception) -> JSONResponse:
    return problem_response(problem_of_error(error), str(error))


async def _forbidden(request: Request, error: Exception) -> Response:
    """Answer 401 to a caller without a credential, which may have one, and 403 to others; browsers get the login."""
    if actor_of(request).origin.way is Way.NONE:
        if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(BASE):
            return to_login(request)
        return problem_response(ProblemType.UNAUTHENTICATED, str(error))
    return problem_response(ProblemType.FORBIDDEN, str(error))


async def _misread(request: Request, error: Exception) -> JSONResponse:
    """Return the errors of a request and their places, without repeating its content.

    A path of its own that a pattern fits, too, is answered as that path: this method is not one of its methods.
    """
    own = _own_methods(request.app, request.url.path)
    if own and request.method not in own:
        return await _unserved(request, HTTPException(HTTPStatus.METHOD_NOT_ALLOWED))
    problems = error.errors() if isinstance(error, RequestValidationError) else ()
    words = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems)
    return problem_response(ProblemType.INVALID, words.encode("ascii", "backslashreplace").decode())


async def _unserved(request: Request, error: Exception) -> JSONResponse:
    """Answer a path that does not exist, or a method that the path does not take."""
    if not isinstance(error, HTTPException):
        return problem_response(ProblemType.NOT_FOUND, "not served")
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request.app, request.scope))
    return problem_response(problem_of_status(error.status_code), error.detail, headers)


def _methods(app: FastAPI, scope: Scope) -> list[str]:
    """Return all methods of a path: the framework names those of its first route only."""
    own = _own_methods(app, scope["path"])  # a path of its own, though a pattern may fit it, too
    return own or [method for method in _METHODS if _fits(app, {**scope, "method": method})]


def _own_methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods of a path below `/api/v1` that has no variable part; none: there is no such path."""
    own = (route for route in app.routes if isinstance(route, APIRoute) and route.path == path)
    return [method for route in own if route.include_in_schema for method in route.methods or ()]


def _fits(app: FastAPI, scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in app.routes)


async def _failed(_: Request, error: Exception) -> JSONResponse:
    """Answer for a defect; the server logs it."""
    return problem_response(ProblemType.INTERNAL, f"the daemon failed ({type(error).__name__}): see its log")


def _problems() -> APIRouter:
    routes = api_router(tags=["health"])

    @routes.get(PATH)
    async def problems() -> JSONResponse:
        return JSONResponse(table())

    return routes


def _health(operations: Operations) -> APIRouter:
    routes = APIRouter(tags=["health"], responses=measuring())

    @routes.get("/metrics", response_class=PlainTextResponse, dependencies=[MEASURES])
    def metrics(request: Request) -> Response:  # in a thread: writing a thousand groups takes a while
        return Response(
            of_own_groups(operations.metrics(), grants_of(request)),
            media_type="text/plain; version=0.0.4; charset=utf-8",
        )

    @routes.get("/healthz")
    async def healthz() -> JSONResponse:
        return JSONResponse({"alive": True})

    @routes.get("/readyz")
    async def readyz(request: Request) -> JSONResponse:
        health, sees_all = operations.health(), may(actor_of(request), Verb.READ)  # the checks name groups
        return JSONResponse(plain(health) if sees_all else {"ready": health.ready}, 200 if health.ready else 503)

    return routes
