"""What an endpoint that swallows calls costs the others: waiting threads, and calls that are sent in vain.

Deadlines are short here; what is counted does not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from collector.clients.circuit import FAILURES, Position
from collector.clients.circuits import Circuits
from config.model.clouds import Budget
from config.units import CloudId, GroupId
from handler.convergence.converge import Converger, Pass
from handler.convergence.sightings import READY
from handler.orchestrators.cloudstack.driver import CloudstackOrchestrator
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Create, Wait
from handler.ports.orchestrator import Orchestrator
from handler.ports.stored import StoredGroup
from tests.support.circuits import circuits_by
from tests.support.cloud_beds import CloudBed
from tests.support.cloudstack import HERE, a_cloudstack, a_machine_recipe, cloudstack_stage
from tests.support.fake_cloud import FakeClock, FakeCloud
from tests.support.memory_store import MemoryStore
from tests.support.swallowing import Swallower, swallowing
from tests.support.worlds import a_definition, a_group

WORKERS = 8
"""Passes side by side, as the daemon has them."""
DEADLINE = 0.5
MANY = 60
OF_OTHERS = 5


@pytest.fixture
def swallower() -> Iterator[Swallower]:
    with swallowing() as swallower:
        yield swallower


def group(name: str, cloud: str, clouds: dict[str, Orchestrator], made_of: object) -> StoredGroup:
    """A group of one on that cloud, without balancers."""
    plain = a_definition(balancers=(), ready=None)
    definition = replace(
        plain,
        group=replace(plain.group, id=GroupId(name)),
        profile=replace(plain.profile, cloud=CloudId(cloud), recipe=made_of),  # type: ignore[arg-type]
        cloud=replace(plain.cloud, id=CloudId(cloud)),
    )
    assert cloud in clouds
    stored = a_group(1, definition)
    return replace(stored, id=GroupId(name))


def passes(swallower: Swallower, circuits: Circuits) -> tuple[list[Pass], list[Pass]]:
    """One pass of many groups on a dead cloud, and after them of some on another."""
    clock = FakeClock()
    dead = a_cloudstack(f"{swallower.url}/client/api", id=CloudId("dead"), timeout=DEADLINE)
    clouds: dict[str, Orchestrator] = {
        "dead": CloudstackOrchestrator(dead, HERE, clock, lambda _: "secret", circuits=circuits),
        "well": FakeCloud(clock),
    }
    store = MemoryStore()
    converger = Converger(
        installation=HERE,
        store=store,
        orchestrator_for=lambda cloud: clouds[cloud.id],
        balancer_for=lambda _: pytest.fail("there are none"),
        probe=lambda *_: READY,
        clock=clock,
        workers=WORKERS,
    )
    recipe = a_definition().profile.recipe
    groups = [group(f"dead-{number}", "dead", clouds, a_machine_recipe()) for number in range(MANY)]
    groups += [group(f"well-{number}", "well", clouds, recipe) for number in range(OF_OTHERS)]
    store.kept.update((each.id, each) for each in groups)
    with ThreadPoolExecutor(WORKERS) as pool:
        done = list(pool.map(converger.run, groups))
    return done[:MANY], done[MANY:]


def test_groups_of_a_dead_cloud_do_not_keep_those_of_others_waiting(swallower: Swallower) -> None:
    circuits = circuits_by(FakeClock())

    dead, well = passes(swallower, circuits)

    assert len(swallower.taken) < FAILURES + WORKERS, "only calls under way when the circuit opens go on"
    assert all(done.outcomes and done.outcomes[0].result is StepResult.DONE for done in well)
    assert all(not done.world.complete for done in dead)
    left_alone = [done for done in dead if "are held back" in done.world.because]
    assert len(left_alone) > MANY - FAILURES - WORKERS
    (status,) = circuits.statuses()
    assert status.position is Position.OPEN
    assert status.unsent >= len(left_alone)
    assert "are held back: 5 calls in a row failed since" in " ".join(left_alone[0].messages)


@pytest.fixture
def bed() -> Iterator[CloudBed]:
    plain, wide = a_definition(maximum=MANY), Budget(outstanding=500, per_hour=5000)
    definition = replace(
        plain,
        group=replace(plain.group, budget=wide),
        cloud=replace(plain.cloud, budget=wide),
        profile=replace(plain.profile, recipe=a_machine_recipe()),
    )
    bed = CloudBed(definition=definition, size=0, workers=WORKERS)
    with cloudstack_stage(clock=bed.clock) as stage:
        yield bed.on(stage, lambda: stage.wire.alive)


def test_a_group_that_makes_many_when_its_endpoint_dies_leaves_them_for_later(bed: CloudBed) -> None:
    def die(command: str) -> None:
        bed.wire.dead = bed.wire.dead or command == "deployVirtualMachine"

    bed.wire.before = die
    bed.desire(MANY)

    first = bed.run()

    tried = [outcome for outcome in first.outcomes if isinstance(outcome.step, Create)]
    assert len(tried) < 2 * (FAILURES + WORKERS), "each of the others would be a line of history"
    assert {outcome.result for outcome in tried} == {StepResult.LIMITED, StepResult.RETRY}
    assert dict(first.plan.waits)[Wait.RATE_LIMIT] == MANY - len(tried)
    assert bed.wire.unheard < 2 * (FAILURES + WORKERS)

    bed.wire.before = lambda command: None
    bed.wire.dead = False
    bed.settle()
    bed.whole(MANY)
