from __future__ import annotations

import hashlib
import hmac

import pytest

from config.units import Instant
from handler.ingest.alerts.signatures import SIGNATURE, TIMESTAMP, Forged, forged, key_of
from tests.support.trigger import NOON

SECRET = "between us"
BODY = b'{"version": "1"}'
NOW = Instant(NOON)


def sign(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def stamped(seconds: float, body: bytes = BODY) -> dict[str, str]:
    stamp = f"{NOON + seconds:.0f}"
    return {SIGNATURE: sign(stamp.encode() + b":" + body), TIMESTAMP: stamp}


def test_a_signature_over_the_raw_body_is_genuine() -> None:
    assert forged(SECRET, {SIGNATURE: sign(BODY)}, BODY, NOW) is None


@pytest.mark.parametrize("off", [0.0, 300.0, -300.0])
def test_a_signature_over_time_and_body_is_genuine_while_it_is_fresh(off: float) -> None:
    assert forged(SECRET, stamped(off), BODY, NOW) is None


@pytest.mark.parametrize("off", [301.0, -301.0, 1e9])
def test_an_old_signature_is_stale(off: float) -> None:
    assert forged(SECRET, stamped(off), BODY, NOW) is Forged.STALE


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, Forged.UNSIGNED),
        ({SIGNATURE: ""}, Forged.WRONG),
        ({SIGNATURE: sign(BODY).upper()}, Forged.WRONG),
        ({SIGNATURE: sign(BODY)[:-1]}, Forged.WRONG),
        ({SIGNATURE: sign(BODY, "another")}, Forged.WRONG),
        ({SIGNATURE: sign(BODY + b" ")}, Forged.WRONG),
        ({SIGNATURE: "é"}, Forged.WRONG),
        ({SIGNATURE: sign(BODY), TIMESTAMP: f"{NOON:.0f}"}, Forged.WRONG),
        ({SIGNATURE: stamped(0.0)[SIGNATURE]}, Forged.WRONG),
        ({SIGNATURE: sign(b"now:" + BODY), TIMESTAMP: "now"}, Forged.STALE),
        ({SIGNATURE: sign(b"1e9:" + BODY), TIMESTAMP: "1e9"}, Forged.STALE),
        ({SIGNATURE: sign("١٢:".encode() + BODY), TIMESTAMP: "١٢"}, Forged.STALE),
    ],
    ids=["none", "empty", "upper case", "cut", "another secret", "another body", "no hex", "time not signed",
         "time taken away", "no time", "no digits", "other digits"],
)  # fmt: skip
def test_anything_else_is_forged(headers: dict[str, str], why: Forged) -> None:
    assert forged(SECRET, headers, BODY, NOW) is why


# Standard Webhooks. The signature is the one that the package standardwebhooks 1.1.0 from PyPI makes.

WHSEC = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
STANDARD = {
    "webhook-id": "evt-1",
    "webhook-timestamp": "1767268800",
    "webhook-signature": "v1,l8dN8p8dYh8Ba7eGQOcmNzcANhILJwe6hR+wP9Bmaw0=",
}
STANDARD_BODY = b'{"a": 1}'


def test_a_standard_signature_is_genuine_also_among_others() -> None:
    assert forged(WHSEC, STANDARD, STANDARD_BODY, NOW) is None
    among = {**STANDARD, "webhook-signature": f"v1a,AAAA v1,AAAA {STANDARD['webhook-signature']}"}
    assert forged(WHSEC, among, STANDARD_BODY, NOW) is None


@pytest.mark.parametrize(
    "changed",
    [{"webhook-id": "evt-2"}, {"webhook-timestamp": "1767268801"}, {"webhook-signature": ""},
     {"webhook-signature": "v2,l8dN8p8dYh8Ba7eGQOcmNzcANhILJwe6hR+wP9Bmaw0="}],
)  # fmt: skip
def test_a_standard_signature_covers_id_and_time(changed: dict[str, str]) -> None:
    assert forged(WHSEC, {**STANDARD, **changed}, STANDARD_BODY, NOW) is Forged.WRONG


def test_a_standard_signature_gets_stale_and_needs_the_secret_and_the_body() -> None:
    assert forged(WHSEC, STANDARD, STANDARD_BODY, Instant(NOON + 301)) is Forged.STALE
    assert forged("whsec_AAAA", STANDARD, STANDARD_BODY, NOW) is Forged.WRONG
    assert forged("whsec_?", STANDARD, STANDARD_BODY, NOW) is Forged.WRONG
    assert forged(WHSEC, STANDARD, b"", NOW) is Forged.WRONG


def test_a_secret_is_its_text_unless_it_is_marked_as_a_key() -> None:
    assert key_of("between us") == b"between us"
    assert key_of(WHSEC) == b"0123456789abcdef01234567"
    with pytest.raises(ValueError, match="base64"):
        key_of("whsec_?")
