"""The provider of identities that persons log in with (OpenID Connect), as the daemon sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.model.access import BY_SYSTEM, SecretRef, Trust
from config.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider:
    """Where persons prove who they are, and which users of Trimtab they are then."""

    issuer: str
    """Its name, which is an address; its settings are below it."""
    client_id: str
    client_secret: SecretRef | None = None
    """``None``: a public client, which PKCE alone protects."""
    claim: str
    """What is looked up in ``users``: text, or a list of texts."""
    users: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Value of the claim → user of Trimtab, in the order of the file."""
    scopes: tuple[str, ...] = ("openid",)
    trust: Trust = BY_SYSTEM
    timeout: Seconds = 10.0
    """For each request to it."""
