from __future__ import annotations

import pytest

from collector.snmp.agents import Community, Identities, User, master_key
from config.errors import TrimtabError
from config.model.access import AuthProtocol, PrivProtocol, SecretRef, SnmpAccess, SnmpUser, SnmpVersion
from tests.support.snmp import SECRETS, a_user, an_access


def read(ref: SecretRef) -> str:
    if ref.env not in SECRETS:
        raise TrimtabError(f"{ref.env} is not set")
    return SECRETS[ref.env]


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (AuthProtocol.MD5, "9faf3283884e92834ebc9847d8edd963"),
        (AuthProtocol.SHA, "9fb5cc0381497b3793528939ff788d5d79145211"),
    ],
)
def test_master_keys_are_those_of_rfc_3414(protocol: AuthProtocol, expected: str) -> None:
    assert master_key(protocol, b"maplesyrup").hex() == expected


def test_without_a_secret_the_community_is_public() -> None:
    assert Identities().of(SnmpAccess(), read) == Community(SnmpVersion.V2C, "public")


def test_keys_are_derived_once_and_are_no_passwords() -> None:
    identities = Identities()
    access = a_user(161, "one", auth=AuthProtocol.SHA256, priv=PrivProtocol.AES)

    first, second = identities.of(access, read), identities.of(access, read)

    assert isinstance(first, User)
    assert isinstance(second, User)
    assert first.auth is not None
    assert second.auth is not None
    assert first.auth[1] is second.auth[1]
    assert SECRETS["AUTH"].encode() not in first.auth[1]


def test_a_secret_that_cannot_be_read_is_reported_and_not_raised() -> None:
    assert Identities().of(an_access(161, community="UNSET"), read) == "UNSET is not set"


@pytest.mark.parametrize(
    "identity",
    [Community(SnmpVersion.V2C, "s3cret"), User("one", (AuthProtocol.SHA, b"s3cret"), (PrivProtocol.AES, b"s3cret"))],
)
def test_secrets_are_not_shown(identity: object) -> None:
    assert "s3cret" not in repr(identity)


def test_a_user_without_a_password_needs_no_secret() -> None:
    access = SnmpAccess(version=SnmpVersion.V3, user=SnmpUser(name="one"))

    assert Identities().of(access, lambda ref: pytest.fail(f"{ref} is read")) == User("one")
