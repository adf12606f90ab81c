"""What a rule of CloudStack alone has: machines of its account, tags, jobs. The rest is asked of every balancer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.errors import NotFound, Permanent, Transient
from handler.operations.examining import asked
from handler.planning.world import RegistrationState
from tests.support.balancers import a_name, state_of
from tests.support.cloudstack_rules import RuleStage, rule_stage
from tests.support.cloudstack_wire import error
from tests.support.examined import OK

PARKED, SERVING, DRAINING = RegistrationState.PARKED, RegistrationState.SERVING, RegistrationState.DRAINING


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[RuleStage]:
    with rule_stage(tmp_path) as stage:
        stage.wire.conjures = False
        yield stage


def test_a_machine_of_another_cloud_is_refused(stage: RuleStage) -> None:
    name = a_name()
    with pytest.raises(Permanent, match=f"{name} is no virtual machine of this CloudStack account"):
        stage.balancer.join(name, "10.0.0.7", 9)
    stage.wire.add(name, state="Destroyed")
    with pytest.raises(Permanent, match="is no virtual machine of this CloudStack account"):
        stage.balancer.join(name, "203.0.113.9", 9)
    assert stage.rule.tags == {}


@pytest.mark.parametrize("tagged", [False, True], ids=["new", "registered"])
def test_a_member_is_not_registered_at_an_address_that_its_machine_does_not_have(
    stage: RuleStage, tagged: bool
) -> None:
    name = a_name()
    machine = stage.wire.add(name)
    if tagged:
        stage.balancer.join(name, machine.address or "", 9)
    tags = dict(stage.rule.tags)

    with pytest.raises(Permanent, match=f"{name} is to be registered at 203.0.113.9, .* has {machine.address}"):
        stage.balancer.join(name, "203.0.113.9", 9)

    assert stage.rule.tags == tags


def test_another_machine_under_a_member_s_name_makes_way_for_the_member_s_own(stage: RuleStage) -> None:
    name = a_name()
    own, other = stage.wire.add(name), stage.wire.add(name)
    own.created = other.created - 60
    stage.rule.vms = [other.id]

    stage.balancer.join(name, own.address or "", 9)

    assert (stage.rule.vms, state_of(stage.balancer, name)) == ([], PARKED)
    stage.balancer.enable(name)
    assert stage.rule.vms == [own.id]


def test_a_machine_of_this_account_is_assigned_under_its_member_s_name(stage: RuleStage) -> None:
    name = a_name()
    stage.wire.add("payments")
    machine = stage.wire.add("r6hdqgtwfa-short", display=name, details={"trimtab": name}, tags={"trimtab": name})
    stage.balancer.join(name, machine.address or "", 9)
    stage.balancer.enable(name)
    assert stage.rule.vms == [machine.id]
    assert list(stage.balancer.registrations()) == [name]


def test_members_serve_on_the_rule_s_private_port(stage: RuleStage) -> None:
    stage.wire.conjures = True
    with pytest.raises(Permanent, match="members serve on port 8080, and the rule sends to 9"):
        stage.balancer.join(a_name(), "10.0.0.7", 8080)


def test_a_drained_member_is_off_the_rule_and_still_known_and_its_connections_are_not(stage: RuleStage) -> None:
    stage.wire.conjures, name = True, a_name()
    stage.balancer.join(name, "10.0.0.7", 9)
    stage.balancer.enable(name)
    assert stage.rule.tags == {}
    stage.balancer.drain(name)
    assert stage.rule.vms == []
    registration = stage.driver().registrations()[name]
    assert (registration.state, registration.connections, registration.health) == (DRAINING, None, None)
    stage.balancer.leave(name)
    assert stage.rule.tags == {}


def test_a_machine_that_is_gone_leaves_nothing_behind(stage: RuleStage) -> None:
    stage.wire.conjures, name = True, a_name()
    stage.balancer.join(name, "10.0.0.7", 9)
    stage.wire.vms.clear()
    stage.wire.conjures = False
    assert state_of(stage.balancer, name) is PARKED
    stage.balancer.leave(name)
    assert stage.balancer.registrations() == {}


def test_a_rule_of_cloudstack_s_own_autoscale_is_refused(stage: RuleStage) -> None:
    stage.wire.conjures, stage.wire.autoscaled, name = True, True, a_name()
    stage.balancer.join(name, "10.0.0.7", 9)
    with pytest.raises(Permanent, match="used by an Autoscale VM group"):
        stage.balancer.enable(name)


def test_a_rule_may_be_named_by_its_id(stage: RuleStage) -> None:
    stage.wire.make()
    with pytest.raises(Permanent, match="means 2 rules: write the id, one of"):
        stage.balancer.registrations()
    assert stage.driver(rule=stage.rule.id).incarnation() == stage.rule.id


def test_a_rule_that_is_not_there_is_named(stage: RuleStage) -> None:
    with pytest.raises(Permanent, match="nowhere is no rule of this account"):
        stage.driver(rule="nowhere").registrations()


def test_a_name_that_only_contains_the_rule_s_is_another(stage: RuleStage) -> None:
    stage.wire.make(name=f"{stage.rule.name}-2")
    assert stage.balancer.incarnation() == stage.rule.id


def test_a_job_that_does_not_end_in_time_is_seen_by_the_next_pass(stage: RuleStage) -> None:
    stage.wire.conjures, stage.wire.polls, name = True, 1000, a_name()
    with pytest.raises(Transient, match="createTags is still running"):
        stage.balancer.join(name, "10.0.0.7", 9)
    assert 0 < sum(stage.waited) < 200
    for job in stage.wire.jobs.values():
        job.polls = 0
        stage.wire._go_on(job)
    assert state_of(stage.balancer, name) is PARKED


def test_a_refusal_that_passes_is_tried_again(stage: RuleStage) -> None:
    stage.wire.conjures, name = True, a_name()
    stage.balancer.join(name, "10.0.0.7", 9)
    stage.wire.script("assignToLoadBalancerRule", error(533, "Resource [DataCenter:1] is unreachable"))
    with pytest.raises(Transient, match="unreachable"):
        stage.balancer.enable(name)
    stage.balancer.enable(name)
    assert state_of(stage.balancer, name) is SERVING


def test_an_account_that_may_not_says_which_command(stage: RuleStage) -> None:
    stage.wire.conjures = True
    stage.wire.forbidden.add("createTags")
    with pytest.raises(Permanent, match=r"createTags: refused.*what the role may call"):
        stage.balancer.join(a_name(), "10.0.0.7", 9)


def test_a_rule_that_was_renamed_is_reported_and_is_no_rule_that_is_missing(stage: RuleStage) -> None:
    assert stage.balancer.registrations() == {}
    stage.rule.name = "web-2026"
    with pytest.raises(
        Permanent, match=f"it is called web-2026 now: write its id, {stage.rule.id}, as rule"
    ) as renamed:
        stage.balancer.registrations()
    assert not isinstance(renamed.value, NotFound)


def test_the_account_of_a_rule_tells_its_version_and_what_time_it_is(tmp_path: Path) -> None:
    with rule_stage(tmp_path) as stage:
        version, clock = asked(stage.driver().checks("front"), 10.0)

    assert version.verdict is OK
    assert version.words.startswith("CloudStack 4.")
    assert clock.words.startswith("its clock ")
