"""Two PostgreSQL servers with one database: one streams from the other, and each has a place and a port that stay."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.ports import free_tcp_port
from tests.support.postgresql import QUICK, Server
from tests.support.waiting import until

_TOGETHER = (
    *QUICK,
    "listen_addresses=*",
    "min_wal_size=32MB",
    "max_wal_size=32MB",
    "wal_keep_size=64MB",  # what a standby lacks that comes back soon
    "wal_retrieve_retry_interval=200ms",
)


@dataclass
class Pair:
    """A primary, whose commits wait for its standby, as long as it has one."""

    primary: Server
    standby: Server | None = None
    _left: tuple[Path, int] | None = None
    """Place and port that no server has."""

    @property
    def ports(self) -> tuple[int, int]:
        """The ports of both, in an order that stays."""
        other = self.standby.port if self.standby is not None else self._left[1] if self._left is not None else 0
        first, second = sorted((self.primary.port, other))
        return first, second

    def url(self, host: str, database: str) -> str:
        """The address of a database, on whichever of the two writes."""
        hosts = ",".join(f"{host}:{port}" for port in self.ports)
        return f"postgresql://trimtab@{hosts}/{database}?target_session_attrs=read-write"

    def join(self) -> None:
        """Have a new standby, where no server is."""
        assert self._left is not None
        place, port = self._left
        shutil.rmtree(place / "data", ignore_errors=True)
        self.standby, self._left = self.primary.copied(place, port), None
        self.primary.set("synchronous_standby_names", "*")
        until(self.is_joined, every=0.05)

    def promote(self) -> None:
        """Kill the primary at once, and have its standby take its place, without one of its own."""
        assert self.standby is not None
        lost = self.primary
        lost.kill()
        self.standby.promote()
        self.primary, self.standby, self._left = self.standby, None, (lost.directory, lost.port)
        self.primary.set("synchronous_standby_names", "")  # it came with the copy, or else commits would wait for ever

    def is_joined(self) -> bool:
        """Whether the primary commits, and its standby has what it commits."""
        with contextlib.suppress(psycopg.Error):
            return self.primary.execute("SELECT sync_state FROM pg_stat_replication") == [("sync",)]
        return False


@contextlib.contextmanager
def a_pair(*places: Path, trusted: str) -> Iterator[Pair]:
    """Two servers, in two places, that let everyone in who comes from a network."""
    here, there = places
    pair = Pair(Server(here, _TOGETHER, free_tcp_port()), None, (there, free_tcp_port()))
    try:
        pair.primary.initialise()
        pair.primary.start()
        pair.primary.trust(trusted)
        pair.join()
        yield pair
    finally:
        for server in (pair.standby, pair.primary):  # a primary that stops would wait for its standby
            if server is not None:
                server.stop()
