"""Sign commands for CloudStack's API with a key and its secret.

Source: CloudStack's documentation, "Signing API Requests", version 3; `ApiServer.verifyRequest`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from urllib.parse import quote

from config.units import Instant, Seconds

FORM: Mapping[str, str] = MappingProxyType({"Content-Type": "application/x-www-form-urlencoded"})
"""Headers of a command."""
_GOOD_FOR: Seconds = 600.0
"""CloudStack refuses an older command, so an intercepted one cannot be replayed later."""


def system_time() -> Instant:
    """Return the system clock's time: CloudStack compares it with its own, so an injected clock will not do."""
    return Instant(time.time())  # noqa: TID251  see above


def signed(command: str, parameters: Mapping[str, str], *, key: str, secret: str, now: Instant) -> bytes:
    """Write a command as the body of a POST: addresses are written into logs, bodies are not.

    >>> body = signed("listZones", {"name": "Paris 1"}, key="k", secret="s", now=Instant(1769853600.0))
    >>> body.decode().split("&")[:4]
    ['apiKey=k', 'command=listZones', 'expires=2026-01-31T10%3A10%3A00%2B0000', 'name=Paris%201']
    >>> body.decode().split("&")[-1]
    'signature=%2FsRI0F7i84YHim%2Fwvs2zhL9TSz4%3D'
    """
    until = datetime.fromtimestamp(now + _GOOD_FOR, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")
    own = {"apiKey": key, "command": command, "expires": until, "response": "json", "signatureVersion": "3"}
    given = sorted({**parameters, **own}.items())
    pairs = [f"{name}={_encoded(value)}" for name, value in given]
    digest = hmac.new(secret.encode(), "&".join(pairs).lower().encode(), hashlib.sha1).digest()
    return "&".join([*pairs, f"signature={quote(base64.b64encode(digest), safe='')}"]).encode()


def _encoded(value: str) -> str:
    """Encode as ``java.net.URLEncoder``, which CloudStack uses for the signature, but blanks as ``%20``."""
    return quote(value, safe="*").replace("~", "%7E")
