"""Two daemons over copies of one store: the one that claims last acts, and the other one does nothing any more."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from config.errors import Permanent, StoreError, Transient
from config.model.catalogue import Mode, SimulatedCloud
from config.units import CloudId, GroupId
from handler.convergence.claiming import Generation
from handler.planning.launches import Claim
from handler.planning.steps import Wait
from handler.planning.world import ServerState
from handler.ports.stored import StoredGroup
from tests.support.beds import Bed
from tests.support.fake_cloud import FakeCloud
from tests.support.memory_store import MemoryStore
from tests.support.worlds import WEB, a_definition, name_of

CLOUD = SimulatedCloud(id=CloudId("prod"))
_NONCES = (f"nonce{number:03}" for number in itertools.count())


def a_bed(size: int = 5) -> Bed:
    return Bed(definition=replace(a_definition(), cloud=CLOUD), size=size)


def started(bed: Bed) -> Bed:
    """A daemon starts over the bed's store."""
    bed.generation = Generation(
        stored=bed.store.generation(),
        save=bed.store.save_generation,
        nonce=next(_NONCES),
        installation="test01",
        clock=bed.clock,
    )
    bed.restart()
    return bed


def copied(bed: Bed) -> Bed:
    """Another state directory with the same content, over the same cloud and balancers."""
    other = a_bed()
    other.clock, other.cloud, other.orchestrator, other.balancers = bed.clock, bed.cloud, bed.cloud, bed.balancers
    other.definition = bed.definition
    other.store = MemoryStore(
        kept=dict(bed.store.kept),
        records=dict(bed.store.records),
        sequences=dict(bed.store.sequences),
        claimed=bed.store.claimed,
    )
    return other


def own(bed: Bed) -> Claim:
    assert bed.generation is not None
    return bed.generation.own


def acts(bed: Bed) -> bool:
    """Whether this daemon still acts after a pass."""
    assert bed.generation is not None
    bed.run()
    return bed.generation.rival is None


def borne(cloud: FakeCloud) -> dict[str, Claim | None]:
    return {server.name: server.claim for server in cloud.list(WEB).servers}


@pytest.fixture
def first() -> Bed:
    bed = started(a_bed())
    bed.settle()
    bed.expect(5)
    return bed


def test_every_new_member_bears_the_claim_and_so_do_the_three_oldest_after_a_restart(first: Bed) -> None:
    before = own(first)
    assert set(borne(first.cloud).values()) == {before}
    started(first)
    assert own(first).counter == before.counter + 1
    first.run()
    assert borne(first.cloud) == {name_of(n): own(first) if n <= 3 else before for n in range(1, 6)}
    first.desire(6)
    first.settle()
    assert borne(first.cloud)[name_of(6)] == own(first)


def test_when_the_oldest_leave_those_that_are_the_oldest_then_bear_the_claim(first: Bed) -> None:
    started(first)
    first.run()
    first.desire(3)
    first.settle()
    assert first.machines == {name_of(3), name_of(4), name_of(5)}
    first.run()
    assert set(borne(first.cloud).values()) == {own(first)}


@pytest.mark.parametrize("restarts", [1, 5])
def test_no_restart_stops_a_daemon(first: Bed, restarts: int) -> None:
    for _ in range(restarts):
        started(first)
        first.cloud.die(sorted(first.machines)[0])
        first.settle()
        first.expect(5)
        assert acts(first)


def test_of_two_daemons_the_one_that_started_last_acts_and_the_other_does_nothing(first: Bed) -> None:
    second = started(copied(first))
    assert acts(second)
    second.cloud.die(name_of(1))
    done = first.run()
    assert (done.outcomes, first.cloud.created, first.cloud.destroyed) == ((), second.cloud.created, [])
    assert "trimtab store adopt" in done.failures[0]
    assert own(second).text in done.failures[0]
    second.settle()
    assert len(second.machines) == 5
    before = first.machines
    for _ in range(20):
        first.clock.advance(30.0)
        assert first.run().outcomes == ()
        assert second.run().plan.converged
    assert first.machines == before


def test_a_person_has_the_one_that_stopped_take_over(first: Bed) -> None:
    second = started(copied(first))
    assert acts(second)
    assert not acts(first)
    assert first.generation is not None
    first.generation.adopt()
    assert acts(first)
    assert own(first).counter > own(second).counter
    assert not acts(second)
    assert acts(first)


