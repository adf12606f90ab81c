"""Fleets that workers look after: machines of a cloud on the wire, and processes of one worker's machine.

Each has a group that is led (`web`), one whose policies fire as soon as their quiet times let them (`pulse`), and one
whose policy holds for longer than any test lasts (`calm`).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Protocol

from tests.support.waiting import until
from tests.support.wire_server import served
from tests.support.workers import CallingWire, WorkersBed

QUIET = 20.0
"""Seconds for which each policy of `pulse` is quiet after it has fired."""
INTERVALS = {"web": 1.0, "pulse": 3.0, "calm": 8.0}
_MANY = "drain: 0s, grace: 1s, budget: {outstanding: 200, per_hour: 9000}"
_MODEL = f"""\
counters: {{load: {{http: {{url: 'LOAD/$group', jsonpath: $.load}}, per: group}}}}
conditions:
  high: {{counter: load, above: 50}}
  low: {{counter: load, below: 50}}
  long: {{counter: load, window: 16s, aggregate: min, above: 50}}
policies:
  out: {{when: [high], add: 1, quiet_time: {QUIET:g}s, quiet_scope: policy}}
  in: {{when: [low], remove: 1, quiet_time: {QUIET:g}s, quiet_scope: policy}}
  later: {{when: [long], duration: 9h, add: 1}}
groups:
  web: {{profile: web, min: 1, max: 60, interval: 1s, {_MANY}}}
  pulse: {{profile: still, min: 1, max: 2, interval: 3s, policies: [out, in], {_MANY}}}
  calm: {{profile: still, min: 1, max: 2, interval: 8s, policies: [later]}}
"""


class Cloud(Protocol):
    """Where the members of a fleet are, asked without the workers."""

    @property
    def alive(self) -> list[str]:
        """Names of the members that are there, one as often as it is there."""
        ...

    @property
    def made(self) -> list[str]:
        """Names of all members that were ever made, one as often as it was made."""
        ...

    def declaration(self, edition: int) -> str:
        """The cloud, and the profiles of its members; another edition is another profile of `web`."""
        ...


@dataclass
class WireCloud:
    """Machines of an OpenNebula on the wire."""

    wire: CallingWire
    endpoint: str

    @property
    def alive(self) -> list[str]:
        return self.wire.alive

    @property
    def made(self) -> list[str]:
        return [vm.name for vm in self.wire.vms.values()]

    def declaration(self, edition: int) -> str:
        access = f"{{endpoint: '{self.endpoint}', user: fleet, password: {{env: CLOUD_PASSWORD}}}}"
        return (
            f"clouds: {{one: {{opennebula: {access}, budget: {{outstanding: 200, per_hour: 9000}}}}}}\n"
            "profiles:\n"
            f"  web: {{cloud: one, template: web, networks: [tier], extra: {{TRY: {edition}}}}}\n"
            "  still: {cloud: one, template: web, networks: [tier]}\n"
        )


@dataclass
class MachineCloud:
    """Processes of the machine of one worker."""

    on: str
    bed: WorkersBed

    @property
    def alive(self) -> list[str]:
        worker = self.bed.workers[self.on]
        mark = f"TRIMTAB_INSTALLATION={worker.installation}" if (worker.state / "installation").exists() else "none"
        return sorted(_bearing(os.fsencode(mark)))

    @property
    def made(self) -> list[str]:
        return self._made.read_text().split() if self._made.exists() else []

    @property
    def _made(self) -> Path:
        """Where each process notes that it has begun."""
        return self.bed.place / "made"

    def declaration(self, edition: int) -> str:
        command = f"[/bin/sh, -c, 'echo $TRIMTAB_MEMBER >>{self._made}; exec sleep 99999']"
        return (
            f"clouds: {{box: {{process: {{}}, on: {self.on}, budget: {{outstanding: 200, per_hour: 9000}}}}}}\n"
            "profiles:\n"
            f"  web: {{cloud: box, command: {command}, env: {{EDITION: '{edition}'}}}}\n"
            f"  still: {{cloud: box, command: {command}}}\n"
        )


def _bearing(mark: bytes) -> Iterator[str]:
    """Yield the member of each process with a mark."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            variables = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if mark in variables:
                yield from (each[15:].decode() for each in variables if each.startswith(b"TRIMTAB_MEMBER="))


@dataclass
class Fleet:
    """An installation, its members, and what is wanted of them."""

    bed: WorkersBed
    cloud: Cloud
    model: Callable[[str, str], str]
    """The file, of a worker's name and what it says of the cloud."""
    size: int = 1
    edition: int = 0
    _before: frozenset[str] = frozenset()
    """Members that are to be replaced."""

    def declare(self) -> None:
        """Write the file of each worker."""
        for name, worker in self.bed.workers.items():
            worker.declare(self.model(name, self.cloud.declaration(self.edition)))

    def members(self, group: str = "web") -> list[str]:
        """Names of those of a group that the cloud has."""
        return [name for name in self.cloud.alive if name.startswith(f"{group}-")]

    def resize(self, size: int) -> None:
        """Want so many members of `web`."""
        self.size = size
        self.bed.holder().json("scale", "web", str(size))

    def roll(self) -> None:
        """Want all members of `web` replaced."""
        self._before = frozenset(self.members())
        self.edition += 1
        self.declare()
        for command in (("reload",), ("roll", "web", "--surge", "2")):
            done = self.bed.holder().trimtab(*command)
            assert done.code == 0, done

    @property
    def is_settled(self) -> bool:
        """Whether `web` has what is wanted, and no other member is there."""
        there = self.members()
        return (
            len(there) == self.size
            and self._before.isdisjoint(there)
            and sorted(self.bed.holder().serving()) == sorted(there)
        )

    def twice(self) -> list[str]:
        """Members that were made twice, or are there twice."""
        return [name for names in (self.cloud.made, self.cloud.alive) for name, n in Counter(names).items() if n > 1]


def file_of(store: str, cloud: str, load: str) -> str:
    """The file of one worker."""
    return f"store: {{url: '{store}'}}\n{cloud}{_MODEL.replace('LOAD', load)}"


@dataclass
class _Loads:
    fleets: Mapping[str, Fleet] = field(default_factory=dict)

    def of(self, fleet: str, group: str) -> float:
        """Of `pulse`: high with one member, low with two; of others: always high."""
        return 10.0 if group == "pulse" and len(self.fleets[fleet].members(group)) > 1 else 90.0


class _Loaded(BaseHTTPRequestHandler):
    wire: _Loads
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, fleet, group = self.path.split("/")
        body = json.dumps({"load": self.wire.of(fleet, group)}).encode()
        with contextlib.suppress(OSError):  # the client may be gone
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def loads(fleets: Mapping[str, Fleet]) -> Iterator[str]:
    """Serve the loads of the groups of fleets, each below the name of its fleet; the address."""
    with served(_Loaded, _Loads(fleets)) as address:
        yield address


def settled(fleets: Mapping[str, Fleet]) -> None:
    """Wait until all of them have what is wanted."""
    until(lambda: all(fleet.is_settled for fleet in fleets.values()), every=0.1)
