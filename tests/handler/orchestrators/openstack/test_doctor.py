from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from config.errors import Permanent
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, Spec, Volume
from config.model.recipes import BootVolume
from config.units import Instant, PartName
from handler.ports.examination import Look
from tests.support.examined import OK, PROBLEM, UNKNOWN, looks, verdicts
from tests.support.openstack import OpenstackStage, a_server_recipe, openstack_stage
from tests.support.openstack_wire import SECRET, mint
from tests.support.wire_server import answered

NOWHERE = "00000000-0000-0000-0000-000000000000"
WHOLE = a_server_recipe(
    security_groups=("web", mint("security_group default")),
    server_group="apart",
    key_name="ops",
    availability_zone="az1:node7",
)


@pytest.fixture
def stage() -> Iterator[OpenstackStage]:
    with openstack_stage(clock=lambda: Instant(time.time())) as stage:
        yield stage


def test_a_project_in_order_is_found_in_order(stage: OpenstackStage) -> None:
    stage.nova.quota, stage.nova.cores = 20, 40
    stage.nova.add("another")
    found = looks(stage.driver(), WHOLE, a_server_recipe(image=mint("image web"), networks=(mint("network net"),)))

    assert {verdict for each in verdicts(found).values() for verdict in each} == {OK}
    assert found["version"][0].words == "Nova 2.93; Trimtab uses 2.69"
    assert found["quota"][0].words == "machines 1 of 20, cores 1 of 40, MiB of memory 0 without a limit"
    assert [look.words for look in found["image"]] == [
        f"image web is {mint('image web')}",
        f"image {mint('image web')} is there",
    ]


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        pytest.param(NetworkPort(network="nix"), "network", id="network of a port"),
        pytest.param(FloatingAddress(network=NOWHERE, port=PartName("front")), "network", id="network of an address"),
        pytest.param(Volume(size=1, kind="nix"), "volume type", id="type of a volume"),
    ],
)
def test_so_is_what_a_part_names(stage: OpenstackStage, spec: Spec, what: str) -> None:
    fit = (
        MemberPart(name=PartName("front"), spec=NetworkPort(network="net")),
        MemberPart(name=PartName("b"), spec=Volume(size=1)),
    )
    profile = replace(stage.launch().profile, parts=(*fit, MemberPart(name=PartName("odd"), spec=spec)))
    found = [check for check in stage.driver().checks([profile], 1) if check.what == what]
    with pytest.raises(Permanent, match="that the project can see"):
        [check.look() for check in found]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        pytest.param({"image": "nix"}, "image", id="image by name"),
        pytest.param({"image": NOWHERE}, "image", id="image by id"),
        pytest.param({"flavor": "huge"}, "flavor", id="flavor"),
        pytest.param({"networks": ("net", NOWHERE)}, "network", id="one network of two"),
        pytest.param({"security_groups": (NOWHERE,)}, "security group", id="security group"),
        pytest.param({"server_group": "nix"}, "server group", id="server group"),
        pytest.param({"key_name": "me/../ops"}, "key pair", id="key pair"),
        pytest.param({"availability_zone": "az2"}, "zone", id="zone that is down"),
        pytest.param({"availability_zone": "az9"}, "zone", id="no such zone"),
    ],
)
def test_what_a_profile_names_and_is_not_there_is_a_problem_of_its_own(
    stage: OpenstackStage, fields: dict[str, object], what: str
) -> None:
    found = looks(stage.driver(), a_server_recipe(**fields))

    assert [each for each, seen in verdicts(found).items() if PROBLEM in seen] == [what]
    assert "in the profile" in found[what][-1].remedy
    assert what == "zone" or found[what][-1].remedy.startswith(f"put the {what} back")


DISKS = (
    MemberPart(name=PartName("a"), spec=Volume(size=2**31)),
    MemberPart(name=PartName("b"), spec=Volume(size=2**30 + 1)),
)
FRONT = (
    MemberPart(name=PartName("front"), spec=NetworkPort(network="net")),
    MemberPart(name=PartName("public"), spec=FloatingAddress(network="net", port=PartName("front"))),
)


def beside(stage: OpenstackStage, what: str, *parts: MemberPart, most: int = 4, **fields: object) -> Look | None:
    """What the check of a quota beside Nova's finds; ``None``: there is no such check."""
    profile = replace(stage.launch(**fields).profile, parts=parts)
    return next((check.look() for check in stage.driver().checks([profile], most) if check.what == what), None)


