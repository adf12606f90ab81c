"""What every cloud promises when things go wrong, asked of each that it can befall."""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.clients.circuit import FAILURES
from config.errors import DriverError, Full, Permanent, Transient, Unsent
from config.model.catalogue import Cloud
from config.units import GroupId
from handler.planning.headroom import headroom_of
from handler.planning.world import Listing, ServerState
from handler.ports.orchestrator import Metered, Orchestrator
from tests.support.cloud_columns import COLUMNS
from tests.support.orchestrators import Stage
from tests.support.trials import Column, Trial
from tests.support.waiting import until

WEB = GroupId("web")


def of(trial: Trial, *others: Trial) -> Callable[[Any], Any]:
    """Try every driver that it can befall, and these others as well."""
    befallen = [
        pytest.param(column, trial, id=column.name, marks=column.marks)
        for column in COLUMNS
        if column.cells.keys() >= {trial, *others}
    ]
    return pytest.mark.parametrize(("column", "trial"), befallen)


@pytest.fixture
def stage(column: Column, tmp_path: Path) -> Iterator[Stage]:
    with column.stage(tmp_path) as stage:
        yield stage


@pytest.fixture
def cloud(stage: Stage, column: Column, trial: Trial) -> Orchestrator:
    return column.cells[trial](stage)


def listed(cloud: Orchestrator) -> Listing | None:
    """``None``: it could not be read at all, which proves nothing either."""
    try:
        return cloud.list(WEB)
    except DriverError:
        return None


def names(cloud: Orchestrator) -> list[str]:
    listing = cloud.list(WEB)
    assert listing.complete, listing.because
    return [server.name for server in listing.servers]


def test_every_kind_of_cloud_has_its_column() -> None:
    assert {column.cloud for column in COLUMNS} == set(typing.get_args(Cloud))


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_every_trial_has_a_cell_or_a_reason_why_not(column: Column) -> None:
    assert column.cells.keys() | column.empty.keys() == set(Trial)
    assert not column.cells.keys() & column.empty.keys()
    assert all(column.empty.values())


