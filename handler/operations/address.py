"""The address of an operation: where it is asked for over HTTP, and where each of its fields travels.

An operation is a frozen dataclass, light enough for the command line to import. Its fields say what may be asked, once:
routes take types and bounds from here, the client writes its request from here, and nothing else repeats them.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from string import Formatter
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar, dataclass_transform
from urllib.parse import quote, urlencode

from config.model.rolling import Allowance

BASE = "/api/v1"
ABOUT, HEADER = "about", "header"
"""Keys of a field's metadata: what OpenAPI says of it, and the header that it travels in."""

_Class = TypeVar("_Class")


class DataclassType(Protocol):
    """A dataclass, as the type checker knows one."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True, slots=True)
class Address:
    """Where an operation is asked for, and how it is answered when it is done."""

    method: Literal["POST", "PUT", "DELETE"]
    path: str
    """Below `BASE`. What stands in braces is a field; the others are in the body, or of a DELETE in the query."""
    name: str
    """In the OpenAPI document, which makes the names of generated clients of it."""
    body: str = ""
    """The name of the body's schema there; empty: there is no body."""
    may_be_bare: bool = False
    """The body may be left out: every field has its default then."""
    tag: str = "acts"
    status: int = 200
    """Of what is done, where the outcome itself does not say."""
    is_signed: bool = True
    """It is recorded who asked."""

    @property
    def placed(self) -> frozenset[str]:
        """The fields that stand in the path."""
        return frozenset(name for _, name, _, _ in Formatter().parse(self.path) if name)


_ADDRESSES: dict[type, Address] = {}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def over(
    method: Literal["POST", "PUT", "DELETE"],
    path: str,
    name: str,
    **more: Any,  # noqa: ANN401  # as `Address` has them
) -> Callable[[type[_Class]], type[_Class]]:
    """Make a class an operation: a frozen dataclass that can be asked for at this address."""
    address = Address(method, path, name, **more)

    def addressed(declared: type[_Class]) -> type[_Class]:
        made = dataclass(frozen=True, slots=True, kw_only=True)(declared)
        _ADDRESSES[made] = address
        return made

    return addressed


def address_of(operation: type) -> Address:
    """Return the address of a class of operations."""
    return _ADDRESSES[operation]


class OperationRequest(NamedTuple):
    """An HTTP request: of an operation, or one that reads."""

    method: str
    path: str
    """With its query."""
    body: bytes | None = None
    """JSON."""
    headers: Mapping[str, str] = MappingProxyType({})


def call_of(operation: DataclassType) -> OperationRequest:
    """Write an operation as the request that asks for it. A field that has its default is left out."""
    address, given = address_of(type(operation)), dict(_given(operation))
    places = {name: quote(str(getattr(operation, name)), safe="") for name in address.placed}
    path, body = BASE + address.path.format_map(places), None
    headers = {
        each.metadata[HEADER]: str(given.pop(each.name))
        for each in fields(operation)
        if HEADER in each.metadata and each.name in given
    }
    if address.method != "DELETE":
        body = json.dumps(given).encode()
    elif given:
        path += "?" + urlencode({name: json.dumps(value) for name, value in given.items()})
    return OperationRequest(address.method, path, body, headers)


def _given(operation: DataclassType) -> Iterator[tuple[str, Any]]:
    placed = address_of(type(operation)).placed
    for each in fields(operation):
        value = getattr(operation, each.name)
        if each.name not in placed and (each.default is MISSING or value != each.default):
            yield each.name, _plain(value)


def _plain(value: object) -> object:
    """As JSON has it."""
    match value:
        case enum.Enum():
            return value.value
        case Allowance():
            return str(value) if value.percent else int(value.number)
        case tuple():
            return [_plain(each) for each in value]
        case _:
            return value
