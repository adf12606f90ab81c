"""A real Trimtab daemon, started as an operator starts it, and everything that it leaves behind taken away."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from config.errors import Transient
from config.model.balancers import SharedListener
from config.units import BalancerId
from handler.balancers.shared_listener.driver import SharedListenerBalancer
from handler.cli.main import app
from handler.orchestrators.process import procfs
from tests.support.forking import forked
from tests.support.orchestrators import bearing
from tests.support.waiting import PATIENT, Process, until

TRIMTAB = Path(sys.executable).with_name("trimtab")
_LISTENING = re.compile(r"event=listening url=http://127\.0\.0\.1:(\d+)")
COMMUNITY = "c0mmunity-s3cret"
"""A secret that must not show anywhere."""


@dataclass
class CommandResult:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Daemon:
    """One state directory and one file; ``start`` and ``stop`` as often as a test likes."""

    place: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    process: Process | None = None
    port: int = 0

    @property
    def file(self) -> Path:
        return self.place / "model.yaml"

    @property
    def state(self) -> Path:
        return self.place / "state"

    @property
    def socket(self) -> Path:
        return self.state / "trimtab.sock"

    @property
    def log(self) -> Path:
        return self.place / "log"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def token(self) -> str:
        return (self.state / "token").read_text().strip()

    @property
    def installation(self) -> str:
        return (self.state / "installation").read_text().strip()

    # Its life

    def start(self) -> Daemon:
        """Start it, and wait until it listens."""
        with self.log.open("ab") as log:
            size = log.tell()
            command = ("run", self.file, "--state", self.state, "--port", "0")
            self.process = forked(command, {**os.environ, **self.environment}, log)

        def listens() -> bool:
            found = _LISTENING.search(self.log.read_text()[size:])
            self.port = int(found[1]) if found else 0
            return found is not None

        until(listens, every=0.05, process=self.process, log=self.log)
        return self

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal and wait for its end; the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENT)

    def clear(self) -> None:
        """End the daemon, its members and its listeners' holders, whatever became of them."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=PATIENT)
        if (self.state / "installation").exists():
            mark = f"TRIMTAB_INSTALLATION={self.installation}"
            until(lambda: not _killed(mark))
        for control in self.state.glob("listeners/*.sock"):
            _end(control)

    def declare(self, text: str) -> None:
        self.file.write_text(text)

    # What it says

    def trimtab(self, *arguments: str) -> CommandResult:
        """Run a command against it."""
        return typed(*arguments, "--state", str(self.state))

    def json(self, *arguments: str) -> Any:
        """Run a command that must succeed, with ``--json``."""
        result = self.trimtab(*arguments, "--json")
        assert result.code == 0, result
        return result.json

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        bearer: str | None = None,
        unix: bool = False,
    ) -> Answer:
        """One request over TCP, or over the unix socket."""
        connection = _Unix(self.socket) if unix else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENT)
        sent = dict(headers or {})
        payload = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if payload is not None:
            sent.setdefault("Content-Type", "application/json")
        if bearer is not None:
            sent["Authorization"] = f"Bearer {bearer}"
        try:
            connection.request(method, path, payload, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read().decode())
        finally:
            connection.close()

    def group(self, name: str = "web") -> Any:
        """The group's status as the API gives it."""
        return self.ask("GET", f"/api/v1/groups/{name}", unix=True).json

    def serving(self, name: str = "web") -> list[str]:
        """Names of the members in service."""
        return [member["name"] for member in self.group(name)["members"] if member["state"] == "in_service"]

    def settled(self, size: int, name: str = "web", within: float = PATIENT) -> None:
        """Wait until exactly so many members are there, all in service."""

        def holds() -> bool:
            group = self.group(name)
            states = [member["state"] for member in group["members"]]
            return states == ["in_service"] * size and group["desired"] == size and not group["waits"]

        until(holds, within=within, every=0.05, process=self.process, log=self.log)

    def pids(self) -> dict[str, int]:
        """Member → its living process, from the roll."""
        found = {}
        for link in sorted((self.state / "members").glob("*-*")):
            with contextlib.suppress(FileNotFoundError):  # struck off the roll meanwhile
                process = procfs.look(int(str(link.readlink()).split(":")[0]))
                if process is not None and process.alive:
                    found[link.name] = process.pid
        return found

    def lines(self, event: str) -> list[str]:
        """Lines of the log about one event."""
        return [line for line in self.log.read_text().splitlines() if f" event={event} " in f"{line} "]


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("trimtab", timeout=PATIENT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def typed(*arguments: str) -> CommandResult:
    """Run a command in this process: the imports are done, a hundred commands take no time."""
    done = CliRunner().invoke(app, arguments, prog_name="trimtab")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return CommandResult(done.exit_code, done.stdout, done.stderr)


def trimtab(*arguments: str, within: float = PATIENT) -> CommandResult:
    """Run a command as a shell does."""
    done = subprocess.run([TRIMTAB, *arguments], capture_output=True, text=True, timeout=within, check=False)
    return CommandResult(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def a_daemon(text: str, environment: Mapping[str, str] | None = None) -> Iterator[Daemon]:
    """A daemon that can be started; its place is short enough for unix sockets."""
    with tempfile.TemporaryDirectory(prefix="trimtab-") as place:
        daemon = Daemon(Path(place), environment or {})
        daemon.declare(text)
        try:
            yield daemon
        finally:
            daemon.clear()


def alive(pids: Sequence[int]) -> bool:
    """Whether all of these run."""
    return all(Path(f"/proc/{pid}").exists() for pid in pids)


def _killed(mark: str) -> list[int]:
    """Kill everything that bears a mark; who was still there."""
    there = bearing(mark)
    for pid in there:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return there


def _end(control: Path) -> None:
    """Dismiss the holder of a listener, if there is one."""
    with contextlib.suppress(Transient):
        declared = SharedListener(id=BalancerId(control.stem), address="127.0.0.1", port=1)
        SharedListenerBalancer(declared, control.parent).stop()
    until(lambda: not control.exists())
