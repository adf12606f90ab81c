"""The pages of drivers list exactly the commands that a role must allow: no more, and none is missing."""

from __future__ import annotations

import re
import xmlrpc.client
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from collector.sources.opennebula_answers import measured_question, question
from config.errors import DriverError
from config.made_rule import HealthCheck, MadeRule, Stickiness, StickinessMethod
from config.managed import HealthMonitor, ManagedBalancer, Part, Vip
from config.units import BalancerId, CloudId, GroupId, Instant
from handler.balancers.cloudstack_making import RuleProvisioner
from handler.balancers.interface import Change, Move, Provisioner
from handler.balancers.octavia_provisioning import OctaviaProvisioner
from handler.provisioning import Act, Done, Make, PartStatus, Unmake, next_to_make, next_to_unmake
from tests.support.balancers import a_name
from tests.support.cloudstack import HERE, a_cloudstack, a_machine_recipe, cloudstack_stage
from tests.support.cloudstack_making import making_wire
from tests.support.cloudstack_rules import rule_stage
from tests.support.cloudstack_wire import KEY, SECRET, CloudstackWire
from tests.support.examined import looks
from tests.support.octavia_stage import octavia_stage
from tests.support.opennebula import opennebula_stage
from tests.support.openstack import an_access
from tests.support.openstack_making_wire import MakingOctavia
from tests.support.openstack_wire import SECRET as OPENSTACK_SECRET
from tests.support.openstack_wire import OpenstackWire
from tests.support.orchestrators import Clock

DOCS = Path(__file__).parents[1] / "docs"
_COMMAND = re.compile(r"`([a-z]+[A-Z][A-Za-z]+)`")
_CALL = re.compile(r"`((?:GET|POST|PUT|DELETE) /[^`]+)`")
_UNSENT = {"expungeVirtualMachine"}
"""CloudStack asks for it when another command is called."""


def listed(page: str) -> list[set[str]]:
    """The commands of each table under "Permissions", in order."""
    return [
        {command for row in table.splitlines() for command in _COMMAND.findall(row.split("|")[1])}
        for table in _tables(page)
    ]


def _tables(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8").partition("## Permissions\n")[2].partition("\n## ")[0]
    return re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)


def sent(wire: CloudstackWire) -> set[str]:
    return {command for command, _ in wire.calls}


def brought(driver: Provisioner, next_act: Callable[[ManagedBalancer, Mapping[Part, PartStatus]], Act]) -> None:
    """Act until nothing is left to do."""
    for _ in range(60):
        found = driver.parts()
        match next_act(driver.declared, found):
            case Make(part=part):
                driver.create(part, found)
            case Unmake(part=part, id=known):
                driver.delete(part, known)
            case Done():
                return
    raise AssertionError(f"not done: {driver.parts()}")


# CloudStack


def test_a_role_for_members_on_cloudstack_allows_what_is_sent_and_no_more() -> None:
    with cloudstack_stage() as stage:
        of_projects = [entry for kind in ("network", "affinitygroup") for entry in stage.wire.things[kind]]
        for project in (None, stage.wire.things["project"][0]["id"]):
            for entry in of_projects:
                entry["projectid"] = project
            cloud = stage.driver(expunge=True, project=project and "fleet")
            launch = stage.launch(affinity_groups=("apart",))
            cloud.quotas(launch.profile)
            cloud.create(launch)
            cloud.list(GroupId("web"))
            cloud.destroy(launch.id.name, grace=0.0)
            looks(cloud, a_machine_recipe(affinity_groups=("apart",)))
        stranger = stage.wire.add("by-hand", project=project)
        cloud.mark(stranger.id, stage.launch(7).id)
        cloud.unmark(stage.launch(7).id.name)
        (documented,) = listed("cloudstack.md")
        assert documented == sent(stage.wire) | _UNSENT


def test_a_role_for_a_rule_of_cloudstack_allows_what_is_sent_and_no_more(tmp_path: Path) -> None:
    with rule_stage(tmp_path) as stage:
        stage.rule.project = stage.wire.things["project"][0]["id"]
        driver = stage.driver(cloud=a_cloudstack(stage.declared.cloud.endpoint, project="fleet"))
        name = a_name()
        driver.join(name, "10.0.0.7", 9)
        driver.enable(name)
        driver.drain(name)
        driver.leave(name)
        assert listed("behind-cloudstack.md")[0] == sent(stage.wire)


