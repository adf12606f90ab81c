"""A whole bed for convergence: cloud, balancer, store and clock in memory, and a converger over them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from config.errors import StoreError
from config.model.catalogue import Group, ProcessRecipe, ReadyProbe
from config.model.rolling import RollBudgets
from config.units import BalancerId, MemberName, PartName
from handler.convergence.claiming import Generation
from handler.convergence.converge import Converger
from handler.convergence.passes import Pass
from handler.convergence.sightings import READY
from handler.operations.member_actions import evicted, given
from handler.planning.desired import Definition
from handler.planning.launches import LaunchId
from handler.planning.roles import state_of
from handler.planning.rolls import Roll, RollState
from handler.planning.status import MemberState
from handler.planning.world import Leaving, Phase, Record, RegistrationState
from handler.ports.orchestrator import Orchestrator
from handler.ports.stored import Event, EventKind, StoredGroup
from handler.runtime.roll_progress import news_of, write
from tests.support.fake_cloud import FakeBalancer, FakeClock, FakeCloud, Instants
from tests.support.memory_store import MemoryStore
from tests.support.worlds import INSTALLATION, WEB, a_definition, a_group
from trigger.decide import lowered, returned, vanished
from trigger.guards.outdated_requests import compared, confirmed
from trigger.requests import GroupState

_PASSES = 200


@dataclass
class Bed:
    """One group on one cloud behind balancers. ``workers=1``: everything happens in one thread, in one order."""

    definition: Definition = field(default_factory=a_definition)
    size: int | None = None
    workers: int = 1
    instants: Instants = field(default_factory=Instants)
    unready: set[str] = field(default_factory=set)
    """Addresses whose probe says no."""
    mute: set[str] = field(default_factory=set)
    """Addresses that nothing answers at, whatever machine is there."""
    probed: list[str] = field(default_factory=list)
    generation: Generation | None = None
    """The claim of this daemon; ``None``: it makes none."""

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.cloud = FakeCloud(self.clock, instants=self.instants)
        self.balancers: dict[BalancerId, FakeBalancer] = {
            balancer: FakeBalancer(self.clock, instants=self.instants) for balancer in self.definition.balancers
        }
        self.orchestrator: Orchestrator = self.cloud
        self.store = MemoryStore(instants=self.instants)
        self.stored: StoredGroup = a_group(self.size, self.definition)
        self.store.kept[WEB] = self.stored
        self.failed_passes: list[StoreError] = []
        self.restart()

    @property
    def edge(self) -> FakeBalancer:
        return next(iter(self.balancers.values()))

    def restart(self) -> None:
        """A new process on the same store, cloud and balancers."""
        self.instants.kill_at = None
        self.converger = Converger(
            installation=INSTALLATION,
            store=self.store,
            orchestrator_for=lambda _: self.orchestrator,
            balancer_for=lambda declared: self.balancers[declared.id],
            probe=self._probe,
            clock=self.clock,
            workers=self.workers,
            generation=self.generation,
        )

    def _probe(self, address: str, _: ReadyProbe) -> str:
        self.probed.append(address)
        is_there = self.orchestrator is not self.cloud or self.cloud.answers_at(address)  # other clouds: by `mute`
        if address in self.mute or not is_there:
            return "no answer within 2s"
        return "HTTP 503" if address in self.unready else READY

    def addresses(self) -> set[str]:
        """Where the cloud says that the group's machines are."""
        return {server.address for server in self.orchestrator.list(WEB).servers if server.address is not None}

    def bury(self, before: set[str]) -> None:
        """A person orders convergence; nothing answers at those of these addresses that are not listed any more."""
        self.mute = before - self.addresses()
        self.run(accept_vanished=True)
        self.mute = set()

    def desire(self, size: int | None) -> None:
        state = self.store.kept[WEB].state
        self.store.kept[WEB] = replace(
            self.store.kept[WEB], state=replace(state, desired=size, revision=state.revision + 1)
        )

    def redefine(self, definition: Definition) -> None:
        """A reload: members are made of something else from now on."""
        self.definition = definition
        self.store.kept[WEB] = replace(self.store.kept[WEB], definition=definition)

    def replace(self, name: MemberName) -> None:
        """A person asks for another member in this one's place."""
        record, cloud = self.store.records[name]
        self.store.records[name] = (replace(record, leaving=Leaving.REPLACED), cloud)

    def adopt(self, named: str = "database") -> MemberName:
        """A person gives a machine that is there: record and size are one write, as the decision queue's are."""
        server = self.cloud.foreign_member(named)
        assert server is not None
        launch = LaunchId(installation=INSTALLATION, group=WEB, sequence=self.store.last_sequence(WEB) + 1)
        record = given(launch, server, self.definition, self.clock())
        self._follow(record, 1)
        return record.name

    def evict(self, name: MemberName) -> None:
        """A person takes a member away, and keeps its machine."""
        self._follow(evicted(self.store.records[name][0], self.clock(), force=False), -1)

    def _follow(self, record: Record, by: int) -> None:
        state = self.store.kept[WEB].state
        assert state.desired is not None
        state = replace(state, desired=state.desired + by, revision=state.revision + 1)
        act = Event(at=self.clock(), group=WEB, kind=EventKind.NOTE, name="follow", by="ada")
        self.store.lower(act, state, (record,), self.definition.cloud.id)

    def release(self, number: int) -> None:
        """The file is reloaded with another profile."""
        profile = replace(self.definition.profile, recipe=ProcessRecipe(command=("serve", str(number))))
        self.definition = replace(self.definition, profile=profile)
        self.store.kept[WEB] = replace(self.store.kept[WEB], definition=self.definition)

    def roll(self, budgets: RollBudgets) -> None:
        """A person has all members replaced that are not made of the present profile."""
        roll = Roll(target=self.definition.profile_digest, budgets=budgets, started_at=self.clock(), by="ada")
        self.store.kept[WEB] = replace(self.store.kept[WEB], roll=roll)

    def stop_roll(self) -> None:
        kept = self.store.kept[WEB]
        if kept.roll is not None and kept.roll.runs:
            self.store.kept[WEB] = replace(kept, roll=kept.roll.ended(RollState.STOPPED, "by ada", self.clock()))

    def run(self, *, accept_vanished: bool = False, only: MemberName | None = None) -> Pass:
        stored = self.store.kept[WEB]
        done = self.converger.run(stored, accept_vanished=accept_vanished, only=only)
        self._lower(done.vanished, vanished, "vanished")
        self._lower(done.returned, returned, "returned")
        self._lower(done.refused, lowered, "adoption_refused")
        if stored.roll is not None:
            self._steer(stored, done)
        self._compare(done)
        return done

    def _compare(self, done: Pass) -> None:
        """What the daemon does once a pass is over: it writes down whether the store may be older than the fleet."""
        stored = self.store.kept[WEB]
        if done.inventory is not None:
            state = compared(self.definition.group, stored.state, done.inventory, self.clock())
            self.store.kept[WEB] = replace(stored, state=state)

    def adopt_store(self) -> None:
        """A person confirms a store that may be older than the fleet."""
        stored = self.store.kept[WEB]
        assert stored.state.older is not None
        self.store.raise_sequence(WEB, stored.state.older.sequence)
        self.store.kept[WEB] = replace(stored, state=confirmed(stored.state))

    def _steer(self, stored: StoredGroup, done: Pass) -> None:
        """What the daemon does with a roll once a pass is over."""
        world, now = done.world, self.clock()
        states = {member.name: state_of(member, world, stored.definition, now) for member in world.members}
        in_service = {name for name, state in states.items() if state is MemberState.IN_SERVICE}
        with contextlib.suppress(StoreError):
            write(self.store, stored, news_of(stored, done, in_service, now), now)

    def _lower(
        self, records: tuple[Record, ...], lower: Callable[[Group, GroupState, int], GroupState], act: str
    ) -> None:
        """What the daemon does once a pass is over: desired size follows those who will not be."""
        if not records:
            return
        state = lower(self.definition.group, self.store.kept[WEB].state, len(records))
        note = Event(at=self.clock(), group=WEB, kind=EventKind.NOTE, name=act, by="convergence", message="some gone")
        self.store.lower(note, state, records, self.definition.cloud.id)

    def settle(self, *, accept_vanished: bool = False, passes: int = _PASSES, stuck: bool = False) -> Pass:
        """Run passes, each after the time that the last one asked for, until nothing is left to do, or stuck."""
        for _ in range(passes):
            done = self.run(accept_vanished=accept_vanished)
            if done.plan.converged and (stuck or not done.plan.stuck):
                return done
            self.clock.advance((60.0 if done.plan.stuck else 5.0) if done.next_in is None else done.next_in)
        raise AssertionError(f"not converged after {passes} passes: {done.plan} {done.messages}")

    # What is there

    @property
    def machines(self) -> set[MemberName]:
        return self.cloud.ours(INSTALLATION, WEB)

    def known(self, *phases: Phase) -> set[MemberName]:
        return {record.name for record in self.store.members(WEB) if not phases or record.phase in phases}

    def serving(self) -> set[MemberName]:
        """Who serves on all balancers."""
        served = [
            {name for name, state in balancer.states.items() if state is RegistrationState.SERVING}
            for balancer in self.balancers.values()
        ]
        return set.intersection(*served) if served else self.machines

    def expect(self, size: int) -> None:
        """The fleet is exactly as desired: no duplicate, no orphan, no registration too many."""
        assert len(self.machines) == size
        assert self.known() == self.known(Phase.IN_SERVICE) == self.machines == self.serving()
        for balancer in self.balancers.values():
            assert set(balancer.states) == self.machines
        declared = [part.name for part in self.definition.profile.parts]
        assert self.parts() == {(name, part) for name in self.machines for part in declared}

    def parts(self) -> set[tuple[MemberName, PartName]]:
        """What bears a member's mark beside the machines."""
        there = self.cloud.simulation.parts.there()
        return {(MemberName(part.member), PartName(part.name)) for part in there if part.member}

    def retained(self) -> list[str]:
        """Parts that were retained, by name."""
        return [part.name for part in self.cloud.simulation.parts.there() if not part.member]

    def chosen(self) -> set[MemberName]:
        """Everyone who was ever chosen to leave: the records say so for ever. Who vanished was not asked."""
        return self._left() - self._left(Leaving.VANISHED) - self._left(Leaving.EVICTED)

    def released(self) -> set[MemberName]:
        """Everyone who was ever evicted."""
        return self._left(Leaving.EVICTED)

    def _left(self, *why: Leaving) -> set[MemberName]:
        left = (record for record, _ in self.store.records.values() if record.leaving_at is not None)
        return {record.name for record in left if not why or record.leaving in why}


def grown(size: int, **changes: object) -> Bed:
    """A bed whose fleet has grown to ``size``."""
    bed = Bed(size=size, **changes)  # type: ignore[arg-type]
    bed.settle()
    bed.expect(size)
    return bed
