"""What every cloud that makes parts promises, asked of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from config.parts import Part, Port, Volume
from config.units import GroupId, MemberName, PartName
from handler.orchestrators.parts import PartMaker
from handler.parts import PartState
from tests.support.orchestrators import SimulatedStage, simulated_stage

WEB = GroupId("web")
DATA = Part(name=PartName("data"), spec=Volume(size=1 << 30))
FRONT = Part(name=PartName("front"), spec=Port(network="web"))


@pytest.fixture(params=[pytest.param(simulated_stage, id="simulated")])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedStage]:
    with request.param(tmp_path_factory.mktemp("cloud")) as stage:
        yield stage


@pytest.fixture
def cloud(stage: SimulatedStage) -> PartMaker:
    driver = stage.driver()
    assert isinstance(driver, PartMaker)
    return driver


@pytest.fixture
def member(stage: SimulatedStage) -> MemberName:
    return stage.launch().id.name


def listed(cloud: PartMaker, group: GroupId = WEB) -> list[tuple[MemberName, PartName]]:
    listing = cloud.parts(group)
    assert listing.complete, listing.because
    return [(member, part.name) for member, part in listing.parts]


def test_what_was_made_is_listed_and_found_under_its_member(cloud: PartMaker, member: MemberName) -> None:
    for part in (DATA, FRONT):
        cloud.make_part(member, part)
    assert sorted(listed(cloud)) == [(member, DATA.name), (member, FRONT.name)]
    found = cloud.find_part(member, DATA.name)
    assert found is not None
    assert (found.name, found.state) == (DATA.name, PartState.READY)
    assert found in [part for _, part in cloud.parts(WEB).parts]


def test_a_part_that_is_made_twice_is_there_once(cloud: PartMaker, member: MemberName) -> None:
    for _ in range(2):
        cloud.make_part(member, DATA)
    assert listed(cloud) == [(member, DATA.name)]


def test_a_part_that_is_removed_is_gone_and_may_be_removed_again(cloud: PartMaker, member: MemberName) -> None:
    cloud.make_part(member, DATA)
    for _ in range(2):
        cloud.remove_part(member, DATA.name)
    assert (listed(cloud), cloud.find_part(member, DATA.name)) == ([], None)


def test_a_part_that_is_released_is_there_and_nobodys(
    cloud: PartMaker, member: MemberName, stage: SimulatedStage
) -> None:
    cloud.make_part(member, DATA)
    for _ in range(2):
        cloud.release_part(member, DATA.name)
    assert (listed(cloud), cloud.find_part(member, DATA.name)) == ([], None)
    assert stage.parts() == [("", DATA.name)]
    cloud.make_part(member, DATA)
    cloud.remove_part(member, DATA.name)
    assert stage.parts() == [("", DATA.name)]


def test_parts_of_other_groups_and_installations_are_not_listed_or_touched(
    cloud: PartMaker, member: MemberName, stage: SimulatedStage
) -> None:
    theirs = stage.launch(elsewhere=True).id.name
    stage.driver(elsewhere=True).make_part(theirs, DATA)
    cloud.make_part(stage.launch(group="api").id.name, DATA)
    cloud.make_part(member, DATA)
    assert listed(cloud) == [(member, DATA.name)]
    assert cloud.find_part(theirs, DATA.name) is None
    for drop in (cloud.remove_part, cloud.release_part):
        drop(theirs, DATA.name)
    assert listed(stage.driver(elsewhere=True)) == [(theirs, DATA.name)]


def test_parts_outlive_the_daemon(cloud: PartMaker, member: MemberName, stage: SimulatedStage) -> None:
    cloud.make_part(member, DATA)
    again = stage.driver()
    assert listed(again) == [(member, DATA.name)]
    again.remove_part(member, DATA.name)
    assert listed(stage.driver()) == listed(cloud) == []


def test_machines_and_parts_are_told_apart(cloud: PartMaker, member: MemberName, stage: SimulatedStage) -> None:
    cloud.make_part(member, DATA)
    launch = replace(stage.launch(), parts={DATA.name: "sim-part-1"})
    stage.driver().create(launch)
    assert [server.name for server in stage.driver().list(WEB).servers] == [member]
    assert listed(cloud) == [(member, DATA.name)]
