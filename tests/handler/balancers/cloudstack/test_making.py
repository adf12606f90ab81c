"""Load-balancer rules of CloudStack are made and deleted part by part, and nothing is left behind, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from config.errors import DriverError, Permanent, Refused, Transient
from config.model.made_rule import Algorithm, HealthCheck, MadeRule, RuleProtocol, Stickiness, StickinessMethod
from config.model.managed import ManagedBalancer, ManagedPart
from config.units import BalancerId, Instant, MemberName
from handler.balancers.cloudstack.making import RuleProvisioner
from handler.planning.provisioning import (
    Act,
    Await,
    Make,
    PartStatus,
    Provision,
    Provisioned,
    Unmake,
    next_to_make,
    next_to_unmake,
)
from handler.planning.world import RegistrationState
from handler.ports.balancer import Provisioner
from tests.support.balancers import a_name
from tests.support.cloudstack import HERE, a_cloudstack
from tests.support.cloudstack_making import MakingWire, making_wire
from tests.support.cloudstack_wire import KEY, SECRET, error
from tests.support.fake_cloud import Killed
from tests.support.wire_server import LOST, UNREACHED

*_, ADDRESS, RULE, STICKINESS, HEALTHCHECK = ManagedPart
MARK = f"trimtab-{HERE}-front"
PLAIN = MadeRule(private_port=8080, network="tier")
WHOLE = replace(
    PLAIN, stickiness=Stickiness(method=StickinessMethod.SOURCE_BASED), health_check=HealthCheck(path="/healthz")
)


@dataclass
class Stage:
    wire: MakingWire
    endpoint: str
    waited: list[float] = field(default_factory=list)
    kill_at: int | None = None
    """At which call the process dies, before it is made."""
    secrets_read: int = 0

    def driver(self, rule: MadeRule | None = PLAIN, **cloud: object) -> RuleProvisioner:
        there = a_cloudstack(self.endpoint, **cloud)
        declared = ManagedBalancer(id=BalancerId("front"), on=there.id, cloud=there, rule=rule)
        return RuleProvisioner(declared, there, HERE, lambda: Instant(1000.0), self._secret, self.waited.append)

    def _secret(self, ref: object) -> str:
        self.secrets_read += 1
        if self.kill_at is not None and self.secrets_read >= 2 * self.kill_at:
            raise Killed(f"before call {self.kill_at}")
        return {"KEY": KEY, "SECRET": SECRET}[getattr(ref, "env", "")]

    @property
    def left(self) -> tuple[object, ...]:
        """What is there, of every account."""
        return self.wire.taken, [rule.name for rule in self.wire.rules], self.wire.recorded, [*self.wire.policies]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with making_wire() as (wire, endpoint):
        yield Stage(wire, endpoint)


def bring(driver: RuleProvisioner, next_act: Callable[..., Act]) -> list[ManagedPart]:
    """Act until nothing is left to do, as provisions do; which parts were made or deleted, in order."""
    acted: list[ManagedPart] = []
    for _ in range(60):
        found = driver.parts()
        act = next_act(driver.declared, found)
        if isinstance(act, Provisioned):
            return acted
        if isinstance(act, Make):
            driver.create(act.part, found)
        elif isinstance(act, Unmake):
            driver.delete(act.part, act.id)
        assert not isinstance(act, Await), act
        acted.append(act.part)  # type: ignore[union-attr]
    raise AssertionError(f"not done: {driver.parts()}")


def bring_through(driver: RuleProvisioner, next_act: Callable[..., Act]) -> None:
    """As `bring`, coming again after what passes."""
    for _ in range(20):
        with suppress(DriverError):
            bring(driver, next_act)
            return
    raise AssertionError(f"not done: {driver.parts()}")


def test_it_is_what_convergence_asks_for(stage: Stage) -> None:
    assert isinstance(stage.driver(), Provisioner)


def test_parts_are_made_one_after_the_other_and_deleted_in_the_reverse_order(stage: Stage) -> None:
    driver = stage.driver(WHOLE)
    assert bring(driver, next_to_make) == [ADDRESS, RULE, STICKINESS, HEALTHCHECK]
    assert (len(stage.wire.taken), [rule.name for rule in stage.wire.rules], stage.wire.recorded) == (1, [MARK], [])
    assert bring(driver, next_to_make) == []
    assert bring(driver, next_to_unmake) == [HEALTHCHECK, STICKINESS, RULE, ADDRESS]
    assert stage.left == ([], [], [], [])


def test_every_property_is_sent_to_cloudstack(stage: Stage) -> None:
    rule = MadeRule(
        private_port=8443,
        public_port=443,
        network="tier",
        protocol=RuleProtocol.TCP_PROXY,
        algorithm=Algorithm.LEASTCONN,
        cidrs=("198.51.100.0/24", "2001:db8::/32"),
        open_firewall=False,
        stickiness=Stickiness(
            method=StickinessMethod.LB_COOKIE, parameters=(("cookie-name", "S"), ("nocache", "true"))
        ),
        health_check=HealthCheck(path="/up", interval=10.0, timeout=5.0, healthy=3, unhealthy=4),
    )
    bring(stage.driver(rule), next_to_make)
    created = {command: given for command, given in stage.wire.calls if command.startswith("create")}
    (made,) = stage.wire.rules
    (address,) = [each for each in stage.wire.addresses.values() if each.state == "Allocated"]
    assert (
        created["createLoadBalancerRule"].items()
        >= {
            "name": MARK,
            "publicipid": address.id,
            "networkid": stage.wire.network()["id"],
            "publicport": "443",
            "privateport": "8443",
            "protocol": "tcp-proxy",
            "algorithm": "leastconn",
            "cidrlist": "198.51.100.0/24,2001:db8::/32",
            "openfirewall": "false",
        }.items()
    )
    assert (
        created["createLBStickinessPolicy"].items()
        >= {
            "lbruleid": made.id,
            "name": MARK,
            "methodname": "LbCookie",
            "param[0].name": "cookie-name",
            "param[0].value": "S",
            "param[1].name": "nocache",
            "param[1].value": "true",
        }.items()
    )
    assert (
        created["createLBHealthCheckPolicy"].items()
        >= {
            "lbruleid": made.id,
            "description": MARK,
            "pingpath": "/up",
            "intervaltime": "10",
            "responsetimeout": "5",
            "healthythreshold": "3",
            "unhealthythreshold": "4",
        }.items()
    )


def test_what_is_left_out_is_left_to_cloudstack(stage: Stage) -> None:
    bring(stage.driver(), next_to_make)
    (rule,) = stage.wire.rules
    assert not {"protocol", "cidrlist", "openfirewall"} & rule.given.keys()


# The address.


@pytest.mark.parametrize("by", ["id", "ip"])
def test_an_address_that_is_there_is_used_and_kept(stage: Stage, by: str) -> None:
    there = stage.wire.put("203.0.113.99", state="Allocated", home=stage.wire.network()["id"])
    driver = stage.driver(MadeRule(private_port=8080, address=getattr(there, by)))
    assert bring(driver, next_to_make) == [RULE]
    assert "networkid" not in stage.wire.rules[0].given
    assert bring(driver, next_to_unmake) == [RULE]
    assert stage.left == ([there.ip], [], [], [])


def test_an_address_that_is_not_there_is_reported(stage: Stage) -> None:
    driver = stage.driver(MadeRule(private_port=8080, address="203.0.113.77"))
    assert next_to_make(driver.declared, driver.parts()).why == "balancer front: address 203.0.113.77 does not exist"  # type: ignore[union-attr]


def test_an_address_of_the_account_that_another_client_acquired_is_never_taken(stage: Stage) -> None:
    theirs = stage.wire.put("203.0.113.9", state="Allocated", home=stage.wire.network()["id"])
    driver = stage.driver()
    bring(driver, next_to_make)
    bring(driver, next_to_unmake)
    assert stage.left == ([theirs.ip], [], [], [])


def test_a_recorded_address_that_another_client_acquired_first_is_left_to_it(stage: Stage) -> None:
    stage.wire.script("associateIpAddress", UNREACHED)
    driver = stage.driver()
    with pytest.raises(Transient):
        bring(driver, next_to_make)
    (recorded,) = stage.wire.recorded
    assert driver.parts() == {ADDRESS: PartStatus(id=recorded, state=Provision.BEGUN, word="recorded")}
    (there,) = [address for address in stage.wire.addresses.values() if address.ip == recorded]
    there.state, there.home = "Allocated", stage.wire.network("back")["id"]
    bring(driver, next_to_make)
    assert there.tags == {}
    assert len(stage.wire.taken) == 2
    bring(driver, next_to_unmake)
    assert stage.left == ([recorded], [], [], [])


@pytest.mark.parametrize(
    "theirs", [{"static_nat": True}, {"tags": {"trimtab": "trimtab-zzzzzz-front"}}], ids=["static NAT", "tagged"]
)
def test_a_recorded_address_of_the_same_network_with_another_use_is_left_to_it(
    stage: Stage, theirs: dict[str, Any]
) -> None:
    stage.wire.script("associateIpAddress", UNREACHED)
    driver = stage.driver()
    with pytest.raises(Transient):
        bring(driver, next_to_make)
    (there,) = [address for address in stage.wire.addresses.values() if address.ip in stage.wire.recorded]
    there.state, there.home = "Allocated", stage.wire.network()["id"]
    there.static_nat, there.tags = theirs.get("static_nat", False), dict(theirs.get("tags", {}))
    bring(driver, next_to_make)
    bring(driver, next_to_unmake)
    assert (stage.left, there.tags) == (([there.ip], [], [], []), theirs.get("tags", {}))


def test_without_a_free_address_it_is_tried_again(stage: Stage) -> None:
    for address in stage.wire.addresses.values():
        address.state = "Reserved"
    with pytest.raises(Transient, match="no public address is free"):
        bring(stage.driver(), next_to_make)
    assert stage.wire.recorded == []


def test_of_a_vpc_an_address_is_acquired_for_the_vpc_and_the_rule_takes_it_to_the_tier(stage: Stage) -> None:
    stage.wire.network()["vpcid"] = stage.wire.mint("vpc")
    driver = stage.driver()
    bring(driver, next_to_make)
    (acquired,) = [given for command, given in stage.wire.calls if command == "associateIpAddress"]
    assert (acquired["vpcid"], "networkid" in acquired) == (stage.wire.mint("vpc"), False)
    assert stage.wire.rules[0].given["networkid"] == stage.wire.network()["id"]
    bring(driver, next_to_unmake)
    assert stage.left == ([], [], [], [])


def test_an_address_that_its_network_goes_out_by_stays_with_it(stage: Stage) -> None:
    driver = stage.driver()
    bring(driver, next_to_make)
    (address,) = [each for each in stage.wire.addresses.values() if each.state == "Allocated"]
    address.source_nat = True
    bring(driver, next_to_unmake)
    assert (stage.left, address.tags) == (([address.ip], [], [], []), {})


def test_an_older_cloudstack_that_chooses_by_itself_is_asked_for_no_address(stage: Stage) -> None:
    stage.wire.version = "4.13.1.0"
    with pytest.raises(Permanent, match=r"4\.13 chooses public addresses itself"):
        bring(stage.driver(), next_to_make)
    assert stage.left == ([], [], [], [])
    given = replace(PLAIN, address=stage.wire.put("203.0.113.50", state="Allocated").ip)
    bring(stage.driver(given), next_to_make)
    assert [rule.name for rule in stage.wire.rules] == [MARK]


def test_a_cloudstack_that_does_not_tell_its_version_is_taken_for_a_new_one(stage: Stage) -> None:
    stage.wire.version = ""
    bring(stage.driver(), next_to_make)
    assert len(stage.wire.taken) == 1


def test_a_network_of_no_such_name_or_of_several_is_reported(stage: Stage) -> None:
    with pytest.raises(Permanent, match="no network that the account can see is called 'nowhere'"):
        bring(stage.driver(replace(PLAIN, network="nowhere")), next_to_make)
    stage.wire.things["network"].append({"name": "tier", "id": stage.wire.mint("other tier")})
    with pytest.raises(Permanent, match="2 networks are called 'tier': write the id, one of"):
        bring(stage.driver(), next_to_make)
    by_id = stage.driver(replace(PLAIN, network=stage.wire.network()["id"]))
    assert bring(by_id, next_to_make) == [ADDRESS, RULE]


def test_another_user_of_the_address_keeps_it_from_being_released(stage: Stage) -> None:
    driver = stage.driver()
    bring(driver, next_to_make)
    (address,) = [each for each in stage.wire.addresses.values() if each.state == "Allocated"]
    stage.wire.make("mail", given={"publicipid": address.id, "publicport": "25"})
    address.forwarded.append("ssh")
    assert driver.foreign() == ("rule mail", "port forwarding ssh")


# The rule.


def test_a_rule_without_machines_is_ready(stage: Stage) -> None:
    driver = stage.driver()
    bring(driver, next_to_make)
    assert (driver.parts()[RULE].word, driver.parts()[RULE].state) == ("Add", Provision.ACTIVE)


def test_a_rule_that_is_being_deleted_takes_no_member_and_can_be_deleted_again(stage: Stage) -> None:
    driver = stage.driver()
    bring(driver, next_to_make)
    stage.wire.rules[0].state = "Revoke"
    assert isinstance(next_to_make(driver.declared, driver.parts()), Await)
    assert bring(driver, next_to_unmake) == [RULE, ADDRESS]


def test_a_port_that_is_taken_is_refused_in_cloudstack_s_words(stage: Stage) -> None:
    there = stage.wire.put("203.0.113.99", state="Allocated", home=stage.wire.network()["id"])
    stage.wire.make("other", given={"publicipid": there.id, "publicport": "80"})
    with pytest.raises(Permanent, match="conflicts with rule"):
        bring(stage.driver(MadeRule(private_port=8080, address=there.id)), next_to_make)


def test_a_provider_without_health_checks_refuses_them_in_words(stage: Stage) -> None:
    stage.wire.checks = False
    with pytest.raises(Permanent, match="not supported by LB Provider"):
        bring(stage.driver(WHOLE), next_to_make)


def test_two_rules_of_the_mark_are_a_persons_to_look_after(stage: Stage) -> None:
    stage.wire.make(MARK)
    stage.wire.make(MARK)
    with pytest.raises(Permanent, match="2 rules are called trimtab-k3f9ab-front: delete all but one of"):
        stage.driver().parts()


def test_a_rule_whose_name_only_contains_the_mark_is_another(stage: Stage) -> None:
    stage.wire.make(f"{MARK}-2")
    assert stage.driver().parts() == {}


def test_a_cloud_that_makes_rules_makes_nothing_else(stage: Stage) -> None:
    with pytest.raises(Refused, match="the cloud prod makes rules: write rule"):
        stage.driver(None)


def test_a_job_that_does_not_end_in_time_goes_on_and_is_found(stage: Stage) -> None:
    driver = stage.driver(job_timeout=10.0)
    stage.wire.polls = 1000
    with pytest.raises(Transient, match="createTags is still running"):
        bring(driver, next_to_make)
    assert 0 < sum(stage.waited) < 30
    stage.wire.polls = 1
    for job in stage.wire.jobs.values():
        job.polls = 0
    bring(driver, next_to_make)
    assert len(stage.wire.taken) == 1


@pytest.mark.parametrize("part", [RULE, STICKINESS, HEALTHCHECK])
def test_what_is_gone_already_is_deleted(stage: Stage, part: ManagedPart) -> None:
    driver = stage.driver(WHOLE)
    bring(driver, next_to_make)
    found = driver.parts()
    stage.wire.policies.clear()
    stage.wire.rules.clear()
    driver.delete(part, found[part].id)
    assert bring(driver, next_to_unmake) == [ADDRESS]


def test_what_cannot_be_deleted_says_why(stage: Stage) -> None:
    driver = stage.driver()
    bring(driver, next_to_make)
    stage.wire.autoscaled = True
    with pytest.raises(Transient, match="is being used"):
        bring(driver, next_to_unmake)


# Registrations.


def test_members_are_registered_with_it_and_foreign_ones_are_reported(stage: Stage) -> None:
    driver, name = stage.driver(), a_name()
    assert (driver.registrations(), driver.foreign(), driver.incarnation()) == ({}, (), "")
    driver.drain(name)
    driver.leave(name)
    with pytest.raises(Transient, match="there is no rule yet"):
        driver.join(name, "10.0.0.7", 8080)
    bring(driver, next_to_make)
    driver.join(name, "10.0.0.7", 8080)
    driver.enable(name)
    assert driver.registrations()[name].state is RegistrationState.SERVING
    assert driver.incarnation() == stage.wire.rules[0].id
    stage.wire.rules[0].vms.append(stage.wire.add("payments").id)
    assert driver.registered().foreign == driver.foreign() == ("payments",)
    driver.drain(name)
    driver.leave(MemberName(name))
    assert driver.registrations() == {}


def test_a_machine_that_is_not_in_the_rule_s_network_is_refused_in_cloudstack_s_words(stage: Stage) -> None:
    driver, name = stage.driver(), a_name()
    bring(driver, next_to_make)
    machine = stage.wire.add(name, networks=("back",))
    driver.join(name, machine.address or "", 8080)
    with pytest.raises(Permanent, match="doesn't belong in the same network"):
        driver.enable(name)


# Crashes and lost answers.


@pytest.mark.parametrize("whole", [True, False], ids=["made", "deleted"])
def test_killed_before_any_call_it_leaves_no_rule_and_no_address(whole: bool) -> None:
    died = 0
    for call in range(1, 100):
        with making_wire() as (wire, endpoint):
            stage = Stage(wire, endpoint)
            if not whole:
                bring(stage.driver(WHOLE), next_to_make)
            stage.secrets_read, stage.kill_at = 0, call
            with suppress(Killed):
                bring(stage.driver(WHOLE), next_to_make if whole else next_to_unmake)
                assert died > 15, "there are so many calls"
                return
            died, stage.kill_at = died + 1, None
            if whole and call % 2:
                bring(stage.driver(WHOLE), next_to_make)
                assert (len(wire.taken), len(wire.rules), len(wire.policies)) == (1, 1, 2), call
            bring(stage.driver(WHOLE), next_to_unmake)
            assert stage.left == ([], [], [], []), f"killed before call {call}"
    raise AssertionError("it never ends")


@pytest.mark.parametrize(
    "command",
    [
        *("createTags", "deleteTags", "associateIpAddress", "createLoadBalancerRule", "createLBStickinessPolicy"),
        *("createLBHealthCheckPolicy", "deleteLBHealthCheckPolicy", "deleteLBStickinessPolicy"),
        *("deleteLoadBalancerRule", "disassociateIpAddress", "queryAsyncJobResult", "listPublicIpAddresses"),
    ],
)
@pytest.mark.parametrize("fault", [LOST, UNREACHED, error(530, "later", obeyed=True)], ids=["lost", "unreached", "530"])
def test_an_answer_that_is_lost_makes_nothing_twice_and_leaves_nothing(
    stage: Stage, command: str, fault: object
) -> None:
    stage.wire.script(command, fault, fault)  # type: ignore[arg-type]
    bring_through(stage.driver(WHOLE), next_to_make)
    assert (len(stage.wire.taken), len(stage.wire.rules), len(stage.wire.policies)) == (1, 1, 2)
    bring_through(stage.driver(WHOLE), next_to_unmake)
    assert stage.left == ([], [], [], [])


@pytest.mark.parametrize(
    "command",
    ["listPublicIpAddresses", "listLoadBalancerRules", "listNetworks", "listLBStickinessPolicies"],
)
@pytest.mark.parametrize("body", [b"[]", b'{"x": {"count": "many"}}', b"{"], ids=str)
def test_what_makes_no_sense_proves_nothing(stage: Stage, command: str, body: bytes) -> None:
    driver = stage.driver(WHOLE)
    bring(driver, next_to_make)
    if command == "listNetworks":
        stage.wire.addresses.clear()
    stage.wire.script(command, replace(error(200, ""), body=body))
    with pytest.raises(Transient, match=r"cannot be read|makes no sense|is not CloudStack"):
        driver.parts()


def test_what_is_gone_is_answered_by_its_id(stage: Stage) -> None:
    driver = stage.driver()
    bring(driver, next_to_make)
    found = driver.parts()
    assert [driver.is_gone(part, found[part].id) for part in (ADDRESS, RULE)] == [False, False]
    assert driver.is_gone(RULE, stage.wire.mint("another"))

    stage.wire.forbidden.add("listLoadBalancerRules")
    with pytest.raises(DriverError):
        driver.is_gone(RULE, found[RULE].id)
    stage.wire.forbidden.clear()
    bring(driver, next_to_unmake)
    assert [driver.is_gone(part, found[part].id) for part in (ADDRESS, RULE)] == [True, True]


def test_an_address_that_its_network_goes_out_by_is_gone_for_the_rule(stage: Stage) -> None:
    driver = stage.driver()
    bring(driver, next_to_make)
    known = driver.parts()[ADDRESS].id
    stage.wire.addresses[known].source_nat = True
    assert driver.is_gone(ADDRESS, known)
