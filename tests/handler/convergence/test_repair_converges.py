"""Repair over many passes: members that fail health checks, dead balancers, restarts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.errors import Transient
from config.model.repair import HealthRepair, Repair
from config.units import BalancerId
from handler.planning.steps import Wait
from handler.planning.world import Health, Phase, ServerState
from tests.support.beds import Bed, grown
from tests.support.worlds import EDGE, a_definition, name_of

BACK = BalancerId("back")
ONE, TWO, THREE, FOUR = map(name_of, range(1, 5))
RULE = HealthRepair(after=60.0, warm_up=30.0, at_most=1)


def a_bed(size: int = 4, *, balancers: tuple[BalancerId, ...] = (EDGE,), rule: HealthRepair = RULE) -> Bed:
    """A fleet that has warmed up, with every member healthy on every balancer."""
    bed = grown(size, definition=a_definition(balancers=balancers, repair=Repair(unhealthy=rule)))
    bed.clock.advance(rule.warm_up)
    for name in bed.machines:
        say(bed, name_of(int(name.rpartition("-")[2])), Health.HEALTHY)
    return bed


def say(bed: Bed, name: object, health: Health, *, at: BalancerId = EDGE) -> None:
    bed.balancers[at].health |= {found: health for found in bed.machines if found == name}


def passes(bed: Bed, seconds: float) -> None:
    """Look every five seconds for so long; new members are healthy."""
    for _ in range(int(seconds / 5)):
        bed.run()
        bed.clock.advance(5.0)
        for balancer in bed.balancers.values():
            for name in bed.machines:
                balancer.health.setdefault(name, Health.HEALTHY)


def test_a_member_that_does_not_answer_is_replaced_after_its_time() -> None:
    bed = a_bed()
    say(bed, ONE, Health.FAILING)
    passes(bed, 60)
    assert ONE in bed.machines
    passes(bed, 120)
    assert bed.cloud.destroyed == [ONE]
    bed.settle()
    bed.expect(4)


def test_a_restart_does_not_begin_the_time_anew() -> None:
    bed = a_bed()
    say(bed, ONE, Health.FAILING)
    passes(bed, 40)
    bed.restart()
    passes(bed, 40)
    assert bed.store.records[ONE][0].phase is not Phase.IN_SERVICE


def test_one_that_answers_in_between_has_all_its_time_again() -> None:
    bed = a_bed()
    for _ in range(4):
        say(bed, ONE, Health.FAILING)
        passes(bed, 50)
        say(bed, ONE, Health.HEALTHY)
        passes(bed, 5)
    assert (bed.cloud.destroyed, bed.known(Phase.IN_SERVICE)) == ([], {ONE, TWO, THREE, FOUR})


def test_an_outage_of_the_balancer_s_checks_costs_no_member_and_leaves_none_overdue() -> None:
    bed = a_bed()
    say(bed, ONE, Health.FAILING)
    passes(bed, 50)
    for name in (TWO, THREE, FOUR):
        say(bed, name, Health.FAILING)
    passes(bed, 600)
    assert {wait for wait, _ in bed.run().plan.waits} == {Wait.MANY_FAILING}
    for name in (TWO, THREE, FOUR):
        say(bed, name, Health.HEALTHY)
        passes(bed, 5)
    say(bed, ONE, Health.HEALTHY)
    passes(bed, 200)
    assert bed.cloud.destroyed == []


def test_members_are_replaced_one_after_the_other_within_the_budget() -> None:
    bed = a_bed(6, rule=replace(RULE, at_most=2))
    bed.cloud.build_time = 200.0
    for name in (ONE, TWO):
        say(bed, name, Health.FAILING)
    passes(bed, 80)
    say(bed, THREE, Health.FAILING)
    passes(bed, 90)
    assert (set(bed.cloud.destroyed), len(bed.known(Phase.IN_SERVICE))) == ({ONE, TWO}, 4)
    passes(bed, 600)
    assert set(bed.cloud.destroyed) == {ONE, TWO, THREE}
    bed.settle()
    bed.expect(6)


def test_while_too_many_fail_the_group_still_grows_and_what_vanished_is_replaced() -> None:
    bed = a_bed()
    for name in (ONE, TWO):
        say(bed, name, Health.FAILING)
    passes(bed, 120)
    say(bed, THREE, Health.UNKNOWN)
    bed.cloud.die(THREE)
    bed.desire(6)
    passes(bed, 60)
    done = bed.run()
    assert dict(done.plan.waits) == {Wait.MANY_FAILING: 2}
    assert "more than 1 at once" in done.retries[0]
    assert (len(bed.known(Phase.IN_SERVICE)), bed.cloud.destroyed) == (6, [])


@pytest.mark.parametrize("trouble", ["vanished", "broken", "unhealthy"])
def test_a_dead_balancer_of_some_old_members_does_not_keep_the_others_from_repair(trouble: str) -> None:
    bed = a_bed(5, balancers=(EDGE, BACK))
    for name, behind in ((ONE, EDGE), (TWO, EDGE), (THREE, EDGE), (FOUR, BACK), (name_of(5), BACK)):
        record, cloud = bed.store.records[name]
        bed.store.records[name] = (replace(record, balancers=((behind, 80),)), cloud)
        for other in {EDGE, BACK} - {behind}:
            del bed.balancers[other].states[name]
    bed.definition = a_definition(balancers=(EDGE,), repair=Repair(unhealthy=RULE))
    declared = {**a_definition(balancers=(EDGE, BACK)).balancers}
    kept = bed.store.kept[bed.stored.id]
    bed.store.kept[bed.stored.id] = replace(kept, definition=replace(bed.definition, balancers=declared))
    bed.balancers[BACK].faults.always["registrations"] = Transient("connection refused")
    bed.cloud.die(FOUR)
    match trouble:
        case "vanished":
            say(bed, ONE, Health.FAILING)
            bed.cloud.die(ONE)
        case "broken":
            bed.cloud.say(ONE, ServerState.ERROR)
        case _:
            say(bed, ONE, Health.FAILING)
    passes(bed, 200)
    assert ONE not in bed.known()
    assert len(bed.known(Phase.IN_SERVICE) - {FOUR, name_of(5)}) == 4, "two that serve, and one in place of each"
    waits = dict(bed.run().plan.waits)
    assert set(waits) == {Wait.BALANCER_UNKNOWN}, "only what has to be done at the dead balancer waits"
