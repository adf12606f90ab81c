"""The routes of operations, made from the registry: one for each, with its fields in path, query or body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from inspect import Parameter, Signature
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, WithJsonSchema, create_model
from pydantic import Field as Described

from config.document.rolling import Allowed
from config.model.rolling import Allowance
from handler.identity.actors import NAME_AT_MOST, UNNAMED, Actor
from handler.operations.address import ABOUT, BASE, HEADER, STAYS, Address, DataclassType, address_of, right_of
from handler.operations.facade import Operations
from handler.operations.registry import OPERATIONS, Operation, perform
from handler.operations.repeats import KEY_AT_MOST
from handler.web.answers import answered
from handler.web.description import acting
from handler.web.gate import ACTOR
from handler.web.needs import BEARER
from handler.web.problems import ProblemType, problem_response
from handler.web.repeating import KEY, KEY_NAME, Repeats, is_keyed

_Model = type[BaseModel]
_BY = Annotated[
    str,
    Header(
        alias="X-Trimtab-User",
        max_length=NAME_AT_MOST,
        description="The person or program that asks; the history and the audit trail record it.",
    ),
]
_KEYED = Annotated[
    str | None,
    Header(
        alias=KEY_NAME,
        min_length=1,
        max_length=KEY_AT_MOST,
        description="The same request with the same key again is not carried out, and gets the first one's answer.",
    ),
]
_REQUEST, _ASKER, _BODY, _KEY = "request", "asker", "body", "key"
"""Parameters of an endpoint besides its operation's fields."""
_NO_TAG = "this address has no entity tag, so If-Match cannot hold: leave it out"
_SHARE = r"^(100|[0-9]{1,2}(\.[0-9]+)?)%$"
_ALLOWED = Annotated[
    Allowed,
    BeforeValidator(lambda value: int(value) if isinstance(value, float) and value.is_integer() else value),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": _SHARE}]}),
]
_READ_AS: Mapping[object, object] = {Allowance | None: _ALLOWED | None}
"""Types with another form in requests."""


@cache
def operation_routes() -> APIRouter:
    """Make a route for every operation, which performs it in its caller's name.

    Made once a process, since their schemas are most of what an application costs: what performs is therefore the
    application's own, a `Performing` in ``app.state.performing``.
    """
    routes, models = APIRouter(prefix=BASE), dict[str, _Model]()
    for kind in OPERATIONS:
        address = address_of(kind)
        if address.body and address.body not in models:
            models[address.body] = _model(kind, address)
        endpoint = _endpoint(kind, address, models.get(address.body))
        routes.add_api_route(
            address.path,
            endpoint,
            methods=[address.method],
            tags=[address.tag],
            status_code=address.status,
            responses=acting(kind, address),
            openapi_extra={"security": [{BEARER: []}]},
        )
    return routes


class Performing:
    """Performs operations, each as often as its caller means it."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._repeats = Repeats(operations.calls, operations.now)

    async def answer(self, request: Request, operation: Operation, by: Actor) -> Response:
        """Perform an operation and answer; a request with a known key is not carried out again."""
        address = address_of(type(operation))

        async def act() -> Response:
            return await answered(address, await perform(self._operations, operation, by))

        if not request.headers.get(KEY) or not is_keyed(address):
            return await act()
        if not self._operations.authorising.allows(by, right_of(operation)):
            return await act()  # refused, whatever its key
        return await self._repeats.once(request, by, address, act)


def _endpoint(kind: type[Operation], address: Address, model: _Model | None) -> Callable[..., Awaitable[Response]]:
    takes_tags = any(each.metadata.get(HEADER) == "If-Match" for each, _ in _typed(kind))

    async def endpoint(**given: Any) -> Response:  # noqa: ANN401  # as the signature below says
        request: Request = given.pop(_REQUEST)
        if "if-match" in request.headers and not takes_tags:
            return problem_response(ProblemType.CHANGED, _NO_TAG)
        actor: Actor = request.scope[ACTOR]
        given.pop(_KEY, None)  # read where it is needed: some operations have it as a field
        by, body = given.pop(_ASKER), given.pop(_BODY, None)
        sent = {} if body is None else {name: getattr(body, name) for name in body.model_fields_set}
        performing: Performing = request.app.state.performing
        return await performing.answer(request, kind(**given, **sent), actor.called(by))

    endpoint.__name__, endpoint.__doc__ = address.name, kind.__doc__
    vars(endpoint)["__signature__"] = Signature(list(_parameters(kind, address, model)))
    return endpoint


def _parameters(kind: type[Operation], address: Address, model: _Model | None) -> Iterator[Parameter]:
    """Yield the parameters that FastAPI reads from a request."""
    yield _parameter(_REQUEST, Request)
    for each, hint in _typed(kind):
        about = each.metadata.get(ABOUT)
        if each.name in address.placed:
            yield _parameter(each.name, Annotated[hint, Path()])
        elif HEADER in each.metadata:
            yield _parameter(
                each.name, Annotated[hint, Header(alias=each.metadata[HEADER], description=about)], each.default
            )
        elif model is None:
            yield _parameter(each.name, Annotated[hint, Query(description=about)], each.default)
    if model is not None:
        yield _parameter(_BODY, model | None, None) if address.may_be_bare else _parameter(_BODY, model)
    if is_keyed(address) and not any(each.metadata.get(HEADER) == KEY_NAME for each, _ in _typed(kind)):
        yield _parameter(_KEY, _KEYED, None)
    yield _parameter(_ASKER, _BY, UNNAMED)


def _parameter(name: str, annotation: object, default: object = MISSING) -> Parameter:
    given = Parameter.empty if default is MISSING else default
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=given)


def _model(kind: type[Operation], address: Address) -> _Model:
    """Make the schema of a body. OpenAPI tells two of one name apart by their modules."""
    module, _, name = address.body.rpartition(".")
    placed = address.placed
    described = {
        each.name: (_strict(hint), _described(each))
        for each, hint in _typed(kind)
        if each.name not in placed and HEADER not in each.metadata
    }
    return create_model(name, __config__=ConfigDict(extra="forbid"), __module__=module or __name__, **described)  # type: ignore[call-overload,no-any-return]


def _strict(hint: Any) -> Any:  # noqa: ANN401  # any type
    """Return a type whose numbers and truths are no text: what the schema refuses is refused."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in {bool, int, float}:
        return Annotated[hint, Strict()]
    if origin is Annotated:
        return Annotated[(_strict(inner[0]), *inner[1:])]
    if origin in {Union, UnionType}:
        return Union[tuple(_strict(each) for each in inner)]  # noqa: UP007  # of types that are known only now
    return hint


def _described(each: Field[Any]) -> Any:  # noqa: ANN401  # as pydantic has it
    about = each.metadata.get(ABOUT)
    if STAYS in each.metadata:
        return Described(default_factory=lambda: each.default, description=about)
    return Described(... if each.default is MISSING else each.default, description=about)


def _typed(kind: type[DataclassType]) -> Iterator[tuple[Field[Any], Any]]:
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        yield each, _READ_AS.get(hints[each.name], hints[each.name])
