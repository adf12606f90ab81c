"""The section ``vault``, as it is written."""

from __future__ import annotations

from typing import Annotated, ClassVar

from config.document.addresses import Url
from config.document.declared import Declared, key, must
from config.document.scalars import Given, PositiveSpan, Text, VaultMount
from config.document.sources import LocalSecretDocument, TrustingDocument
from config.model.access import AppRole, VaultAccess, VaultToken


class AppRoleDocument(Declared):
    """The role that Trimtab logs in as."""

    hidden: ClassVar[frozenset[str]] = frozenset({"role_id", "secret_id"})

    role_id: Text = must("Its role id.", "637f9f5f-494e-eedf-5e82-c133b7139cd5")
    secret_id: LocalSecretDocument = must("Where its secret id is kept.", {"credential": "vault-secret-id"})
    mount: VaultMount = key("Where the method is enabled, below auth/.", "approle", default="approle")


class VaultDocument(TrustingDocument):
    """HashiCorp Vault or OpenBao: Trimtab reads secrets of its KV engines, versions 1 and 2."""

    choice: ClassVar[tuple[str, ...]] = ("token", "approle")
    choice_of: ClassVar[str] = "how to log in"
    hidden: ClassVar[frozenset[str]] = frozenset({"url", "token", "approle"})

    url: Url = must("Its address, to which /v1 is added.", "https://vault.example.org:8200")
    token: Annotated[LocalSecretDocument | None, Given] = key(
        "Where a token is kept. It is read anew each time, and renewed while it can be.",
        {"file": "/etc/trimtab/vault-token"},
    )
    approle: Annotated[AppRoleDocument | None, Given] = key(
        "A role to log in as.",
        {"role_id": "637f9f5f-494e-eedf-5e82-c133b7139cd5", "secret_id": {"credential": "vault-secret-id"}},
    )
    namespace: Annotated[Text | None, Given] = key("The namespace of paths and login.", "ops/fleet", left_out="none")
    timeout: PositiveSpan = key("How long an answer may take.", "5s", default="5s")
    refresh: PositiveSpan = key("After it a secret is read again, or after half of its lease.", "5m", default="5m")

    @property
    def access(self) -> VaultAccess:
        """As the daemon sees it."""
        return VaultAccess(
            url=self.url,
            login=self._login,
            namespace=self.namespace,
            trust=self.trust,
            timeout=self.timeout,
            refresh=self.refresh,
        )

    @property
    def _login(self) -> VaultToken | AppRole:
        if self.token is not None:
            return VaultToken(token=self.token.ref)
        if (role := self.approle) is None:
            raise AssertionError("a vault without a login was validated")
        return AppRole(role_id=role.role_id, secret_id=role.secret_id.ref, mount=role.mount)
