from __future__ import annotations

import hashlib
import hmac

import pytest

from config.units import Instant
from handler.ingest.alerts.signatures import SIGNATURE, TIMESTAMP, Forged, forged
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
