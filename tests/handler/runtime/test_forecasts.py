"""Forecasts outlive reloads and restarts."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from config.errors import Refused
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, PolicyId
from handler.runtime.forecasts import ForecastKeeper
from handler.store.forecast_files import ForecastFolder, History, KeptLane
from tests.support.forecasting import AHEAD, MONDAY, WEB, Fed, a_forecast, fed
from tests.support.loads import a_wave
from trigger.forecast.cohorts import Lane
from trigger.forecast.leads import LearnedTime
from trigger.verdicts import Foreseen

SLOT = (WEB,)
LANE = Lane(WEB, AHEAD)


class _Life:
    """A daemon with one group, from one start to its end."""

    def __init__(self, place: Path, catalogue: Catalogue, since: float) -> None:
        self.keeper = ForecastKeeper(ForecastFolder(place))
        self.fed = Fed(catalogue, since)
        self.keeper.start(catalogue, [SLOT])

    async def lives(self, loads: Sequence[float]) -> list[Foreseen | None]:
        await self.keeper.recall(SLOT)
        return [await self.tick(load) for load in loads]

    async def tick(self, load: float) -> Foreseen | None:
        at = Instant(self.fed.now)
        found = self.keeper.take(SLOT, self.fed.frames(float(load)), at).get(WEB, {}).get(AHEAD)
        await self.keeper.save(SLOT)
        return found


def lived(place: Path, loads: Sequence[float], *, since: float = MONDAY, keys: str = "") -> list[Foreseen | None]:
    return asyncio.run(_Life(place, parse(a_forecast(keys), "model.yaml"), since).lives(loads))


def test_a_restart_goes_on_at_the_next_tick_as_if_there_had_been_none(tmp_path: Path) -> None:
    load = [*a_wave(400)]
    expected = fed().ticks(load)

    before = lived(tmp_path, load[:300])
    # The window of the load begins anew, and is refilled after two ticks: those have no data.
    after = lived(tmp_path, load[300:], since=MONDAY + 300 * 30.0)

    assert before == expected[:300]
    through = fed()
    through.ticks(load[:300])
    through.aggregator = fed().aggregator
    assert after == through.ticks(load[300:])


def test_a_kill_between_two_hours_loses_nothing(tmp_path: Path) -> None:
    load = [*a_wave(200)]
    lived(tmp_path, load[:130])  # what was learned is written once in it; the rest is learned from the loads
    written = len(list(tmp_path.glob("*.learned")))

    after = lived(tmp_path, load[130:], since=MONDAY + 130 * 30.0)

    assert written == 1
    assert after[-1] is not None
    assert after[-1].days > 0.05


def test_without_what_was_learned_the_loads_are_enough(tmp_path: Path) -> None:
    load = [*a_wave(200)]
    lived(tmp_path, load[:130])
    for path in tmp_path.glob("*.learned"):
        path.unlink()

    after = lived(tmp_path, load[130:], since=MONDAY + 130 * 30.0)

    through = fed()
    through.ticks(load[:130])
    through.aggregator = fed().aggregator
    expected = through.ticks(load[130:])[-1]
    assert after[-1] is not None
    assert expected is not None
    assert after[-1].coming == pytest.approx(expected.coming, rel=0.01)
    assert after[-1].days == pytest.approx(expected.days, rel=0.01)


def test_another_boot_time_is_learned_from_the_loads(tmp_path: Path) -> None:
    lived(tmp_path, [*a_wave(130)])

    after = lived(tmp_path, [20.0] * 3, since=MONDAY + 130 * 30.0, keys=", boot: 5m")

    assert after[-1] is not None
    assert after[-1].within == 12 * 30.0
    assert after[-1].days > 0.03


def took(seconds: float, members: int = 20) -> LearnedTime:
    return LearnedTime(half=seconds, most=seconds, members=members, of_profile=True)


def within(place: Path, boot: LearnedTime | None, *, since: float = MONDAY, keys: str = "") -> float:
    """Begin with what is known of members, and return how far ahead the forecast looks after some ticks."""

    async def scene() -> float:
        life = _Life(place, parse(a_forecast(keys), "model.yaml"), since)
        await life.keeper.look_ahead(SLOT, dict.fromkeys(life.keeper.learners(SLOT), boot))
        found = (await life.lives([12.0] * 130))[-1]
        assert found is not None
        return found.within

    return asyncio.run(scene())


def test_a_forecast_looks_as_far_ahead_as_members_took_before_the_start(tmp_path: Path) -> None:
    assert within(tmp_path, took(280.0)) == 300.0 + 60.0


def test_a_boot_time_that_a_person_declares_comes_first(tmp_path: Path) -> None:
    assert within(tmp_path, took(280.0), keys=", boot: 90s") == 90.0 + 60.0


def test_without_evidence_a_restart_looks_as_far_ahead_as_before(tmp_path: Path) -> None:
    within(tmp_path, took(280.0))

    assert within(tmp_path, None, since=MONDAY + 130 * 30.0) == 300.0 + 60.0


def test_another_time_of_members_counts_once_the_forecast_was_learned_again(tmp_path: Path) -> None:
    async def scene() -> tuple[Foreseen, Foreseen | None]:
        life = _Life(tmp_path, parse(a_forecast(), "model.yaml"), MONDAY)
        await life.keeper.look_ahead(SLOT, {WEB: took(60.0)})
        await life.lives([*a_wave(130)])
        await life.keeper.look_ahead(SLOT, {WEB: took(280.0)})
        meanwhile = life.keeper.take(SLOT, life.fed.frames(12.0), Instant(life.fed.now))[WEB][AHEAD]
        await life.keeper.save(SLOT)
        while life.keeper.learning:  # noqa: ASYNC110 it works in a thread
            await asyncio.sleep(0.01)
        return meanwhile, (await life.lives([12.0]))[-1]

    meanwhile, after = asyncio.run(scene())

    assert after is not None
    assert (meanwhile.within, after.within) == (60.0 + 60.0, 300.0 + 60.0)
    assert after.days > 0.03  # what the loads of before taught was not lost


def test_without_a_load_another_time_of_members_counts_at_once(tmp_path: Path) -> None:
    async def scene() -> tuple[int, Foreseen | None]:
        life = _Life(tmp_path, parse(a_forecast(), "model.yaml"), MONDAY)
        await life.keeper.look_ahead(SLOT, {WEB: None})
        await life.lives([math.nan] * 3)
        await life.keeper.look_ahead(SLOT, {WEB: took(280.0)})
        while life.keeper.learning:  # noqa: ASYNC110 it works in a thread
            await asyncio.sleep(0.01)
        await life.keeper.look_ahead(SLOT, {WEB: took(280.0)})
        return life.keeper.learning, (await life.lives([12.0] * 3))[-1]

    learning, found = asyncio.run(scene())

    assert learning == 0
    assert found is not None
    assert found.within == 300.0 + 60.0


def test_a_disk_that_refuses_is_not_asked_to_learn_at_every_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> tuple[int, int]:
        life = _Life(tmp_path, parse(a_forecast(), "model.yaml"), MONDAY)
        await life.lives([12.0] * 3)
        monkeypatch.setattr(ForecastFolder, "history", _refuse)
        learning = []
        for _ in range(2):
            await life.keeper.look_ahead(SLOT, {WEB: took(280.0)})
            learning.append(life.keeper.learning)
            while life.keeper.learning:  # noqa: ASYNC110 it works in a thread
                await asyncio.sleep(0.01)
        return learning[0], learning[1]

    assert asyncio.run(scene()) == (1, 0)


def _refuse(*_: object) -> History:
    raise OSError("the disk refuses")


def test_a_folder_that_refuses_costs_nothing_but_memory_of_it(tmp_path: Path) -> None:
    place = tmp_path / "no-folder"
    place.write_text("")

    found = lived(place, [12.0] * 5)

    assert found[-1] is not None


def test_a_long_history_is_learned_while_the_slot_goes_on(tmp_path: Path) -> None:
    load = [*a_wave(700)]
    lived(tmp_path, load)
    for path in tmp_path.glob("*.learned"):
        path.unlink()

    async def scene() -> Foreseen | None:
        life = _Life(tmp_path, parse(a_forecast(), "model.yaml"), MONDAY + 700 * 30.0)
        await life.lives([12.0] * 3)
        while life.keeper.learning:  # noqa: ASYNC110 it works in a thread
            await asyncio.sleep(0.01)
        return (await life.lives([12.0]))[-1]

    state = asyncio.run(scene())

    assert state is not None
    assert state.days > 0.2


def test_what_is_learned_before_the_first_tick_of_its_slot_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived(tmp_path, [*a_wave(700)])
    for path in tmp_path.glob("*.learned"):
        path.unlink()
    history, reads = ForecastFolder.history, list[KeptLane]()

    def counted(folder: ForecastFolder, kept: KeptLane) -> History:
        reads.append(kept)
        return history(folder, kept)

    monkeypatch.setattr(ForecastFolder, "history", counted)

    async def scene() -> Foreseen | None:
        life = _Life(tmp_path, parse(a_forecast(), "model.yaml"), MONDAY + 700 * 30.0)
        await life.keeper.recall(SLOT)
        needed = 1 + 2 + 1  # by the recall, for two parts, and without anything new
        while len(reads) < needed:  # noqa: ASYNC110 it works in a thread
            await asyncio.sleep(0.01)
        for _ in range(20):
            await asyncio.to_thread(history, ForecastFolder(tmp_path), reads[0])
        assert len(reads) == needed
        for load in [12.0] * 3:
            await life.tick(load)
        while life.keeper.learning:  # noqa: ASYNC110 it works in a thread
            await asyncio.sleep(0.01)
        return await life.tick(12.0)

    state = asyncio.run(scene())

    assert state is not None
    assert state.days > 0.2


def test_loads_of_before_are_learned_while_the_forecast_goes_on(tmp_path: Path) -> None:
    before = 10.0 * np.array(a_wave(700), dtype=np.float32)
    since = MONDAY + 700 * 30.0

    async def scene() -> tuple[int, int, Foreseen | None, Foreseen | None]:
        life = _Life(tmp_path, parse(a_forecast(), "model.yaml"), since)
        await life.lives([12.0] * 3)
        filled = await life.keeper.fill(LANE, int(MONDAY / 30.0), before, int(since / 30.0))
        learned = await life.keeper.learn(LANE)
        meanwhile = (await life.lives([12.0]))[-1]
        while life.keeper.learning:  # noqa: ASYNC110 it works in a thread
            await asyncio.sleep(0.01)
        return filled, learned, meanwhile, (await life.lives([12.0]))[-1]

    filled, learned, meanwhile, after = asyncio.run(scene())

    assert (filled, learned) == (700, 703)
    assert meanwhile is not None
    assert meanwhile.days < 0.01
    assert after is not None
    assert after.days > 0.2
    restarted = lived(tmp_path, [12.0] * 3, since=since + 5 * 30.0)[-1]
    assert restarted is not None
    assert restarted.days > 0.2


def test_a_forecast_that_is_being_learned_is_not_written_over_what_it_replaces(tmp_path: Path) -> None:
    lived(tmp_path, [*a_wave(700)])
    (learned,) = tmp_path.glob("*.learned")
    learned.unlink()

    async def scene() -> bool:
        life = _Life(tmp_path, parse(a_forecast(), "model.yaml"), MONDAY + 700 * 30.0)
        await life.keeper.recall(SLOT)
        await life.keeper.stop()  # as long as it takes
        await life.lives([12.0] * 130)
        return learned.exists()

    assert not asyncio.run(scene())


def test_what_cannot_be_filled_or_learned_is_refused_with_its_reason(tmp_path: Path) -> None:
    now = int(MONDAY / 30.0)

    async def scene() -> None:
        life = _Life(tmp_path, parse(a_forecast(), "model.yaml"), MONDAY)
        assert await life.keeper.learn(LANE) == 0
        with pytest.raises(Refused, match="group web has no forecast other"):
            await life.keeper.learn(Lane(WEB, PolicyId("other")))
        with pytest.raises(Refused, match="keeps no loads"):
            await ForecastKeeper().learn(LANE)
        await life.keeper.fill(LANE, now - 9, np.ones(9, dtype=np.float32), now)
        await life.keeper.learn(LANE)
        with pytest.raises(Refused, match="is being learned: wait for it"):
            await life.keeper.learn(LANE)

    asyncio.run(scene())


def test_groups_without_a_forecast_cost_no_file(tmp_path: Path) -> None:
    catalogue = parse(a_forecast(policies=""), "model.yaml")
    keeper = ForecastKeeper(ForecastFolder(tmp_path))
    keeper.start(catalogue, [SLOT])

    assert keeper.take(SLOT, {}, Instant(MONDAY)) == {}
    asyncio.run(keeper.save(SLOT))
    assert not list(tmp_path.iterdir())
    assert math.isclose(keeper.bytes, 0.0)
    assert catalogue.groups[GroupId("web")].policies == ()
