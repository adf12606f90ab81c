"""What every cloud promises, asked of each."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from config.units import GroupId, MemberName
from handler.planning.world import ServerState
from handler.ports.orchestrator import Orchestrator
from tests.support.cloud_columns import STAGES
from tests.support.oneflow_bed import FLOW_BEDS
from tests.support.opennebula_bed import NEBULA_BEDS
from tests.support.openstack_bed import BEDS
from tests.support.orchestrators import Clock, Stage
from tests.support.waiting import until

WEB = GroupId("web")


@pytest.fixture(params=[*STAGES, *BEDS, *FLOW_BEDS, *NEBULA_BEDS])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with request.param(tmp_path_factory.mktemp("cloud")) as stage:
        yield stage


@pytest.fixture
def cloud(stage: Stage) -> Orchestrator:
    return stage.driver()


def names(cloud: Orchestrator, group: GroupId = WEB) -> list[MemberName]:
    listing = cloud.list(group)
    assert listing.complete, listing.because
    return [server.name for server in listing.servers]


def test_an_empty_cloud_lists_no_member_and_says_that_this_is_all(cloud: Orchestrator) -> None:
    assert names(cloud) == []


def test_what_was_made_is_listed_and_found(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()

    made = cloud.create(launch)

    (listed,) = cloud.list(WEB).servers
    found = cloud.find(launch.id.name)
    assert found is not None
    assert made.name == launch.id.name
    assert {server.id for server in (made, listed, found)} == {made.id}
    assert {server.created_at for server in (made, listed, found)} == {made.created_at}
    assert listed.state is ServerState.RUNNING


def test_members_made_one_after_the_other_have_addresses_and_ids_of_their_own(
    cloud: Orchestrator, stage: Stage
) -> None:
    made = [cloud.create(stage.launch(sequence, group)) for sequence in (1, 2) for group in ("web", "api")]

    assert len({server.id for server in made}) == len({server.address for server in made}) == 4
    assert None not in {server.address for server in made}


def test_a_member_is_as_old_as_its_clock_says(cloud: Orchestrator, stage: Stage) -> None:
    now = Clock()()

    assert cloud.create(stage.launch()).created_at == pytest.approx(now, abs=2.5)


def test_creating_again_returns_the_one_that_is_there(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()

    first, second = cloud.create(launch), cloud.create(launch)

    assert (first.id, first.address) == (second.id, second.address)
    assert stage.count(launch.id.name) == 1


def test_two_creates_at_the_same_time_make_one_member(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()

    with ThreadPoolExecutor(max_workers=8) as pool:
        made = set(pool.map(lambda _: cloud.create(launch).id, range(8)))

    assert len(made) == 1
    assert stage.count(launch.id.name) == 1


def test_many_creates_at_the_same_time_give_every_machine_an_address(cloud: Orchestrator, stage: Stage) -> None:
    launches = [stage.launch(sequence, group) for sequence in range(1, 5) for group in ("web", "api")]

    with ThreadPoolExecutor(max_workers=8) as pool:
        made = list(pool.map(cloud.create, launches))

    assert len({server.address for server in made}) == len(launches)
    assert sorted(names(cloud)) == [launch.id.name for launch in launches if launch.id.group == WEB]


def test_what_was_destroyed_goes(cloud: Orchestrator, stage: Stage) -> None:
    stays, goes = stage.launch(1), stage.launch(2)
    for launch in (stays, goes):
        cloud.create(launch)

    cloud.destroy(goes.id.name, grace=30.0)

    until(lambda: cloud.find(goes.id.name) is None)
    assert names(cloud) == [stays.id.name]
    assert stage.count(goes.id.name) == 0


def test_destroying_twice_is_success(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()
    cloud.create(launch)

    cloud.destroy(launch.id.name, grace=30.0)
    cloud.destroy(launch.id.name, grace=30.0)

    until(lambda: cloud.find(launch.id.name) is None)
    cloud.destroy(launch.id.name, grace=30.0)
    assert names(cloud) == []


def test_destroying_what_never_was_is_success(cloud: Orchestrator, stage: Stage) -> None:
    cloud.create(stage.launch(1))

    cloud.destroy(stage.launch(7).id.name, grace=30.0)

    assert names(cloud) == [stage.launch(1).id.name]


def test_what_never_was_is_definitely_not_found(cloud: Orchestrator, stage: Stage) -> None:
    assert cloud.find(stage.launch(7).id.name) is None


def test_a_listing_shows_one_group_only(cloud: Orchestrator, stage: Stage) -> None:
    web, api = stage.launch(1, "web"), stage.launch(1, "api")
    for launch in (web, api):
        cloud.create(launch)

    assert (names(cloud), names(cloud, GroupId("api"))) == ([web.id.name], [api.id.name])


def test_another_installation_is_neither_seen_nor_touched(cloud: Orchestrator, stage: Stage) -> None:
    theirs = stage.launch(1, elsewhere=True)
    other = stage.driver(elsewhere=True)
    made = other.create(theirs)

    assert names(cloud) == []
    assert cloud.find(theirs.id.name) is None
    cloud.destroy(theirs.id.name, grace=0.0)

    still = other.find(theirs.id.name)
    assert still is not None
    assert (still.id, still.state) == (made.id, ServerState.RUNNING)


def test_a_member_killed_behind_our_back_vanishes(cloud: Orchestrator, stage: Stage) -> None:
    dies, lives = stage.launch(1), stage.launch(2)
    made = cloud.create(dies)
    cloud.create(lives)

    stage.kill(made)

    until(lambda: cloud.find(dies.id.name) is None)
    assert names(cloud) == [lives.id.name]


def test_a_vanished_member_can_be_made_again(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()
    first = cloud.create(launch)
    stage.kill(first)
    until(lambda: cloud.find(launch.id.name) is None)

    again = cloud.create(launch)

    assert again.id != first.id
    assert names(cloud) == [launch.id.name]


def test_a_new_driver_finds_what_the_old_one_made(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()
    made = cloud.create(launch)

    fresh = stage.driver()

    assert fresh.find(launch.id.name) == made or fresh.create(launch).id == made.id
    assert names(fresh) == [launch.id.name]
    fresh.destroy(launch.id.name, grace=30.0)
    until(lambda: cloud.find(launch.id.name) is None)
