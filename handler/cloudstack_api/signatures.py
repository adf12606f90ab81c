"""Verify the signature of a request, as CloudStack does and as its clients really sign. Pure.

A client sorts the parameters by name, encodes the values, writes all of it in lower case, and signs that. Clients
differ in the order (by names as sent, or in lower case) and in the characters that they leave as they are (``~``,
``*``, brackets): each way is accepted. Names are not encoded, so names of other characters than CloudStack's are
refused: no two requests have one text to sign.

Source: CloudStack 4.22, `ApiServer.verifyRequest` and "Signing API Requests", version 3.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from config.units import Instant, Seconds

AHEAD_AT_MOST: Final[Seconds] = 15 * 60.0
"""How far ahead a request may expire."""
CLOCKS_APART: Final[Seconds] = 60.0
"""By how much a client's clock may run ahead: Go's client asks for all of the 15 minutes, by its own clock."""
_HASHES: Final = {20: hashlib.sha1, 32: hashlib.sha256, 64: hashlib.sha512}
"""By the bytes of a signature."""
_LEFT_AS_THEY_ARE: Final = ("*", "", "*[]")
"""Characters besides the unreserved ones: as Java and `cs` have it, Go's clients, and Libcloud."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.\-\[\]]{1,200}")
_TIMES: Final = ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z")


def is_signed(parameters: Mapping[str, str], secret: str) -> bool:
    """Tell whether a request has the signature that its sender's secret key makes, in constant time.

    Args:
        parameters: decoded, by the names as sent, the signature included.
        secret: the secret key.
    """
    given = _bytes_of(named(parameters, "signature"))
    hashed = _HASHES.get(len(given), hashlib.sha1)
    return any(
        hmac.compare_digest(given, hmac.new(secret.encode(), text.encode(), hashed).digest())
        for text in _texts(parameters)
    )


def named(parameters: Mapping[str, str], name: str) -> str:
    """Return the value of a parameter, whatever the case of its name; empty: there is none."""
    exact = parameters.get(name)
    if exact is not None:
        return exact
    return next((value for given, value in parameters.items() if given.lower() == name.lower()), "")


def is_timely(parameters: Mapping[str, str], now: Instant, *, require_expiry: bool) -> bool:
    """Tell whether a request has not expired. Only version 3 of signing has a time.

    Args:
        parameters: by the names as sent.
        now: the wall clock's time.
        require_expiry: requests of other versions are refused.
    """
    if named(parameters, "signatureVersion") != "3":
        return not require_expiry
    until = _instant(named(parameters, "expires"))
    return until is not None and now < until <= now + AHEAD_AT_MOST + CLOCKS_APART


def _texts(parameters: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts that clients sign for these parameters, each once."""
    pairs = [(name, value) for name, value in parameters.items() if name.lower() != "signature"]
    if not all(_NAME.fullmatch(name) for name, _ in pairs):
        return
    texts = set[str]()
    for order in (sorted(pairs), sorted(pairs, key=lambda pair: pair[0].lower())):
        for safe in _LEFT_AS_THEY_ARE:
            text = "&".join(f"{name}={quote(value, safe=safe, errors='replace')}" for name, value in order)
            for each in (text.replace("~", "%7E").lower(), text.lower()):
                if each not in texts:
                    texts.add(each)
                    yield each


def _bytes_of(signature: str) -> bytes:
    """Decode a signature; a sender that does not encode ``+`` makes it a blank. Empty: it is none."""
    try:
        return base64.b64decode(signature.replace(" ", "+").encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return b""


def _instant(text: str) -> Instant | None:
    """Read the time of an expiry: with an offset, ``Z``, or the older ``Z+0000``."""
    text = text.replace("Z+0000", "+0000")
    for form in _TIMES:
        try:
            return Instant(datetime.strptime(text, form).astimezone(UTC).timestamp())
        except (ValueError, OverflowError):
            continue
    return None
