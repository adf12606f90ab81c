"""A vault: a small one of ours, and a real OpenBao or Vault where one is named (``TRIMTAB_REAL_VAULT``).

Ours answers as OpenBao 2.7.2 answered: `tests/collector/clients/vault/test_contract.py` asks both the same.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import hvac

from tests.support.real_clouds import VAULT, VAULT_TOKEN
from tests.support.wire_server import Befallen, Fault, WireHandler, served

ALLOWED, FORBIDDEN = "app", "other"
"""First parts of paths in each mount that a login of the stage may read, and may not."""


@dataclass(kw_only=True)
class FakeVault(Befallen):
    """What a vault holds: by mount its version, by path its fields, and who may read."""

    url: str = ""
    mounts: dict[str, str] = field(default_factory=lambda: {"secret": "2", "kv1": "1", "transit": ""})
    secrets: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    """``None``: its newest version is deleted."""
    tokens: dict[str, float] = field(default_factory=dict)
    """With their leases; 0: for ever."""
    roles: dict[str, str] = field(default_factory=dict)
    lease: float = 60.0
    """Of tokens that a role gets, and of renewals."""
    logins: int = 0
    renewals: int = 0
    heard: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and namespace of every request."""

    def write(self, path: str, fields: Mapping[str, Any] | None) -> None:
        """Write a secret; ``None`` deletes its newest version."""
        self.secrets[path] = None if fields is None else dict(fields)

    def token(self) -> str:
        """Make a token that may read what is allowed."""
        token = f"s.given-{len(self.tokens)}"
        self.tokens[token] = 0.0
        return token

    def role(self) -> tuple[str, str]:
        """Make a role; returns its id and a secret id."""
        self.roles["role-1"] = "secret-id-of-a-role-1"
        return "role-1", self.roles["role-1"]

    def revoke_all(self) -> None:
        """End every token."""
        self.tokens.clear()

    # Answers

    def answer(self, method: str, path: str, token: str, body: Any) -> tuple[int, Any]:
        """Return status and body, as OpenBao has them."""
        if path == "auth/approle/login":
            return self._login(body)
        if token not in self.tokens:
            return _errors(403, "permission denied")
        return self._of_itself(token, path) if path.startswith("auth/token/") else self._read(path)

    def _of_itself(self, token: str, path: str) -> tuple[int, Any]:
        if path.endswith("/renew-self"):
            self.renewals += 1
            return 200, _granted(token, self.lease)
        return 200, {"data": {"ttl": self.tokens[token], "renewable": self.tokens[token] > 0}}

    def _read(self, path: str) -> tuple[int, Any]:
        match path.split("/"):
            case ["sys", "internal", "ui", "mounts", mount, *_]:
                return self._mount(mount)
            case [mount, "data", *rest] if self.mounts.get(mount) == "2":
                return self._secret(mount, "/".join(rest), lambda fields: {"data": fields, "metadata": {"version": 1}})
            case [mount, *rest]:
                return self._secret(mount, "/".join(rest), lambda fields: fields)
            case _:
                return _errors(404)

    def _login(self, body: Any) -> tuple[int, Any]:
        if self.roles.get(body.get("role_id")) != body.get("secret_id"):
            return _errors(400, "invalid role or secret ID")
        self.logins += 1
        token = f"s.of-a-role-that-logged-in-{self.logins}"
        self.tokens[token] = self.lease
        return 200, _granted(token, self.lease)

    def _mount(self, mount: str) -> tuple[int, Any]:
        if mount not in self.mounts:
            return _errors(403, f'preflight capability check returned 403, please ensure access to path "{mount}/"')
        version = self.mounts[mount]
        kind = {"type": "kv", "options": {"version": version}} if version else {"type": "transit", "options": None}
        return 200, {"data": {**kind, "path": f"{mount}/"}}

    def _secret(self, mount: str, path: str, shaped: Callable[[Mapping[str, Any]], Any]) -> tuple[int, Any]:
        if path.startswith(FORBIDDEN):
            return _errors(403, "1 error occurred:\n\t* permission denied\n\n")
        if f"{mount}/{path}" not in self.secrets:
            return _errors(404)
        fields = self.secrets[f"{mount}/{path}"]
        if fields is None:
            return 404, {"data": {"data": None, "metadata": {"deletion_time": "2026-11-26T16:31:26Z", "version": 1}}}
        return 200, {"data": shaped(fields), "lease_duration": 3600 if mount == "kv1" else 0}

    @classmethod
    @contextlib.contextmanager
    def running(cls) -> Iterator[FakeVault]:
        """Serve one on the loopback while the block runs."""
        fake = cls()
        with served(_Handler, fake) as fake.url:
            yield fake


