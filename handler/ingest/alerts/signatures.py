"""Signatures of bodies, as Grafana and as senders of Standard Webhooks make them: both are HMAC-SHA256.

Grafana signs the raw body, in lower-case hex. If it is configured with a header for the time, it signs ``<Unix
seconds>:<body>``. Here that header has one name. Removing it from a signed request does not help an attacker: the
signed text is then no JSON. Standard Webhooks signs ``<id>.<Unix seconds>.<body>``, in base64, with as many signatures
as the sender has keys.

Sources: Grafana's webhook contact point, "HMAC signature"; the Standard Webhooks specification 1.0.
"""

from __future__ import annotations

import base64
import binascii
import enum
import hashlib
import hmac
import re
from collections.abc import Mapping

from config.units import Instant, Seconds

SIGNATURE = "x-grafana-alerting-signature"
TIMESTAMP = "x-grafana-alerting-timestamp"
STANDARD_ID = "webhook-id"
STANDARD_TIMESTAMP = "webhook-timestamp"
STANDARD = "webhook-signature"
STANDARD_KEY = "whsec_"
"""Begins a secret that is a key in base64; any other secret is its own UTF-8."""
SKEW: Seconds = 300.0
"""How far the sender's clock may be off, either way."""

_SECONDS = re.compile(r"\d{1,12}", re.ASCII)


class Forged(enum.Enum):
    """Why a signature does not count."""

    UNSIGNED = "there is no signature"
    WRONG = "the signature is not that of this body"
    STALE = "the time of the signature is more than 300 s away"


def forged(secret: str, headers: Mapping[str, str], body: bytes, now: Instant) -> Forged | None:
    """Return what is wrong with the signature of a body; ``None``: nothing.

    Args:
        secret: shared with the sender.
        headers: by lower-case name.
        body: as it came, before anything reads it.
        now: this moment.
    """
    if STANDARD in headers:
        return _standard(secret, headers, body, now)
    given = headers.get(SIGNATURE)
    if given is None:
        return Forged.UNSIGNED
    stamp = headers.get(TIMESTAMP)
    signed = body if stamp is None else stamp.encode("utf-8", "surrogatepass") + b":" + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogatepass")):
        return Forged.WRONG
    return None if stamp is None or _is_fresh(stamp, now) else Forged.STALE


def standard_signature(secret: str, id: str, stamp: str, body: bytes) -> str:
    """Return one signature of Standard Webhooks, ``v1,<base64>``.

    Raises:
        ValueError: the secret begins with ``whsec_``, and no base64 follows.
    """
    signed = f"{id}.{stamp}.".encode("utf-8", "surrogatepass") + body
    return "v1," + base64.b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()).decode()


def key_of(secret: str) -> bytes:
    """Return the key of a secret. Raises `ValueError` as `standard_signature`."""
    if not secret.startswith(STANDARD_KEY):
        return secret.encode()
    text = secret.removeprefix(STANDARD_KEY).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise ValueError("the secret begins with whsec_, and what follows is not base64") from None


def _standard(secret: str, headers: Mapping[str, str], body: bytes, now: Instant) -> Forged | None:
    stamp = headers.get(STANDARD_TIMESTAMP, "")
    try:
        expected = standard_signature(secret, headers.get(STANDARD_ID, ""), stamp, body).encode()
    except ValueError:
        return Forged.WRONG
    given = [each.encode("utf-8", "surrogatepass") for each in headers[STANDARD].split()]
    matches = [hmac.compare_digest(expected, each) for each in given]
    if not any(matches):
        return Forged.WRONG
    return None if _is_fresh(stamp, now) else Forged.STALE


def _is_fresh(stamp: str, now: Instant) -> bool:
    return _SECONDS.fullmatch(stamp) is not None and abs(now - int(stamp)) <= SKEW
