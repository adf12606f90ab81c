"""Signatures as Grafana makes them: HMAC-SHA256 over the raw body, in lower-case hex.

If Grafana is configured with a header for the time, it signs ``<Unix seconds>:<body>``. Here that header has one name.
Removing it from a signed request does not help an attacker: the signed text is then no JSON.

Source: Grafana's webhook contact point, "HMAC signature".
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import re
from collections.abc import Mapping

from config.units import Instant, Seconds

SIGNATURE = "x-grafana-alerting-signature"
TIMESTAMP = "x-grafana-alerting-timestamp"
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
    given = headers.get(SIGNATURE)
    if given is None:
        return Forged.UNSIGNED
    stamp = headers.get(TIMESTAMP)
    signed = body if stamp is None else stamp.encode("utf-8", "surrogatepass") + b":" + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogatepass")):
        return Forged.WRONG
    if stamp is not None and not (_SECONDS.fullmatch(stamp) and abs(now - int(stamp)) <= SKEW):
        return Forged.STALE
    return None
