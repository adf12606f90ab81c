"""Two groups on one cloud in memory, one converger, and what an inventory says about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from config.model.catalogue import Budget
from config.units import GroupId
from handler.convergence.converge import Converger
from handler.convergence.idle_groups import IdleGroup, IdleState
from handler.convergence.passes import Pass
from handler.convergence.sightings import READY
from handler.planning.desired import Definition
from tests.support.fake_cloud import FakeClock, FakeCloud
from tests.support.memory_store import MemoryStore
from tests.support.worlds import INSTALLATION, WEB, a_definition, a_group

API = GroupId("api")
GROUPS = (WEB, API)


def definition_of(group: GroupId, definition: Definition) -> Definition:
    return replace(definition, group=replace(definition.group, id=group))


@dataclass
class SharedCloud:
    """Groups without balancers; passes happen in the caller's thread."""

    definition: Definition = field(
        default_factory=lambda: a_definition(
            balancers=(), ready=None, maximum=9, budget=Budget(outstanding=1000, per_hour=1000)
        )
    )

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.cloud = FakeCloud(self.clock)
        self.store = MemoryStore()
        wide = replace(self.definition.cloud, budget=Budget(outstanding=1000, per_hour=1000))
        self.definition = replace(self.definition, cloud=wide)
        for group in GROUPS:
            self.store.kept[group] = a_group(2, definition_of(group, self.definition))
        self.idle: dict[GroupId, IdleGroup] = {}
        self.converger = Converger(
            installation=INSTALLATION,
            store=self.store,
            orchestrator_for=lambda _: self.cloud,
            balancer_for=lambda declared: None,  # type: ignore[arg-type, return-value]  # there is none
            probe=lambda address, ready: READY,
            clock=self.clock,
            workers=1,
        )
        self.converger.witnesses.expect(dict.fromkeys(GROUPS, self.definition.cloud.id))

    def run(self, group: GroupId) -> Pass:
        """One pass, and what the group rests on after it."""
        stored = self.store.kept[group]
        done = self.converger.run(stored)
        self.idle.pop(group, None)
        idle = self.converger.idle(stored, done)
        if idle is not None:
            self.idle[group] = idle
        return done

    def settle(self, passes: int = 40) -> None:
        """Passes until both groups have nothing to do."""
        for _ in range(passes):
            for group in GROUPS:
                self.run(group)
            if len(self.idle) == len(GROUPS):
                return
            self.clock.advance(5.0)
        raise AssertionError("a group still has something to do")

    def desire(self, group: GroupId, size: int) -> None:
        """A decision; the group rests no more."""
        stored = self.store.kept[group]
        state = replace(stored.state, desired=size, revision=stored.state.revision + 1)
        self.store.kept[group] = replace(stored, state=state)
        self.idle.pop(group, None)

    def compare(self) -> Mapping[GroupId, IdleState]:
        """One inventory, for the groups that rest."""
        if not self.idle:
            return {}
        return self.converger.compare(self.definition.cloud, list(self.idle.values())).found
