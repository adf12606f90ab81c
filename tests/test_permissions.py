"""The pages of drivers list exactly the commands that a role must allow: no more, and none is missing."""

from __future__ import annotations

import re
import xmlrpc.client
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from collector.clients.libvirt.messages import Procedure
from collector.sources.opennebula.parsing import measured_question, question
from config.errors import DriverError, Full, Transient
from config.model.catalogue import Profile
from config.model.made_rule import HealthCheck, MadeRule, Stickiness, StickinessMethod
from config.model.managed import HealthMonitor, ManagedBalancer, ManagedPart, Vip
from config.model.parts import FloatingAddress, NetworkPort, Volume
from config.model.parts import MemberPart as Belonging
from config.model.recipes import BootVolume
from config.units import BalancerId, CloudId, GroupId, Instant, PartName
from handler.balancers.cloudstack.making import RuleProvisioner
from handler.balancers.octavia.provisioning import OctaviaProvisioner
from handler.operations.examining import asked
from handler.orchestrators.openstack.driver import OpenstackOrchestrator
from handler.planning.provisioning import Act, Make, PartStatus, Provisioned, Unmake, next_to_make, next_to_unmake
from handler.ports.balancer import MemberMove, Provisioner, RegistrationChange
from tests.support.balancers import a_name
from tests.support.cloudstack import HERE, a_cloudstack, a_machine_recipe, cloudstack_stage
from tests.support.cloudstack_making import making_wire
from tests.support.cloudstack_rules import rule_stage
from tests.support.cloudstack_wire import KEY, SECRET, CloudstackWire
from tests.support.examined import looks
from tests.support.netscaler import FakeNetscaler, in_the_background
from tests.support.netscaler_config import Configuration
from tests.support.netscaler_stage import NetscalerStage
from tests.support.octavia_stage import octavia_stage
from tests.support.oneflow_stage import oneflow_stage
from tests.support.opennebula import opennebula_stage
from tests.support.openstack import OpenstackStage, a_server_recipe, an_access, openstack_stage
from tests.support.openstack_making_wire import MakingOctavia
from tests.support.openstack_wire import SECRET as OPENSTACK_SECRET
from tests.support.openstack_wire import OpenstackWire, mint
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


def brought(driver: Provisioner, next_act: Callable[[ManagedBalancer, Mapping[ManagedPart, PartStatus]], Act]) -> None:
    """Act until nothing is left to do."""
    for _ in range(60):
        found = driver.parts()
        match next_act(driver.declared, found):
            case Make(part=part):
                driver.create(part, found)
            case Unmake(part=part, id=known):
                driver.delete(part, known)
            case Provisioned():
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
        foreign_member = stage.wire.add("by-hand", project=project)
        cloud.mark(foreign_member.id, stage.launch(7).id)
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
        driver.foreign()
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
            driver.apply([RegistrationChange(move=MemberMove.JOIN, member=second, at=("10.0.0.2", 80))])
            driver.apply([RegistrationChange(move=MemberMove.DRAIN, member=each) for each in (first, second)])
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


# OpenStack


def services(page: str) -> set[str]:
    """The calls of the table under "Permissions", as `OpenstackWire.asked`; several methods may share a path."""
    found, methods = set(), list[str]()
    for row in _tables(page)[0].splitlines():
        service, calls = row.split("|")[1:3]
        for call in re.findall(r"`([^`]+)`", calls):
            method, _, path = call.partition(" ")
            methods.append(method)
            if path:
                found |= {f"{each} /{service.strip()}{path}" for each in methods}
                methods.clear()
    return found


