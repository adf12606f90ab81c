"""What drivers read of quotas: what a member takes, whose limits count, and answers that make no sense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from config.errors import Permanent, Transient
from config.model.catalogue import Profile
from config.model.parts import MemberPart
from config.model.recipes import BootVolume
from config.units import CloudId, ProfileId
from handler.orchestrators.cloudstack.quotas import quotas_of as account_quotas
from handler.orchestrators.opennebula.quotas import taken_of
from handler.orchestrators.openstack.quotas import quotas_of
from handler.planning.headroom import Quota, headroom_of
from tests.support.cloudstack import CloudstackStage, a_machine_recipe, cloudstack_stage
from tests.support.opennebula import OpennebulaStage, a_template_recipe, opennebula_stage
from tests.support.openstack import OpenstackStage, a_server_recipe, openstack_stage
from tests.support.openstack_wire import error
from tests.support.orchestrators import a_recipe
from tests.support.wire_server import answered
from tests.support.worlds import DATA, FRONT

CUSTOM = {"details[0].cpuNumber": "6", "details[0].memory": "512"}
NOVAS = b'{"limits": {"absolute": {"maxTotalInstances": 5, "totalInstancesUsed": 1}}}'
TEXTS = b'{"limits": {"absolute": {"maxTotalInstances": "10", "totalInstancesUsed": null}}}'


def each_takes(quotas: Any) -> dict[str, float]:
    """What a member takes, by the limit as it is shown."""
    return {str(quota.limit): quota.each for quota in quotas}


def a_profile(recipe: Any) -> Profile:
    return Profile(id=ProfileId("p"), cloud=CloudId("prod"), recipe=recipe)


@pytest.fixture
def openstack() -> Iterator[OpenstackStage]:
    with openstack_stage() as stage:
        yield stage


@pytest.fixture
def cloudstack() -> Iterator[CloudstackStage]:
    with cloudstack_stage() as stage:
        yield stage


@pytest.fixture
def opennebula() -> Iterator[OpennebulaStage]:
    with opennebula_stage() as stage:
        yield stage


# OpenStack


def test_a_server_takes_what_its_flavor_has_which_is_asked_for_once(openstack: OpenstackStage) -> None:
    openstack.nova.quota = 10
    openstack.nova.things.flavor[1] |= {"name": "odd one", "id": "a/b c", "vcpus": 8, "ram": 512}
    driver, profile = openstack.driver(), a_profile(a_server_recipe(flavor="odd one"))
    expected = {"machines 0 of 10": 1, "cores 0 without a limit": 8, "MiB of memory 0 without a limit": 512}
    expected |= {"ports 0 without a limit": 1}
    assert [each_takes(driver.quotas(profile)) for _ in range(3)] == [expected] * 3
    assert openstack.wire.count("GET /limits") == 3
    assert sum(label.startswith("GET /flavors/") for label in openstack.wire.calls) == 1


def test_a_server_that_starts_from_a_volume_takes_of_cinders_limits_too(openstack: OpenstackStage) -> None:
    recipe = a_server_recipe(boot_volume=BootVolume(size=20))
    assert {"volumes 0 of 1000": 1, "GiB of volumes 0 without a limit": 20}.items() <= each_takes(
        openstack.driver().quotas(a_profile(recipe))
    ).items()


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"limits": {"absolute": []}}', TEXTS])
def test_limits_that_make_no_sense_limit_nothing(openstack: OpenstackStage, body: bytes) -> None:
    openstack.wire.script("GET /limits", answered(body))
    assert headroom_of(openstack.driver().quotas(a_profile(a_server_recipe())), {}) is None


@pytest.mark.parametrize(
    ("fields", "parts", "expected"),
    [
        pytest.param({"networks": ("net", "back")}, (), 2, id="one a network"),
        pytest.param({"networks": ()}, (), 1, id="any network"),
        pytest.param({"networks": (), "no_network": True}, (), None, id="no network"),
        pytest.param({"networks": ()}, (FRONT,), None, id="a port of its own"),
        pytest.param({"networks": ("back",)}, (FRONT, DATA), 1, id="one more than its own"),
    ],
)
def test_a_server_takes_the_ports_that_nova_makes_for_it(
    openstack: OpenstackStage, fields: dict[str, Any], parts: tuple[MemberPart, ...], expected: int | None
) -> None:
    openstack.neutron.quota["ports"] = 7
    profile = replace(a_profile(a_server_recipe(**fields)), parts=parts)
    assert each_takes(openstack.driver().quotas(profile)).get("ports 0 of 7") == expected


def test_a_cloud_that_does_not_tell_of_ports_limits_by_all_else(openstack: OpenstackStage) -> None:
    openstack.nova.quota = 4
    openstack.wire.script("GET /quotas/tenant", error(403, "rule:get_quota is disallowed by policy"))
    found = headroom_of(openstack.driver().quotas(a_profile(a_server_recipe())), {})
    assert found is not None
    assert (found.members, found.by) == (4, "machines 0 of 4")


@pytest.mark.parametrize("flavor", [{}, {"vcpus": None, "ram": "1"}, {"vcpus": True}])
def test_a_flavor_that_says_nothing_takes_of_machines_alone(flavor: dict[str, object]) -> None:
    limits = {"maxTotalInstances": 5, "totalInstancesUsed": 5, "maxTotalCores": 5, "totalCoresUsed": 5}
    found = headroom_of(quotas_of(limits, flavor), {})
    assert found is not None
    assert found.by == "machines 5 of 5"


def test_volumes_whose_limits_are_not_known_are_left_out(openstack: OpenstackStage) -> None:
    openstack.wire.script("GET /limits", answered(NOVAS), error(403, "disallowed by policy"))
    recipe = a_server_recipe(boot_volume=BootVolume(size=20), no_network=True, networks=())
    assert each_takes(openstack.driver().quotas(a_profile(recipe))) == {"machines 1 of 5": 1}


# CloudStack


@pytest.mark.parametrize(
    ("offering", "parameters", "expected"),
    [
        pytest.param({"cpunumber": 4, "memory": 8192}, {}, (4, 8192), id="fixed"),
        pytest.param({"iscustomized": True}, CUSTOM, (6, 512), id="custom"),
        pytest.param({"iscustomized": True}, {}, (0, 0), id="custom, and not said"),
        pytest.param({"cpunumber": "many", "memory": -3}, {}, (0, 0), id="nonsense"),
        pytest.param(None, {}, (0, 0), id="not listed"),
    ],
)
def test_a_machine_takes_what_its_offering_or_its_profile_says(
    offering: object, parameters: dict[str, str], expected: tuple[int, int]
) -> None:
    account = {f"{kind}{key}": "9" for kind in ("vm", "cpu", "memory", "volume") for key in ("limit", "total")}
    found = {quota.limit.what: quota.each for quota in account_quotas(account, offering, parameters)}
    assert found == {"machines": 1, "cores": expected[0], "MiB of memory": expected[1], "volumes": 1}


def test_the_limits_of_a_project_count_where_one_is_declared(cloudstack: CloudstackStage) -> None:
    profile = a_profile(a_machine_recipe())
    assert "machines 2 of 10" in each_takes(cloudstack.driver(project="fleet").quotas(profile))
    assert "machines 0 of 1000" in each_takes(cloudstack.driver().quotas(profile))


def test_whose_limits_count_is_not_guessed(cloudstack: CloudstackStage) -> None:
    cloudstack.wire.things["account"].append({"name": "other", "id": cloudstack.wire.mint("other")})
    with pytest.raises(Transient, match="2 accounts"):
        cloudstack.driver().quotas(a_profile(a_machine_recipe()))


def test_an_offering_that_is_not_there_is_reported(cloudstack: CloudstackStage) -> None:
    with pytest.raises(Permanent, match="nix"):
        cloudstack.driver().quotas(a_profile(a_machine_recipe(offering="nix")))


# OpenNebula


def test_user_and_group_limit_by_names_of_their_own(opennebula: OpennebulaStage) -> None:
    opennebula.wire.quota, opennebula.wire.group_quota = 20, 3
    opennebula.foreign_member("by-hand")
    quotas: list[Quota] = list(opennebula.driver().quotas(a_profile(a_template_recipe())))
    assert {"machines 1 of 20": 1, "machines of the group 1 of 3": 1}.items() <= each_takes(quotas).items()
    found = headroom_of(quotas, {})
    assert found is not None
    assert (found.members, found.by) == (2, "machines of the group 1 of 3")


def test_what_the_profile_puts_in_the_templates_place_is_what_is_taken(opennebula: OpennebulaStage) -> None:
    recipe = a_template_recipe(extra=(("CPU", "2.5"), ("NIC", (("NETWORK_ID", "0"),))))
    taken = {quota.limit.what: quota.each for quota in opennebula.driver().quotas(a_profile(recipe))}
    assert (taken["CPUs"], taken["MiB of memory"], taken["running machines"]) == (2.5, 1024.0, 1)


@pytest.mark.parametrize("template", [None, object(), {"CPU": "1"}])
def test_a_template_that_says_nothing_takes_of_machines_alone(template: object) -> None:
    assert taken_of(template, a_template_recipe()) == (1, 0.0, 0.0, 1)


# All


def test_a_profile_of_another_kind_of_cloud_has_no_quota(
    openstack: OpenstackStage, cloudstack: CloudstackStage, opennebula: OpennebulaStage
) -> None:
    for stage in (openstack, cloudstack, opennebula):
        assert stage.driver().quotas(a_profile(a_recipe())) == ()
