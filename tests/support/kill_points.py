"""Runs real convergence in a process that kills itself at its n-th instant, then in one that does not.

An instant lies just before and just after every durable write, every call to the cloud and every call to a balancer.
Everything is real: the store on disk, the processes, the shared listener. ``python -m tests.support.kill_points DIR
PORT`` takes instants from standard input, one a line, forks for each (so that Python and its libraries are loaded once)
and prints one JSON line each.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from config.model.balancers import SharedListener
from config.model.catalogue import BalancerUse, Budget, Group, ProcessCloud, ProcessRecipe, Profile, QuietScope
from config.units import BalancerId, CloudId, GroupId, Instant, ProfileId
from handler.balancers.shared_listener.driver import SharedListenerBalancer
from handler.convergence.converge import Converger
from handler.convergence.sightings import READY
from handler.orchestrators.process.driver import ProcessOrchestrator
from handler.planning.desired import Definition
from handler.planning.world import RegistrationState
from handler.ports.stored import StoredGroup
from tests.support.store import new_store, opened
from trigger.requests import Quiet
from trigger.verdicts import Direction

GROUP = GroupId("web")
SIZES = (1, 2, 1)
"""Grow, then shrink."""

_PASSES_AT_MOST = 300
_CALLS = frozenset({"create", "destroy", "join", "enable", "drain", "leave"})
WRITES = frozenset({"intend", "save", "begin_step", "end_step", "note_steps", "save_builds", "lower"})
"""Writes of convergence."""
_QUIET = Quiet(policy=None, scope=QuietScope.GROUP, direction=Direction.OUT, until=Instant(4e9))


class Instants:
    """Counts instants, and is killed at the one that was asked for."""

    def __init__(self, deadly: int | None = None) -> None:
        self.passed = 0
        self._deadly = deadly

    def __call__(self) -> None:
        if self.passed == self._deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        self.passed += 1


class Watched:
    """A port whose named methods have an instant before and one after them."""

    def __init__(self, real: object, names: frozenset[str], instant: Callable[[], None]) -> None:
        self._real, self._names, self._instant = real, names, instant

    def __getattr__(self, name: str) -> object:
        method = getattr(self._real, name)
        if name not in self._names:
            return method

        def watched(*args: object, **kwargs: object) -> object:
            self._instant()
            answer = method(*args, **kwargs)
            self._instant()
            return answer

        return watched


def definition(port: int) -> Definition:
    cloud = ProcessCloud(id=CloudId("local"), budget=Budget(outstanding=50, per_hour=1000))
    edge = SharedListener(id=BalancerId("edge"), address="127.0.0.1", port=port)
    profile = Profile(id=ProfileId("web"), cloud=cloud.id, recipe=ProcessRecipe(command=("sleep", "600")))
    group = Group(
        id=GROUP,
        profile=profile.id,
        balancers=(BalancerUse(balancer=edge.id, port=port),),
        minimum=1,
        maximum=9,
        drain=1.0,
        grace=2.0,
        budget=cloud.budget,
    )
    return Definition(group=group, profile=profile, cloud=cloud, balancers=MappingProxyType({edge.id: edge}))


def installation_of(directory: Path) -> str:
    """A mark of its own for every bed: they run side by side on one machine."""
    return hashlib.sha256(str(directory).encode()).hexdigest()[:6]


class Bed:
    """One state directory, one store, real processes behind a real shared listener."""

    def __init__(self, directory: Path, port: int, instants: Instants) -> None:
        self.definition, installation = definition(port), installation_of(directory)
        self.store = opened(directory / "trimtab.sqlite", installation)
        self.cloud = ProcessOrchestrator(
            ProcessCloud(id=CloudId("local")), installation, directory, lambda: Instant(time.time())
        )
        edge = SharedListener(id=BalancerId("edge"), address="127.0.0.1", port=port)
        self.balancer = SharedListenerBalancer(edge, directory)
        self.instants = instants
        self.converger = Converger(
            installation=installation,
            store=Watched(self.store, WRITES, self.instant),
            orchestrator_for=lambda _: Watched(self.cloud, _CALLS, self.instant),
            balancer_for=lambda _: Watched(self.balancer, _CALLS, self.instant),
            probe=lambda *_: READY,
            clock=lambda: Instant(time.time()),
            workers=1,  # so that the n-th instant is the same in every run
        )

    def instant(self) -> None:
        self.instants()

    def stored(self) -> StoredGroup:
        (group,) = self.store.groups()
        return group

    def want(self, size: int) -> None:
        state = self.stored().state
        state = replace(state, desired=size, revision=state.revision + 1, quiets=(_QUIET,))
        self.store.note(GROUP, "want", "test", str(size), Instant(time.time()), state)

    def converge(self) -> None:
        for _ in range(_PASSES_AT_MOST):
            done = self.converger.run(self.stored())
            if done.plan.converged:
                return
            time.sleep(0.005)
        raise AssertionError(f"does not converge: {done.plan} {done.messages}")

    def report(self) -> dict[str, object]:
        """What there is now, from every side."""
        events = self.store.history(GROUP, before=None, limit=1000)
        return {
            "instants": self.instants.passed,
            "desired": self.stored().state.desired,
            "quiet": [quiet.until for quiet in self.stored().state.quiets],
            "remembered": sorted(record.name for record in self.store.members(GROUP)),
            "processes": sorted(server.name for server in self.cloud.list(GROUP).servers),
            "serving": sorted(
                n
                for n, registration in self.balancer.registrations().items()
                if registration.state is RegistrationState.SERVING
            ),
            "registered": sorted(self.balancer.registrations()),
            "chosen": sorted({event.by for event in events if event.name == "mark_leaving"}),
            "destroyed": sorted({event.by for event in events if event.name == "destroy"}),
        }

    def clear(self) -> None:
        """End everything that this bed has started."""
        for server in self.cloud.list(GROUP).servers:
            self.cloud.destroy(server.name, grace=0.0)
        self.balancer.stop()


def _first_life(directory: Path, port: int, deadly: int | None) -> Bed:
    """Start with a fleet in service; then grow and shrink it, to the death."""
    bed = Bed(directory, port, Instants())
    bed.store.declare([bed.definition], Instant(time.time()))
    bed.want(SIZES[0])
    bed.converge()
    bed.instants = Instants(deadly)
    for size in SIZES[1:]:
        bed.instant()
        bed.want(size)
        bed.instant()
        bed.converge()
    (directory / "survived").write_text(json.dumps(bed.report()))
    return bed


def _second_life(directory: Path, port: int) -> None:
    bed = Bed(directory, port, Instants())
    bed.converge()
    (directory / "report").write_text(json.dumps(bed.report()))
    bed.clear()
    bed.store.close()


def _forked(life: Callable[[], object]) -> int:
    """Run a life in a child; its wait status."""
    child = os.fork()
    if child == 0:
        try:
            life()
        except BaseException as error:  # noqa: BLE001  # a child must never run on into its parent's code
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def _live_once(home: Path, port: int) -> None:
    """Live both lives here, to their ends: what they make once, such as compiled statements, their children inherit."""
    home.mkdir(mode=0o700)
    new_store()
    _first_life(home, port, None).store.close()
    _second_life(home, port)
    shutil.rmtree(home)


def enumerate_kills(directory: Path, port: int) -> None:
    _live_once(directory / "before", port)
    for line in sys.stdin:
        deadly = int(line)
        home = directory / str(deadly)
        home.mkdir(mode=0o700)
        first = _forked(lambda home=home, deadly=deadly: _first_life(home, port, deadly))
        second = _forked(lambda home=home: _second_life(home, port))
        report = home / "report"
        found = json.loads(report.read_text()) if report.exists() else None
        survived = (home / "survived").exists()
        sys.stdout.write(
            json.dumps({"at": deadly, "survived": survived, "first": first, "second": second, "found": found}) + "\n"
        )
        sys.stdout.flush()
        shutil.rmtree(home)


if __name__ == "__main__":
    enumerate_kills(Path(sys.argv[1]), int(sys.argv[2]))
