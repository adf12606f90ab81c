"""Every operation of the registry: its address, its request, and its way through the routes and back."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import Any, get_type_hints
from urllib.parse import unquote

import pytest
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from config.model.rolling import Allowance
from config.units import GroupId, Instant
from handler.identity.actors import Actor, local
from handler.identity.rights import INSTALLATION, OnGroups, OnWebhook, Right, Verb
from handler.operations.address import (
    _ADDRESSES,
    HEADER,
    OperationRequest,
    address_of,
    call_of,
    over,
    right_of,
    shared_resource,
)
from handler.operations.daemon_operations import AdoptStore, MakeHook
from handler.operations.group_operations import DeleteGroup
from handler.operations.registry import OPERATIONS, Operation
from handler.operations.size_operations import PauseFleet
from handler.web import operating
from handler.web.gate import ACTOR
from handler.web.operating import operation_routes
from tests.support.filled import filled

ANOTHER: Mapping[str, object] = {
    "group": "wëb ?&%",
    "member": "web-1",
    "protected": False,
    "surge": Allowance(number=2),
    "unavailable": Allowance(number=10, percent=True),
}
"""Values that a request could spoil, or that are not the field's default."""


def every_field_set(kind: type[Operation]) -> Operation:
    hints = get_type_hints(kind)
    made: Operation = kind(**{each.name: ANOTHER.get(each.name, filled(hints[each.name])) for each in fields(kind)})
    return made


def none_set(kind: type[Operation]) -> Operation:
    hints = get_type_hints(kind)
    needed = [each.name for each in fields(kind) if each.default is MISSING]
    made: Operation = kind(**{name: ANOTHER.get(name, filled(hints[name])) for name in needed})
    return made


class Performing:
    """Stands for a daemon behind the routes: keeps each operation and the name of its caller."""

    def __init__(self) -> None:
        self.asked: list[tuple[Operation, Actor]] = []
        self.app = FastAPI(exception_handlers={RequestValidationError: _misread})
        self.calls = self.authorising = self
        self.app.state.performing = operating.Performing(self)  # type: ignore[arg-type]
        self.app.router.routes.extend(operation_routes().routes)

    def allows(self, by: Actor, right: Right) -> bool:
        """Everything may be asked for."""
        return True

    def begin_call(self, *_: object) -> None:
        """No key was there before."""

    end_call = begin_call

    def now(self) -> Instant:
        return Instant(0.0)

    async def perform(self, operation: Operation, by: Actor) -> Mapping[str, object]:
        self.asked.append((operation, by))
        return {"did": "it"}

    def sent(self, call: OperationRequest) -> tuple[int, Any]:
        """Send a request in the name of ada: status and answer."""
        answered: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": call.body or b"", "more_body": False}

        async def send(message: Any) -> None:
            answered.append(message)

        path, _, query = call.path.partition("?")
        headers = {"content-type": "application/json", "x-trimtab-user": "ada", **call.headers}
        scope = {
            "type": "http",
            "method": call.method,
            "path": unquote(path),
            "query_string": query.encode(),
            ACTOR: local(peer="uid 1000"),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        self.asked.clear()
        asyncio.run(self.app(scope, receive, send))
        return answered[0]["status"], json.loads(b"".join(message.get("body", b"") for message in answered[1:]))


async def _misread(_: Request, error: Any) -> JSONResponse:
    return JSONResponse([".".join(map(str, each["loc"])) for each in error.errors()], 422)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Performing]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operating, "perform", Performing.perform)
        yield Performing()


def test_every_class_with_an_address_is_in_the_registry() -> None:
    assert set(OPERATIONS) == _ADDRESSES.keys()


def test_no_two_operations_have_one_address() -> None:
    addresses = [(address_of(kind).method, address_of(kind).path) for kind in OPERATIONS]
    assert len(set(addresses)) == len(addresses)


def test_operations_whose_bodies_have_one_name_have_the_same_fields_in_them() -> None:
    bodies: dict[str, set[tuple[object, ...]]] = {}
    for kind in OPERATIONS:
        address, hints = address_of(kind), get_type_hints(kind, include_extras=True)
        inside = [
            (each.name, hints[each.name], each.default) for each in fields(kind) if each.name not in address.placed
        ]
        bodies.setdefault(address.body, set()).add(tuple(inside))
    del bodies[""]
    assert {name for name, variants in bodies.items() if len(variants) > 1} == set()


