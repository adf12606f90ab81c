"""What the environment says: secrets, and where state is kept. The only reader of the environment."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from config.access import SecretRef
from config.errors import Refused

_LARGEST = 64 * 1024


def read_secret(ref: SecretRef, environ: Mapping[str, str]) -> str:
    """Fetch a secret from where it is kept. Line ends after it are no part of it.

    Raises:
        Refused: there is none, or others can read it; names the variable or the file, never the value.
    """
    if ref.env is not None:
        secret = environ.get(ref.env, "")
        if not secret:
            raise Refused(f"the environment variable {ref.env} holds no secret: set it before starting trimtab")
        return secret
    if ref.file is None:
        raise Refused("a secret must name an environment variable or a file")
    return _read_file(ref.file)


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where state is kept: ``TRIMTAB_STATE``, else under ``XDG_STATE_HOME``, else under ``~/.local/state``.

    A relative ``XDG_STATE_HOME`` is ignored, as the XDG base directory specification asks.
    """
    if chosen := environ.get("TRIMTAB_STATE"):
        return Path(chosen).absolute()
    shared = environ.get("XDG_STATE_HOME", "")
    if Path(shared).is_absolute():
        return Path(shared) / "trimtab"
    home = environ.get("HOME")
    return (Path(home) if home else Path.home()) / ".local" / "state" / "trimtab"


def cache_directory(environ: Mapping[str, str]) -> Path | None:
    """Where what can be made anew is kept: under ``XDG_CACHE_HOME``, else under ``~/.cache``; ``None``: nowhere.

    A relative ``XDG_CACHE_HOME`` is ignored, as the XDG base directory specification asks.
    """
    shared = environ.get("XDG_CACHE_HOME", "")
    if Path(shared).is_absolute():
        return Path(shared) / "trimtab"
    home = environ.get("HOME", "")
    return Path(home) / ".cache" / "trimtab" if Path(home).is_absolute() else None


def _read_file(name: str) -> str:
    """The permissions are those of the file that is read, not of another that took its name in between."""
    try:
        with Path(name).open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise Refused(f"the secret's file {name} cannot be read: {why}") from error
    if mode & stat.S_IROTH:
        raise Refused(f"the secret's file {name} can be read by everybody: chmod o-r {name}")
    return _secret_in(content, name)


def _secret_in(content: bytes, name: str) -> str:
    try:
        secret = content.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise Refused(f"the secret's file {name} is not UTF-8 text") from None
    if not secret:
        raise Refused(f"the secret's file {name} is empty")
    if len(content) > _LARGEST:
        raise Refused(f"the secret's file {name} is larger than {_LARGEST} bytes: is it the right file?")
    return secret