def test_a_role_for_members_on_openstack_allows_what_is_called_and_no_more() -> None:
    volume = Volume(size=20 << 30, kind="ssd")
    parts = tuple(
        Belonging(name=PartName(name), spec=spec)
        for name, spec in (
            ("data", volume),
            ("front", NetworkPort(network="net")),
            ("public", FloatingAddress(network="public", port=PartName("front"))),
        )
    )
    fields = {"security_groups": ("web",), "server_group": "apart", "boot_volume": BootVolume(size=20 << 30)}
    by_name = a_server_recipe(**fields, key_name="ops", availability_zone="az1")
    ids = {kind: mint(f"{kind} {name}") for kind, name in (("image", "web"), ("flavor", "small"))}
    things = {"networks": (mint("network net"),), "security_groups": (mint("security_group web"),)}
    by_id = a_server_recipe(**ids, **things, server_group=mint("server_group apart"))
    with openstack_stage() as stage:
        cloud, launch = stage.driver(), stage.launch(**fields)
        profile = replace(launch.profile, parts=parts)
        cloud.quotas(profile)
        for part in parts:
            cloud.make_part(launch.id.name, part, profile)
        made = {part.name: part.id for _, part in cloud.parts(GroupId("web")).parts}
        cloud.create(replace(launch, profile=profile, parts=made))
        cloud.list(GroupId("web"))
        for _ in range(3):
            cloud.destroy(launch.id.name, grace=5.0)
        for name in made:
            cloud.release_part(launch.id.name, name)
        _forgotten(stage, cloud, parts, profile)
        looks(cloud, by_name, by_id)
        cloud.mark(stage.foreign_member("by-hand"), stage.launch(7).id)
        cloud.unmark(stage.launch(7).id.name)
    documented = services("openstack.md")
    calls = {call for call in stage.wire.asked if "/identity/" not in call and call.count("/") > 1}  # versions: to all
    assert {call for call in calls if not any(covers(pattern, call) for pattern in documented)} == set()
    assert {pattern for pattern in documented if not any(covers(pattern, call) for call in calls)} == set()


def _forgotten(
    stage: OpenstackStage, cloud: OpenstackOrchestrator, parts: tuple[Belonging, ...], profile: Profile
) -> None:
    """Remove parts that listings showed late, of a member that is gone, whose volume is still said to be attached."""
    member = stage.launch(2).id.name
    for part in parts:
        cloud.make_part(member, part, profile)
    for service, things in ((stage.neutron, ("ports", "floatingips")), (stage.cinder, ("volumes",))):
        service.hidden.update(*(getattr(service, each) for each in things))
    for part in parts:
        cloud.find_part(member, part.name)
    for service in (stage.neutron, stage.cinder):
        service.hidden.clear()
    for volume in stage.cinder.volumes.values():
        volume |= {"attachments": [{"attachment_id": mint("old"), "server_id": mint("gone")}], "status": "in-use"}
    for part in (*reversed(parts), parts[0], parts[0]):
        with suppress(Transient):
            cloud.remove_part(member, part.name)


# NetScaler

_VERBS = {
    ("POST", "server"): "add server",
    ("DELETE", "server"): "rm server",
    ("PUT", "servicegroup_servicegroupmember_binding"): "bind serviceGroup",
    ("DELETE", "servicegroup_servicegroupmember_binding"): "unbind serviceGroup",
    ("POST", "servicegroup"): "serviceGroup",
    ("POST", "nsconfig"): "ns config",
}


def typed(method: str, path: str) -> str:
    """The command by whose words the appliance decides whether a call is allowed."""
    whole, _, query = path.partition("?")
    of, kind, *_ = whole.split("/")
    if method == "GET":
        return f"{'stat' if of == 'stat' else 'show'} {kind}"
    action = "".join(re.findall("action=([a-z]+)", query))
    command = f"{action} {_VERBS[method, kind]}".strip()
    return f"{command} web x 80" if "serviceGroup" in command else f"{command} x" if "server" in command else command


