"""Jobs at times of the wall clock, on an event loop with simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, tzinfo
from typing import Any

import pytest

from handler.runtime.housekeeping import Housekeeping, Job
from tests.support.still_time import pass_by, play

HOUR, DAY = 3600.0, 86400.0
TEN = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


class Machine:
    """The clock of a machine: it begins at ten, goes on with the loop, and may be set."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(TEN.timestamp() + asyncio.get_running_loop().time() - 1000.0 + self.ahead, UTC)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """What APScheduler reads: it has no port for a clock."""
    machine = Machine()

    class Read(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            assert tz is UTC
            return machine.now()

    monkeypatch.setattr("apscheduler.schedulers.base.datetime", Read)
    return machine


class Kept:
    """Housekeeping with one job, at 17 past, that writes down when it ran."""

    def __init__(self, machine: Machine, work: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self.machine = machine
        self.ran: list[str] = []
        self._work = work
        self.housekeeping = Housekeeping([Job(name="prune", minute=17, work=self._run)])

    async def _run(self) -> None:
        self.ran.append(self.machine.now().strftime("%d %H:%M:%S"))
        if self._work is not None:
            await self._work()

    def play(self, scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def whole() -> None:
            self.housekeeping.start()
            await scene()
            await self.housekeeping.stop()

        play(whole())

    def set_clock(self, step: float) -> None:
        self.machine.ahead += step
        self.housekeeping.follow(step)


def test_a_job_runs_once_an_hour_by_the_wall_clock(machine: Machine) -> None:
    kept = Kept(machine)

    kept.play(lambda: asyncio.sleep(2.5 * HOUR))

    assert kept.ran == ["01 10:17:00", "01 11:17:00", "01 12:17:00"]


@pytest.mark.parametrize(
    ("step", "ran"),
    [
        pytest.param(-DAY, ["28 10:17:00", "28 11:17:00"], id="a-day-back"),
        pytest.param(DAY, ["02 10:17:00", "02 11:17:00"], id="a-day-forward"),
        pytest.param(11.5 * 60, ["01 10:17:00", "01 11:17:00"], id="to-just-before-its-time"),
        pytest.param(30 * 60, ["01 11:17:00", "01 12:17:00"], id="past-its-time"),
        pytest.param(4.0, ["01 10:17:04", "01 11:17:00"], id="by-less-than-counts"),
        pytest.param(-4.0, ["01 10:17:00", "01 11:17:00"], id="back-by-less-than-counts"),
    ],
)
def test_a_clock_that_is_set_changes_when_a_job_is_due_and_not_how_often(
    machine: Machine, step: float, ran: list[str]
) -> None:
    kept = Kept(machine)

    async def scene() -> None:
        await asyncio.sleep(5 * 60.0)
        kept.set_clock(step)
        await asyncio.sleep(1.95 * HOUR)

    kept.play(scene)

    assert kept.ran == ran


def test_what_was_missed_while_the_machine_slept_is_made_good_by_one_run(machine: Machine) -> None:
    kept = Kept(machine)

    async def scene() -> None:
        pass_by(3.5 * HOUR)
        await asyncio.sleep(60.0)

    kept.play(scene)

    assert kept.ran == ["01 13:30:00"]


def test_a_job_that_fails_is_run_again_at_its_next_time(machine: Machine) -> None:
    async def fail() -> None:
        raise OSError("the disk is full")

    kept = Kept(machine, fail)

    kept.play(lambda: asyncio.sleep(1.5 * HOUR))

    assert kept.ran == ["01 10:17:00", "01 11:17:00"]


def test_a_job_does_not_run_beside_itself(machine: Machine) -> None:
    kept = Kept(machine, lambda: asyncio.sleep(1.5 * HOUR))

    kept.play(lambda: asyncio.sleep(2.5 * HOUR))

    assert kept.ran == ["01 10:17:00", "01 12:17:00"]


def test_stopping_ends_what_runs_and_says_nothing_of_it(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    ended: list[bool] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(DAY)
        finally:
            ended.append(True)

    kept = Kept(machine, wait)

    async def scene() -> None:
        await asyncio.sleep(0.5 * HOUR)
        assert kept.ran
        await kept.housekeeping.stop()
        await asyncio.sleep(2 * HOUR)

    kept.play(scene)

    assert ended == [True]
    assert kept.ran == ["01 10:17:00"]
    assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]
