from __future__ import annotations

import threading
from pathlib import Path

import pytest

from config.units import GroupId, PolicyId
from handler.planning.world import Server
from handler.ports.orchestrator import Launch
from tests.support.engines import WEB, House, Up, hurry, model
from tests.support.waiting import PATIENT
from tests.support.worlds import INSTALLATION
from trigger.explain.explanation import Explanation
from trigger.explain.time_words import say_queued
from trigger.reasons import Reason

OTHER, OUT = GroupId("other"), PolicyId("out")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    hurry(monkeypatch)
    text = model(service="shop")
    other = text[text.index("  web:\n") :].replace("  web:\n", "  other:\n").replace("edge", "side")
    return House(tmp_path, text=text + other)


async def both_grown(up: Up) -> None:
    await up.grown(2)
    await up.until(lambda: _serving(up, OTHER) == 2)


def _serving(up: Up, group: GroupId) -> int:
    seen = up.engine.rooms[group].seen
    return 0 if seen is None else seen.fleet.in_service


def test_the_second_of_a_service_waits_its_turn_over_a_restart_and_gets_it(house: House) -> None:
    may_build = threading.Event()
    create = house.cloud.create

    def slowly(launch: Launch) -> Server:
        may_build.wait(PATIENT)
        return create(launch)

    async def before(up: Up) -> None:
        await both_grown(up)
        house.cloud.create = slowly  # type: ignore[method-assign]
        assert (await up.desk.alarm(WEB, OUT, id="a1", by="nagios")).reason is Reason.SCALED_OUT
        asked = await up.desk.alarm(OTHER, OUT, id="a2", by="nagios")
        assert (asked.reason, asked.desired_to) == (Reason.WAITING_TURN, 2)
        queued = up.desk.group(OTHER).queued
        assert queued is not None
        assert "alarm nagios" in say_queued(queued, WEB, up.desk.now())
        await up.until(lambda: up.engine.rooms[OTHER].decided_at is not None)
        await up.ticked(2)
        found = await up.desk.why(OTHER, None)
        assert isinstance(found, Explanation)
        assert (found.ahead, found.queued) == (WEB, queued)
        may_build.set()

    async def after(up: Up) -> None:
        await up.until(lambda: up.desk.group(OTHER).desired == 3)
        await up.until(lambda: len(house.cloud.ours(INSTALLATION, OTHER)) == 3)
        assert len(house.machines) == 3
        assert up.desk.group(OTHER).queued is None
        told = [(event.name, event.by) for event in await up.desk.history(OTHER, before=None, limit=99)]
        mine = [name for name, by in told if by == "alarm nagios"]
        assert mine == ["scaled_out", "waiting_turn"]

    house.run(before)
    house.run(after)


def test_both_ask_in_one_breath_and_only_one_of_them_scales(house: House) -> None:
    async def scene(up: Up) -> None:
        await both_grown(up)
        house.readings.value = 95.0
        await up.until(lambda: up.desk.group(OTHER).desired == 3 and up.desk.group(WEB).desired == 3)
        first = {
            group: [event.name for event in await up.desk.history(group, before=None, limit=99)]
            for group in (WEB, OTHER)
        }
        assert sum("waiting_turn" in names for names in first.values()) == 1

    house.run(scene)
