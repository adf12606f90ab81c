"""Which answers of a provider prove a person: signed tokens of our own making, each with one thing wrong."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

from config.model.daemon import OidcProvider
from config.units import Instant
from handler.users.oidc_flow import OidcFlow, Unproved, proved, user_of

NOW = 1_800_000_000
ISSUER = "https://login.example.org"
PROVIDER = OidcProvider(issuer=ISSUER, client_id="trimtab", claim="email", users={"ada@example.org": "ada"})
FLOW = OidcFlow.begun("/groups/web")
KEY, OTHER = (RSAKey.generate_key(2048, {"kid": kid}) for kid in ("one", "two"))
KEYS: Any = KeySet([KEY]).as_dict(private=False)
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "aud": "trimtab",
    "sub": "1234",
    "exp": NOW + 300,
    "iat": NOW,
    "nonce": FLOW.nonce,
    "email": "ada@example.org",
    "email_verified": True,
}


def signed(claims: dict[str, Any], key: Any = KEY, algorithm: str = "RS256", kid: str = "one") -> str:
    return jwt.encode({"alg": algorithm, "kid": kid}, claims, key, algorithms=[algorithm])


def test_a_sound_token_proves_what_it_claims() -> None:
    claims = proved(signed(CLAIMS), KEYS, FLOW, PROVIDER, Instant(NOW))
    assert user_of(claims, PROVIDER) == "ada"


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "https://evil.example.org"},
        {"aud": "another-client"},
        {"aud": ["trimtab", "another-client"]},
        {"aud": ["trimtab", "another-client"], "azp": "another-client"},
        {"azp": "another-client"},
        {"nonce": "of-another-login"},
        {"nonce": None},
        {"exp": NOW - 61},
        {"exp": None},
        {"iat": NOW + 61},
        {"sub": None},
    ],
    ids=json.dumps,
)
def test_a_token_with_one_wrong_claim_proves_no_one(wrong: dict[str, Any]) -> None:
    claims = {name: value for name, value in (CLAIMS | wrong).items() if value is not None}
    with pytest.raises(Unproved):
        proved(signed(claims), KEYS, FLOW, PROVIDER, Instant(NOW))


def test_a_clock_that_is_a_minute_apart_is_no_reason() -> None:
    assert proved(signed(CLAIMS | {"exp": NOW - 59, "iat": NOW + 59}), KEYS, FLOW, PROVIDER, Instant(NOW))


def test_a_token_that_the_provider_did_not_sign_proves_no_one() -> None:
    sound = signed(CLAIMS)
    head, _, tail = sound.split(".")
    body = base64.urlsafe_b64encode(json.dumps(CLAIMS | {"sub": "5678"}).encode()).decode().rstrip("=")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    shared = OctKey.import_key("a secret that both sides would have to share")
    for token in (
        f"{head}.{body}.{tail}",
        f"{none}.{body}.",
        signed(CLAIMS, OTHER),
        signed(CLAIMS, shared, "HS256"),
        "no token",
        "",
        sound[:-4],
    ):
        with pytest.raises(Unproved):
            proved(token, KEYS, FLOW, PROVIDER, Instant(NOW))


def test_a_key_that_is_not_known_is_told_apart_so_that_keys_are_read_again() -> None:
    with pytest.raises(KeyError):
        proved(signed(CLAIMS, OTHER, kid="two"), KEYS, FLOW, PROVIDER, Instant(NOW))


def test_keys_on_curves_are_as_good() -> None:
    key = ECKey.generate_key("P-256", {"kid": "one"})
    keys: Any = KeySet([key]).as_dict(private=False)
    assert proved(signed(CLAIMS, key, "ES256"), keys, FLOW, PROVIDER, Instant(NOW))["sub"] == "1234"


# To the provider and back


def test_the_browser_takes_along_the_hash_of_what_only_it_can_show() -> None:
    sent = {name: value for name, (value,) in parse_qs(FLOW.sent(PROVIDER, "https://here/back")).items()}
    expected = base64.urlsafe_b64encode(hashlib.sha256(FLOW.verifier.encode()).digest()).decode().rstrip("=")
    assert (sent["code_challenge"], sent["code_challenge_method"]) == (expected, "S256")
    assert (sent["state"], sent["nonce"], sent["scope"]) == (FLOW.state, FLOW.nonce, "openid")
    assert FLOW.verifier not in "".join(sent.values())
    assert FLOW.verifier not in repr(FLOW)


def test_no_two_logins_share_anything() -> None:
    one, other = OidcFlow.begun("/"), OidcFlow.begun("/")
    assert not {one.state, one.nonce, one.verifier} & {other.state, other.nonce, other.verifier}


def test_a_flow_is_read_from_its_cookie_and_nothing_else_is_one() -> None:
    assert OidcFlow.of(FLOW.text) == FLOW
    empty = replace(FLOW, state="").text
    deep = base64.urlsafe_b64encode(b"[" * 6000).decode()
    for text in (
        deep,
        "",
        "x",
        "AAAA",
        "e30",
        empty,
        base64.urlsafe_b64encode(b'[1,"a","b","c"]').decode(),
        base64.urlsafe_b64encode(b'["\\ud800","a","b","/"]').decode(),
        "[" * 9999,
        "é",
    ):
        assert OidcFlow.of(text) is None


@pytest.mark.parametrize(
    "answer",
    [
        {"state": "of-another-login", "code": "c"},
        {"code": "c"},
        {"state": FLOW.state},
        {"state": FLOW.state, "error": "access_denied"},
        {"state": FLOW.state, "code": "c", "iss": "https://evil.example.org"},
    ],
)
def test_an_answer_that_is_not_of_this_login_gives_no_code(answer: dict[str, str]) -> None:
    with pytest.raises(Unproved):
        FLOW.code_in(answer, ISSUER)


def test_an_answer_of_this_login_gives_its_code() -> None:
    assert FLOW.code_in({"state": FLOW.state, "code": "c"}, ISSUER) == "c"
    assert FLOW.code_in({"state": FLOW.state, "code": "c", "iss": ISSUER}, ISSUER) == "c"


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"email": "eve@example.org", "email_verified": True},
        {"email": "ada@example.org"},
        {"email": "ada@example.org", "email_verified": False},
        {"email": "ada@example.org", "email_verified": "true"},
        {"email": "ADA@example.org", "email_verified": True},
        {"email": {"ada@example.org": 1}, "email_verified": True},
    ],
)
def test_a_person_who_is_not_mapped_is_no_user(claims: dict[str, Any]) -> None:
    assert user_of(claims, PROVIDER) is None
