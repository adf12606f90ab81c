"""The address of an operation: its HTTP method and path, and whether each field is in the path, body or a header.

An operation is a frozen dataclass, light enough for the command line to import. It declares its fields once: routes
take types and bounds from it, and the client writes its request from it. With its address an operation
names the right that it needs: a verb, and how to find what one request acts on.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from string import Formatter
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar, dataclass_transform
from urllib.parse import quote, unquote, urlencode

from config.model.rolling import Allowance
from handler.identity.rights import (
    INSTALLATION,
    OnAccount,
    OnCredentials,
    OnEntity,
    OnUser,
    OnWebhook,
    Reach,
    Right,
    Verb,
    on_groups,
)

BASE = "/api/v1"
FILE = "/file"
"""Where a whole file is applied, below `BASE`: its body may be as long as a file."""
ABOUT, HEADER, STAYS = "about", "header", "stays"
"""Keys of a field's metadata: its description in OpenAPI; the header that carries it; whether leaving it
out changes nothing, so that no request can write its default."""
BECAUSE_AT_MOST = 200
"""Characters of a reason."""
_EXTENDED = "UTF-8''"

_Class = TypeVar("_Class")


class DataclassType(Protocol):
    """Any dataclass, for the type checker."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True, slots=True)
class Address:
    """The HTTP address of an operation, and the status of its response."""

    method: Literal["POST", "PUT", "DELETE"]
    path: str
    """Below `BASE`. Braces name fields; the other fields are in the body, or in the query of a DELETE."""
    name: str
    """In the OpenAPI document; generated clients take their names from it."""
    verb: Verb
    """What a role must have for it."""
    on: Callable[[Any], Reach]
    """Returns what one request acts on."""
    body: str = ""
    """The name of the body's schema in the OpenAPI document; empty: there is no body."""
    may_be_bare: bool = False
    """The body may be left out: every field then has its default."""
    tag: str = "acts"
    status: int = 200
    """The HTTP status of success, where the outcome itself does not set one."""
    secret: bool = False
    """The answer may hold a secret, which is shown once and never kept."""
    recognises: bool = False
    """The act itself finds out that it was done before, by an id of its own, and answers the same."""
    audited: Callable[[Any], str] | None = None
    """Returns the part of a request's fields that the audit trail keeps; ``None``: the whole body or query."""

    @property
    def placed(self) -> frozenset[str]:
        """The fields that are in the path."""
        return frozenset(name for _, name, _, _ in Formatter().parse(self.path) if name)


_ADDRESSES: dict[type, Address] = {}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def over(
    method: Literal["POST", "PUT", "DELETE"],
    path: str,
    name: str,
    *,
    verb: Verb,
    on: Callable[[Any], Reach],
    **more: Any,  # noqa: ANN401  # as `Address` has them
) -> Callable[[type[_Class]], type[_Class]]:
    """Make a class an operation: a frozen dataclass with this address, which needs this right."""
    address = Address(method, path, name, verb, on, **more)

    def addressed(declared: type[_Class]) -> type[_Class]:
        made = dataclass(frozen=True, slots=True, kw_only=True)(declared)
        _ADDRESSES[made] = address
        return made

    return addressed


def address_of(operation: type) -> Address:
    """Return the address of a class of operations."""
    return _ADDRESSES[operation]


def right_of(operation: object) -> Right:
    """Return the right that one operation needs."""
    address = address_of(type(operation))
    return Right(address.verb, address.on(operation))


def one_group(operation: Any) -> Reach:  # noqa: ANN401  # an operation with the field `group`
    """Return the group of an operation."""
    return on_groups((operation.group,))


def group_or_all(operation: Any) -> Reach:  # noqa: ANN401  # an operation with the field `group`
    """Return the group of an operation; without one, it acts on all."""
    return INSTALLATION if operation.group is None else one_group(operation)


