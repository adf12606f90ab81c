"""The section ``oidc``, as it is written."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from config.document.addresses import Url
from config.document.declared import key, must
from config.document.scalars import Given, PositiveSpan, Text
from config.document.sources import SecretDocument, TrustingDocument
from config.model.daemon import OidcProvider


class OidcDocument(TrustingDocument):
    """OpenID Connect: who logs in to the console with a provider, and as which user."""

    hidden: ClassVar[frozenset[str]] = frozenset({"issuer", "client_secret"})

    issuer: Url = must(
        "The provider, as it calls itself; its settings are at /.well-known/openid-configuration below it.",
        "https://login.example.org/realms/ops",
    )
    client_id: Text = must("What the provider calls this installation.", "trimtab")
    client_secret: Annotated[SecretDocument | None, Given] = key(
        "Where the client's secret is kept.", {"file": "/etc/trimtab/oidc"}, left_out="a public client, with PKCE alone"
    )
    claim: Text = must("The claim that says who a person is. An email counts only if it is verified.", "email")
    users: Annotated[dict[Text, Text], Field(min_length=1)] = must(
        "Values of the claim, and the user that each logs in as; the first one that fits. All others are refused.",
        {"ada@example.org": "ada"},
    )
    scopes: list[Text] = key("What is asked for.", ["openid", "email"], default=["openid"])
    timeout: PositiveSpan = key("How long each answer of the provider may take.", "10s", default="10s")

    @field_validator("scopes")
    @classmethod
    def _with_openid(cls, value: list[str]) -> list[str]:
        if "openid" not in value:
            raise PydanticCustomError("sentence", "openid is missing: without it, no identity is given", {"key": ""})
        return value

    @property
    def provider(self) -> OidcProvider:
        """As the daemon sees it."""
        return OidcProvider(
            issuer=self.issuer,
            client_id=self.client_id,
            client_secret=None if self.client_secret is None else self.client_secret.ref,
            claim=self.claim,
            users=MappingProxyType(dict(self.users)),
            scopes=tuple(self.scopes),
            trust=self.trust,
            timeout=self.timeout,
        )
