"""What a vault answers: our small one, and a real one where it is named, are asked the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.clients.vault.client import VaultClient
from config.causes import FailureCause
from config.errors import Permanent
from config.model.access import AppRole, SecretRef, VaultAccess, VaultToken
from config.settings import read_secret
from tests.support.real_clouds import stages
from tests.support.vault import ALLOWED, FORBIDDEN, FakeVault, RealVault, VaultStage


@pytest.fixture(params=[pytest.param(FakeVault.running, id="ours"), *stages("vault", RealVault)])
def vault(request: pytest.FixtureRequest) -> Iterator[VaultStage]:
    if request.param is RealVault:
        yield RealVault()
        return
    with request.param() as fake:
        yield fake


def logged_in(vault: VaultStage, place: Path, *, token: str | None = None) -> VaultClient:
    """By a token, or by a role."""
    held = place / "held"
    if token is None:
        role_id, secret_id = vault.role()
        held.write_text(secret_id)
        login: VaultToken | AppRole = AppRole(role_id=role_id, secret_id=SecretRef(file=str(held)))
    else:
        held.write_text(token)
        login = VaultToken(token=SecretRef(file=str(held)))
    held.chmod(0o600)
    return VaultClient(VaultAccess(url=vault.url, login=login), lambda ref: read_secret(ref, {}))


@pytest.mark.parametrize(("mount", "lease"), [("secret", 0.0), ("kv1", 3600.0)], ids=["version 2", "version 1"])
@pytest.mark.parametrize("by", ["token", "role"])
def test_the_fields_of_a_secret_are_read(vault: VaultStage, tmp_path: Path, mount: str, lease: float, by: str) -> None:
    vault.write(f"{mount}/{ALLOWED}/db", {"password": "canary", "ttl": "1h", "port": 5432})
    client = logged_in(vault, tmp_path, token=vault.token() if by == "token" else None)
    answer = client.read(f"{mount}/{ALLOWED}/db", 0.0)
    assert answer.fields == {"password": "canary", "ttl": "1h"}
    assert answer.lease == lease
    assert "canary" not in repr(answer)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (f"secret/{ALLOWED}/nothing", "has nothing there"),
        (f"kv1/{ALLOWED}/nothing", "has nothing there"),
        (f"secret/{ALLOWED}/deleted", "has nothing there"),
        (f"secret/{FORBIDDEN}/db", "does not allow Trimtab to read secret/other/db"),
        (f"nowhere/{ALLOWED}/db", "does not allow Trimtab to find the engine of nowhere/app/db"),
        ("transit/keys/one", "is not in a KV engine"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_cause(vault: VaultStage, tmp_path: Path, path: str, why: str) -> None:
    vault.write(f"secret/{ALLOWED}/deleted", {"password": "canary"})
    vault.write(f"secret/{ALLOWED}/deleted", None)
    with pytest.raises(Permanent, match=why):
        logged_in(vault, tmp_path).read(path, 0.0)


def test_a_token_that_the_vault_does_not_know_is_refused_and_not_repeated(vault: VaultStage, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="check the login of the section vault") as caught:
        logged_in(vault, tmp_path, token="s.unknown-canary").read(f"secret/{ALLOWED}/db", 0.0)
    assert caught.value.cause is FailureCause.CREDENTIALS
    assert "canary" not in str(caught.value)


def test_a_wrong_secret_id_is_refused_and_not_repeated(vault: VaultStage, tmp_path: Path) -> None:
    client = logged_in(vault, tmp_path)
    (tmp_path / "held").write_text("wrong-canary")
    with pytest.raises(Permanent, match="refuses the request, to log in") as caught:
        client.read(f"secret/{ALLOWED}/db", 0.0)
    assert "canary" not in str(caught.value)


def test_a_role_logs_in_again_after_its_token_was_revoked(vault: VaultStage, tmp_path: Path) -> None:
    vault.write(f"secret/{ALLOWED}/db", {"password": "first"})
    client = logged_in(vault, tmp_path)
    assert client.read(f"secret/{ALLOWED}/db", 0.0).fields["password"] == "first"
    vault.revoke_all()
    vault.write(f"secret/{ALLOWED}/db", {"password": "second"})
    assert client.read(f"secret/{ALLOWED}/db", 1.0).fields["password"] == "second"


@pytest.mark.parametrize("by", ["token", "role"])
def test_a_login_is_renewed_when_half_of_its_lease_is_over(vault: VaultStage, tmp_path: Path, by: str) -> None:
    vault.write(f"secret/{ALLOWED}/db", {"password": "canary"})
    token = vault.token() if by == "token" else None
    if isinstance(vault, FakeVault) and token is not None:
        vault.tokens[token] = 60.0
    client = logged_in(vault, tmp_path, token=token)
    for now in (0.0, 29.0, 31.0, 60.0, 62.0):
        assert client.read(f"secret/{ALLOWED}/db", now).fields["password"] == "canary"
    if isinstance(vault, FakeVault):
        assert (vault.renewals, vault.logins) == (2, 0 if by == "token" else 1)
