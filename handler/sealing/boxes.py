"""Encrypt and decrypt short secrets, each bound to the row that holds it. No clock, disk or network.

A sealed secret is ``1.KEY.BOX``: the form's number, the id of the key, and in base64url a nonce of 96 random bits and
what AES-256-GCM made of the secret. Ids and ciphertexts may be shown; keys may not.

Source: NIST SP 800-38D (GCM; up to 2³² random nonces per key), RFC 5869 (HKDF).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from config.errors import Refused, StoreError

_FORM = "1"
_NONCE = 12
_LEAST = 32
"""Characters of a key; those that are minted have 43, which are 256 random bits."""
_BOX = re.compile(r"1\.([0-9a-f]{8})\.([A-Za-z0-9_-]+)", re.ASCII)

RowName = tuple[str, ...]
"""The row that a sealed secret belongs to: its table, and what identifies it there."""


@dataclass(frozen=True, slots=True)
class SealKey:
    """A key, and the id by which sealed secrets name it."""

    id: str
    """Eight hexadecimal digits, derived from the key."""
    line: str = field(repr=False)
    """As it is kept."""
    _bytes: bytes = field(repr=False)

    @classmethod
    def of(cls, line: str) -> SealKey:
        """Make a key of a line of text with 256 random bits."""
        return cls(_derived(line, b"trimtab seal id", 4).hex(), line, _derived(line, b"trimtab seal key", 32))

    def seal(self, secret: str, row: RowName) -> str:
        """Encrypt a secret for one row."""
        nonce = secrets.token_bytes(_NONCE)
        box = nonce + AESGCM(self._bytes).encrypt(nonce, secret.encode(), _bound(row))
        return f"{_FORM}.{self.id}.{base64.urlsafe_b64encode(box).decode().rstrip('=')}"

    def open(self, sealed: str, row: RowName) -> str:
        """Decrypt what this key sealed for the row.

        Raises:
            StoreError: it was altered, or belongs to another row.
        """
        text = _box_of(sealed)
        try:
            box = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            return AESGCM(self._bytes).decrypt(box[:_NONCE], box[_NONCE:], _bound(row)).decode()
        except (InvalidTag, ValueError, binascii.Error) as error:
            raise StoreError(
                f"a sealed secret of {row[0]} was altered, or moved there from another row: "
                "revoke what it belongs to, and make a new one"
            ) from error


def key_of(sealed: str) -> str:
    """Return the id of the key that a secret is sealed under.

    >>> key_of("1.0a1b2c3d.AAAA")
    '0a1b2c3d'

    Raises:
        StoreError: it is no sealed secret.
    """
    return _parts(sealed)[1]


def keys_in(text: str, where: str) -> tuple[SealKey, ...]:
    """Read keys, one a line, the newest first.

    Raises:
        Refused: there is none, or one is too short; never repeats a line.
    """
    lines = text.split()
    for number, line in enumerate(lines, start=1):
        if len(line) < _LEAST:
            raise Refused(
                f"the seal's key in {where}, line {number}, has {len(line)} characters, expected {_LEAST} or more: "
                "make one with openssl rand -base64 32"
            )
    if not lines:
        raise Refused(f"{where} holds no key for the seal: make one with openssl rand -base64 32")
    return tuple(SealKey.of(line) for line in lines)


def mint() -> str:
    """Make a key."""
    return secrets.token_urlsafe(32)


def _derived(line: str, purpose: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=purpose).derive(line.encode())


def _bound(row: RowName) -> bytes:
    return json.dumps(["trimtab seal", *row], ensure_ascii=True).encode()


def _box_of(sealed: str) -> str:
    return _parts(sealed)[2]


def _parts(sealed: str) -> re.Match[str]:
    found = _BOX.fullmatch(sealed)
    if found is None:
        raise StoreError("the store holds a sealed secret in a form that this release does not read")
    return found
