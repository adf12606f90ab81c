"""A balancer of NetScaler as it is written in the file."""

from __future__ import annotations

from typing import Annotated, ClassVar

from config.document.declared import key, must
from config.document.scalars import BaseUrl, Given, PositiveSpan, Text, Yes
from config.document.sources import SecretDocument, TrustingDocument


class NetscalerBalancerDocument(TrustingDocument):
    """One service group of a NetScaler, steered over NITRO."""

    hidden: ClassVar[frozenset[str]] = frozenset({"password", "url"})

    url: BaseUrl = must("Its management address, that of the primary of a pair.", "https://192.0.2.10")
    user: Text = must("A user who may change the service group.", "trimtab")
    password: SecretDocument = must("Where the user's password is kept.", {"env": "NS_PASSWORD"})
    service_group: Text = must("The service group whose members are ours.", "web")
    delay: Annotated[PositiveSpan | None, Given] = key(
        "After so long the appliance closes what a drained member has left, whatever becomes of Trimtab.",
        "10m",
        left_out="Trimtab alone ends them",
    )
    save: Annotated[Yes | None, Given] = key(
        "Have the appliance keep changes over its own restart.", True, left_out="not"
    )
    timeout: PositiveSpan = key("How long an answer may take.", "10s", default="10s")
