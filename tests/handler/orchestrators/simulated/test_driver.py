from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import Permanent, Transient
from config.model.simulation import CallFaults, Incident, ScriptedEvent
from config.units import GroupId
from tests.support.orchestrators import AT_ONCE, Clock, SimulatedStage

WEB = GroupId("web")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stage(tmp_path: Path, clock: Clock) -> SimulatedStage:
    return SimulatedStage(tmp_path, clock)


def behaving(stage: SimulatedStage, **changes: object) -> SimulatedStage:
    return replace(stage, behaviour=replace(AT_ONCE, **changes))  # type: ignore[arg-type]


def test_a_call_takes_its_time_and_one_that_fails_as_well(stage: SimulatedStage) -> None:
    slow = behaving(stage, call=0.5, timeout=9.0, create=CallFaults(timeout=1.0))

    with pytest.raises(Transient, match="in time"):
        slow.driver().create(slow.launch())

    assert slow.driver().find(slow.launch().id.name) is not None
    assert stage.waited == [9.0, 0.5]


def test_no_call_waits_for_another_ones_answer(stage: SimulatedStage) -> None:
    cloud, seen = stage.driver(), []

    def meanwhile(_: float) -> None:
        if not seen:
            seen.append("begun")
            seen.append(cloud.find(stage.launch(1).id.name))

    cloud._wait = meanwhile
    made = cloud.create(stage.launch(1))

    assert seen == ["begun", made]


def test_foreign_servers_are_there_from_the_beginning_and_are_not_listed(stage: SimulatedStage) -> None:
    full = behaving(stage, foreign=3, quota=4)
    cloud = full.driver()

    cloud.create(full.launch(1))

    assert len(cloud.list(WEB).servers) == 1
    with pytest.raises(Permanent, match="quota of 4"):
        cloud.create(full.launch(2))
    with full.opened() as (simulation, now):
        assert len(simulation.machines(now)) == 4


def test_two_declarations_of_one_cloud_are_one_cloud(stage: SimulatedStage) -> None:
    """A declaration is edited and reloaded: groups that left it still have the old one."""
    old, new = stage.driver(), behaving(stage, seed=9).driver()

    old.create(stage.launch(1))
    new.create(stage.launch(2))
    old.destroy(stage.launch(2).id.name, grace=0.0)

    assert old.list(WEB) == new.list(WEB)
    assert len(old.list(WEB).servers) == 1


def test_drivers_side_by_side_give_every_machine_an_id_of_its_own(stage: SimulatedStage) -> None:
    drivers = [stage.driver() for _ in range(4)]

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: drivers[number % 4].create(stage.launch(number)), range(1, 200)))

    assert len({server.id for server in made}) == len({server.address for server in made}) == 199


def test_what_was_scripted_happens_once_though_the_daemon_slept_through_it(stage: SimulatedStage, clock: Clock) -> None:
    fateful = behaving(stage, script=(Incident(at=600.0, what=ScriptedEvent.VANISH, count=1),))
    for number in range(1, 4):
        fateful.driver().create(fateful.launch(number))
    clock.at += 3600.0

    sizes = [len(fateful.driver().list(WEB).servers) for _ in range(3)]

    assert sizes == [2, 2, 2]


def test_a_line_that_was_not_finished_never_happened(stage: SimulatedStage) -> None:
    stage.driver().create(stage.launch(1))
    stage.driver().create(stage.launch(2))
    whole = stage.path.read_bytes()
    stage.path.write_bytes(whole[:-9])

    after = stage.driver()
    assert [server.name for server in after.list(WEB).servers] == [stage.launch(1).id.name]
    after.create(stage.launch(3))
    assert len(stage.driver().list(WEB).servers) == 2


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"\xff",
        b"[]",
        b"{}",
        b'{"began":1.0}',
        b'{"name":"a-1","number":1,"turns":[],"gone_at":null}',
        b'{"name":"a-1","number":1,"turns":[[1.0,"flying"]],"gone_at":null}',
    ],
)
def test_a_file_that_is_damaged_is_named_with_the_remedy(stage: SimulatedStage, line: bytes) -> None:
    stage.driver().create(stage.launch(1))
    stage.path.write_bytes(stage.path.read_bytes() + line + b"\n")

    with pytest.raises(Permanent, match=r"line 3 of .*sim\.jsonl.*begins anew"):
        stage.driver().list(WEB)


def test_what_cannot_be_written_down_has_not_happened(stage: SimulatedStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch(1))
    ledger = cloud._ledger
    reading = os.open(stage.path, os.O_RDONLY)
    assert ledger._file is not None
    os.dup2(reading, ledger._file)

    with pytest.raises(Transient, match="cannot be kept"):
        cloud.create(stage.launch(2))

    assert cloud.find(stage.launch(2).id.name) is None
    os.close(reading)


def test_a_file_that_is_taken_away_is_a_cloud_that_begins_anew(stage: SimulatedStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch(1))

    stage.path.unlink()

    assert cloud.list(WEB).servers == ()


def test_the_file_does_not_grow_for_ever(stage: SimulatedStage) -> None:
    cloud, other = stage.driver(), stage.driver()
    cloud.create(stage.launch(1))
    for number in range(2, 900):
        cloud.create(stage.launch(number))
        cloud.destroy(stage.launch(number).id.name, grace=0.0)

    assert len(stage.path.read_bytes().splitlines()) < 1100
    assert [server.name for server in other.list(WEB).servers] == [stage.launch(1).id.name]
    last = other.create(stage.launch(900))
    assert last.id == "sim-900"
