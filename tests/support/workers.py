"""Several real workers over one PostgreSQL, and a cloud on the wire that notes which of them called it, and when.

Each worker has a password of its own, so that the cloud knows which one calls; triggers of the database note what was
written (`worker_watch`), whatever the workers believe.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.model.daemon import PostgresqlPlace
from tests.support.daemon import Daemon
from tests.support.forking import AHEAD, CLOCK, forked
from tests.support.opennebula_wire import PASSWORD, OpennebulaWire
from tests.support.postgresql import Server, running
from tests.support.waiting import PATIENT, until
from tests.support.worker_watch import WATCH

SPAN = 3.0
"""Seconds of the lease."""
MODEL = """\
store: {url: '%s'}
clouds:
  one:
    opennebula: {endpoint: '%s', user: fleet, password: {env: CLOUD_PASSWORD}}
    budget: {outstanding: 200, per_hour: 9000}
counters: {cpu: {opennebula: CPU, range: [0, 400]}}
conditions: {busy: {counter: cpu, window: 1m, above: 399}}
policies: {out: {when: [busy], add: 1}}
profiles: {web: {cloud: one, template: web, networks: [tier]}}
groups:
  web: {profile: web, min: 1, max: 60, interval: 1s, drain: 0s, budget: {outstanding: 200, per_hour: 9000}}
  calm: {profile: web, min: 1, max: 2, interval: 12s, policies: [out]}
"""
_STANDING_BY = re.compile(r"event=standing_by url=http://127\.0\.0\.1:(\d+)")


@dataclass
class CallingWire(OpennebulaWire):
    """An OpenNebula that notes when which worker called."""

    heard: list[tuple[float, str, str]] = field(default_factory=list)
    """Time, worker, method."""

    def _user(self, method: str, given: tuple[Any, ...]) -> str:
        user, _, worker = str(given[0]).partition(":")
        self.heard.append((time.time(), worker, method))
        return super()._user(method, (f"{user}:{PASSWORD}", *given[1:]))


@dataclass
class Worker(Daemon):
    """One worker."""

    name: str = ""
    more: Sequence[str] = ()

    def start(self) -> Worker:
        """Start it, and wait until it answers as a standby or as the holder."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._clock.exists():
            self._clock.write_bytes(AHEAD.pack(0.0))
        with self.log.open("ab") as log:
            begun = log.tell()
            command = ("run", self.file, "--state", self.state, "--port", "0", "--worker", self.name)
            environment = {**os.environ, **self.environment, CLOCK: str(self._clock)}
            self.process = forked((*command, "--lease", SPAN, *self.more), environment, log)

        def answers() -> bool:
            found = _STANDING_BY.search(self.log.read_text()[begun:])
            self.port = int(found[1]) if found else 0
            return found is not None

        until(answers, every=0.05, process=self.process, log=self.log)
        return self

    def set_clock(self, ahead: float) -> None:
        """Set the clock of its machine wrong by so many seconds, while it runs."""
        with self._clock.open("r+b") as clock:
            clock.write(AHEAD.pack(ahead))

    @property
    def _clock(self) -> Path:
        return self.place / "clock"

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def acts(self) -> bool:
        """Whether it has the lease, and serves as the holder."""
        with contextlib.suppress(OSError, ValueError):
            answer = self.ask("GET", "/readyz", unix=True)
            return "standby" not in answer.text and answer.json.get("ready") is True
        return False


_KEY = "a-key-that-all-machines-have-since-it-was-copied-there\n"


def give_key(worker: Worker) -> None:
    """Have the key of the seal on the worker's machine."""
    worker.state.mkdir(mode=0o700, exist_ok=True)
    key = worker.state / "seal-key"
    key.write_text(_KEY)
    key.chmod(0o600)


@dataclass
class WorkersBed:
    """The workers of one installation, and the server that its store is on."""

    server: Server
    place: Path
    endpoint: str = ""
    """Of the cloud of `MODEL`."""
    database: str = "trimtab"
    workers: dict[str, Worker] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server.create(self.database)

    @property
    def store(self) -> PostgresqlPlace:
        """Where its store is now."""
        return self.server.place(self.database)

    @property
    def model(self) -> str:
        """The file that all have, unless they are given another one."""
        return MODEL % (self.store.url, self.endpoint)

    def worker(self, name: str, *more: str) -> Worker:
        """A worker that can be started."""
        place = self.place / name
        worker = self.workers[name] = Worker(place, {"CLOUD_PASSWORD": name}, name=name, more=more)
        place.mkdir()
        worker.declare(self.model)
        return worker

    def watch(self) -> None:
        """From now on, note every change of the lease, and what is written under it."""
        self.rows(WATCH)

    def stale_marks(self) -> list[tuple[Any, ...]]:
        """Return commits under another epoch than that of the lease."""
        return self.rows("SELECT mark, epoch FROM watch.marks WHERE split_part(mark, '-', 1) <> epoch::text")

    def holder(self, within: float = PATIENT) -> Worker:
        """Wait until one of them acts; that one."""
        found: list[Worker] = []

        def one_acts() -> bool:
            found[:] = [worker for worker in self.workers.values() if worker.runs and worker.acts]
            return bool(found)

        until(one_acts, within=within, every=0.05)
        return found[0]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, self.store)

    def role(self, worker: Worker) -> str:
        """What a worker does, as the holder sees it."""
        workers = self.holder().json("cluster", "status")["workers"]
        return next((each["role"] for each in workers if each["name"] == worker.name), "not there")

    def other(self, than: Worker) -> Worker:
        """Wait until another worker acts; that one."""
        until(lambda: any(each.acts for each in self.workers.values() if each is not than and each.runs), every=0.05)
        return next(each for each in self.workers.values() if each is not than and each.runs and each.acts)

    def clear(self) -> None:
        for worker in self.workers.values():
            if worker.runs:
                worker.signal(signal.SIGCONT)
            worker.clear()


@contextlib.contextmanager
def a_bed(*settings: str) -> Iterator[WorkersBed]:
    """A server and a cloud on the wire, without workers."""
    wire = CallingWire()
    with (
        running(*settings) as server,
        tempfile.TemporaryDirectory(prefix="trimtab-w-") as place,
        wire.serving() as endpoint,
    ):
        bed = WorkersBed(server, Path(place), endpoint)
        try:
            yield bed
        finally:
            bed.clear()