@pytest.mark.parametrize("kind", OPERATIONS)
def test_an_operation_is_a_value_whose_address_names_its_fields(kind: type[Operation]) -> None:
    address, known = address_of(kind), {each.name: each for each in fields(kind)}
    assert address.placed <= known.keys()
    left = [each for name, each in known.items() if name not in address.placed and HEADER not in each.metadata]
    assert bool(address.body) == (bool(left) and address.method != "DELETE")
    if address.may_be_bare or address.method == "DELETE":
        assert all(each.default is not MISSING for each in left)
    for name in known:
        with pytest.raises(FrozenInstanceError):
            setattr(every_field_set(kind), name, "another")


@pytest.mark.parametrize("made", [every_field_set, none_set])
@pytest.mark.parametrize("kind", OPERATIONS)
def test_a_client_s_operation_is_performed_in_its_name_and_answered(
    daemon: Performing, kind: type[Operation], made: Any
) -> None:
    operation, address = made(kind), address_of(kind)
    assert daemon.sent(call_of(operation)) == (address.status, {"did": "it"})
    assert daemon.asked == [(operation, local("ada", "uid 1000"))]


@pytest.mark.parametrize("kind", OPERATIONS)
def test_an_operation_names_its_right_on_all_groups_that_its_fields_name(kind: type[Operation]) -> None:
    operation = every_field_set(kind)
    right = right_of(operation)
    named = {getattr(operation, "group", None), *getattr(operation, "groups", ())} - {None}
    if right.verb is Verb.USERS:
        named = set()  # what it names is in the scope that it gives to a user
    match right.on:
        case OnGroups(groups):
            assert groups == named
        case OnWebhook(name):
            assert (name, named) == (getattr(operation, "name", None), set())
        case _:
            assert named == set() or address_of(kind).on is shared_resource, "it names a group: does it act on others?"


def test_an_operation_that_names_no_right_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="'verb' and 'on'"):
        over("POST", "/anything", "anything")  # type: ignore[call-arg]  # that is the mistake


@pytest.mark.parametrize(
    ("operation", "right"),
    [
        (AdoptStore(), Right(Verb.STORE, INSTALLATION)),
        (MakeHook(name="all"), Right(Verb.HOOKS, INSTALLATION)),
        (PauseFleet(), Right(Verb.PAUSE, INSTALLATION)),
    ],
    ids=str,
)
def test_an_operation_without_a_group_acts_on_the_whole_installation(operation: Operation, right: Right) -> None:
    assert right_of(operation) == right


@pytest.mark.parametrize("kind", [kind for kind in OPERATIONS if address_of(kind).body])
def test_a_body_with_an_unknown_field_is_refused(daemon: Performing, kind: type[Operation]) -> None:
    call = call_of(every_field_set(kind))
    body = {**json.loads(call.body or b"{}"), "other": 1}
    assert daemon.sent(call._replace(body=json.dumps(body).encode())) == (422, ["body.other"])
    assert daemon.asked == []


@pytest.mark.parametrize("kind", [kind for kind in OPERATIONS if address_of(kind).body])
def test_a_body_is_left_out_only_where_that_is_declared(daemon: Performing, kind: type[Operation]) -> None:
    status, _ = daemon.sent(call_of(none_set(kind))._replace(body=b""))
    assert (status != 422) is bool(daemon.asked) is address_of(kind).may_be_bare


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/groups/web/size", {"size": 1_000_001}),
        ("/groups/web/balancers/edge", {"port": 0}),
        ("/recording", {"on": True, "for_s": 0}),
        ("/recording", {"on": True, "for_s": math.nan}),
        ("/recording", {"on": True, "for_s": math.inf}),
    ],
    ids=str,
)
def test_a_value_out_of_bounds_is_refused(daemon: Performing, path: str, body: Mapping[str, object]) -> None:
    call = OperationRequest(method="PUT", path=f"/api/v1{path}", headers={}, body=json.dumps(body).encode())
    assert daemon.sent(call)[0] == 422


def test_flags_of_a_deletion_are_in_its_query() -> None:
    call = call_of(DeleteGroup(group=GroupId("a b"), members=True))
    assert (call.path, call.body) == ("/api/v1/groups/a%20b?members=true", None)
