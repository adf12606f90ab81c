"""A bed whose store is the real one on disk, and which can be left as a killed process leaves it, at any instant.

A file that is copied while no write is under way is what KILL leaves: what was committed and no more. Cloud, balancers
and clock go on without the process that dies, so they are copied as they are.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from config.units import BalancerId, MemberName
from handler.convergence.converge import Converger
from handler.convergence.sightings import READY
from handler.planning.desired import Definition
from handler.planning.world import Leaving, Phase, RegistrationState
from handler.ports.store import Store
from handler.ports.stored import Event, EventKind, StoredGroup
from handler.store.sqlite import SqliteStore
from tests.support.fake_cloud import LOST, FakeBalancer, FakeClock, FakeCloud, Instants
from tests.support.kill_points import WRITES
from tests.support.store import opened
from tests.support.worlds import INSTALLATION, WEB

_PASSES = 200


@dataclass
class Deaths(Instants):
    """Says when something has been done after which a process may die.

    Between that and whatever is done next nothing changes outside: to die just before it leaves the very same.
    """

    reached: Callable[[str], None] = lambda what: None

    @contextmanager
    def around(self, what: str) -> Iterator[None]:
        try:
            yield
        finally:  # a call whose answer is lost has been carried out, too
            self.reached(what)


class Kept:
    """A store whose writes may be the last thing that a process does."""

    def __init__(self, real: SqliteStore, instants: Deaths) -> None:
        self._real, self._instants = real, instants

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        if name not in WRITES:
            return method

        def write(*args: object, **kwargs: object) -> object:
            with self._instants.around(name):
                return method(*args, **kwargs)

        return write


class Outside:
    """Cloud, balancers and clock: all that a death of Trimtab leaves as it is."""

    def __init__(self, balancers: list[BalancerId]) -> None:
        self.instants, self.clock = Deaths(), FakeClock()
        self.cloud = FakeCloud(self.clock, instants=self.instants)
        self.balancers = {name: FakeBalancer(self.clock, instants=self.instants) for name in balancers}

    def copied(self) -> Outside:
        other, known = Outside([*self.balancers]), {id(LOST): LOST}
        other.clock.now = self.clock.now
        other.cloud.faults = copy.deepcopy(self.cloud.faults, known)
        other.cloud.simulation = copy.deepcopy(self.cloud.simulation)
        other.cloud.created, other.cloud.destroyed = [*self.cloud.created], [*self.cloud.destroyed]
        for name, balancer in self.balancers.items():
            its = other.balancers[name]
            its.faults = copy.deepcopy(balancer.faults, known)
            its.busy, its.states = balancer.busy, {**balancer.states}
            its.addresses, its.drained = {**balancer.addresses}, {**balancer.drained}
        return other


class DiskBed:
    """One group: a converger over a store at ``path``, and the world outside."""

    def __init__(self, path: Path, outside: Outside) -> None:
        self.path, self.outside = path, outside
        self.cloud, self.clock = outside.cloud, outside.clock
        self.store = opened(path)
        self.complaints: list[str] = []
        self.cloud.before_create, self.cloud.before_destroy = self._check_create, self._check_destroy
        self.converger = Converger(
            installation=INSTALLATION,
            store=cast("Store", Kept(self.store, outside.instants)),
            orchestrator_for=lambda _: self.cloud,
            balancer_for=lambda declared: outside.balancers[declared.id],
            probe=lambda address, _: READY if self.cloud.answers_at(address) else "no answer within 2s",
            clock=self.clock,
            workers=1,
        )

    def left_by_death(self, path: Path) -> DiskBed:
        """What the next process finds if this one is killed now."""
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{self.path}{suffix}", f"{path}{suffix}")
        return DiskBed(path, self.outside.copied())

    def close(self) -> None:
        self.store.close()

    @property
    def group(self) -> StoredGroup:
        (group,) = self.store.groups()
        return group

    def want(self, size: int) -> None:
        state = self.group.state
        state = replace(state, desired=size, revision=state.revision + 1)
        self.store.note(WEB, "want", "test", "", self.clock(), state)

    def mark(self, name: MemberName, **changes: object) -> None:
        """Write something down about a member."""
        (record,) = (record for record in self.store.members(WEB) if record.name == name)
        self.store.save([replace(record, **changes)], self.group.definition.cloud.id)  # type: ignore[arg-type]

    def replace(self, name: MemberName) -> None:
        self.mark(name, leaving=Leaving.REPLACED)

    def detach(self, balancer: BalancerId) -> None:
        """Everybody is to leave a balancer, and no member is made behind it any more."""
        definition = self.group.definition
        uses = tuple(use for use in definition.group.balancers if use.balancer != balancer)
        records = [replace(record, detaching=(balancer,)) for record in self.store.members(WEB)]
        act = Event(at=self.clock(), group=WEB, kind=EventKind.NOTE, name="detach", by="test")
        self.store.attach(act, replace(definition, group=replace(definition.group, balancers=uses)), (), records)

    def settle(self) -> None:
        stored = self.group
        for _ in range(_PASSES):
            done = self.converger.run(stored)
            kept = done.builds
            stored = replace(stored, failed_builds=kept.failed, back_off_until=kept.back_off_until, builds_of=kept.of)
            if done.plan.converged:
                return
            self.clock.advance(5.0 if done.next_in is None else done.next_in)
        raise AssertionError(f"not converged after {_PASSES} passes: {done.plan} {done.messages}")

    @property
    def machines(self) -> set[MemberName]:
        return self.cloud.ours(INSTALLATION, WEB)

    def chosen(self) -> set[MemberName]:
        """Everyone who was ever chosen to leave, as history says."""
        events = self.store.history(WEB, before=None, limit=10_000)
        return {MemberName(event.by) for event in events if event.name == "mark_leaving"}

    def expect(self, size: int) -> None:
        """The fleet is exactly as desired: no duplicate, no orphan, no registration too many, no wanted member gone."""
        records = self.store.members(WEB)
        assert len(self.machines) == size
        assert {record.name for record in records} == self.machines
        assert {record.phase for record in records} <= {Phase.IN_SERVICE}
        behind = {use.balancer for use in self.group.definition.group.balancers}
        for name, balancer in self.outside.balancers.items():
            assert balancer.states == dict.fromkeys(self.machines if name in behind else (), RegistrationState.SERVING)
        assert len(self.cloud.created) == len(set(self.cloud.created))
        assert set(self.cloud.destroyed) <= self.chosen()
        assert self.complaints == []

    def _check_create(self, name: MemberName) -> None:
        if self.cloud.state(name) is not None:
            self.complaints.append(f"{name} is made, and it is there already")

    def _check_destroy(self, name: MemberName) -> None:
        record = next((record for record in self.store.members(WEB) if record.name == name), None)
        if record is None or record.phase is not Phase.LEAVING:
            self.complaints.append(f"{name} is destroyed and was not chosen")
        for where, balancer in self.outside.balancers.items():
            if name in balancer.states:
                self.complaints.append(f"{name} is destroyed before it has left {where}")


def declared(path: Path, definition: Definition) -> DiskBed:
    """A bed with one group that has no members yet."""
    bed = DiskBed(path, Outside([*definition.balancers]))
    bed.store.declare([definition], bed.clock())
    return bed