def test_the_policy_for_a_netscaler_allows_what_is_called_and_no_more() -> None:
    with in_the_background(FakeNetscaler(configuration=Configuration(groups={"web": {}}))) as appliance:
        driver = NetscalerStage(appliance).driver(service_group="web", save=True)
        name = a_name()
        for call in (lambda: driver.join(name, "10.0.0.1", 80), lambda: driver.enable(name)):
            call()
        driver.registrations()
        driver.drain(name)
        driver.leave(name)
        driver.registrations()
        asked(driver.checks("ns"), 10.0)
    calls = zip(appliance.methods, appliance.asked, strict=True)
    commands = {typed(method, path) for method, path in calls if path != "config/login"}
    text = (DOCS / "behind-netscaler.md").read_text(encoding="utf-8")
    (policy,) = re.findall(r'cmdPolicy trimtab ALLOW "(.+)"', text)
    policy = policy.replace(r"\\", "\\")
    assert {command for command in commands if not re.search(policy, command)} == set()
    allowed = {verb for verbs in re.findall(r"\(\^\(?([a-z|]+)", policy) for verb in verbs.split("|")}
    assert allowed == {command.split()[0] for command in commands}


# OneFlow

_PATHS = {
    "POOL": "GET /service",
    "GET": "GET /service/ID",
    "PUT": "PUT /service/ID",
    "scale": "POST /service/ID/scale",
    "action": "POST /service/ID/action",
}


def test_the_calls_to_oneflow_that_are_documented_are_those_that_are_made() -> None:
    with oneflow_stage() as stage:
        cloud, launch = stage.driver(), stage.launch()
        cloud.quotas(launch.profile)
        stage.wire.quota = 0
        with suppress(Full):
            cloud.create(launch)
        stage.wire.quota = 9
        with suppress(Transient):  # it is told to recover
            cloud.create(launch)
        cloud.create(launch)
        cloud.list(GroupId("web"))
        cloud.destroy(launch.id.name, grace=0.0)
    text = (DOCS / "oneflow.md").read_text(encoding="utf-8").partition("## Permissions\n")[2].partition("\n## ")[0]
    documented = {call.replace("\n", " ") for call in re.findall(r"`((?:GET|PUT|POST)\s[^`]+)`", text)}
    assert documented == {_PATHS[call] for call, _ in stage.flow.calls}
    assert {f"one.{method}" for method, _ in stage.wire.calls} <= methods()


# OpenNebula


def methods() -> set[str]:
    """What the page of OpenNebula says that is called."""
    text = (DOCS / "opennebula.md").read_text(encoding="utf-8").partition("The methods that are called:")[2]
    return set(re.findall(r"`(one\.[a-z.]+)`", text.partition("\n\n")[0]))


def test_the_methods_of_opennebula_that_are_documented_are_those_that_are_called() -> None:
    with opennebula_stage() as stage:
        cloud, launch = stage.driver(), stage.launch()
        cloud.quotas(launch.profile)
        cloud.create(launch)
        cloud.list(GroupId("web"))
        cloud.find(launch.id.name)
        cloud.destroy(launch.id.name, grace=0.0)
        foreign_member = stage.foreign_member("by-hand")
        cloud.mark(foreign_member, stage.launch(7).id)
        cloud.unmark(stage.launch(7).id.name)
        sent = {f"one.{method}" for method, _ in stage.wire.calls}
    sent |= {xmlrpc.client.loads(asked)[1] for asked in (question("", 0), measured_question(""))}  # counters
    assert methods() == sent


# libvirt


def test_the_calls_to_libvirt_that_are_documented_are_those_that_are_known() -> None:
    text = (DOCS / "libvirt.md").read_text(encoding="utf-8").partition("these are called:")[2]
    documented = {name.lower() for name in re.findall(r"`(vir[A-Za-z]+)`", text.partition("\n\n")[0])}
    known = {f"vir{each.name.replace('_', '').lower()}" for each in Procedure if not each.name.startswith("AUTH_")}
    assert documented == known


@pytest.mark.parametrize("command", ["listProjects", "listVirtualMachines"])
def test_a_command_that_a_role_lacks_is_named(command: str) -> None:
    with cloudstack_stage() as stage:
        stage.wire.forbidden.add(command)
        with pytest.raises(DriverError, match=f"{command}.*role may call"):
            stage.driver(project="fleet").list(GroupId("web"))
