"""Several real workers over one PostgreSQL and one OpenNebula on the wire, and who called it and wrote when.

Each worker has a password of its own, so that the cloud knows which one calls; triggers of the database note every
change of the lease and every mark of a commit, whatever the workers believe.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.support.daemon import Daemon
from tests.support.forking import forked
from tests.support.opennebula_wire import PASSWORD, OpennebulaWire
from tests.support.postgresql import Server, running
from tests.support.waiting import PATIENT, Process, until

_LANES = 8
"""Calls that a worker makes side by side: so many may be on their way when it is stopped."""
_READING = frozenset({"vmpool.monitoring", "vmpool.infoextended"})
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
_SET_WRONG = """
import time
right = time.time
time.time = lambda: right() + %f
from handler.command import app
app()
"""
"""A program whose clock is set wrong."""
_STANDING_BY = re.compile(r"event=standing_by url=http://127\.0\.0\.1:(\d+)")


_WATCH = """
CREATE SCHEMA watch;
CREATE TABLE watch.leases (epoch bigint, worker text, at double precision);
CREATE TABLE watch.marks (mark text, epoch bigint);
CREATE FUNCTION watch.lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO watch.leases VALUES (NEW.epoch, NEW.worker, date_part('epoch', clock_timestamp())); RETURN NEW; END $$;
CREATE FUNCTION watch.mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO watch.marks SELECT NEW.value, epoch FROM public.lease; RETURN NEW; END $$;
CREATE TRIGGER taken AFTER UPDATE ON lease FOR EACH ROW WHEN (OLD.epoch <> NEW.epoch) EXECUTE FUNCTION watch.lease();
CREATE TRIGGER marked AFTER UPDATE ON meta FOR EACH ROW WHEN (NEW.name = 'commit') EXECUTE FUNCTION watch.mark();
"""


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
    ahead: float = 0.0
    """By how many seconds the clock of its machine is set wrong."""

    def start(self) -> Worker:
        """Start it, and wait until it answers as a standby or as the holder."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            begun = log.tell()
            command = ("run", self.file, "--state", self.state, "--port", "0", "--worker", self.name)
            self.process = self._begun((*command, "--lease", SPAN, *self.more), log)

        def answers() -> bool:
            found = _STANDING_BY.search(self.log.read_text()[begun:])
            self.port = int(found[1]) if found else 0
            return found is not None

        until(answers, every=0.05, process=self.process, log=self.log)
        return self

    def _begun(self, command: Sequence[object], log: IO[bytes]) -> Process:
        environment = {**os.environ, **self.environment}
        if not self.ahead:
            return forked(command, environment, log)
        whole = [sys.executable, "-c", _SET_WRONG % self.ahead, *map(str, command)]
        return subprocess.Popen(whole, env=environment, stdout=log, stderr=log, start_new_session=True)

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
    """What the workers share, and they themselves."""

    server: Server
    place: Path
    wire: CallingWire
    endpoint: str
    workers: dict[str, Worker] = field(default_factory=dict)
    _began: float = 0.0
    _rounds: int = 0

    def __post_init__(self) -> None:
        self.store = self.server.create("trimtab")

    @property
    def model(self) -> str:
        """The file that all have."""
        return MODEL % (self.store.url, self.endpoint)

    def worker(self, name: str, *more: str, ahead: float = 0.0) -> Worker:
        """A worker that can be started."""
        place = self.place / name
        worker = self.workers[name] = Worker(place, {"CLOUD_PASSWORD": name}, name=name, more=more, ahead=ahead)
        place.mkdir()
        worker.declare(self.model)
        return worker

    def machines(self) -> list[str]:
        """Names of the machines of the group ``web`` that the cloud has."""
        return [name for name in self.wire.alive if name.startswith("web-")]

    def watch(self) -> None:
        """From now on, note every change of the lease and every commit of the store."""
        self.rows(_WATCH)

    def stale_marks(self) -> list[tuple[Any, ...]]:
        """Return commits under another epoch than that of the lease."""
        return self.rows("SELECT mark, epoch FROM watch.marks WHERE split_part(mark, '-', 1) <> epoch::text")

    def late_calls(self, since: float) -> list[tuple[float, str, str]]:
        """Return calls of workers after another one had taken the lease."""
        taken = self.rows(f"SELECT at, worker FROM watch.leases WHERE at >= {since} ORDER BY at")  # noqa: S608
        found = []
        for at, worker, method in self.wire.heard:
            holders = [holder for begun, holder in taken if begun <= at]
            if holders and holders[-1] != worker:
                found.append((at, worker, method))
        return found

    def holder(self, within: float = PATIENT) -> Worker:
        """Wait until one of them acts; that one."""
        found: list[Worker] = []

        def one_acts() -> bool:
            found[:] = [worker for worker in self.workers.values() if worker.runs and worker.acts]
            return bool(found)

        until(one_acts, within=within, every=0.05)
        return found[0]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, self.server.place("trimtab"))

    def role(self, worker: Worker) -> str:
        """What a worker does, as the holder sees it."""
        workers = self.holder().json("cluster", "status")["workers"]
        return next((each["role"] for each in workers if each["name"] == worker.name), "not there")

    def grow(self, *fails: Callable[[WorkersBed], None], rounds: int, seed: int = 1) -> None:
        """Have the fleet grow again and again while something fails at random; a round ends with one member."""
        self.holder()
        self.watch()
        self._rounds, self._began = rounds, time.time()
        chance = random.Random(seed)  # noqa: S311 - it decides when to fail
        for _ in range(rounds):
            for size, fail in enumerate(fails, 1):
                grown = len(self.machines()) + chance.randrange(1, 9)
                self.holder().json("scale", "web", str(1 + 12 * size))
                until(lambda grown=grown: len(self.machines()) >= grown, every=0.005)
                fail(self)
                until(lambda size=size: len(self.holder().serving()) == 1 + 12 * size, every=0.1)
            self.holder().json("scale", "web", "1")
            self.holder().settled(1)

    def shrink_and_roll(self, *fails: Callable[[WorkersBed], None], rounds: int, seed: int = 1) -> None:
        """Have the fleet shrink, then have all of it replaced, again and again while something fails at random."""
        self.holder()
        self.watch()
        self._rounds, self._began = rounds, time.time()
        chance = random.Random(seed)  # noqa: S311 - it decides when to fail
        for number, fail in enumerate(fails * rounds):
            self.resize(12)
            self.holder().json("scale", "web", "4")
            few = 12 - chance.randrange(1, 7)
            until(lambda few=few: len(self.machines()) <= few, every=0.005)
            fail(self)
            until(lambda: self.is_settled(4), every=0.1)
            self.roll(number, chance.randrange(1, 4), fail)

    def resize(self, size: int) -> None:
        """Give the fleet a size, and wait until it has it."""
        self.holder().json("scale", "web", str(size))
        until(lambda: self.is_settled(size), every=0.1)

    def is_settled(self, size: int) -> bool:
        """Whether so many members serve, and no other machine is there."""
        return len(self.machines()) == size == len(self.holder().serving())

    def roll(self, number: int, replaced: int, fail: Callable[[WorkersBed], None]) -> None:
        """Have all members replaced by those of another profile, and have something fail when some have been."""
        before = set(self.machines())
        for worker in self.workers.values():
            worker.declare(self.model.replace("template: web", f"template: web, extra: {{TRY: {number}}}"))
        assert self.holder().trimtab("reload").code == 0
        assert self.holder().trimtab("roll", "web", "--surge", "2").code == 0
        until(lambda: len(before - set(self.machines())) >= replaced, every=0.005)
        fail(self)
        until(lambda: before.isdisjoint(self.machines()) and self.is_settled(len(before)), every=0.1)

    def has_each_member_once(self, *, reads_on: bool = False) -> None:
        """Nothing was made twice, nothing is left over, and no worker wrote or called while another one was the holder.

        ``reads_on``: a worker that was cut off goes on reading counters.
        """
        holder = self.holder()
        assert sorted(holder.serving()) == self.machines()
        assert holder.json("garbage")["garbage"] == []
        assert self.stale_marks() == []
        names = [vm.name for vm in self.wire.vms.values()]
        assert len(names) == len(set(names)), "a member was made twice"
        late = [method for _, _, method in self.late_calls(self._began) if not (reads_on and method in _READING)]
        assert len(late) <= _LANES * self._rounds

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
    """A server and a cloud without workers."""
    with running(*settings) as server, over(server) as bed:
        yield bed


@contextlib.contextmanager
def over(server: Server) -> Iterator[WorkersBed]:
    """A cloud without workers, beside a server that runs."""
    wire = CallingWire()
    with tempfile.TemporaryDirectory(prefix="trimtab-w-") as place, wire.serving() as endpoint:
        bed = WorkersBed(server, Path(place), wire, endpoint)
        try:
            yield bed
        finally:
            bed.clear()
