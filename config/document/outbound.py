"""The section ``outbound``, as it is written."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import PlainValidator

from config.document.declared import Declared, key, worded
from config.document.listening import read_network
from config.model.outbound import NEVER, Outbound


def read_allowed(value: object) -> str:
    """Read a network that URLs may lead to.

    Raises:
        ValueError: says what was expected.
    """
    network = ipaddress.ip_network(read_network(value))
    if any(network.version == never.version and network.subnet_of(never) for never in NEVER):  # type: ignore[arg-type]
        raise ValueError("allowed: link-local and multicast addresses, and those of clouds' metadata, are never asked")
    return str(network)


AllowedNetwork = Annotated[str, PlainValidator(read_allowed), worded("network", "CIDR notation", type="string")]


class OutboundDocument(Declared):
    """Where URLs that are declared over the API may lead. URLs of this file lead where they say."""

    allow_private: list[AllowedNetwork] = key(
        "Networks that are not public and that they may lead to all the same. Link-local addresses and those of "
        "clouds' metadata are never asked.",
        ["10.20.0.0/16"],
        default=[],
    )

    @property
    def settings(self) -> Outbound:
        """As the core sees it."""
        return Outbound(allow_private=tuple(self.allow_private))
