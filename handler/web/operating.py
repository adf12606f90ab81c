"""The routes of operations, made from the registry: one for each, with its fields in path, query or body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, create_model
from pydantic import Field as Described

from config.document.rolling import Allowed
from config.model.rolling import Allowance
from handler.identity.actors import NAME_AT_MOST, UNNAMED, Actor
from handler.operations.address import ABOUT, HEADER, Address, DataclassType, address_of
from handler.operations.outcomes import Done
from handler.operations.registry import OPERATIONS, Operation
from handler.web.answers import answered
from handler.web.gate import ACTOR
from handler.web.problems import Problem, problem_response

_Model = type[BaseModel]
Perform = Callable[[Operation, Actor], Awaitable[Done]]
_BY = Annotated[
    str,
    Header(
        alias="X-Trimtab-User",
        max_length=NAME_AT_MOST,
        description="The person or program that asks; the history records it.",
    ),
]
_REQUEST, _ASKER, _BODY = "request", "asker", "body"
"""Parameters of an endpoint besides its operation's fields."""
_NO_TAG = "this address has no entity tag, so If-Match cannot hold: leave it out"
_READ_AS: Mapping[object, object] = {Allowance | None: Allowed | None}
"""Types with another form in requests."""


def operation_routes(perform: Perform) -> APIRouter:
    """Make a route for every operation, which performs it in its caller's name."""
    routes, models = APIRouter(), dict[str, _Model]()
    for kind in OPERATIONS:
        address = address_of(kind)
        if address.body and address.body not in models:
            models[address.body] = _model(kind, address)
        endpoint = _endpoint(perform, kind, address, models.get(address.body))
        routes.add_api_route(address.path, endpoint, methods=[address.method], tags=[address.tag])
    return routes


def _endpoint(
    perform: Perform, kind: type[Operation], address: Address, model: _Model | None
) -> Callable[..., Awaitable[Response]]:
    takes_tags = any(each.metadata.get(HEADER) == "If-Match" for each, _ in _typed(kind))

    async def endpoint(**given: Any) -> Response:  # noqa: ANN401  # as the signature below says
        request: Request = given.pop(_REQUEST)
        if "if-match" in request.headers and not takes_tags:
            return problem_response(Problem.CHANGED, _NO_TAG)
        actor: Actor = request.scope[ACTOR]
        by, body = given.pop(_ASKER, actor.name), given.pop(_BODY, None)
        sent = {} if body is None else {name: getattr(body, name) for name in body.model_fields_set}
        return await answered(address, await perform(kind(**given, **sent), actor.called(by)))

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
    if address.is_signed:
        yield _parameter(_ASKER, _BY, UNNAMED)


def _parameter(name: str, annotation: object, default: object = MISSING) -> Parameter:
    given = Parameter.empty if default is MISSING else default
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=given)


def _model(kind: type[Operation], address: Address) -> _Model:
    """Make the schema of a body. OpenAPI tells two of one name apart by their modules."""
    module, _, name = address.body.rpartition(".")
    placed = address.placed
    described = {
        each.name: (hint, _described(each))
        for each, hint in _typed(kind)
        if each.name not in placed and HEADER not in each.metadata
    }
    return create_model(name, __config__=ConfigDict(extra="forbid"), __module__=module or __name__, **described)  # type: ignore[call-overload,no-any-return]


def _described(each: Field[Any]) -> Any:  # noqa: ANN401  # as pydantic has it
    default = ... if each.default is MISSING else each.default
    return Described(default, description=each.metadata.get(ABOUT))


def _typed(kind: type[DataclassType]) -> Iterator[tuple[Field[Any], Any]]:
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        yield each, _READ_AS.get(hints[each.name], hints[each.name])
