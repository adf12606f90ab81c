from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from config.errors import Refused
from config.model.observability import Recording
from config.units import Instant, Moment, Monotonic
from handler.recording.recorder import Recordings
from tests.support.recording import NINE, WEB, a_layout, a_scrape, read, rows_of

LAYOUT = a_layout()
OURS = Recording(budget=1 << 30)


class Clock:
    def __init__(self) -> None:
        self.passed = 0.0

    def __call__(self) -> Moment:
        self.passed += 1.0
        return self.now

    @property
    def now(self) -> Moment:
        return Moment(wall=Instant(4 * NINE + self.passed), steady=Monotonic(self.passed))


def tick(recordings: Recordings, clock: Clock) -> None:
    recordings.heard((WEB,), a_scrape(clock(), LAYOUT))


def count(folder: Path) -> int:
    return len(rows_of(read(folder))) if folder.exists() else 0


def test_nothing_is_written_unless_the_file_or_a_person_asks_for_it(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        recordings = Recordings(tmp_path / "recording", clock)
        await recordings.declare(None)
        tick(recordings, clock)
        assert not (await recordings.status()).on
        await recordings.stop()

    asyncio.run(scene())
    assert not (tmp_path / "recording").exists()


def test_the_file_switches_it_on_and_off(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        recordings = Recordings(tmp_path, clock)
        await recordings.declare(OURS)
        tick(recordings, clock)
        await recordings.declare(None)
        tick(recordings, clock)
        await recordings.stop()

    asyncio.run(scene())
    assert count(tmp_path) == 2
    assert [path.suffix for path in tmp_path.glob("*/*")] == [".parquet"]


def test_a_person_s_switch_survives_a_restart_and_ends_with_its_time(tmp_path: Path) -> None:
    clock = Clock()

    async def first() -> None:
        recordings = Recordings(tmp_path, clock)
        await recordings.declare(None)
        await recordings.switch(on=True, span=3600.0, by="ann")
        tick(recordings, clock)
        await recordings.stop()

    async def second() -> None:
        recordings = Recordings(tmp_path, clock)
        await recordings.declare(None)
        status = await recordings.status()
        assert (status.on, status.by, status.declared) == (True, "ann", False)
        tick(recordings, clock)
        clock.passed += 3600.0
        await recordings.keep()
        tick(recordings, clock)
        status = await recordings.status()
        assert (status.on, status.by, status.until) == (False, None, None)
        assert status.samples == 2
        assert status.bytes > 0
        await recordings.stop()

    asyncio.run(first())
    asyncio.run(second())
    assert count(tmp_path) == 4


def test_a_switch_that_equals_the_file_is_not_kept(tmp_path: Path) -> None:
    async def scene() -> None:
        recordings = Recordings(tmp_path, Clock())
        await recordings.declare(None)
        await recordings.switch(on=True, span=None, by="ann")
        await recordings.declare(OURS)
        await recordings.declare(None)
        assert not (await recordings.status()).on
        await recordings.stop()

    asyncio.run(scene())


def test_it_can_be_switched_off_and_on_as_often_as_one_likes(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        recordings = Recordings(tmp_path, clock)
        await recordings.declare(OURS)
        for _ in range(3):
            tick(recordings, clock)
            await recordings.switch(on=False, span=None, by="ann")
            tick(recordings, clock)
            await recordings.switch(on=True, span=None, by="ann")
        figures = recordings.figures()
        assert (figures.samples, figures.dropped_ticks) == (6, 0)
        await recordings.stop()

    asyncio.run(scene())
    assert count(tmp_path) == 6


def test_changed_settings_are_taken_without_a_pause(tmp_path: Path) -> None:
    async def scene() -> None:
        recordings = Recordings(tmp_path, Clock())
        await recordings.declare(OURS)
        await recordings.declare(Recording(budget=2 << 30))
        assert (await recordings.status()).budget == 2 << 30
        await recordings.stop()

    asyncio.run(scene())


def test_a_switch_that_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    (tmp_path / "recording").write_text("in the way")

    async def scene() -> None:
        recordings = Recordings(tmp_path / "recording", Clock())
        await recordings.declare(None)
        with pytest.raises(Refused, match=r"switch\.json cannot be written"):
            await recordings.switch(on=True, span=None, by="ann")
        await recordings.keep()
        status = await recordings.status()
        assert (status.on, status.by) == (False, None)

    asyncio.run(scene())


def test_without_a_folder_nothing_can_be_recorded() -> None:
    async def scene() -> None:
        recordings = Recordings(None, Clock())
        await recordings.declare(OURS)
        assert not (await recordings.status()).on
        with pytest.raises(Refused, match="no folder"):
            await recordings.switch(on=True, span=None, by="ann")
        assert not (await recordings.status()).on

    asyncio.run(scene())
