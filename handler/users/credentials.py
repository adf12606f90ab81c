"""How the users of a running daemon prove themselves, apart from tokens: passwords, sessions and key pairs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from config.units import Moment
from handler import logs
from handler.ports.credentials import KeyPairStore, PasswordStore
from handler.sealing.key_sources import KeySource
from handler.sealing.seal import Seal
from handler.users.key_pairs import KnownKeyPairs
from handler.users.known import KnownUsers
from handler.users.login import Login
from handler.users.passwords import KnownPasswords
from handler.users.sessions import Sessions


class CredentialStore(KeyPairStore, PasswordStore, Protocol):
    """The part of the store that credentials need."""


class Credentials:
    """What each kind of credential keeps, and the seal under which the secrets among them are encrypted."""

    def __init__(self, store: CredentialStore, users: KnownUsers, seal: Seal, clock: Callable[[], Moment]) -> None:
        self.seal = seal
        self.passwords = KnownPasswords(store, users, lambda: clock().wall)
        self.sessions = Sessions(lambda: clock().steady)
        self.login = Login(users, self.passwords, self.sessions, lambda: clock().steady)
        self.key_pairs = KnownKeyPairs(store, users, seal, lambda: clock().wall)

    async def load(self) -> None:
        """Read the store. Raises `StoreError`."""
        await self.key_pairs.load()
        await self.passwords.load()

    async def take_key(self, source: KeySource) -> None:
        """Read the seal's key; one that cannot be read stops only what needs it, and the log says so."""
        await asyncio.to_thread(self.seal.load, source)
        if self.seal.trouble is not None:
            logs.warn("seal_key_unread", key_in=self.seal.where, error=self.seal.trouble)

    async def flush(self) -> None:
        """Write when key pairs were last used. Raises `StoreError`."""
        await self.key_pairs.flush()
