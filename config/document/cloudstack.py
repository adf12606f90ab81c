"""How a CloudStack cloud is written in YAML, and what deploy parameters a profile may add."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import PlainValidator, WithJsonSchema

from config.document.addresses import BaseUrl
from config.document.declared import key, must
from config.document.events import EXAMPLE, CloudstackEventsDocument
from config.document.scalars import Given, PositiveSpan, Text, Yes
from config.document.sources import SecretDocument, TrustingDocument

_PARAMETER = r"[a-z][a-z0-9]*(\[[0-9]{1,3}\](\.[A-Za-z0-9_.-]{1,100})?)?"
_LONGEST = 4096

SET_HERE = frozenset(
    {"account", "affinitygroupids", "affinitygroupnames", "apikey", "command", "count", "customid", "displayname"}
    | {"domainid", "expires", "name", "networkids", "page", "pagesize", "projectid", "response", "serviceofferingid"}
    | {"sessionkey", "signature", "signatureversion", "startvm", "templateid", "userdata", "zoneid"}
)
"""Parameters of deployVirtualMachine that other keys decide, or that would hide a member from its own listing."""


def read_parameters(value: object) -> tuple[tuple[str, str], ...]:
    """Read more parameters of ``deployVirtualMachine``, sorted by name.

    Raises:
        ValueError: says what was expected.

    >>> read_parameters({"rootdisksize": 20, "keypair": "ops", "iothreadsenabled": True})
    (('iothreadsenabled', 'true'), ('keypair', 'ops'), ('rootdisksize', '20'))
    """
    expected = "parameters of deployVirtualMachine and their values, such as {rootdisksize: 20, keypair: ops}"
    if not isinstance(value, dict) or not value:
        raise ValueError(expected)
    read: list[tuple[str, str]] = []
    for name, given in value.items():
        if not isinstance(name, str) or not re.fullmatch(_PARAMETER, name) or not isinstance(given, str | int):
            raise ValueError(expected)
        plain = name.partition("[")[0]
        if plain in SET_HERE or plain == "details":
            raise ValueError(
                f"parameters of deployVirtualMachine that no key stands for and Trimtab leaves alone: not {plain}"
            )
        text = str(given).lower() if isinstance(given, bool) else str(given)
        if not 0 < len(text) <= _LONGEST or "\0" in text:
            raise ValueError(expected)
        read.append((name, text))
    return tuple(sorted(read))


Parameters = Annotated[
    tuple[tuple[str, str], ...],
    PlainValidator(read_parameters),
    WithJsonSchema(
        {
            "title": "parameter → value",
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": f"^{_PARAMETER}$"},
            "additionalProperties": {"type": ["string", "integer", "boolean"]},
        }
    ),
]


PROJECT = "The project that everything is in, by name or id."
NO_PROJECT = "the account itself"


class CloudstackDocument(TrustingDocument):
    """Members are virtual machines of a CloudStack account."""

    hidden: ClassVar[frozenset[str]] = frozenset({"endpoint", "api_key", "secret"})

    endpoint: BaseUrl = must("The address of the API.", "https://cloud.example.org/client/api")
    api_key: SecretDocument = must("Where the API key of the account's user is kept.", {"env": "CLOUDSTACK_KEY"})
    secret: SecretDocument = must("Where the user's secret key is kept.", {"file": "/etc/trimtab/cloudstack.secret"})
    project: Annotated[Text | None, Given] = key(PROJECT, "shop", left_out=NO_PROJECT)
    timeout: PositiveSpan = key("How long one answer may take, all of it.", "15s", default="15s")
    job_timeout: PositiveSpan = key(
        "How long to wait for a deployment or a removal; it goes on after that, and is found by its name.",
        "2m",
        default="2m",
    )
    expunge: Annotated[Yes | None, Given] = key(
        "Removed machines are expunged at once, and cannot be recovered; the account must be allowed to.",
        True,
        left_out="they can be recovered for as long as CloudStack keeps them",
    )
    events: Annotated[CloudstackEventsDocument | None, Given] = key(
        "The message bus on which CloudStack publishes what happens to machines; their groups are then looked at.",
        EXAMPLE,
        left_out="groups are looked at in turn alone",
    )
