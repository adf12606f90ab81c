"""What befalls the machines of workers and of their database, each on the real thing.

Each function has something fail and come back. It returns the instant from which every group must be evaluated again
within its interval and some seconds: that of the fault where another worker may take over, otherwise that of its end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from tests.support.mixed_rounds import OF_ROOT, Blow, Fault
from tests.support.postgresql_pair import Pair
from tests.support.waiting import until
from tests.support.worker_fleets import Fleet
from tests.support.workers import SPAN, Worker, WorkersBed

_STOPPED: Final = 10.0
WRONG: Final = 3600.0
"""Seconds by which a clock is set."""


def _may_change_machine() -> bool:
    """Whether this process may cut a network, and make a small disk: root may, unless a container forbids it."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "mount", "umount"))):
        return False
    with tempfile.TemporaryDirectory(prefix="trimtab-may-") as place:
        tries = (("ip", "addr", "add", _TRIED, "dev", "lo"), ("mount", "-t", "tmpfs", "tmpfs", place))
        undoes = (("ip", "addr", "del", _TRIED, "dev", "lo"), ("umount", place))
        done = [subprocess.run(command, check=False, capture_output=True).returncode == 0 for command in tries]
        for command in (undo for undo, was_done in zip(undoes, done, strict=True) if was_done):
            subprocess.run(command, check=True, capture_output=True)
    return all(done)


_TRIED: Final = f"127.77.{os.getpid() % 256}.{os.getpid() // 256 % 256}/32"
_MAY: Final = _may_change_machine()
KINDS: Final = tuple(kind for kind in Fault if _MAY or kind not in OF_ROOT)
"""The faults that can be had here."""


@dataclass(frozen=True, slots=True)
class Network:
    """Addresses of this machine by which workers find the database: one for each, where there may be."""

    number: int

    @property
    def whole(self) -> str:
        """All that it can have."""
        return f"10.9.{self.number}.0/24"

    def address(self, worker: str) -> str:
        """That of a worker."""
        return f"10.9.{self.number}.{ord(worker)}" if _MAY else "127.0.0.1"

    def cut(self, worker: str) -> None:
        """Have packets of a worker be lost, as where a cable is cut."""
        _assign("del", self.address(worker))

    def mend(self, worker: str) -> None:
        """Have them arrive."""
        _assign("add", self.address(worker))


@dataclass
class Ground:
    """Fleets over one pair of servers."""

    pair: Pair
    fleets: Mapping[str, Fleet]
    network: Network

    def bed(self, blow: Blow) -> WorkersBed:
        """The installation whose worker the fault befalls."""
        return self.fleets[blow.fleet].bed


def befall(ground: Ground, blow: Blow) -> float:
    """Have a fault happen; returns as the functions below."""
    return _FAULTS[blow.fault](ground, blow)


def _killed(ground: Ground, blow: Blow) -> float:
    bed, holder, began = ground.bed(blow), ground.bed(blow).holder(), time.time()
    holder.signal(signal.SIGKILL)
    until(lambda: not holder.runs)
    if _is_alone(bed):
        began = time.time()
    else:
        bed.other(holder)
    holder.start()
    return began


def _stopped(ground: Ground, blow: Blow) -> float:
    bed, holder, began = ground.bed(blow), ground.bed(blow).holder(), time.time()
    ended = _ends(holder)
    holder.signal(signal.SIGSTOP)
    try:
        time.sleep(_STOPPED)
        if not _is_alone(bed):
            bed.other(holder)
    finally:
        holder.signal(signal.SIGCONT)
    if _is_alone(bed):
        return time.time()
    until(lambda: _ends(holder) > ended, every=0.05)
    return began


def _ends(worker: Worker) -> int:
    return len(worker.lines("lease_ended")) + len(worker.lines("not_taken_over"))


def _cut_off(ground: Ground, blow: Blow) -> float:
    bed, holder, began = ground.bed(blow), ground.bed(blow).holder(), time.time()
    ground.network.cut(holder.name)
    try:
        if not _is_alone(bed):
            bed.other(holder)
        time.sleep(SPAN * (1 + blow.chance))
    finally:
        ground.network.mend(holder.name)
    if _is_alone(bed):
        return time.time()
    until(lambda: bed.role(holder) == "standby", every=0.2)
    return began