@of(Trial.LOST_ANSWER)
def test_what_was_made_without_an_answer_is_found_and_not_made_again(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()

    with pytest.raises(Transient):
        cloud.create(launch)

    well = stage.driver()
    assert names(well) == [launch.id.name]
    assert well.create(launch).name == launch.id.name
    assert stage.count(launch.id.name) == 1


@of(Trial.LOST_REMOVAL)
def test_what_was_removed_without_an_answer_is_gone_and_may_be_removed_again(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()
    cloud.create(launch)

    with contextlib.suppress(Transient):
        cloud.destroy(launch.id.name, grace=0.0)

    well = stage.driver()
    well.destroy(launch.id.name, grace=0.0)
    until(lambda: well.find(launch.id.name) is None)
    assert names(well) == []
    assert stage.count(launch.id.name) == 0


@of(Trial.FALSE_ERROR)
def test_what_was_made_against_the_answer_is_found_and_not_made_again(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()

    with pytest.raises(Transient):
        cloud.create(launch)

    well = stage.driver()
    assert names(well) == [launch.id.name]
    well.create(launch)
    assert stage.count(launch.id.name) == 1


@of(Trial.BUSY)
def test_a_refusal_that_passes_is_transient_and_leaves_nothing(cloud: Orchestrator, stage: Stage) -> None:
    waits = []
    for _ in range(4):
        with pytest.raises(Transient) as refused:
            cloud.create(stage.launch())
        waits.append(refused.value.retry_after)

    assert any(wait is not None and wait > 0 for wait in waits)
    assert stage.count(stage.launch().id.name) == 0
    assert stage.driver().create(stage.launch()).name == stage.launch().id.name


@of(Trial.PARTIAL)
def test_a_listing_that_breaks_off_says_so(cloud: Orchestrator, stage: Stage) -> None:
    stage.driver().create(stage.launch(777))

    listing = listed(cloud)

    assert listing is None or (not listing.complete and listing.because)


@of(Trial.PAGED)
def test_every_page_is_read(cloud: Orchestrator) -> None:
    assert len(set(names(cloud))) == 250


@of(Trial.EVENTUAL)
def test_what_is_not_listed_yet_is_not_made_twice(cloud: Orchestrator, stage: Stage) -> None:
    launch = stage.launch()
    cloud.create(launch)

    try:
        cloud.create(launch)
    except Transient:
        assert stage.count(launch.id.name) == 1

    assert stage.count(launch.id.name) == 1


@of(Trial.DELETED)
def test_a_machine_that_is_deleted_out_of_band_is_gone_for_good_and_can_be_made_again(
    cloud: Orchestrator, stage: Stage
) -> None:
    launch = stage.launch()
    first = cloud.create(launch)

    cloud.destroy(launch.id.name, grace=0.0)  # another client may come first
    until(lambda: cloud.find(launch.id.name) is None)
    second = cloud.create(launch)
    stage.kill(second)

    until(lambda: cloud.find(launch.id.name) is None)
    assert names(cloud) == []
    cloud.destroy(launch.id.name, grace=0.0)
    third = cloud.create(launch)
    assert len({first.id, second.id, third.id}) == 3
    assert names(cloud) == [launch.id.name]


@of(Trial.FOREIGN)
def test_machines_of_others_are_neither_shown_nor_found_nor_removed(cloud: Orchestrator, stage: Stage) -> None:
    assert names(cloud) == []
    for number in range(1, 4):
        assert cloud.find(stage.launch(number).id.name) is None
        cloud.destroy(stage.launch(number).id.name, grace=0.0)

    made = cloud.create(stage.launch(7))

    assert names(cloud) == [made.name]


@of(Trial.NOT_ALLOWED)
def test_refused_credentials_are_permanent(cloud: Orchestrator, stage: Stage) -> None:
    for call in (lambda: cloud.list(WEB), lambda: cloud.create(stage.launch())):
        with pytest.raises(Permanent, match="refused"):
            call()


@of(Trial.RENEWED)
def test_credentials_that_expire_are_renewed_in_flight_and_nothing_is_done_twice(
    cloud: Orchestrator, stage: Stage
) -> None:
    launch = stage.launch()

    assert cloud.create(launch).name == launch.id.name
    assert names(cloud) == [launch.id.name]
    assert stage.count(launch.id.name) == 1

    cloud.destroy(launch.id.name, grace=0.0)
    until(lambda: cloud.find(launch.id.name) is None)


@of(Trial.AMBIGUOUS)
def test_a_name_that_means_two_things_is_permanent_and_nothing_is_made(cloud: Orchestrator, stage: Stage) -> None:
    with pytest.raises(Permanent, match="write the id"):
        cloud.create(stage.launch())

    assert stage.count(stage.launch().id.name) == 0


@of(Trial.UNICODE)
def test_names_need_not_be_ascii(cloud: Orchestrator, stage: Stage) -> None:
    assert cloud.create(stage.launch()).name == stage.launch().id.name
    assert names(cloud) == [stage.launch().id.name]


@of(Trial.QUOTA)
def test_a_quota_means_full_says_so_and_leaves_nothing(cloud: Orchestrator, stage: Stage) -> None:
    with pytest.raises(Full, match="quota"):
        cloud.create(stage.launch())

    assert stage.count(stage.launch().id.name) == 0


@pytest.mark.parametrize("column", [pytest.param(column, id=column.name, marks=column.marks) for column in COLUMNS])
def test_a_cloud_shows_what_room_it_has_or_why_that_is_unknown(column: Column, stage: Stage) -> None:
    driver = stage.driver()
    if Trial.ROOM in column.cells:
        assert isinstance(driver, Metered)
    elif isinstance(driver, Metered):
        assert driver.quotas(stage.launch().profile) == ()


@of(Trial.ROOM)
def test_the_room_that_is_read_is_the_room_that_there_is(cloud: Orchestrator, stage: Stage) -> None:
    assert isinstance(cloud, Metered)
    left = []
    for number in (1, 2, 3):
        left.append(headroom_of(cloud.quotas(stage.launch().profile), {}))
        cloud.create(stage.launch(number))
    left.append(headroom_of(cloud.quotas(stage.launch().profile), {}))

    assert [None if room is None else room.members for room in left] == [3, 2, 1, 0]
    with pytest.raises(Full, match="quota"):
        cloud.create(stage.launch(4))


@of(Trial.NOT_ALLOWED, Trial.ROOM)
def test_what_room_there_is_is_not_guessed(cloud: Orchestrator, stage: Stage) -> None:
    assert isinstance(cloud, Metered)
    with pytest.raises(Permanent, match="refused"):
        cloud.quotas(stage.launch().profile)


@of(Trial.SLOW)
def test_an_answer_that_takes_too_long_proves_nothing(cloud: Orchestrator, stage: Stage) -> None:
    assert listed(cloud) is None
    with pytest.raises(Transient):
        cloud.find(stage.launch().id.name)
    with pytest.raises(Transient):
        cloud.create(stage.launch())


@of(Trial.MALFORMED)
def test_what_makes_no_sense_is_no_member_and_proves_nothing(cloud: Orchestrator, stage: Stage) -> None:
    for _ in range(3):
        listing = listed(cloud)
        assert listing is None or listing.servers == ()

    assert cloud.create(stage.launch(7)).name == stage.launch(7).id.name


@of(Trial.STILLBORN)
def test_a_machine_that_fails_to_build_is_an_error_or_listed_and_can_be_removed(
    cloud: Orchestrator, stage: Stage
) -> None:
    launch = stage.launch()
    try:
        cloud.create(launch)
    except Transient:
        assert stage.count(launch.id.name) == 0
        return

    cloud.destroy(launch.id.name, grace=0.0)
    found = cloud.find(launch.id.name)
    assert found is None or found.state in {ServerState.ERROR, ServerState.DELETING}


@of(Trial.DEAD)
def test_nothing_more_is_sent_to_an_endpoint_that_does_not_answer_and_it_is_found_again(
    cloud: Orchestrator, stage: Any
) -> None:
    calls = (lambda: cloud.list(WEB), lambda: cloud.create(stage.launch()))
    for _ in range(FAILURES + 1):
        with pytest.raises(Transient):
            cloud.list(WEB)
    heard = stage.wire.unheard

    for call in calls:
        with pytest.raises(Unsent, match="are held back: 5 calls in a row failed since") as refused:
            call()
        assert refused.value.retry_after is not None
    assert stage.wire.unheard == heard

    stage.wire.dead = False
    stage.clock.at += 60.0
    assert cloud.create(stage.launch()).name == stage.launch().id.name
    assert names(cloud) == [stage.launch().id.name]