def _granted(token: str, lease: float) -> Any:
    return {"auth": {"client_token": token, "lease_duration": lease, "renewable": lease > 0}}


def _errors(status: int, *words: str) -> tuple[int, Any]:
    return status, {"errors": list(words)}


class _Handler(WireHandler):
    wire: FakeVault

    def answer(self) -> None:
        """Answer one request."""
        body, path = self.asked(), self.path.removeprefix("/v1/")
        self.wire.heard.append((self.command, path, self.headers.get("X-Vault-Namespace", "")))
        if self.wire.faults[path]:
            fault = self.wire.faults[path].popleft()
            self.give(fault, fault.body)
            return
        given = self.wire.answer(self.command, path, self.headers.get("X-Vault-Token", ""), json.loads(body or b"{}"))
        self.give(Fault(status=given[0]), json.dumps(given[1]).encode())


class RealVault:
    """A real server, through its root token; what it lacks for the tests is made once."""

    url = VAULT

    @cached_property
    def _admin(self) -> Any:
        client = hvac.Client(url=VAULT, token=VAULT_TOKEN)
        mounts = client.sys.list_mounted_secrets_engines()["data"]
        for mount, kind, options in (("kv1", "kv", {"version": "1"}), ("transit", "transit", None)):
            if f"{mount}/" not in mounts:
                client.sys.enable_secrets_engine(kind, path=mount, options=options)
        if "approle/" not in client.sys.list_auth_methods()["data"]:
            client.sys.enable_auth_method("approle")
        paths = (f"secret/data/{ALLOWED}/*", f"kv1/{ALLOWED}/*", "transit/*")
        policy = "\n".join(f'path "{path}" {{capabilities = ["read"]}}' for path in paths)
        client.sys.create_or_update_policy("trimtab-test", policy)
        client.auth.approle.create_or_update_approle(
            "trimtab-test", token_policies=["trimtab-test"], token_ttl="60s", token_max_ttl="10m"
        )
        return client

    def write(self, path: str, fields: Mapping[str, Any] | None) -> None:
        """As `FakeVault.write`."""
        mount, _, rest = path.partition("/")
        engine = self._admin.secrets.kv
        if fields is None:
            engine.v2.delete_latest_version_of_secret(rest, mount_point=mount)
        elif mount == "kv1":
            engine.v1.create_or_update_secret(rest, dict(fields), mount_point=mount)
        else:
            engine.v2.create_or_update_secret(rest, dict(fields), mount_point=mount)

    def token(self) -> str:
        """As `FakeVault.token`."""
        made = self._admin.auth.token.create(policies=["trimtab-test"], ttl="60s")
        return str(made["auth"]["client_token"])

    def role(self) -> tuple[str, str]:
        """As `FakeVault.role`."""
        approle = self._admin.auth.approle
        secret_id = approle.generate_secret_id("trimtab-test")["data"]["secret_id"]
        return approle.read_role_id("trimtab-test")["data"]["role_id"], secret_id

    def revoke_all(self) -> None:
        """As `FakeVault.revoke_all`: all tokens of the role."""
        self._admin.sys.revoke_prefix("auth/approle/login")


VaultStage = FakeVault | RealVault