@pytest.mark.parametrize(
    ("what", "parts", "quota", "words"),
    [
        pytest.param("network quota", (), {}, "ports 0 without a limit", id="ports without a limit"),
        pytest.param("network quota", (), {"ports": 4}, "ports 0 of 4", id="as many ports as members"),
        pytest.param(
            "network quota",
            FRONT,
            {"ports": 7, "floatingips": 9},
            "there is room for 3 more members, and groups may want 4: ports 0 of 7, and each takes 2",
            id="a port of their own, and one more",
        ),
        pytest.param(
            "network quota",
            FRONT,
            {"ports": 9, "floatingips": 3},
            "there is room for 3 more members, and groups may want 4: floating addresses 0 of 3",
            id="addresses",
        ),
        pytest.param(
            "volume quota",
            DISKS,
            {"volumes": 100, "gigabytes": 15},
            "there is room for 3 more members, and groups may want 4: GiB of volumes 0 of 15, and each takes 4",
            id="whole GiB of volumes",
        ),
    ],
)
def test_quotas_of_other_services_are_reported_in_members(
    stage: OpenstackStage, what: str, parts: tuple[MemberPart, ...], quota: dict[str, int], words: str
) -> None:
    stage.neutron.quota = {kind: most for kind, most in quota.items() if kind in {"ports", "floatingips"}}
    stage.cinder.quota, stage.cinder.gigabytes = quota.get("volumes", 1000), quota.get("gigabytes", -1)

    look = beside(stage, what, *parts)

    assert look is not None
    assert look.words == words
    assert (look.verdict is PROBLEM) is bool(look.remedy) is words.startswith("there is room")


def test_the_disk_that_a_server_starts_from_is_a_volume_too(stage: OpenstackStage) -> None:
    stage.cinder.quota = 2

    look = beside(stage, "volume quota", boot_volume=BootVolume(size=20), most=3)

    assert look is not None
    assert look.words == "there is room for 2 more members, and groups may want 3: volumes 0 of 2"


@pytest.mark.parametrize(
    ("fields", "parts", "needs"),
    [
        pytest.param({"boot_volume": BootVolume(size=20)}, (), "boot_volume", id="the disk to start from"),
        pytest.param({}, DISKS, "part a, part b", id="parts"),
    ],
)
def test_a_cloud_without_block_storage_is_a_finding_for_each_profile_that_needs_it(
    stage: OpenstackStage, fields: dict[str, object], parts: tuple[MemberPart, ...], needs: str
) -> None:
    def found() -> list[Look]:
        needy = replace(stage.launch(**fields).profile, parts=parts)
        checks = stage.driver().checks([stage.launch().profile, needy], 4)
        return [check.look() for check in checks if check.what == "block storage"]

    assert [look.words for look in found()] == [f"block storage is available for {needs}"]
    stage.wire.services = tuple(each for each in stage.wire.services if each is not stage.cinder)
    (look,) = found()
    assert (look.verdict, look.words) == (PROBLEM, f"prod: there is no block storage (Cinder) for {needs}")
    assert look.remedy == f"ask the cloud's operator for block storage (Cinder), or take {needs} out of the profile"


def test_the_type_of_the_disk_to_start_from_is_looked_for(stage: OpenstackStage) -> None:
    found = looks(stage.driver(), a_server_recipe(boot_volume=BootVolume(size=20, kind="nix")))
    assert [each for each, seen in verdicts(found).items() if PROBLEM in seen] == ["volume type"]


def test_what_members_do_not_take_is_not_asked_for(stage: OpenstackStage) -> None:
    assert beside(stage, "network quota", no_network=True) is None
    assert beside(stage, "volume quota") is None


def test_a_neutron_that_tells_no_quotas_is_no_problem(stage: OpenstackStage) -> None:
    stage.wire.script("GET /quotas/tenant", answered(b'{"message": "no"}', status=404))

    look = beside(stage, "network quota")

    assert look is not None
    assert look.verdict is UNKNOWN


def test_cores_that_are_used_up_are_reported(stage: OpenstackStage) -> None:
    stage.nova.cores = 0
    (quota,) = looks(stage.driver())["quota"]

    assert (quota.verdict, quota.words.startswith("no cores left")) == (PROBLEM, True)


def test_a_wrong_secret_is_reported_and_never_shown(stage: OpenstackStage) -> None:
    stage.secrets["SECRET"] = "not it"
    found = looks(stage.driver(), a_server_recipe())

    assert {verdict for each in verdicts(found).values() for verdict in each} == {PROBLEM}
    assert found["version"][0].remedy
    assert not [each for look in found.values() for each in look if "not it" in str(each) or SECRET in str(each)]


def test_nothing_is_changed(stage: OpenstackStage) -> None:
    looks(stage.driver(), WHOLE)

    assert {call for call in stage.wire.calls if not call.startswith("GET ")} == {"POST /auth/tokens"}


def test_a_clock_that_is_wrong_is_reported() -> None:
    with openstack_stage(clock=lambda: Instant(time.time() - 90.0)) as stage:
        (clock,) = looks(stage.driver())["clock"]

    assert (clock.verdict, "s ahead of ours" in clock.words) == (PROBLEM, True)
