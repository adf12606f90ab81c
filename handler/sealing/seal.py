"""The seal of a running daemon: encrypts under the newest key, and opens what any known key sealed."""

from __future__ import annotations

import threading

from config.errors import Refused, TrimtabError
from handler.sealing.boxes import RowName, SealKey, key_of, mint
from handler.sealing.key_sources import KeySource, OwnKeyFile


class Seal:
    """Keys in memory as they were last read. A key that cannot be read stops no fleet: only its secrets stay shut."""

    def __init__(self, source: KeySource) -> None:
        self._source = source
        self._keys: tuple[SealKey, ...] = ()
        self._trouble: str | None = None
        self._turn = threading.Lock()

    @property
    def where(self) -> str:
        """Where the keys are kept; not what they are."""
        return self._source.where

    @property
    def key(self) -> str | None:
        """The id of the newest key; ``None``: there is none."""
        return self._keys[0].id if self._keys else None

    @property
    def trouble(self) -> str | None:
        """Why the keys could not be read; ``None``: they could, or none has been needed so far."""
        return self._trouble

    def load(self, source: KeySource | None = None) -> None:
        """Read the keys again, from another place if one is given; what goes wrong is kept as `trouble`."""
        with self._turn:
            self._source = source or self._source
            try:
                self._keys, self._trouble = self._source.read(), None
            except TrimtabError as error:
                self._keys, self._trouble = (), str(error)

    def prepare(self, *, holds_secrets: bool) -> None:
        """Make sure that there is a key to seal under; the first one of a state directory is made here.

        Args:
            holds_secrets: the store holds sealed secrets, so that a missing file was lost and is not made anew.

        Raises:
            Refused: there is no key, and none may be made or can be read.
        """
        with self._turn:
            if self._keys:
                return
            if self._trouble is not None:
                raise Refused(self._trouble)
            if holds_secrets or not isinstance(self._source, OwnKeyFile):
                raise Refused(
                    f"{self.where} is missing, and the store holds secrets that are sealed under its key: put the file "
                    "back; if it is lost, first revoke what cannot be opened (trimtab seal status)"
                )
            self._source.write([mint()])
            self._keys = self._source.read()

    def renew(self) -> None:
        """Have a new key, before the ones that are known. A key that is referred to is only read again.

        Raises:
            Refused: the keys cannot be read or written.
        """
        with self._turn:
            keys = self._source.read()
            if isinstance(self._source, OwnKeyFile):
                self._source.write([mint(), *(key.line for key in keys)])
                keys = self._source.read()
            self._keys, self._trouble = keys, None

    def retire(self) -> None:
        """Forget all keys but the newest: nothing is sealed under the others any more. Raises `Refused`."""
        with self._turn:
            if isinstance(self._source, OwnKeyFile):
                self._source.write([self._keys[0].line])
            self._keys = self._keys[:1]

    def seal(self, secret: str, row: RowName) -> str:
        """Encrypt a secret for one row.

        Raises:
            Refused: there is no key.
        """
        keys = self._keys
        if not keys:
            raise Refused(self._trouble or f"{self.where} holds no key for the seal")
        return keys[0].seal(secret, row)

    def opens(self, sealed: str) -> bool:
        """Tell whether the key is known that a secret is sealed under."""
        return any(key.id == key_of(sealed) for key in self._keys)

    def open(self, sealed: str, row: RowName) -> str:
        """Decrypt a secret of one row.

        Raises:
            Refused: its key is not known.
            StoreError: it was altered, or belongs to another row.
        """
        wanted = key_of(sealed)
        for key in self._keys:
            if key.id == wanted:
                return key.open(sealed, row)
        raise Refused(
            f"this secret is sealed under key {wanted}, which {self.where} does not hold"
            f"{'' if self._trouble is None else f' ({self._trouble})'}: put that key back as a line of its own and "
            "reload, or revoke the secret and make a new one"
        )
