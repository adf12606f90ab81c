from __future__ import annotations

import threading
from pathlib import Path

import pytest

from config.errors import Refused, StoreError
from config.units import GroupId
from handler.planning.status import GroupCondition
from handler.planning.world import Server
from handler.ports.orchestrator import Launch
from handler.store.sqlite import SqliteStore
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from tests.support.waiting import PATIENT
from tests.support.worlds import INSTALLATION, name_of
from trigger.reasons import Reason
from trigger.requests import FleetPause, Pause
from trigger.verdicts import Direction

LATER = GroupId("later")


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


async def stop(up: Up, direction: Direction | None = None) -> FleetPause | None:
    return await up.operations.pauses.pause_all(
        decisions_only=False, direction=direction, because="storage moves", by="ada"
    )


def with_later(text: str) -> str:
    return text + text[text.index("  web:\n") :].replace("  web:\n", "  later:\n").replace("edge", "side")


def test_all_groups_stand_still_over_a_restart_those_declared_later_too_and_go_on_as_they_were(bed: EngineBed) -> None:
    async def before(up: Up) -> None:
        await up.grown(2)
        await up.operations.pauses.pause(WEB, decisions_only=False, direction=Direction.IN, by="bob")
        await stop(up)
        bed.cloud.die(name_of(1))

    async def after(up: Up) -> None:
        await up.until(lambda: up.status.reason is Reason.PAUSED)
        assert up.status.condition is GroupCondition.PAUSED
        bed.declare(with_later(model()))
        assert not (await up.operations.reload()).problems
        await up.until(lambda: up.operations.group(LATER).decided_at is not None)
        assert bed.machines == {name_of(2)}
        assert bed.cloud.ours(INSTALLATION, LATER) == set()
        assert up.status.fleet_pause is not None
        assert up.status.fleet_pause.because == "storage moves"
        assert up.status.pause is Pause.IN
        await up.operations.pauses.resume_all(by="eve")
        await up.grown(2)
        await up.until(lambda: len(bed.cloud.ours(INSTALLATION, LATER)) == 2)
        assert (up.status.pause, up.status.fleet_pause, up.operations.pauses.fleet_pause()) == (Pause.IN, None, None)
        acts = [(event.name, event.by) for event in await up.operations.history(WEB, before=None, limit=99)]
        assert [act for act in acts if act[0].endswith("_all")] == [("resume_all", "eve"), ("pause_all", "ada")]

    bed.run(before)
    bed.run(after)


def test_a_pass_that_runs_finishes_its_call_and_begins_no_other(bed: EngineBed) -> None:
    called, may_end = threading.Event(), threading.Event()
    create = bed.cloud.create

    def slowly(launch: Launch) -> Server:
        called.set()
        may_end.wait(PATIENT)
        return create(launch)

    async def scene(up: Up) -> None:
        await up.grown(2)
        bed.cloud.create = slowly  # type: ignore[method-assign]
        await up.operations.scale(WEB, 4, force=False, by="bob")
        await up.until(called.is_set)
        await stop(up)
        may_end.set()
        await up.passed(3)
        assert len(bed.machines) == 3
        await up.operations.pauses.resume_all(by="ada")
        await up.grown(4)

    bed.run(scene)


def test_a_forced_size_is_stored_and_not_carried_out_before_the_fleet_resumes(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await stop(up)
        assert (await up.operations.scale(WEB, 3, force=False, by="bob")).reason is Reason.PAUSED
        assert (await up.operations.scale(WEB, 3, force=True, by="bob")).desired_to == 3
        await up.passed(2)
        assert len(bed.machines) == 2
        await up.operations.pauses.resume_all(by="ada")
        await up.grown(3)

    bed.run(scene)


def test_one_direction_of_the_fleet_pauses_and_goes_on(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await stop(up, Direction.OUT)
        bed.readings.value = 95.0
        await up.until(lambda: up.status.reason is Reason.PAUSED)
        await up.operations.pauses.resume_all(direction=Direction.OUT, by="ada")
        await up.grown(3)
        await stop(up)
        with pytest.raises(Refused, match="paused in both directions"):
            await up.operations.pauses.resume_all(direction=Direction.OUT, by="ada")

    bed.run(scene)


def test_a_pause_that_cannot_be_stored_stops_no_group(bed: EngineBed, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)

        def full(*_: object) -> None:
            raise StoreError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(SqliteStore, "save_fleet_pause", full)
            with pytest.raises(StoreError):
                await stop(up)
        assert up.operations.pauses.fleet_pause() is None
        assert up.runtime.state.fleet_pause is None

    bed.run(scene)


def test_why_status_and_metrics_show_who_paused_the_fleet_and_why(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        assert b'trimtab_fleet_pause{pause="all"} 0.0' in up.operations.metrics()
        fleet = await stop(up)
        await up.until(lambda: up.status.reason is Reason.PAUSED)
        found = await up.operations.why(WEB, None)
        assert found is not None
        assert getattr(found, "fleet_pause", None) == fleet
        assert b'trimtab_fleet_pause{pause="all"} 1.0' in up.operations.metrics()
        assert b'trimtab_group_pause{group="web",pause="all"} 1.0' in up.operations.metrics()

    bed.run(scene)
