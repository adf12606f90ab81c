"""The state directory: who holds it, which installation it is, and where everything lies."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from pathlib import Path

from config.errors import Refused

_INSTALLATION = re.compile(r"[a-z0-9]{6}")
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


class StateDirectory:
    """One daemon's state directory, mode 0700, locked for as long as the process lives.

    The installation id lies in a file of its own beside the store: when the store is lost, members are still known
    by their mark.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def store(self) -> Path:
        """The database."""
        return self.path / "trimtab.sqlite"

    @property
    def socket(self) -> Path:
        """The daemon's own door, mode 0600."""
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
    def recordings(self) -> Path:
        """What was recorded of samples."""
        return self.path / "recording"

    def hold(self) -> None:
        """Create and lock the directory.

        Raises:
            Refused: another process holds it (its pid is named), or it cannot be made.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.chmod(0o700)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        self._write_once(self.path / "installation", minted)
        return minted

    def known_installation(self) -> str | None:
        """Read the installation id; ``None``: none has been minted yet. Nothing is written.

        Raises:
            Refused: the file is there, and cannot be read or holds something else.
        """
        path = self.path / "installation"
        try:
            text = path.read_text().strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}; name another state directory with --state") from error
        if not _INSTALLATION.fullmatch(text):
            raise Refused(f"{path}: expected six lower-case letters or digits, found {text[:20]!r}; restore it")
        return text

    def token(self) -> str:
        """The bearer token for changes over TCP; minted once, mode 0600."""
        path = self.path / "token"
        if not path.exists():
            self._write_once(path, secrets.token_urlsafe(32))
        return path.read_text().strip()

    @staticmethod
    def _write_once(path: Path, text: str) -> None:
        """Write a small file so that it is whole or not there, and on disk before anyone relies on it."""
        draft = path.with_suffix(".new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, f"{text}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        draft.rename(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
