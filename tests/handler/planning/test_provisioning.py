from __future__ import annotations

import pytest

from config.model.made_rule import MadeRule
from config.model.managed import HealthMonitor, ManagedPart, PoolSpec, made_parts
from handler.planning.provisioning import (
    Await,
    BalancerProvision,
    Make,
    Provision,
    Provisioned,
    Stuck,
    Unmake,
    bound,
    closed,
    next_to_make,
    next_to_unmake,
    overdue,
)
from tests.support.provisioning import MADE, a_managed, a_part
from tests.support.worlds import NOW

LB, LISTENER, POOL, MONITOR, ADDRESS, RULE, *_ = ManagedPart
ACTIVE, PENDING, ERROR = a_part(), a_part(Provision.PENDING), a_part(Provision.ERROR, word="ERROR")
REUSED = a_managed(vip=None, loadbalancer="front", pool=PoolSpec(id="p1"), health_monitor=HealthMonitor(id="m1"))


@pytest.mark.parametrize(
    ("found", "act"),
    [
        pytest.param({}, Make(part=LB), id="nothing"),
        pytest.param({LB: PENDING}, Await(why="balancer made: load balancer 7 is PENDING_CREATE"), id="pending"),
        pytest.param({LB: ACTIVE}, Make(part=LISTENER), id="load balancer"),
        pytest.param({LB: ACTIVE, LISTENER: ACTIVE}, Make(part=POOL), id="listener"),
        pytest.param({LB: ACTIVE, LISTENER: ACTIVE, POOL: ACTIVE}, Make(part=MONITOR), id="pool"),
        pytest.param(dict.fromkeys(ManagedPart, ACTIVE), Provisioned(), id="all"),
        pytest.param(
            {**dict.fromkeys(ManagedPart, ACTIVE), LB: PENDING},
            Await(why="balancer made: load balancer 7 is PENDING_CREATE"),
            id="being changed",
        ),
        pytest.param({LB: ACTIVE, POOL: ACTIVE}, Make(part=LISTENER), id="one that another client removed"),
    ],
)
def test_one_part_comes_after_the_other_each_when_the_one_before_is_active(found, act) -> None:
    assert next_to_make(a_managed(), found) == act
    assert (closed(a_managed(), found) == "") is isinstance(act, Provisioned)


def test_without_a_monitor_none_is_made() -> None:
    assert next_to_make(a_managed(health_monitor=None), dict.fromkeys((LB, LISTENER, POOL), ACTIVE)) == Provisioned()


@pytest.mark.parametrize(
    ("found", "act"),
    [
        pytest.param(dict.fromkeys(ManagedPart, ACTIVE), Unmake(part=MONITOR, id="7"), id="all"),
        pytest.param({LB: ACTIVE, LISTENER: ACTIVE}, Unmake(part=LISTENER, id="7"), id="some"),
        pytest.param({LB: ERROR}, Unmake(part=LB, id="7"), id="one that came to nothing"),
        pytest.param({LB: PENDING}, Await(why="balancer made: load balancer 7 is PENDING_CREATE"), id="pending"),
        pytest.param({}, Provisioned(), id="nothing"),
    ],
)
def test_parts_are_deleted_in_the_reverse_order(found, act) -> None:
    assert next_to_unmake(a_managed(), found) == act


BEGUN, LEAVING = a_part(Provision.BEGUN, word="recorded"), a_part(Provision.LEAVING, word="Revoke")
RULE_MADE = a_managed(vip=None, health_monitor=None, rule=MadeRule(private_port=80, network="tier"))


@pytest.mark.parametrize(
    ("found", "make", "unmake"),
    [
        pytest.param({ADDRESS: BEGUN}, Make(part=ADDRESS), Unmake(part=ADDRESS, id="7"), id="begun"),
        pytest.param({ADDRESS: ACTIVE}, Make(part=RULE), Unmake(part=ADDRESS, id="7"), id="address"),
        pytest.param(
            {ADDRESS: ACTIVE, RULE: LEAVING},
            Await(why="balancer made: rule 7 is Revoke"),
            Unmake(part=RULE, id="7"),
            id="being deleted",
        ),
        pytest.param({ADDRESS: ACTIVE, RULE: ACTIVE}, Provisioned(), Unmake(part=RULE, id="7"), id="all"),
    ],
)
def test_what_was_begun_is_made_on_or_undone_and_what_is_leaving_is_asked_to_leave_again(found, make, unmake) -> None:
    assert (next_to_make(RULE_MADE, found), next_to_unmake(RULE_MADE, found)) == (make, unmake)
    assert (closed(RULE_MADE, found) == "") is isinstance(make, Provisioned)


@pytest.mark.parametrize("status", [BEGUN, LEAVING, PENDING])
def test_what_is_under_way_for_too_long_is_overdue(status) -> None:
    binding = bound(BalancerProvision(balancer=MADE), {ADDRESS: status}, NOW)
    assert overdue(RULE_MADE, binding, NOW + 60) == 60.0


def test_what_exists_by_the_files_word_is_used_and_never_made_nor_deleted() -> None:
    assert made_parts(REUSED) == ()
    there = {LB: ACTIVE, POOL: ACTIVE, MONITOR: ACTIVE}
    assert (next_to_make(REUSED, there), next_to_unmake(REUSED, there)) == (Provisioned(), Provisioned())
    assert next_to_make(REUSED, {LB: ACTIVE}) == Stuck(why="balancer made: pool p1 does not exist")
    front = a_managed(vip=None, loadbalancer="front")
    assert (made_parts(front), next_to_make(front, {})) == (
        (LISTENER, POOL, MONITOR),
        Stuck(why="balancer made: load balancer front does not exist"),
    )
    assert next_to_unmake(front, {LB: ACTIVE}) == Provisioned()


def test_what_came_to_nothing_is_a_persons_to_look_after() -> None:
    act = next_to_make(a_managed(), {LB: ERROR})
    assert act == Stuck(why="balancer made: load balancer 7 is ERROR: delete it at the cloud by hand")


def test_a_part_that_stays_pending_is_remembered_and_reported_when_it_lasts_too_long() -> None:
    first = bound(BalancerProvision(balancer=MADE), {LB: PENDING}, NOW)
    assert (dict(first.parts), first.pending_since) == ({"loadbalancer": "7"}, NOW)
    later = bound(first, {LB: ACTIVE, LISTENER: PENDING}, NOW + 59)
    assert (dict(later.parts), later.pending_since) == ({"loadbalancer": "7", "listener": "7"}, NOW)
    assert [overdue(a_managed(), later, NOW + since) for since in (59, 60, 61)] == [None, 60.0, 61.0]
    assert bound(later, {LB: ACTIVE}, NOW + 60).pending_since is None
