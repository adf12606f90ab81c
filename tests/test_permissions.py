"""The pages of drivers list exactly the commands that a role must allow: no more, and none is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from config.errors import DriverError
from config.made_rule import HealthCheck, MadeRule, Stickiness, StickinessMethod
from config.managed import ManagedBalancer
from config.units import BalancerId, GroupId, Instant
from handler.balancers.cloudstack_making import RuleProvisioner
from handler.provisioning import Make, Unmake, next_to_make, next_to_unmake
from tests.support.balancers import a_name
from tests.support.cloudstack import HERE, a_cloudstack, a_machine_recipe, cloudstack_stage
from tests.support.cloudstack_making import making_wire
from tests.support.cloudstack_rules import rule_stage
from tests.support.cloudstack_wire import KEY, SECRET, CloudstackWire
from tests.support.examined import looks

DOCS = Path(__file__).parents[1] / "docs"
_COMMAND = re.compile(r"`([a-z]+[A-Z][A-Za-z]+)`")
_UNSENT = {"expungeVirtualMachine"}
"""CloudStack asks for it when another command is called."""


def listed(page: str) -> list[set[str]]:
    """The commands of each table under "Permissions", in order."""
    text = (DOCS / page).read_text(encoding="utf-8").partition("## Permissions\n")[2].partition("\n## ")[0]
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [{command for row in table.splitlines() for command in _first(row)} for table in tables]


def _first(row: str) -> Iterable[str]:
    return _COMMAND.findall(row.split("|")[1])


def sent(wire: CloudstackWire) -> set[str]:
    return {command for command, _ in wire.calls}


def test_a_role_for_members_on_cloudstack_allows_what_is_sent_and_no_more() -> None:
    with cloudstack_stage() as stage:
        of_projects = [entry for kind in ("network", "affinitygroup") for entry in stage.wire.things[kind]]
        for project in (None, stage.wire.things["project"][0]["id"]):
            for entry in of_projects:
                entry["projectid"] = project
            cloud = stage.driver(expunge=True, project=project and "fleet")
            launch = stage.launch(affinity_groups=("apart",))
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
        for _ in range(4):
            found = driver.parts()
            match next_to_make(declared, found):
                case Make(part=part):
                    driver.create(part, found)
        driver.strangers()
        for _ in range(4):
            match next_to_unmake(declared, driver.parts()):
                case Unmake(part=part, id=known):
                    driver.delete(part, known)
        assert driver.parts() == {}
        existing, made = listed("behind-cloudstack.md")
        assert made == sent(wire) - existing


@pytest.mark.parametrize("command", ["listProjects", "listVirtualMachines"])
def test_a_command_that_a_role_lacks_is_named(command: str) -> None:
    with cloudstack_stage() as stage:
        stage.wire.forbidden.add(command)
        with pytest.raises(DriverError, match=f"{command}.*role may call"):
            stage.driver(project="fleet").list(GroupId("web"))
