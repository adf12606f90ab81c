"""Take and restore backups of a state directory: `trimtab backup` and `trimtab restore`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from config.errors import Refused
from config.model.daemon import PostgresqlPlace
from handler.runtime import clock
from handler.runtime.directory import StateDirectory
from handler.runtime.ownership import write_private
from handler.runtime.store_place import store_place
from handler.sealing.boxes import key_of
from handler.sealing.key_sources import OwnKeyFile
from handler.store.backup import Content, put_back, read_backup, write_backup

_BESIDE = ("member-keys",)
"""Files that authenticate members; without them the daemon rejects what members send. The key of the seal is none of
them: who gets a backup must not get the secrets in it."""


def take(state: Path, target: Path) -> Content:
    """Copy the store of a state directory, and the files beside it, into one file. A daemon may be running.

    Raises:
        Refused: the store is on PostgreSQL, whose own tools copy it; or it is itself the file that is named.
        StoreError: there is no store, it cannot be read, or the copy cannot be written.
    """
    directory = StateDirectory(state)
    _refuse_server(directory, "copy it with: pg_dump --format=custom --file=FILE --dbname=")
    if target.exists() and directory.store.exists() and target.samefile(directory.store):
        raise Refused(f"{target} is the store itself, which a daemon may be using: name another file")
    return write_backup(directory.store, target.absolute(), _beside(state))


def restore(state: Path, backup: Path) -> tuple[Content, Path | None]:
    """Restore a backup into a state directory that no daemon uses, and keep the store that it replaces.

    Returns:
        The backup's content, and where the replaced store is now (``None``: there was none).

    Raises:
        Refused: a daemon runs, the store is on PostgreSQL, or the backup is of another installation or a newer release.
        StoreError: the backup is damaged or is not a store, or a file cannot be written.
    """
    content = read_backup(backup)
    directory = StateDirectory(state)
    directory.hold()
    try:
        _refuse_server(directory, "restore a dump with: pg_restore --clean --if-exists --dbname=")
        own = directory.known_installation()
        if own is not None and own != content.installation:
            raise Refused(
                f"backup {backup} belongs to installation {content.installation}, and {state} to {own}: "
                "name the state directory that it was taken from, or an empty one"
            )
        aside = put_back(backup, directory.store, clock.wall())
        directory.become(content.installation)
        _lay_beside(state, content.beside)
    finally:
        directory.release()
    return content, aside


def missing_keys(state: Path, content: Content) -> tuple[str, ...]:
    """Return the ids of keys under which secrets of a backup are sealed, and which ``seal-key`` does not hold.

    The file of declarations may refer to another place, which is not looked at here.

    Raises:
        Refused: the file is there and cannot be read.
        StoreError: a secret is sealed in a form that this release does not read.
    """
    wanted = {key_of(sealed) for sealed in content.sealed}
    known = {key.id for key in OwnKeyFile(StateDirectory(state).seal_key).read()}
    return tuple(sorted(wanted - known))


def _refuse_server(directory: StateDirectory, remedy: str) -> None:
    place = store_place(directory)
    if isinstance(place, PostgresqlPlace):
        beside = ", ".join((*_BESIDE, "installation", "seal-key"))
        raise Refused(
            f"the store of {directory.path} is on PostgreSQL; {remedy}'{place.url}' (a dump has no file of the state "
            f"directory: keep {beside} as well)"
        )


def _beside(state: Path) -> Mapping[str, bytes]:
    return {name: (state / name).read_bytes() for name in _BESIDE if (state / name).exists()}


def _lay_beside(state: Path, files: Mapping[str, bytes]) -> None:
    """Write the small files that are missing; an existing file is newer than the backup's."""
    for name in _BESIDE:
        if name in files and not (state / name).exists():
            write_private(state / name, files[name].decode())
