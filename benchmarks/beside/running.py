"""A whole daemon over a simulated cloud, as an operator starts it, with a value of each group that is pushed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.beside import turns

_PATIENCE = 600.0
_TRIMTAB = str(Path(sys.executable).parent / "trimtab")
IN_SERVICE = "SELECT count(*) FROM members WHERE phase = 'in_service'"
_TOGETHER = 100
"""Groups whose values go in one request."""
_OF_ONE_WEBHOOK = 1_000
"""Groups of which one webhook brings values, at most; a multiple of those that go in one request."""
_TURNS = "turns"
"""The file of a watched daemon's turns, in its state directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDaemon:
    """A daemon that listens."""

    pid: int
    state: Path
    log: Path
    port: int
    tokens: Mapping[str, str]
    """Of webhooks, by the group that each brings values of."""

    def metrics(self) -> dict[str, float]:
        """Return what the daemon says of itself."""
        return metrics_at(self.port)

    def push(self, names: Sequence[str], value: float) -> None:
        """Push one value of each group."""
        for first in range(0, len(names), _TOGETHER):
            headers = {"Authorization": f"Bearer {self.tokens[names[first]]}", "Content-Type": "application/json"}
            some = [{"group": name, "values": {"ORDERS": value}} for name in names[first : first + _TOGETHER]]
            url = f"http://127.0.0.1:{self.port}/push"
            urllib.request.urlopen(urllib.request.Request(url, json.dumps(some).encode(), headers), timeout=60).close()

    def served(self, members: int, in_service: Callable[[], int] | None = None) -> None:
        """Wait until so many members are in service, by the store: the daemon is not asked meanwhile.

        ``in_service`` counts them where the store is no file of the state directory.
        """
        wait_served(members, in_service or self._in_service)

    def _in_service(self) -> int:
        with contextlib.closing(sqlite3.connect(self.state / "trimtab.sqlite", timeout=60)) as store:
            (count,) = store.execute(IN_SERVICE).fetchone()
        return int(count)

    def begin_turns(self) -> None:
        """Have a watched daemon forget the turns of its event loop until now."""
        os.kill(self.pid, signal.SIGUSR1)

    def turns(self) -> Sequence[float]:
        """Return what each turn of a watched daemon's event loop took since then: milliseconds of processor time."""
        os.kill(self.pid, signal.SIGUSR2)
        written, deadline = self.state / _TURNS, time.monotonic() + _PATIENCE
        while not written.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        return array("f", written.read_bytes())


def wait_served(members: int, in_service: Callable[[], int]) -> None:
    """Wait until so many members are in service, by the store."""
    there, deadline = 0, time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        there = in_service()
        if there >= members:
            return
        time.sleep(0.5)
    raise RuntimeError(f"{members} members were to serve, and {there} do")


@contextlib.contextmanager
def running(
    model: str, names: Sequence[str], *, watched: bool = False, options: Sequence[str] = ()
) -> Iterator[RunningDaemon]:
    """Run a daemon for as long as the block does; it may be pushed values of these groups.

    Of one that is ``watched``, the turns of its event loop are measured (`benchmarks.beside.turns`). ``options`` are
    further ones of ``trimtab run``.
    """
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        file, log, state = Path(place) / "model.yaml", Path(place) / "log", Path(place) / "state"
        file.write_text(model)
        program = [sys.executable, "-m", turns.__name__] if watched else [_TRIMTAB]
        command = [*program, "run", str(file), "--state", str(state), "--port", "0", *options]
        environment = {**os.environ, turns.VARIABLE: str(state / _TURNS)}
        with log.open("w") as stream, subprocess.Popen(command, stderr=stream, env=environment) as daemon:
            try:
                port = port_of(log)
                yield RunningDaemon(pid=daemon.pid, state=state, log=log, port=port, tokens=_tokens(state, names))
            finally:
                daemon.send_signal(signal.SIGTERM)
                daemon.wait(_PATIENCE)


def _tokens(state: Path, names: Sequence[str]) -> Mapping[str, str]:
    """Make webhooks that bring values of groups; the token of each group's."""
    tokens: dict[str, str] = {}
    for first in range(0, len(names), _OF_ONE_WEBHOOK):
        some = names[first : first + _OF_ONE_WEBHOOK]
        hook = [_TRIMTAB, "hook", "new", f"bench{first}", "--push", ",".join(some)]
        made = subprocess.check_output([*hook, "--state", str(state), "--json"])
        tokens |= dict.fromkeys(some, json.loads(made)["token"])
    return tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningWorker:
    """A worker of several shards."""

    pid: int
    place: Path

    @property
    def log(self) -> Path:
        """What it logs."""
        return self.place / "log"

    def declare(self, models: Mapping[str, str]) -> None:
        """Give it other files; none is in force before `reload`, on this worker or another."""
        for shard, model in models.items():
            (self.place / f"{shard}.yaml").write_text(model)

    def reload(self) -> None:
        """Have it take the files of the shards that it acts for."""
        os.kill(self.pid, signal.SIGHUP)

    def acting(self, shard: str) -> int:
        """Wait until it acts for a shard; the port."""
        return port_of(self.log, f"listening shard={shard}")

    def holder(self, shard: str, names: Sequence[str]) -> RunningDaemon:
        """Return a shard as the daemon of it, which takes values of these groups once they are there."""
        state = self.place / "state" / shard
        port, tokens = self.acting(shard), _tokens(state, names)
        return RunningDaemon(pid=self.pid, state=state, log=self.log, port=port, tokens=tokens)


@contextlib.contextmanager
def working(models: Mapping[str, str], name: str, prefers: str) -> Iterator[RunningWorker]:
    """Run a worker of these shards, of which it prefers one, while the block runs."""
    with tempfile.TemporaryDirectory(prefix="ttb") as text:
        place = Path(text)
        command = [_TRIMTAB, "run", *(str(place / f"{shard}.yaml") for shard in models), "--worker", name]
        options = ["--state", str(place / "state"), "--port", "0", "--prefer", prefers]
        RunningWorker(pid=0, place=place).declare(models)
        with (place / "log").open("w") as stream, subprocess.Popen([*command, *options], stderr=stream) as process:
            try:
                yield RunningWorker(pid=process.pid, place=place)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(_PATIENCE)


def port_of(log: Path, event: str = "listening") -> int:
    """Wait until the daemon says where it listens, as the holder or as a standby."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        found = re.search(rf"event={event} url=http://127\.0\.0\.1:(\d+)", log.read_text())
        if found:
            return int(found[1])
        time.sleep(0.1)
    raise RuntimeError(f"the daemon did not come up: {log.read_text()[-2000:]}")


def metrics_at(port: int) -> dict[str, float]:
    """Return what a daemon says of itself, by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
        lines = answer.read().decode().splitlines()
    return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}
