"""What is in a project of CloudStack is made there, found there, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from collector.clients.cloudstack.project import TAKING
from config.errors import Permanent, Transient
from config.model.made_rule import MadeRule
from config.model.managed import ManagedBalancer, ManagedPart
from config.units import BalancerId, GroupId, Instant, MemberName
from handler.balancers.cloudstack.driver import CloudstackRuleDriver
from handler.balancers.cloudstack.making import RuleProvisioner
from tests.support.cloudstack import HERE, CloudstackStage, a_cloudstack, a_machine_recipe, cloudstack_stage
from tests.support.cloudstack_making import making_wire
from tests.support.cloudstack_rules import RuleStage, rule_stage
from tests.support.cloudstack_wire import KEY, SECRET, error
from tests.support.examined import OK, PROBLEM, looks, verdicts
from tests.support.wire_server import answered

WEB = GroupId("web")
NAME = MemberName("web-k3f9ab-1")


@pytest.fixture
def stage() -> Iterator[CloudstackStage]:
    with cloudstack_stage() as stage:
        for kind in ("network", "affinitygroup"):
            for entry in stage.wire.things[kind]:
                entry["projectid"] = project(stage)
        yield stage


def project(stage: CloudstackStage, name: str = "fleet") -> str:
    return next(str(entry["id"]) for entry in stage.wire.things["project"] if entry["name"] == name)


@pytest.mark.parametrize("by", ["name", "id"])
def test_every_command_that_takes_a_project_gets_it(stage: CloudstackStage, by: str) -> None:
    cloud = stage.driver(project="fleet" if by == "name" else project(stage))
    made = cloud.create(stage.launch(affinity_groups=("apart",)))
    assert stage.wire.vms[made.id].project == project(stage)
    assert [server.name for server in cloud.list(WEB).servers] == [NAME]
    assert cloud.find(NAME) is not None
    cloud.destroy(NAME, grace=0.0)
    projects = {command: given.get("projectid") for command, given in stage.wire.calls}
    assert {command for command in projects if projects[command] == project(stage)} == projects.keys() & TAKING
    assert stage.wire.count("listProjects") == (1 if by == "name" else 0)


def test_machines_of_the_account_itself_are_not_the_projects_nor_the_other_way_round(stage: CloudstackStage) -> None:
    stage.wire.add(NAME)
    assert stage.driver(project="fleet").list(WEB).servers == ()
    assert stage.driver(project="fleet").find(NAME) is None
    stage.driver(project="fleet").create(stage.launch(2))
    assert [server.name for server in stage.driver().list(WEB).servers] == [NAME]


def test_a_project_of_no_such_name_or_of_several_is_reported(stage: CloudstackStage) -> None:
    with pytest.raises(Permanent, match="no project that the account can see is called 'flete': name another, or"):
        stage.driver(project="flete").list(WEB)
    stage.wire.things["project"].append({"name": "fleet", "id": stage.wire.mint("another")})
    with pytest.raises(Permanent, match="2 projects are called 'fleet': write the id of one of them"):
        stage.driver(project="fleet").list(WEB)


def test_a_listing_of_projects_that_breaks_off_proves_nothing(stage: CloudstackStage) -> None:
    stage.wire.script("listProjects", error(503, "later"), answered(b'{"x": {"count": 1, "project": 7}}'))
    cloud = stage.driver(project="fleet")
    for _ in range(2):
        with pytest.raises(Transient):
            cloud.list(WEB)
    assert cloud.list(WEB).complete


def test_a_project_that_was_made_anew_is_found_again_after_a_refusal(stage: CloudstackStage) -> None:
    cloud = stage.driver(project="fleet")
    cloud.list(WEB)
    stage.wire.things["project"][0]["id"] = stage.wire.mint("made anew")
    stage.wire.script("listVirtualMachines", error(431, "Invalid parameter projectid: entity does not exist"))
    with pytest.raises(Permanent):
        cloud.list(WEB)
    cloud.list(WEB)
    assert stage.wire.calls[-1][1]["projectid"] == stage.wire.mint("made anew")


def test_its_limits_are_those_that_count(stage: CloudstackStage) -> None:
    found = looks(stage.driver(project="fleet"), a_machine_recipe(affinity_groups=("apart",)))
    assert found["quota"][0].words == "machines 2 of 10"
    assert verdicts(found)["project"] == [OK]
    stage.wire.things["project"][0]["state"] = "Suspended"
    (look,) = looks(stage.driver(project="fleet"))["project"]
    assert (look.verdict, look.words) == (PROBLEM, "the project fleet is Suspended")
    (look,) = looks(stage.driver(project=stage.wire.mint("nowhere")))["project"]
    assert (look.verdict, look.words.startswith("there is no project ")) == (PROBLEM, True)


# Balancers.


def test_a_rule_of_a_project_is_looked_for_there(tmp_path: object) -> None:
    with rule_stage(tmp_path) as stage:  # type: ignore[arg-type]
        with_project = in_project(stage)
        with pytest.raises(Permanent, match="is no rule of this account"):
            with_project.registrations()
        stage.rule.project = stage.wire.things["project"][0]["id"]
        with_project.join(NAME, "10.0.0.7", 9)
        with_project.enable(NAME)
        assert stage.wire.vms[stage.rule.vms[0]].project == stage.rule.project


def in_project(stage: RuleStage) -> CloudstackRuleDriver:
    return stage.driver(cloud=a_cloudstack(stage.declared.cloud.endpoint, project="fleet"))


def test_a_rule_that_is_made_for_a_project_is_made_and_found_there() -> None:
    with making_wire() as (wire, endpoint):
        for network in wire.things["network"]:
            network["projectid"] = wire.things["project"][0]["id"]
        cloud = a_cloudstack(endpoint, project="fleet")
        rule = MadeRule(private_port=8080, network="tier")
        declared = ManagedBalancer(id=BalancerId("front"), on=cloud.id, cloud=cloud, rule=rule)
        secrets = {"KEY": KEY, "SECRET": SECRET}
        driver = RuleProvisioner(
            declared, cloud, HERE, lambda: Instant(0.0), lambda ref: secrets[ref.env or ""], lambda _: None
        )
        driver.create(ManagedPart.ADDRESS, driver.parts())
        driver.create(ManagedPart.RULE, driver.parts())
        assert [each.project for each in wire.rules] == [wire.things["project"][0]["id"]]
        assert len(driver.parts()) == 2
