"""What every cloud promises about marks: they are found whatever the group, and come and go by request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from config.errors import Permanent
from config.units import GroupId, MemberName
from handler.planning.launches import Claim
from handler.ports.orchestrator import Claimable, Orchestrator
from tests.support.cloud_columns import STAGES
from tests.support.oneflow_bed import FLOW_BEDS
from tests.support.opennebula_bed import NEBULA_BEDS
from tests.support.openstack_bed import BEDS
from tests.support.orchestrators import Stage
from tests.support.waiting import until

WEB = GroupId("web")
_ALL = [*STAGES, *BEDS, *FLOW_BEDS, *NEBULA_BEDS]
_FIXED = ("process",)
"""Drivers whose marks cannot be written: what they refuse is tried, too."""


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with request.param(tmp_path_factory.mktemp("cloud")) as stage:
        yield stage


@pytest.fixture
def cloud(stage: Stage) -> Orchestrator:
    return stage.driver()


every = pytest.mark.parametrize("stage", _ALL, indirect=True)
fixed = pytest.mark.parametrize("stage", [each for each in _ALL if each.id in _FIXED], indirect=True)
written = pytest.mark.parametrize("stage", [each for each in _ALL if each.id not in _FIXED], indirect=True)


def names(cloud: Orchestrator, group: GroupId = WEB) -> list[MemberName]:
    listing = cloud.list(group)
    assert listing.complete, listing.because
    return [server.name for server in listing.servers]


def all_members(cloud: Orchestrator) -> list[MemberName]:
    listing = cloud.list_all()
    assert listing.complete, listing.because
    return sorted(server.name for server in listing.servers)


@every
def test_every_member_of_this_installation_is_listed_whatever_its_group(cloud: Orchestrator, stage: Stage) -> None:
    ours = [stage.launch(1, "web"), stage.launch(2, "api")]
    for launch in ours:
        cloud.create(launch)
    stage.driver(elsewhere=True).create(stage.launch(1, elsewhere=True))
    stage.foreign_member("database")

    assert all_members(cloud) == sorted(launch.id.name for launch in ours)


@fixed
def test_where_marks_cannot_be_written_the_driver_says_why(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()
    cloud.create(launch)

    assert "environment" in cloud.fixed_marks
    for call in (
        lambda: cloud.foreign_member("database"),
        lambda: cloud.mark("1", launch.id),
        lambda: cloud.unmark(launch.id.name),
    ):
        with pytest.raises(Permanent, match="environment"):
            call()
    assert names(cloud) == [launch.id.name]


@written
def test_a_foreign_member_is_found_by_its_name_and_by_its_id(cloud: Orchestrator, stage: Stage) -> None:
    own = stage.foreign_member("database")

    by_name, by_id = cloud.foreign_member("database"), cloud.foreign_member(own)

    assert cloud.fixed_marks == ""
    assert by_name is not None
    assert by_id is not None
    assert (by_name.id, by_name.name) == (by_id.id, by_id.name) == (own, "database")


@written
def test_a_foreign_member_that_never_was_is_definitely_not_found(cloud: Orchestrator) -> None:
    assert cloud.foreign_member("database") is None


@written
@pytest.mark.parametrize("elsewhere", [False, True], ids=["ours", "of another installation"])
def test_what_bears_a_mark_is_no_foreign_member(cloud: Orchestrator, stage: Stage, elsewhere: bool) -> None:
    launch = stage.launch(3, elsewhere=elsewhere)
    made = stage.driver(elsewhere=elsewhere).create(launch)

    for named in (launch.id.name, made.id):
        with pytest.raises(Permanent, match=launch.id.name):
            cloud.foreign_member(named)
    with pytest.raises(Permanent, match=launch.id.name):
        cloud.mark(made.id, stage.launch(7).id)
    assert all_members(stage.driver(elsewhere=elsewhere)) == [launch.id.name]


@written
def test_a_machine_that_is_given_a_mark_is_a_member_like_any_other(cloud: Orchestrator, stage: Stage) -> None:
    own, launch = stage.foreign_member("database"), stage.launch(5)

    marked = cloud.mark(own, launch.id)

    found = stage.driver().find(launch.id.name)
    assert found is not None
    assert (marked.id, marked.name) == (found.id, found.name) == (own, launch.id.name)
    assert names(cloud) == all_members(cloud) == [launch.id.name]
    assert cloud.create(launch).id == own

    cloud.destroy(launch.id.name, grace=30.0)
    until(lambda: cloud.find(launch.id.name) is None)
    assert names(cloud) == []


@written
def test_marking_twice_is_success(cloud: Orchestrator, stage: Stage) -> None:
    own, launch = stage.foreign_member("database"), stage.launch(5)

    assert cloud.mark(own, launch.id).id == stage.driver().mark(own, launch.id).id == own
    assert names(cloud) == [launch.id.name]


@written
def test_what_is_not_there_cannot_be_marked(cloud: Orchestrator, stage: Stage) -> None:
    with pytest.raises(Permanent, match=r"no machine|no server|Invalid parameter"):
        cloud.mark("00000000-0000-0000-0000-000000000000", stage.launch(5).id)


@written
@pytest.mark.parametrize("given", [False, True], ids=["made", "given"])
def test_a_machine_whose_mark_is_taken_off_is_foreign(cloud: Orchestrator, stage: Stage, given: bool) -> None:
    launch = stage.launch(5)
    own = cloud.mark(stage.foreign_member("database"), launch.id).id if given else cloud.create(launch).id

    cloud.unmark(launch.id.name)
    cloud.unmark(launch.id.name)

    cloud.destroy(launch.id.name, grace=0.0)
    assert cloud.find(launch.id.name) is None
    assert names(cloud) == all_members(cloud) == []
    released = cloud.foreign_member(own)
    assert released is not None
    assert released.id == own


@written
def test_a_machine_that_was_let_go_can_be_given_back_under_a_new_name(cloud: Orchestrator, stage: Stage) -> None:
    before, after = stage.launch(5), stage.launch(6)
    own = cloud.create(before).id
    cloud.unmark(before.id.name)

    cloud.mark(own, after.id)

    assert names(cloud) == [after.id.name]
    cloud.unmark(after.id.name)
    assert all_members(cloud) == []


@written
def test_taking_the_mark_off_what_never_was_is_success(cloud: Orchestrator, stage: Stage) -> None:
    cloud.create(stage.launch(1))

    cloud.unmark(stage.launch(7).id.name)

    assert all_members(cloud) == [stage.launch(1).id.name]


FIRST, SECOND = Claim(counter=1, nonce="aaaaaaaa"), Claim(counter=2, nonce="bbbbbbbb")


def claims(cloud: Orchestrator) -> list[Claim | None]:
    listing = cloud.list_all()
    assert listing.complete, listing.because
    return [server.claim for server in listing.servers]


@written
def test_a_member_bears_the_claim_that_it_was_made_under_until_another_one_is_written(
    cloud: Orchestrator, stage: Stage
) -> None:
    launch = stage.launch()
    assert isinstance(cloud, Claimable)
    cloud.create(replace(launch, claim=FIRST))
    assert claims(cloud) == [FIRST]

    for claim in (SECOND, replace(SECOND, counter=3)):
        cloud.claim(launch.id.name, claim)
        assert claims(cloud) == [claim]
    assert names(cloud) == [launch.id.name]


@written
def test_a_member_that_was_made_without_a_claim_takes_one(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()
    assert isinstance(cloud, Claimable)
    cloud.create(launch)
    assert claims(cloud) == [None]
    cloud.claim(launch.id.name, FIRST)
    assert claims(cloud) == [FIRST]


@written
def test_a_claim_on_a_member_that_is_not_there_is_no_failure(cloud: Orchestrator, stage: Stage) -> None:
    assert isinstance(cloud, Claimable)
    cloud.claim(stage.launch(7).id.name, FIRST)
    assert claims(cloud) == []
