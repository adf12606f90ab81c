"""What the environment says: secrets, and where state is kept. The only reader of the environment."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from config.errors import Problem, Refused
from config.model.access import SecretRef, secrets_in
from config.model.catalogue import Catalogue, Site
from config.model.where import Where

_LARGEST = 64 * 1024


def read_secret(ref: SecretRef, environ: Mapping[str, str]) -> str:
    """Fetch a secret from where it is kept. Line ends after it are no part of it.

    Raises:
        Refused: there is none, or others can read it; names the variable, the file or the credential, never the value.
    """
    if ref.env is not None:
        secret = environ.get(ref.env, "")
        if not secret:
            raise Refused(f"the environment variable {ref.env} holds no secret: set it before starting trimtab")
        return secret
    if ref.credential is not None:
        return _read_file(str(_credentials(ref.credential, environ) / ref.credential))
    if ref.vault is not None:
        raise Refused(f"{ref.place} cannot be read here: only what knows the file's section vault can reach it")
    if ref.file is None:
        raise Refused("a secret must name an environment variable, a file, a credential or a place in the vault")
    return _read_file(ref.file)


def _credentials(name: str, environ: Mapping[str, str]) -> Path:
    """Return the folder of this service's credentials. Source: systemd's CREDENTIALS.

    Raises:
        Refused: the service has none.
    """
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    if not Path(folder).is_absolute():
        raise Refused(
            f"the credential {name} is not there, since the service has none (CREDENTIALS_DIRECTORY): add "
            f"LoadCredential={name}:/etc/trimtab/{name} to its unit"
        )
    return Path(folder)


def loose_secrets(catalogue: Catalogue) -> tuple[Problem, ...]:
    """Find files of secrets that are open to a group that does not need them; each is a warning, reported once.

    A group that reads a file of another account is how this account gets to it. So it is a warning where Trimtab's
    account owns the file, or where a group may change it. What cannot be looked at is left to `read_secret`.
    """
    places = {ref.file: site for ref, site in secret_places(catalogue) if ref.file is not None}
    found = ((site, _looseness(file)) for file, site in places.items())
    return tuple(
        sorted(Problem(file=site.file, line=site.line, column=site.column, message=why) for site, why in found if why)
    )


def unread_secrets(catalogue: Catalogue, read: Callable[[SecretRef], str]) -> tuple[Problem, ...]:
    """Find secrets that cannot be read here and now, in the order of the file; each is a warning, reported once.

    ``read`` raises `Refused` for those. The file may be checked on another machine, or by another account, than those
    that it is written for.
    """
    found: dict[SecretRef, Problem] = {}
    for ref, site in secret_places(catalogue):
        if ref in found:
            continue
        try:
            read(ref)
        except Refused as error:
            found[ref] = Problem(file=site.file, line=site.line, column=site.column, message=f"{error} (as seen here)")
    return tuple(sorted(found.values()))


def secret_places(catalogue: Catalogue) -> Iterator[tuple[SecretRef, Site]]:
    """Yield every reference to a secret with the place of the entry that it belongs to."""
    for ref, where in secret_owners(catalogue):
        yield ref, catalogue.sites[where]


def secret_owners(catalogue: Catalogue) -> Iterator[tuple[SecretRef, Where]]:
    """Yield every reference to a secret with the entry that it belongs to."""
    for where, value in _owners(catalogue):
        for ref in secrets_in(value):
            yield ref, where


def _owners(catalogue: Catalogue) -> Iterator[tuple[Where, object]]:
    for section in ("sources", "counters", "clouds", "balancers", "profiles"):
        for name, entry in getattr(catalogue, section).items():
            yield (section, name), entry
    for cloud, bus in catalogue.event_buses.items():
        yield ("clouds", cloud), bus
    yield ("seal", "key"), catalogue.seal
    yield ("store",), catalogue.store
    yield ("vault",), catalogue.vault
    yield ("oidc",), catalogue.oidc
    for group in catalogue.groups.values():
        yield ("groups", group.id), group.notify


def _looseness(name: str) -> str | None:
    try:
        found = Path(name).stat()
    except (OSError, ValueError):
        return None
    if found.st_mode & stat.S_IWGRP:
        return f"the secret's file {name} can be changed by its group: chmod g-w {name}"
    if found.st_mode & stat.S_IRGRP and found.st_uid == os.geteuid():
        return f"the secret's file {name} can be read by its group, and Trimtab owns it: chmod 600 {name}"
    return None


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
        raise Refused(f"the secret's file {name} can be read by every user: chmod o-r {name}")
    if mode & stat.S_IWOTH:
        raise Refused(f"the secret's file {name} can be changed by every user: chmod o-w {name}")
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