def its_groups(operation: Any) -> Reach:  # noqa: ANN401  # an operation with the field `groups`
    """Return the groups of an operation; ``None`` means every group."""
    return on_groups(operation.groups) if operation.groups else INSTALLATION


def its_webhook(operation: Any) -> Reach:  # noqa: ANN401  # an operation with the field `name`
    """Return the webhook of an operation."""
    return OnWebhook(operation.name)


def its_account(operation: Any) -> Reach:  # noqa: ANN401  # an operation with the field `account`
    """Return the account of an operation; without one, it acts on the caller's own."""
    return OnAccount(operation.account)


def its_user(operation: Any) -> Reach:  # noqa: ANN401  # an operation with the field `user`
    """Return the user of an operation, which belongs to an account."""
    return OnUser(operation.user)


def its_credentials(operation: Any) -> Reach:  # noqa: ANN401  # an operation with the field `user`
    """Return the tokens and key pairs of an operation's user."""
    return OnCredentials(operation.user)


def its_entity(operation: Any) -> Reach:  # noqa: ANN401  # an operation with the fields `section` and `id`
    """Return what an operation changes of what is declared, which belongs to an account."""
    return OnEntity(operation.section, operation.id)


def installation(_: object) -> Reach:
    """Return the whole installation."""
    return INSTALLATION


def shared_resource(_: object) -> Reach:
    """Return the whole installation, for a group's operation on a machine or a balancer that may be another group's."""
    return INSTALLATION


class OperationRequest(NamedTuple):
    """An HTTP request, for an operation or for reading."""

    method: str
    path: str
    """With its query."""
    body: bytes | None = None
    """JSON."""
    headers: Mapping[str, str] = MappingProxyType({})


def call_of(operation: DataclassType) -> OperationRequest:
    """Write an operation as an HTTP request, without the fields that have their defaults."""
    address, given = address_of(type(operation)), dict(_given(operation))
    places = {name: quote(str(_plain(getattr(operation, name))), safe="") for name in address.placed}
    path, body = BASE + address.path.format_map(places), None
    headers = {
        each.metadata[HEADER]: str(given.pop(each.name))
        for each in fields(operation)
        if HEADER in each.metadata and each.name in given
    }
    if address.method != "DELETE":
        body = json.dumps(given).encode()
    elif given:
        query = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
        path += f"?{urlencode(query)}"
    return OperationRequest(address.method, path, body, headers)


def _given(operation: DataclassType) -> Iterator[tuple[str, Any]]:
    placed = address_of(type(operation)).placed
    for each in fields(operation):
        value = getattr(operation, each.name)
        if each.name not in placed and (each.default is MISSING or value != each.default):
            yield each.name, _plain(value)


def _plain(value: object) -> object:
    """Convert a field's value to JSON's types."""
    match value:
        case enum.Enum():
            return value.value
        case Allowance():
            return str(value) if value.percent else int(value.number)
        case tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {str(_plain(name)): _plain(each) for name, each in value.items()}
        case _:
            return value


def header_of(reason: str) -> str:
    """Return a reason as a header carries it: in UTF-8, as an extended value of RFC 8187, section 3.2.1.

    >>> header_of("50 % больше")
    "UTF-8''50 %25 %D0%B1%D0%BE%D0%BB%D1%8C%D1%88%D0%B5"
    """
    return f"{_EXTENDED}{quote(reason[:BECAUSE_AT_MOST], safe=' ')}"


def reason_of(header: str) -> str:
    """Return the reason in a header, which may be an extended value or plain text; what cannot be printed is ``?``.

    >>> reason_of("load test, 50 %"), reason_of("utf-8''50 %25 %D0%B1%D0%BE%D0%BB%D1%8C%D1%88%D0%B5%0A")
    ('load test, 50 %', '50 % больше?')
    """
    is_extended = header[: len(_EXTENDED)].upper() == _EXTENDED
    text = unquote(header[len(_EXTENDED) :]) if is_extended else header
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:BECAUSE_AT_MOST]