def test_a_role_for_rules_that_are_made_allows_besides_what_is_sent_and_no_more() -> None:
    rule = MadeRule(
        private_port=8080,
        network="tier",
        stickiness=Stickiness(method=StickinessMethod.SOURCE_BASED),
        health_check=HealthCheck(),
    )
    with making_wire() as (wire, endpoint):
        cloud = a_cloudstack(endpoint)
        declared = ManagedBalancer(id=BalancerId("front"), on=cloud.id, cloud=cloud, rule=rule)
        secrets = {"KEY": KEY, "SECRET": SECRET}
        driver = RuleProvisioner(
            declared, cloud, HERE, lambda: Instant(0.0), lambda ref: secrets[ref.env or ""], lambda _: None
        )
        brought(driver, next_to_make)
        driver.strangers()
        brought(driver, next_to_unmake)
        existing, made = listed("behind-cloudstack.md")
        assert made == sent(wire) - existing


# Octavia


def patterns(page: str) -> list[set[str]]:
    """As `listed`, of calls: method and path, where ``*`` is one segment and ``**`` any number of them."""
    return [
        {call.replace(" /v2/", " /") for row in table.splitlines() for call in _CALL.findall(row.split("|")[1])}
        for table in _tables(page)
    ]


def covers(pattern: str, label: str) -> bool:
    parts = (re.escape(part).replace(r"\*\*", ".*").replace(r"\*", "[^/]+") for part in pattern.split("/"))
    return re.fullmatch("/".join(parts), label.replace("{id}", "7")) is not None


def hold(documented: set[str], calls: Iterable[str]) -> None:
    """What is documented is called, and what is called is documented."""
    labels = {label for label in calls if " /lbaas/" in label}
    assert {label for label in labels if not any(covers(pattern, label) for pattern in documented)} == set()
    assert {pattern for pattern in documented if not any(covers(pattern, label) for label in labels)} == set()


def test_a_role_for_a_pool_of_octavia_allows_what_is_called_and_no_more(tmp_path: Path) -> None:
    with octavia_stage(tmp_path) as stage:
        first, second = a_name(), a_name()
        for driver in (stage.driver(), stage.driver(pool=None, load_balancer="front")):
            driver.join(first, "10.0.0.1", 80)
            driver.enable(first)
            driver.apply([Change(move=Move.JOIN, member=second, at=("10.0.0.2", 80))])
            driver.apply([Change(move=Move.DRAIN, member=each) for each in (first, second)])
            driver.leave(first)
            driver.leave(second)
        hold(patterns("octavia.md")[0], stage.wire.calls)


def test_a_role_for_balancers_that_octavia_makes_allows_besides_what_is_called_and_no_more() -> None:
    octavia = MakingOctavia()
    wire = OpenstackWire(services=(octavia,))
    vip = Vip(subnet="5f3a0b1c-0000-4000-8000-000000000000")
    declared = ManagedBalancer(
        id=BalancerId("front"), on=CloudId("prod"), cloud=None, vip=vip, health_monitor=HealthMonitor()
    )
    with wire.serving() as auth_url:
        driver = OctaviaProvisioner(declared, an_access(auth_url), HERE, lambda _: OPENSTACK_SECRET, Clock())
        name = a_name()
        brought(driver, next_to_make)
        for call in (lambda: driver.join(name, "10.0.0.1", 80), lambda: driver.enable(name)):
            call()
        brought(driver, next_to_unmake)
        existing, made = patterns("octavia.md")
        hold(made, [label for label in wire.calls if not any(covers(pattern, label) for pattern in existing)])


# OpenNebula


def test_the_methods_of_opennebula_that_are_documented_are_those_that_are_called() -> None:
    with opennebula_stage() as stage:
        cloud, launch = stage.driver(), stage.launch()
        cloud.quotas(launch.profile)
        cloud.create(launch)
        cloud.list(GroupId("web"))
        cloud.find(launch.id.name)
        cloud.destroy(launch.id.name, grace=0.0)
        stranger = stage.stranger("by-hand")
        cloud.mark(stranger, stage.launch(7).id)
        cloud.unmark(stage.launch(7).id.name)
        sent = {f"one.{method}" for method, _ in stage.wire.calls}
    sent |= {xmlrpc.client.loads(asked)[1] for asked in (question("", 0), measured_question(""))}  # counters
    text = (DOCS / "opennebula.md").read_text(encoding="utf-8").partition("The methods that are called:")[2]
    assert set(re.findall(r"`(one\.[a-z.]+)`", text.partition("\n\n")[0])) == sent


@pytest.mark.parametrize("command", ["listProjects", "listVirtualMachines"])
def test_a_command_that_a_role_lacks_is_named(command: str) -> None:
    with cloudstack_stage() as stage:
        stage.wire.forbidden.add(command)
        with pytest.raises(DriverError, match=f"{command}.*role may call"):
            stage.driver(project="fleet").list(GroupId("web"))
