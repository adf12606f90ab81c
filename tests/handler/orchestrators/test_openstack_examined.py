from __future__ import annotations

import doctest
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from config.errors import Permanent
from config.parts import Address, Part, Port, Spec, Volume
from config.units import Instant, PartName
from handler.orchestrators import openstack_examined
from tests.support.examined import OK, PROBLEM, looks, verdicts
from tests.support.openstack import OpenstackStage, a_server_recipe, openstack_stage
from tests.support.openstack_wire import SECRET, mint

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
    stage.nova.add("somebody")
    found = looks(stage.driver(), WHOLE, a_server_recipe(image=mint("image web"), networks=(mint("network net"),)))

    assert {verdict for each in verdicts(found).values() for verdict in each} == {OK}
    assert found["version"][0].words == "Nova 2.93, of which Trimtab speaks 2.69"
    assert found["quota"][0].words == "machines 1 of 20, cores 1 of 40, MiB of memory 0 without a limit"
    assert [look.words for look in found["image"]] == [
        f"image web is {mint('image web')}",
        f"image {mint('image web')} is there",
    ]


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        pytest.param(Port(network="nix"), "network", id="network of a port"),
        pytest.param(Address(network=NOWHERE, port=PartName("front")), "network", id="network of an address"),
        pytest.param(Volume(size=1, kind="nix"), "volume type", id="type of a volume"),
    ],
)
def test_so_is_what_a_part_names(stage: OpenstackStage, spec: Spec, what: str) -> None:
    fit = (Part(name=PartName("front"), spec=Port(network="net")), Part(name=PartName("b"), spec=Volume(size=1)))
    profile = replace(stage.launch().profile, parts=(*fit, Part(name=PartName("odd"), spec=spec)))
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
def test_what_a_profile_names_and_nobody_has_is_a_problem_of_its_own(
    stage: OpenstackStage, fields: dict[str, object], what: str
) -> None:
    found = looks(stage.driver(), a_server_recipe(**fields))

    assert [each for each, seen in verdicts(found).items() if PROBLEM in seen] == [what]
    assert "in the profile" in found[what][-1].mend


def test_cores_that_are_used_up_are_told(stage: OpenstackStage) -> None:
    stage.nova.cores = 0
    (quota,) = looks(stage.driver())["quota"]

    assert (quota.verdict, quota.words.startswith("no cores left")) == (PROBLEM, True)


def test_a_wrong_secret_is_told_and_never_shown(stage: OpenstackStage) -> None:
    stage.secrets["SECRET"] = "not it"
    found = looks(stage.driver(), a_server_recipe())

    assert {verdict for each in verdicts(found).values() for verdict in each} == {PROBLEM}
    assert found["version"][0].mend
    assert not [each for look in found.values() for each in look if "not it" in str(each) or SECRET in str(each)]


def test_nothing_is_changed(stage: OpenstackStage) -> None:
    looks(stage.driver(), WHOLE)

    assert {call for call in stage.wire.calls if not call.startswith("GET ")} == {"POST /auth/tokens"}


def test_a_clock_that_is_wrong_is_told() -> None:
    with openstack_stage(clock=lambda: Instant(time.time() - 90.0)) as stage:
        (clock,) = looks(stage.driver())["clock"]

    assert (clock.verdict, "s ahead of ours" in clock.words) == (PROBLEM, True)


def test_its_examples_are_true() -> None:
    assert doctest.testmod(openstack_examined).failed == 0