def test_two_that_start_at_the_same_instant_never_both_act(first: Bed) -> None:
    copy = copied(first)
    one, other = started(first), started(copy)
    assert own(one).counter == own(other).counter
    assert one.generation is not None
    assert other.generation is not None
    for bed in (one, other):  # both have read the cloud before either writes
        bed.cloud.faults.always["claim"] = Transient("slow")
        bed.generation.meet(CLOUD, bed.cloud, bed.converger._traffic)
    one.cloud.faults.clear()
    for _ in range(3):
        one.run()
        other.run()
    assert one.generation.rival is not None or other.generation.rival is not None
    one.cloud.die(name_of(2))
    one.run()
    other.run()
    assert len(one.cloud.created) <= 6
    one.generation.adopt()
    one.run()
    other.run()
    assert (one.generation.rival, other.generation.rival is not None) == (None, True)


def test_a_claim_below_our_own_stops_nothing(first: Bed) -> None:
    first.cloud.claim(name_of(1), Claim(counter=1, nonce="stranger"))
    started(first)
    assert acts(first)


@pytest.mark.parametrize("counter", [7, 8, 9])
def test_a_start_claims_above_what_members_bear_when_the_store_is_older(first: Bed, counter: int) -> None:
    first.cloud.claim(name_of(5), Claim(counter=counter, nonce="before00"))
    started(first)
    assert acts(first)
    assert own(first).counter == counter + 1
    assert first.store.claimed == own(first)


def test_a_member_that_another_daemon_made_stops_this_one_before_it_is_taken_for_surplus(first: Bed) -> None:
    second = started(copied(first))
    second.cloud.faults.always["claim"] = Permanent("not allowed")  # its claim is on nothing but what it makes
    second.desire(6)
    second.settle()
    assert len(second.machines) == 6
    assert not acts(first)
    assert first.cloud.destroyed == []


def test_a_claim_that_cannot_be_written_is_reported_and_stops_nothing(first: Bed) -> None:
    started(first)
    first.cloud.faults.always["claim"] = Permanent("policy does not allow it")
    done = first.run()
    assert any("policy does not allow it" in message for message in done.retries)
    assert acts(first)
    first.cloud.die(name_of(1))
    first.settle()
    first.expect(5)
    first.cloud.faults.clear()
    assert not [message for message in first.run().retries if "policy" in message]


def test_a_cloud_that_does_not_answer_is_met_when_it_does(first: Bed) -> None:
    second = copied(first)
    started(second)
    second.cloud.faults.always["list"] = Transient("down")
    second.run()
    assert set(borne_names(second)) == {own(first)}
    second.cloud.faults.clear()
    assert acts(second)
    assert not acts(first)


def borne_names(bed: Bed) -> list[Claim | None]:
    return [machine.view(bed.clock()).server.claim for machine in bed.cloud.simulation.machines(bed.clock())]


def test_a_daemon_that_only_advises_claims_nothing(first: Bed) -> None:
    second = copied(first)
    second.redefine(replace(second.definition, group=replace(second.definition.group, mode=Mode.ADVISE)))
    started(second)
    second.run()
    assert set(borne(second.cloud).values()) == {own(first)}
    assert acts(first)


def test_a_superseded_daemon_deletes_no_member(first: Bed) -> None:
    second = started(copied(first))
    assert acts(second)
    kept: StoredGroup = first.store.kept[WEB]
    first.store.kept[WEB] = replace(kept, deleting=True, state=replace(kept.state, orphaned=True))
    for _ in range(5):
        assert first.run().outcomes == ()
    assert len(first.machines) == 5
    assert first.cloud.state(name_of(1)) is ServerState.RUNNING


def test_a_claim_that_cannot_be_written_down_is_not_made(first: Bed) -> None:
    first.store.full = True
    before = own(first)
    assert first.generation is not None
    with pytest.raises(StoreError):
        first.generation.adopt()
    assert own(first) == before
    assert Wait.NO_DESIRED not in dict(first.run().plan.waits)


def test_older_claims_stop_no_daemon_whose_cloud_could_first_be_listed_group_by_group(first: Bed) -> None:
    daemon = Generation(
        stored=None, save=lambda claim: None, nonce="nonce999", installation="test01", clock=first.clock
    )
    (one, *_) = first.cloud.list(WEB).servers
    for group, counter in (("web", 3), ("api", 7)):
        listed = [replace(one, claim=Claim(counter=counter, nonce="before00"))]
        daemon.see(CLOUD, first.cloud, first.converger._traffic, GroupId(group), listed)
    assert (daemon.rival, daemon.own.counter) == (None, 8)

    taken = [replace(one, claim=Claim(counter=9, nonce="another0"))]
    daemon.see(CLOUD, first.cloud, first.converger._traffic, GroupId("api"), taken)
    assert daemon.rival is not None
