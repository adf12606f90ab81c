"""Workers of several shards: real processes over one PostgreSQL, a database and a cloud on the wire for each shard."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.daemon import Daemon, typed
from tests.support.forking import forked
from tests.support.opennebula_wire import PASSWORD, OpennebulaWire
from tests.support.postgresql import Server, running
from tests.support.waiting import PATIENT, Process, until
from tests.support.workers import SPAN

_MODEL = """\
store: {url: '%s'}
clouds:
  one:
    opennebula: {endpoint: '%s', user: fleet, password: {env: CLOUD_PASSWORD}}
    budget: {outstanding: 200, per_hour: 9000}
profiles: {web: {cloud: one, template: web, networks: [tier]}}
groups:
  web: {profile: web, min: 1, max: 60, interval: 1s, drain: 0s, budget: {outstanding: 200, per_hour: 9000}}
  of-%s: {profile: web, min: 0, max: 9, interval: 12s}
"""


class ShardView(Daemon):
    """One shard, as one worker has it."""

    @property
    def state(self) -> Path:
        return self.place

    @property
    def acts(self) -> bool:
        """Whether the worker has the lease of this shard, and serves as its holder."""
        with contextlib.suppress(OSError, ValueError):
            return self.ask("GET", "/readyz", unix=True).json.get("ready") is True
        return False


@dataclass
class ShardedWorker:
    """A worker of all shards of a bed."""

    name: str
    place: Path
    shards: Sequence[str]
    process: Process | None = None
    _begun: int = 0
    """Where its log begins since it was started last."""

    @property
    def state(self) -> Path:
        return self.place / "state"

    @property
    def log(self) -> Path:
        return self.place / "log"

    def file(self, shard: str) -> Path:
        return self.place / f"{shard}.yaml"

    def start(self, *more: str) -> ShardedWorker:
        """Start it, and wait until it is there for each shard."""
        with self.log.open("ab") as log:
            self._begun = log.tell()
            files = [self.file(shard) for shard in self.shards]
            options = ("--worker", self.name, "--state", self.state, "--port", "0", "--lease", SPAN)
            environment = {**os.environ, "CLOUD_PASSWORD": PASSWORD}
            self.process = forked(("run", *files, *options, *more), environment, log)

        def is_there() -> bool:
            return all(self.lines("standing_by", shard) or self.lines("shard_ended", shard) for shard in self.shards)

        until(is_there, every=0.05, process=self.process, log=self.log)
        return self

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=PATIENT)

    def lines(self, event: str, shard: str) -> list[str]:
        """Lines of the log about one event of one shard, since it was started last."""
        lines = self.log.read_text()[self._begun :].splitlines()
        return [line for line in lines if f"event={event} shard={shard} " in f"{line} "]

    def held(self) -> frozenset[str]:
        """The shards that it acts for."""
        return frozenset(shard for shard in self.shards if self.runs and ShardView(self.state / shard).acts)

    def cluster(self) -> dict[str, Any]:
        """What it says of each shard, as the command has it."""
        answer = typed("cluster", "status", "--state", str(self.state), "--json").json
        return {shard["shard"]: shard for shard in answer["shards"]}


@dataclass
class ShardsBed:
    """What the workers share, and they themselves."""

    server: Server
    place: Path
    wires: Mapping[str, OpennebulaWire]
    files: Mapping[str, str]
    workers: dict[str, ShardedWorker] = field(default_factory=dict)

    def worker(self, name: str) -> ShardedWorker:
        """A worker that can be started."""
        place = self.place / name
        place.mkdir()
        worker = self.workers[name] = ShardedWorker(name, place, tuple(self.wires))
        for shard, text in self.files.items():
            worker.file(shard).write_text(text)
        return worker

    def holders(self) -> dict[str, str]:
        """Shard → the worker that acts for it; every shard has one."""
        found: dict[str, str] = {}

        def all_act() -> bool:
            found.clear()
            found.update((shard, worker.name) for worker in self.workers.values() for shard in worker.held())
            return found.keys() == self.wires.keys()

        until(all_act, every=0.05)
        return dict(found)

    def shard(self, shard: str) -> ShardView:
        """A shard, as the worker has it that acts for it."""
        return ShardView(self.workers[self.holders()[shard]].state / shard)

    def machines(self, shard: str) -> list[str]:
        """Names of the group's machines that a shard's cloud has."""
        return sorted(name for name in self.wires[shard].alive if name.startswith("web-"))

    def resize(self, shard: str, size: int) -> None:
        """Give the group of a shard a size, whichever worker acts for it in the end."""
        until(lambda: self.shard(shard).trimtab("scale", "web", str(size)).code == 0, every=0.2)

    def is_settled(self, shard: str, size: int) -> bool:
        """Whether so many members of the group serve, and no other machine is there."""
        try:
            serving = self.shard(shard).serving()
        except (OSError, KeyError, ValueError):  # the lease moves just now
            return False
        return sorted(serving) == self.machines(shard) and len(serving) == size

    def has_each_member_once(self) -> None:
        """In no shard a machine was made twice, or is left over."""
        for shard, wire in self.wires.items():
            view = self.shard(shard)
            assert sorted(view.serving()) == self.machines(shard)
            assert view.json("garbage")["garbage"] == []
            names = [vm.name for vm in wire.vms.values()]
            assert len(names) == len(set(names)), f"a member of {shard} was made twice"

    def clear(self) -> None:
        for worker in self.workers.values():
            if worker.runs:
                worker.signal(signal.SIGCONT)
                worker.kill()


@contextlib.contextmanager
def a_bed_of(*shards: str) -> Iterator[ShardsBed]:
    """A server with a database, and a cloud, for each shard; without workers."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running("max_connections=150"))
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trimtab-s-")))
        wires = {shard: OpennebulaWire() for shard in shards}
        files = {}
        for shard, wire in wires.items():
            server.create(shard)
            files[shard] = _MODEL % (server.place(shard).url, stack.enter_context(wire.serving()), shard)
        bed = ShardsBed(server, place, wires, files)
        stack.callback(bed.clear)
        yield bed
