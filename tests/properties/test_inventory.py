"""What an inventory calls unchanged is unchanged: a pass right then does nothing, whatever befell the cloud before."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from handler.convergence.idle_groups import IdleState, idle_state
from handler.convergence.inventory import Inventory, inventory_of
from handler.planning.world import ServerState
from tests.support.nightly import runs
from tests.support.shared_cloud import GROUPS, SharedCloud
from tests.support.worlds import INSTALLATION, name_of

groups = st.sampled_from(GROUPS)
numbers = st.integers(1, 4)


class WatchedCloud(RuleBasedStateMachine):
    """Two groups, passes at any time, inventories of any age, and a cloud that errs."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = SharedCloud()
        self.inventories: list[Inventory] = []

    @rule(group=groups)
    def make_a_pass(self, group: str) -> None:
        self.shared.run(group)  # type: ignore[arg-type]

    @rule(group=groups, size=st.integers(0, 4))
    def decide(self, group: str, size: int) -> None:
        self.shared.desire(group, size)  # type: ignore[arg-type]

    @rule(seconds=st.sampled_from([0.0, 1.0, 30.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.shared.clock.advance(seconds)

    @rule(group=groups, number=numbers)
    def lose(self, group: str, number: int) -> None:
        name = name_of(number, group=group)  # type: ignore[arg-type]
        if name in self.shared.cloud.machines:
            self.shared.cloud.die(name)

    @rule(group=groups, number=numbers, state=st.sampled_from(ServerState))
    def turn(self, group: str, number: int, state: ServerState) -> None:
        name = name_of(number, group=group)  # type: ignore[arg-type]
        if name in self.shared.cloud.machines:
            self.shared.cloud.say(name, state)

    @rule(group=groups, number=numbers)
    def hide_or_show(self, group: str, number: int) -> None:
        self.shared.cloud.hidden ^= {name_of(number, group=group)}  # type: ignore[arg-type]

    @rule(partial=st.booleans())
    def be_partial(self, partial: bool) -> None:
        self.shared.cloud.partial = partial

    @rule(group=groups)
    def add_an_unknown_machine(self, group: str) -> None:
        name = name_of(9, group=group)  # type: ignore[arg-type]
        if name not in self.shared.cloud.machines:
            self.shared.cloud.add(name)

    @rule()
    def ask_for_an_inventory_that_comes_late(self) -> None:
        shared, cloud = self.shared, self.shared.definition.cloud.id
        self.inventories.append(inventory_of(cloud, shared.cloud.list_all(), INSTALLATION, shared.clock()))

    @rule()
    def read_an_old_inventory(self) -> None:
        """A group that made anything since is not in it: nothing is said, so nothing is missed."""
        for inventory in self.inventories:
            for group, idle in self.shared.idle.items():
                listed = {server.name: server for server in inventory.of(group)}
                if idle_state(idle, inventory) is IdleState.SAME:
                    assert listed == dict(idle.servers)
                if inventory.asked_at < idle.since:
                    assert idle_state(idle, inventory) is IdleState.SILENT

    @rule()
    def compare(self) -> None:
        before = dict(self.shared.store.records)
        found = self.shared.compare()
        assert self.shared.store.records == before
        for group, what in found.items():
            if what is IdleState.SAME:
                done = self.shared.run(group)
                assert done.plan.converged
                assert (done.outcomes, done.messages, done.vanished, done.returned) == ((), (), (), ())


TestWatchedCloud = WatchedCloud.TestCase
TestWatchedCloud.settings = runs(100, steps=25)