def _clock_set(ground: Ground, blow: Blow) -> float:
    workers = [*ground.bed(blow).workers.values()]
    worker = workers[int(blow.chance * 97) % len(workers)]
    worker.set_clock((int(blow.chance * 89) % 3 - 1) * WRONG)
    return time.time()


def _handed_over(ground: Ground, blow: Blow) -> float:
    bed, holder, began = ground.bed(blow), ground.bed(blow).holder(), time.time()
    if _is_alone(bed):
        assert holder.stop() == 0
        began = time.time()
        holder.start()
        return began
    until(lambda: holder.trimtab("cluster", "hand-over").code == 0, every=0.2)
    bed.other(holder)
    return began


def _database_killed(ground: Ground, blow: Blow) -> float:
    ground.pair.primary.kill()
    time.sleep(SPAN * blow.chance)
    ground.pair.primary.start()
    until(ground.pair.is_joined, every=0.05)
    return time.time()


def _promoted(ground: Ground, blow: Blow) -> float:
    ground.pair.promote()
    back = time.time()
    for fleet in ground.fleets.values():
        fleet.bed.server = ground.pair.primary
    if blow.chance < 0.5:  # or the standby joins while workers still look for the primary
        for fleet in ground.fleets.values():
            fleet.bed.holder()
    ground.pair.join()
    return back


def _disk_full(ground: Ground, blow: Blow) -> float:
    primary = ground.pair.primary
    ballast = primary.directory / "ballast"

    def is_stuck() -> bool:
        _fill(ballast)  # again and again: a server that starts anew has given some space back
        return _is_stuck(ground.pair)

    try:
        until(is_stuck, every=0.2)
        time.sleep(SPAN * blow.chance)
    finally:
        ballast.unlink()
    if primary.has_ended:
        primary.start()
    until(ground.pair.is_joined, every=0.05)
    return time.time()


_FAULTS: Final[Mapping[Fault, Callable[[Ground, Blow], float]]] = {
    Fault.KILLED: _killed,
    Fault.STOPPED: _stopped,
    Fault.CUT_OFF: _cut_off,
    Fault.CLOCK_SET: _clock_set,
    Fault.HANDED_OVER: _handed_over,
    Fault.DATABASE_KILLED: _database_killed,
    Fault.PROMOTED: _promoted,
    Fault.DISK_FULL: _disk_full,
}


def _is_alone(bed: WorkersBed) -> bool:
    return len(bed.workers) == 1


def _fill(ballast: Path) -> None:
    """Have a file take all that is left of its disk."""
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        while file.write(bytes(4096)) == 4096:
            pass


def _is_stuck(pair: Pair) -> bool:
    """Have the server need space, and see whether it can go on."""
    if pair.primary.has_ended:
        return True
    try:
        pair.primary.execute("SELECT pg_switch_wal()")
    except psycopg.Error:
        return True
    return False


def _assign(act: str, address: str) -> None:
    subprocess.run(["ip", "addr", act, f"{address}/32", "dev", "lo"], check=True, capture_output=True)


@contextlib.contextmanager
def a_network(workers: str) -> Iterator[Network]:
    """A network that no other test has, with an address for each worker."""
    if not _MAY:
        yield Network(0)
        return
    taken = subprocess.run(["ip", "-4", "addr", "show", "dev", "lo"], check=True, capture_output=True, text=True).stdout
    network = next(each for n in range(256) if (each := Network((os.getpid() + n) % 256)).whole[:-4] not in taken)
    with contextlib.ExitStack() as undo:
        for worker in workers:
            network.mend(worker)
            undo.callback(network.cut, worker)
        yield network


@contextlib.contextmanager
def a_small_disk() -> Iterator[Path]:
    """A directory of a disk of its own, where that is allowed."""
    with tempfile.TemporaryDirectory(prefix="trimtab-pg-") as place:
        if not _MAY:
            yield Path(place)
            return
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", place], check=True)
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)
