"""How clouds of OpenNebula and OneFlow are written in YAML, and what a profile may add to a template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import PlainValidator, WithJsonSchema

from config.document.addresses import BaseUrl
from config.document.declared import key, must, worded
from config.document.scalars import Given, PositiveSpan, Text, Yes
from config.document.sources import SecretDocument, TrustingDocument
from config.model.recipes import Extra

_NAME = r"[A-Za-z][A-Za-z0-9_]{0,63}"
_USER = r"[^:\s]{1,128}"
_LONGEST = 2**17
_UNFIT = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""

SET_HERE = frozenset({"NAME", "NIC", "TEMPLATE_ID", "TEMPLATE_NAME", "TRIMTAB"})
"""Attributes that other keys decide, or by which members are known."""
_EXPECTED = "attributes of a template and their values, such as {CPU: 2, CONTEXT: {NETWORK: YES}}"


def read_extra(value: object) -> Extra:
    """Read more attributes of a template: single values, vectors, and lists of either where one may be repeated.

    Raises:
        ValueError: says what was expected.

    >>> read_extra({"cpu": 0.5, "context": {"network": "YES"}, "DISK": [{"IMAGE_ID": 4}, {"SIZE": 512}]})
    (('CPU', '0.5'), ('CONTEXT', (('NETWORK', 'YES'),)), ('DISK', (('IMAGE_ID', '4'),)), ('DISK', (('SIZE', '512'),)))
    """
    if not isinstance(value, dict) or not value:
        raise ValueError(_EXPECTED)
    read: list[tuple[str, str | tuple[tuple[str, str], ...]]] = []
    for name, given in value.items():
        attribute = _name(name)
        if attribute in SET_HERE:
            raise ValueError(f"attributes that no key stands for and Trimtab leaves alone: not {attribute}")
        each = given if isinstance(given, list) and given else [given]
        read.extend((attribute, _vector(one) if isinstance(one, dict) else _single(one)) for one in each)
    if len({_name(name) for name in value}) < len(value):
        raise ValueError("attributes that are written once: upper and lower case are the same to OpenNebula")
    return tuple(read)


def _name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(_NAME, value):
        raise ValueError(_EXPECTED)
    return value.upper()


def _vector(value: dict[object, object]) -> tuple[tuple[str, str], ...]:
    if not value:
        raise ValueError(_EXPECTED)
    return tuple((_name(name), _single(given)) for name, given in value.items())


def _single(value: object) -> str:
    if not isinstance(value, str | int | float):
        raise ValueError(_EXPECTED)
    text = ("YES" if value else "NO") if isinstance(value, bool) else str(value)
    if len(text) > _LONGEST or _UNFIT.search(text):
        raise ValueError(_EXPECTED)
    return text


_SCALAR = {"type": ["string", "number", "boolean"]}
_VECTOR = {
    "type": "object",
    "minProperties": 1,
    "propertyNames": {"pattern": f"^{_NAME}$"},
    "additionalProperties": _SCALAR,
}
ExtraAttributes = Annotated[
    Extra,
    PlainValidator(read_extra),
    WithJsonSchema(
        {
            "title": "attribute → value, or attributes",
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": f"^{_NAME}$"},
            "additionalProperties": {
                "anyOf": [_SCALAR, _VECTOR, {"type": "array", "minItems": 1, "items": {"anyOf": [_SCALAR, _VECTOR]}}]
            },
        }
    ),
]


def read_user(value: object) -> str:
    """Read the name of a user. A colon would end it, where it is sent together with the password.

    Raises:
        ValueError: says what was expected.
    """
    if not isinstance(value, str) or not re.fullmatch(_USER, value):
        raise ValueError("the name of a user of OpenNebula: no blanks, no colon")
    return value


User = Annotated[str, PlainValidator(read_user), worded("name of a user", type="string", pattern=f"^{_USER}$")]


class OpennebulaMachines(TrustingDocument):
    """How machines of a user of OpenNebula are reached, with or without OneFlow."""

    refused: ClassVar[Mapping[str, str]] = {
        "events": "OpenNebula sends events by hooks: trimtab hook new NAME --observe GROUP makes their URL"
    }

    user: User = must("The user that members belong to.", "fleet")
    password: SecretDocument = must(
        "Where the user's password, or a login token, is kept.", {"file": "/etc/trimtab/opennebula.password"}
    )
    timeout: PositiveSpan = key("How long one answer may take, all of it.", "15s", default="15s")
    network: Annotated[Text | None, Given] = key(
        "The network in which members are reached, by name.", "web-tier", left_out="that of their first interface"
    )
    hard: Annotated[Yes | None, Given] = key(
        "Removed machines are switched off at once, instead of being asked to stop.",
        True,
        left_out="they are asked to stop",
    )


class OpennebulaDocument(OpennebulaMachines):
    """Members are virtual machines of a user of OpenNebula."""

    hidden: ClassVar[frozenset[str]] = frozenset({"endpoint", "password"})

    endpoint: BaseUrl = must("The address of the XML-RPC API.", "http://one.example.org:2633/RPC2")


_ROLE = r"[A-Za-z0-9_]{1,128}"


def read_role(value: object) -> str:
    """Read the name of a role.

    Raises:
        ValueError: says what was expected.
    """
    if not isinstance(value, str) or not re.fullmatch(_ROLE, value):
        raise ValueError("the name of a role of OneFlow: letters, digits, underscores")
    return value


RoleName = Annotated[str, PlainValidator(read_role), worded("name of a role", type="string", pattern=f"^{_ROLE}$")]


class OneflowDocument(OpennebulaMachines):
    """Members are nodes of roles of OneFlow services that exist, of one user."""

    hidden: ClassVar[frozenset[str]] = frozenset({"endpoint", "rpc", "password"})

    endpoint: BaseUrl = must("The address of OneFlow's server.", "http://one.example.org:2474")
    rpc: BaseUrl = must("The address of OpenNebula's XML-RPC API.", "http://one.example.org:2633/RPC2")
    vm_name: Text = key(
        "How OneFlow's server names machines: vm_name_template of oneflow-server.conf.",
        "$ROLE_NAME_$VM_NUMBER_(service_$SERVICE_ID)",
        default="$ROLE_NAME_$VM_NUMBER_(service_$SERVICE_ID)",
    )
