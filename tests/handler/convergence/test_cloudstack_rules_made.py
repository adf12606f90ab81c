"""A complete group on CloudStack with a rule that Trimtab creates, over the real protocol, while answers are lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import pytest

from config.model.catalogue import BalancerUse
from config.model.made_rule import HealthCheck, MadeRule, Stickiness, StickinessMethod
from config.model.managed import ManagedBalancer
from config.units import BalancerId
from handler.balancers.cloudstack.making import RuleProvisioner
from tests.support.cloud_beds import CloudBed
from tests.support.cloudstack import HERE, CloudstackStage, a_cloudstack, a_machine_recipe
from tests.support.cloudstack_making import MakingWire, making_wire
from tests.support.cloudstack_wire import error
from tests.support.waiting import PATIENT
from tests.support.wire_server import LOST, UNREACHED
from tests.support.worlds import WEB, a_definition

FRONT = BalancerId("front")


@pytest.fixture
def bed() -> Iterator[CloudBed]:
    rule = MadeRule(
        private_port=8080,
        network="tier",
        stickiness=Stickiness(method=StickinessMethod.SOURCE_BASED),
        health_check=HealthCheck(),
    )
    with making_wire(conjures=False) as (wire, endpoint):
        cloud = a_cloudstack(endpoint, timeout=PATIENT)
        declared = ManagedBalancer(id=FRONT, on=cloud.id, cloud=cloud, rule=rule)
        plain = a_definition(drain=0.0)
        definition = replace(
            plain,
            profile=replace(plain.profile, recipe=a_machine_recipe()),
            group=replace(plain.group, balancers=(BalancerUse(balancer=FRONT, port=8080),)),
            balancers=MappingProxyType({FRONT: declared}),
        )
        bed = CloudBed(definition=definition, size=0, workers=4)
        wire.clock = bed.clock
        stage = CloudstackStage(wire, endpoint, bed.clock)
        secrets = stage.secrets
        bed.balancers[FRONT] = RuleProvisioner(  # type: ignore[assignment]
            declared, cloud, HERE, bed.clock, lambda ref: secrets[ref.env or ""], lambda _: None
        )
        yield bed.on(stage, lambda: wire.alive, timeout=PATIENT)


def settle(bed: CloudBed) -> None:
    """Run passes until nothing is left to do, also with balancers."""
    for _ in range(100):
        done = bed.run()
        if done.plan.converged and done.next_in is None:
            return
        bed.clock.advance(done.next_in or 5.0)
    raise AssertionError(f"not settled: {done.plan} {done.messages}")


def serving(wire: MakingWire) -> set[str]:
    (rule,) = wire.rules
    return {wire.vms[vm].display for vm in rule.vms}


def test_a_group_gets_its_rule_serves_behind_it_and_takes_it_along_when_it_is_deleted(bed: CloudBed) -> None:
    wire: MakingWire = bed.wire
    wire.script("createLoadBalancerRule", LOST, UNREACHED)
    wire.script("associateIpAddress", UNREACHED, LOST)
    wire.script("createLBStickinessPolicy", error(530, "later", obeyed=True))
    bed.desire(3)
    settle(bed)
    assert serving(wire) == set(wire.alive)
    assert (len(wire.alive), len(wire.taken), len(wire.policies)) == (3, 1, 2)
    (binding,) = bed.store.bindings(WEB)
    assert set(binding.parts) == {"address", "rule", "stickiness", "healthcheck"}

    bed.restart()
    wire.script("deleteLoadBalancerRule", LOST, UNREACHED)
    wire.script("disassociateIpAddress", UNREACHED, LOST)
    bed.store.kept[WEB] = replace(bed.store.kept[WEB], deleting=True)
    settle(bed)
    assert (wire.alive, wire.rules, wire.taken, wire.recorded, wire.policies) == ([], [], [], [], {})
    assert bed.store.bindings(WEB) == ()
