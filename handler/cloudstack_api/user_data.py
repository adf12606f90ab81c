"""User data: base64 on the wire, text in a profile. Pure."""

from __future__ import annotations

import base64
import binascii

from handler.cloudstack_api.faults import wrong


def decoded(text: str) -> str:
    """Return user data as text.

    Raises:
        CloudstackFault: it is not base64 of UTF-8.
    """
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise wrong("userdata must be text in UTF-8, encoded in base64") from None


def encoded(text: str) -> str:
    """Return user data as it is sent."""
    return base64.b64encode(text.encode()).decode()
