"""What every cloud that makes parts promises, asked of each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import pytest

from config.errors import Transient
from config.model.catalogue import Profile
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, Volume
from config.units import GroupId, MemberName, PartName
from handler.planning.world import PartState
from handler.ports.parts import PartMaker
from tests.support.openstack import openstack_stage
from tests.support.openstack_bed import BEDS
from tests.support.orchestrators import Stage, simulated_stage
from tests.support.waiting import until

WEB = GroupId("web")
DATA = MemberPart(name=PartName("data"), spec=Volume(size=1 << 30))

CLOUDS = [
    pytest.param(simulated_stage, id="simulated"),
    pytest.param(openstack_stage, id="openstack"),
    *BEDS,
]


class PartsStage(Stage, Protocol):
    """An empty cloud that makes parts."""

    network: str
    """One to have ports on."""
    outside: str
    """One to have addresses from, which lead to ports on the first."""

    def parts(self) -> list[tuple[str, str]]:
        """All that were made and are there, by whose mark they bear, asked without the driver; sorted."""
        ...


@pytest.fixture(params=CLOUDS)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PartsStage]:
    with request.param(tmp_path_factory.mktemp("cloud")) as stage:
        if not getattr(stage, "makes_parts", True):  # only that of a real cloud may make none
            pytest.skip("this bed has no outer network, or no Cinder")
        yield stage


@pytest.fixture
def cloud(stage: PartsStage) -> PartMaker:
    driver = stage.driver()
    assert isinstance(driver, PartMaker)
    return driver


@pytest.fixture
def front(stage: PartsStage) -> MemberPart:
    return MemberPart(name=PartName("front"), spec=NetworkPort(network=stage.network))


@pytest.fixture
def public(stage: PartsStage) -> MemberPart:
    return MemberPart(name=PartName("public"), spec=FloatingAddress(network=stage.outside, port=PartName("front")))


@pytest.fixture
def profile(stage: PartsStage) -> Profile:
    return stage.launch().profile


@pytest.fixture
def member(stage: PartsStage) -> MemberName:
    return stage.launch().id.name


def listed(cloud: PartMaker, group: GroupId = WEB) -> list[tuple[MemberName, PartName]]:
    listing = cloud.parts(group)
    assert listing.complete, listing.because
    return [(member, part.name) for member, part in listing.parts]


def test_what_was_made_is_listed_and_found_under_its_member(
    cloud: PartMaker, member: MemberName, profile: Profile, front: MemberPart, public: MemberPart
) -> None:
    parts = (DATA, front, public)
    for part in parts:
        cloud.make_part(member, part, profile)
    assert sorted(listed(cloud)) == [(member, part.name) for part in parts]
    found = [cloud.find_part(member, part.name) for part in parts]
    assert [(part.name, part.state) for part in found if part is not None] == [
        (part.name, PartState.READY) for part in parts
    ]
    assert {part for _, part in cloud.parts(WEB).parts} == set(found)


def test_a_part_that_is_made_twice_is_there_once(
    cloud: PartMaker, member: MemberName, profile: Profile, front: MemberPart, public: MemberPart, stage: PartsStage
) -> None:
    for part in (DATA, front, public):
        for _ in range(2):
            cloud.make_part(member, part, profile)
    assert stage.parts() == [(member, "data"), (member, "front"), (member, "public")]


def test_a_part_that_is_removed_is_gone_and_may_be_removed_again(
    cloud: PartMaker, member: MemberName, profile: Profile, front: MemberPart, public: MemberPart, stage: PartsStage
) -> None:
    for part in (DATA, front, public):
        cloud.make_part(member, part, profile)
    for part in (public, front, DATA):
        for _ in range(2):
            cloud.remove_part(member, part.name)
        assert cloud.find_part(member, part.name) is None
    assert listed(cloud) == stage.parts() == []


def test_a_part_that_is_released_is_there_and_free(
    cloud: PartMaker, member: MemberName, profile: Profile, stage: PartsStage
) -> None:
    cloud.make_part(member, DATA, profile)
    for _ in range(2):
        cloud.release_part(member, DATA.name)
    assert (listed(cloud), cloud.find_part(member, DATA.name)) == ([], None)
    assert stage.parts() == [("", DATA.name)]
    cloud.make_part(member, DATA, profile)
    cloud.remove_part(member, DATA.name)
    assert stage.parts() == [("", DATA.name)]


def test_ports_and_addresses_can_be_released_too(
    cloud: PartMaker, member: MemberName, profile: Profile, front: MemberPart, public: MemberPart, stage: PartsStage
) -> None:
    for part in (front, public):
        cloud.make_part(member, part, profile)
    for part in (public, front):
        cloud.release_part(member, part.name)
    assert listed(cloud) == []
    assert [whose for whose, _ in stage.parts()] == ["", ""]


def test_parts_of_other_groups_and_installations_are_not_listed_or_touched(
    cloud: PartMaker, member: MemberName, profile: Profile, stage: PartsStage
) -> None:
    theirs = stage.launch(elsewhere=True).id.name
    elsewhere = stage.driver(elsewhere=True)
    assert isinstance(elsewhere, PartMaker)
    elsewhere.make_part(theirs, DATA, profile)
    cloud.make_part(stage.launch(group="api").id.name, DATA, profile)
    cloud.make_part(member, DATA, profile)
    assert listed(cloud) == [(member, DATA.name)]
    assert cloud.find_part(theirs, DATA.name) is None
    for drop in (cloud.remove_part, cloud.release_part):
        drop(theirs, DATA.name)
    assert listed(elsewhere) == [(theirs, DATA.name)]


def test_parts_outlive_the_daemon(cloud: PartMaker, member: MemberName, profile: Profile, stage: PartsStage) -> None:
    cloud.make_part(member, DATA, profile)
    again, later = stage.driver(), stage.driver()
    assert isinstance(again, PartMaker)
    assert isinstance(later, PartMaker)
    assert listed(again) == [(member, DATA.name)]
    again.remove_part(member, DATA.name)
    assert listed(later) == listed(cloud) == []


def test_a_machine_is_made_with_its_parts_and_leaves_them_behind(
    cloud: PartMaker, member: MemberName, profile: Profile, front: MemberPart, public: MemberPart, stage: PartsStage
) -> None:
    driver, parts = stage.driver(), (DATA, front, public)
    for part in parts:
        cloud.make_part(member, part, profile)
    ids = {part.name: part.id for _, part in cloud.parts(WEB).parts}
    launch = replace(stage.launch(), profile=replace(profile, parts=parts), parts=ids)
    made = driver.create(launch)
    assert [server.name for server in driver.list(WEB).servers] == [member]
    assert {part.id for _, part in cloud.parts(WEB).parts} == set(ids.values())
    driver.destroy(member, grace=0.0)
    until(lambda: driver.find(member) is None)
    assert {part.id for _, part in cloud.parts(WEB).parts} == set(ids.values()), made
    for part in (public, front, DATA):
        until(lambda part=part: taken_away(cloud, member, part))  # type: ignore[misc]
    assert stage.parts() == []


def taken_away(cloud: PartMaker, member: MemberName, part: MemberPart) -> bool:
    """Remove a part; as long as its machine has not let go of it, that is refused."""
    with contextlib.suppress(Transient):
        cloud.remove_part(member, part.name)
    return cloud.find_part(member, part.name) is None
