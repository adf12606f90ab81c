"""Two PostgreSQL servers with one database: one streams from the other, and each is reached by a name that stays."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.postgresql import Server
from tests.support.waiting import until


@dataclass
class Pair:
    """A primary, whose commits wait for its standby, as long as it has one."""

    primary: Server
    names: tuple[Path, Path]
    """Links to the directories of both, as a zone of names points to machines."""
    undo: contextlib.ExitStack = field(repr=False)
    standby: Server | None = None

    @property
    def url(self) -> str:
        """The address of a database ``trimtab``, on whichever of the two writes."""
        hosts = ",".join(map(str, self.names))
        return f"postgresql://trimtab@/trimtab?host={hosts}&target_session_attrs=read-write"

    def join(self) -> None:
        """Have a new standby, under the name that the primary does not have."""
        directory = self.undo.enter_context(tempfile.TemporaryDirectory(prefix="trimtab-pg-"))
        self.standby = self.primary.copied(Path(directory))
        self.undo.callback(self.standby.stop)
        for name in self.names:
            if not name.exists() or name.resolve() != self.primary.directory:
                name.unlink(missing_ok=True)
                name.symlink_to(directory)
                break
        self.primary.set("synchronous_standby_names", "*")
        until(self._is_joined, every=0.05)

    def promote(self) -> None:
        """Kill the primary at once, and have its standby take its place, without one of its own."""
        assert self.standby is not None
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, None
        self.primary.set("synchronous_standby_names", "")  # it came with the copy, or else commits would wait for ever

    def _is_joined(self) -> bool:
        return self.primary.execute("SELECT sync_state FROM pg_stat_replication") == [("sync",)]


@contextlib.contextmanager
def a_pair(first: Server) -> Iterator[Pair]:
    """A server that runs, and a standby of it."""
    with contextlib.ExitStack() as undo:
        place = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="trimtab-db-")))
        place.chmod(0o755)  # the servers have another user
        names = place / "db1", place / "db2"
        names[0].symlink_to(first.directory)
        pair = Pair(first, names, undo)
        pair.join()
        yield pair
