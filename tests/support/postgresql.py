"""A real PostgreSQL of our own: in the foreground, on a unix socket, with nothing outside its directory."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy.exc import OperationalError

from config.model.daemon import PostgresqlPlace
from tests.support.waiting import PATIENT, until

_USER = "trimtab"
_USUAL = 5432
QUICK = ("fsync=off", "full_page_writes=off", "max_connections=60", "shared_buffers=16MB", "autovacuum=off")
"""Settings of a server that need not survive its machine."""


def broken() -> OperationalError:
    """The error of a transaction whose connection broke during its commit."""
    return OperationalError("COMMIT", {}, psycopg.OperationalError("it is gone"), connection_invalidated=True)


@dataclass
class Server:
    """One server; ``start`` and ``kill`` as often as a test likes."""

    directory: Path
    settings: tuple[str, ...] = QUICK
    port: int = _USUAL
    """Of its socket; and of TCP, if the settings have it listen there."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def place(self, database: str) -> PostgresqlPlace:
        """Where a store in this database is."""
        port = f"&port={self.port}" if self.port != _USUAL else ""
        return PostgresqlPlace(url=f"postgresql://{_USER}@/{database}?host={self.directory}{port}")

    def execute(self, statement: str, place: PostgresqlPlace | None = None) -> list[tuple[Any, ...]]:
        """Run a statement outside any transaction; its rows."""
        with psycopg.connect((place or self.place("postgres")).url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def set(self, name: str, value: str) -> None:
        """Change a setting of the server, now and for later starts."""
        self.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        self.execute("SELECT pg_reload_conf()")

    def trust(self, network: str) -> None:
        """Let everyone in who comes from a network."""
        with (self.data / "pg_hba.conf").open("a") as lines:
            lines.write(f"host all all {network} trust\n")
        self.execute("SELECT pg_reload_conf()")

    def create(self, database: str, template: str = "template0") -> PostgresqlPlace:
        """Make a database like another one, to which nothing is connected."""
        self.execute(f'CREATE DATABASE "{database}" TEMPLATE "{template}"')
        return self.place(database)

    def drop(self, database: str) -> None:
        self.execute(f'DROP DATABASE "{database}" WITH (FORCE)')

    def initialise(self) -> None:
        """Make the files of a server."""
        owner = _owner()
        os.chown(self.directory, owner.pw_uid, owner.pw_gid)
        plain = ("-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        command = [_program("initdb"), "-D", self.data, "-U", _USER, *plain]
        subprocess.run(command, check=True, capture_output=True, cwd=self.directory, **_as(owner))

    def copied(self, directory: Path, port: int) -> Server:
        """A standby that streams from this server, and answers."""
        copy, owner = Server(directory, self.settings, port), _owner()
        os.chown(directory, owner.pw_uid, owner.pw_gid)
        streaming = ("-R", "-X", "stream", "-c", "fast", "--no-sync")
        origin = ("-h", self.directory, "-p", str(self.port), "-U", _USER)
        command = [_program("pg_basebackup"), *origin, "-D", copy.data, *streaming]
        subprocess.run(command, check=True, capture_output=True, cwd=directory, **_as(owner))
        copy.start()
        return copy

    def promote(self) -> None:
        """Make a standby the primary."""
        command = [_program("pg_ctl"), "promote", "-w", "-D", self.data]
        subprocess.run(command, check=True, capture_output=True, cwd=self.directory, **_as(_owner()))

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself, or was killed."""
        return self._process is not None and self._process.poll() is not None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        log = self.directory / "log"
        settings = (f"-c{setting}" for setting in ("listen_addresses=", *self.settings))
        command = [_program("postgres"), "-D", self.data, "-k", self.directory, "-p", str(self.port), *settings]
        with log.open("ab") as lines:
            process = subprocess.Popen(command, stdout=lines, stderr=lines, cwd=self.directory, **_as(_owner()))
        self._process = process
        until(self._answers, process=process, log=log)

    def processes(self) -> tuple[int, ...]:
        """The process that listens, and those of sessions and of the server's own work."""
        assert self._process is not None
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return pid, *map(int, children)

    def kill(self) -> None:
        """End every process of it at once, as a power cut would."""
        assert self._process is not None
        for each in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._process.wait(timeout=PATIENT)

    def stop(self) -> None:
        """End it, with its sessions, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=PATIENT)

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError):
            return self.execute("SELECT 1") == [(1,)]
        return False


@contextlib.contextmanager
def running(*settings: str) -> Iterator[Server]:
    """Start a server; stop it when the block ends, and delete what it stored."""
    with tempfile.TemporaryDirectory(prefix="trimtab-pg-") as directory:
        server = Server(Path(directory), settings or QUICK)
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _program(name: str) -> str:
    found = shutil.which(name)
    assert found is not None, f"{name} is not here: the test needs @pytest.mark.real({name!r})"
    return found


def _owner() -> pwd.struct_passwd:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def _as(owner: pwd.struct_passwd) -> dict[str, Any]:
    return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
