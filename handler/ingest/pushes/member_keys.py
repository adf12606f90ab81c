"""Tokens of members, and the keys they are made with: one, and while it is being replaced the one before it, too.

A token is made out of a key of the installation and the member's name, so none is kept anywhere. It is ``NAME.MAC``: it
says whose it is, and the key proves it. It speaks for that one member; whether that is still a member is for others to
say. Names are never used twice, so an old token never becomes valid for another member.

Source: RFC 2104 (HMAC), RFC 6234 (SHA-256).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

from config.errors import Refused
from config.units import MemberName
from handler import logs
from handler.runtime.ownership import read_private, write_private

_PURPOSE = b"trimtab member token 1\0"
_LONGEST = 300


def token_of(key: bytes, member: MemberName) -> str:
    """A member's token, fit for a header and for the environment.

    >>> token_of(b"key", MemberName("web-k3f9ab-1"))
    'web-k3f9ab-1.SD4LJQ_kqmoejyK76zJIaCikWakItcIudGAFuF81eiE'
    """
    mac = hmac.digest(key, _PURPOSE + _bytes(member), hashlib.sha256)
    return f"{member}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def bearer_of(keys: Sequence[bytes], token: str) -> MemberName | None:
    """Return the member of a token by any of these keys; all are tried, in constant time, even after a match."""
    offered = token if len(token) <= _LONGEST else ""
    member = MemberName(offered.rpartition(".")[0])
    fits = [hmac.compare_digest(_bytes(token_of(key, member)), _bytes(offered)) for key in keys]
    return member if any(fits) else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_SHORTEST = 32
"""Characters; those that are minted have 43, which are 256 random bits."""

_REMEDY = "restore it, or remove it and replace members"


class MemberKeys:
    """A file of the state directory, mode 0600: a key on each line, the newest first.

    Tokens are made in worker threads and known again on the event loop; both see all keys or none of a change.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys: tuple[bytes, ...] = ()

    def load(self) -> None:
        """Read the file; one that is not there yet is made.

        Raises:
            Refused: it cannot be read or made, or it holds no key.
        """
        try:
            found = read_private(self._path, _REMEDY)
            if found is None:
                self._write([secrets.token_urlsafe(32)])
                found = read_private(self._path, _REMEDY) or ""
        except OSError as error:
            raise Refused(f"{self._path} cannot be written: {error.strerror}") from error
        lines = found.split()
        if not lines or any(len(line) < _SHORTEST for line in lines):
            raise Refused(f"{self._path} holds no key; {_REMEDY}")
        self._keys = tuple(line.encode() for line in lines)

    def token(self, member: MemberName) -> str:
        """A member's token, by the newest key."""
        return token_of(self._keys[0], member)

    def bearer(self, token: str) -> MemberName | None:
        """Return the member of a token; ``None``: there is none."""
        return bearer_of(self._keys, token)

    async def rotate(self) -> None:
        """Make tokens with a new key from now on; those of the key before live until `finish` or the next rotation.

        Raises:
            Refused: it could not be written down.
        """
        await self._become([secrets.token_urlsafe(32), self._keys[0].decode()])
        logs.say("member_key_rotated")

    async def finish(self) -> None:
        """End all tokens but those of the newest key. Raises as `rotate`."""
        await self._become([self._keys[0].decode()])
        logs.say("member_key_rotation_finished")

    async def _become(self, lines: Sequence[str]) -> None:
        try:
            await asyncio.to_thread(self._write, lines)
        except OSError as error:
            raise Refused(f"{self._path} cannot be written: {error.strerror}") from error
        self._keys = tuple(line.encode() for line in lines)

    def _write(self, lines: Sequence[str]) -> None:
        """Write the key atomically, and onto the disk before any token is made with it."""
        write_private(self._path, "".join(f"{line}\n" for line in lines))
