"""The state directory: its lock, its installation id, and its files."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from pathlib import Path

from config.errors import Refused
from handler.runtime.ownership import read_private, take_directory, write_private

_INSTALLATION = re.compile(r"[a-z0-9]{6}")
_SHORTEST_TOKEN = 16
_TOKEN = re.compile(rf"[!-~]{{{_SHORTEST_TOKEN},256}}")
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


class StateDirectory:
    """One daemon's state directory, mode 0700, locked for as long as the process lives.

    The installation id is kept in a file of its own next to the store: when the store is lost, members are still known
    by their mark.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def store(self) -> Path:
        """The file that holds the store, unless PostgreSQL does (`handler.runtime.store_place`)."""
        return self.path / "trimtab.sqlite"

    @property
    def socket(self) -> Path:
        """The daemon's unix socket, mode 0600."""
        return self.path / "trimtab.sock"

    @property
    def listeners(self) -> Path:
        """Control sockets of shared listeners."""
        return self.path / "listeners"

    @property
    def member_keys(self) -> Path:
        """What members' tokens are made with, mode 0600."""
        return self.path / "member-keys"

    @property
    def seal_key(self) -> Path:
        """The key of the store's sealed secrets, mode 0600, unless the file refers to another one."""
        return self.path / "seal-key"

    @property
    def applied(self) -> Path:
        """The text of the file that was applied for all daemons over the store, mode 0600."""
        return self.path / "applied.yaml"

    @property
    def audit(self) -> Path:
        """The copy of the audit trail, mode 0600."""
        return self.path / "audit.jsonl"

    @property
    def forecasts(self) -> Path:
        """Loads of weeks, and what was learned from them."""
        return self.path / "forecasts"

    @property
    def recordings(self) -> Path:
        """What was recorded of samples."""
        return self.path / "recording"

    @property
    def checkpoints(self) -> Path:
        """Windows and holds, for the next daemon on this boot of the machine."""
        return self.path / "checkpoints"

    def hold(self) -> None:
        """Create and lock the directory.

        Raises:
            Refused: another process holds it (its pid is named), it cannot be made, or another account could have
                read or changed what is in it.
        """
        take_directory(self.path)
        try:
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(f"state directory {self.path}: {error.strerror}; name another one with --state") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(lock, 32, 0).decode().strip() or "unknown"
            os.close(lock)
            raise Refused(f"state directory {self.path} is held by process {holder}: one daemon at a time") from error
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock

    def release(self) -> None:
        """Let another daemon have the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def installation(self) -> str:
        """Six letters or digits that mark every member of this installation; minted once.

        Raises:
            Refused: the file is there and holds something else.
        """
        known = self.known_installation()
        if known is not None:
            return known
        minted = "".join(secrets.choice(_ALPHABET) for _ in range(6))
        write_private(self.path / "installation", f"{minted}\n")
        return minted

    def become(self, installation: str) -> None:
        """Have this installation id, if there is none yet: that of a store that was put back."""
        if self.known_installation() is None:
            write_private(self.path / "installation", f"{installation}\n")

    def known_installation(self) -> str | None:
        """Read the installation id; ``None``: none has been minted yet. Nothing is written.

        Raises:
            Refused: the file is there, and cannot be read or holds something else.
        """
        path = self.path / "installation"
        found = read_private(path, "restore it, or name another state directory with --state")
        if found is None:
            return None
        text = found.strip()
        if not _INSTALLATION.fullmatch(text):
            raise Refused(f"{path}: expected six lower-case letters or digits, found {text[:20]!r}; restore it")
        return text

    def token(self) -> str:
        """The bearer token for changes over TCP; minted once, mode 0600.

        Raises:
            Refused: the file is there and holds no token.
        """
        path = self.path / "token"
        remedy = f"rm {path}, and the next start makes a new token"
        found = read_private(path, remedy)
        if found is None:
            minted = secrets.token_urlsafe(32)
            write_private(path, f"{minted}\n")
            return minted
        token = found.strip()
        if not _TOKEN.fullmatch(token):
            raise Refused(
                f"{path} holds {len(token)} characters, expected one word of {_SHORTEST_TOKEN} to 256 letters, digits "
                f"and signs; {remedy}"
            )
        return token
