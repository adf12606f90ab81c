"""Groups with nothing to do are watched by one inventory of their cloud an interval."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from types import MappingProxyType

import pytest

from config.model.catalogue import Cloud
from config.units import GroupId, Instant, Moment
from handler.convergence.idle_groups import IdleGroup, IdleState
from handler.convergence.inventories import Compared
from handler.runtime import inventory_watch
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.inventory_watch import InventoryWatch
from tests.support.trigger import a_signal
from tests.support.waiting import PATIENT, until
from tests.support.worlds import NOW, a_definition, a_group, a_server


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory_watch, "_LOOK", 0.001)


class Scene:
    """Two groups of one cloud, a clock that stands until it is moved, and a scripted comparison."""

    def __init__(self, what: IdleState = IdleState.SAME, *, intervals: tuple[float, float] = (30.0, 30.0)) -> None:
        self.steady = 0.0
        self.what = what
        self.compared: list[set[GroupId]] = []
        self.unchanged: list[GroupId] = []
        self.gate = threading.Event()
        self.gate.set()
        self.watch = InventoryWatch(
            compare=self._compare, clock=self.moment, same=lambda runtime: self.unchanged.append(runtime.id)
        )
        self.runtimes = [self._runtime(GroupId(name), interval) for name, interval in zip("ab", intervals, strict=True)]

    def moment(self) -> Moment:
        return Moment(wall=Instant(NOW + self.steady), steady=self.steady)

    def rest(self) -> None:
        for runtime in self.runtimes:
            server = a_server(1)
            self.watch.watch(
                runtime,
                IdleGroup(
                    group=runtime.id,
                    since=self.moment().wall,
                    definition=runtime.definition,
                    state=runtime.state,
                    servers=MappingProxyType({server.name: server}),
                    hourly=100,
                ),
            )

    async def reading(self, after: float) -> None:
        """Move the clock, and wait until an inventory was read and told."""
        before = len(self.compared)
        self.steady += after
        await asyncio.to_thread(until, lambda: len(self.compared) > before and not self.watch._reading)

    def play(self, scene: Callable[[], Coroutine[None, None, None]]) -> None:
        async def run() -> None:
            self.watch.start()
            try:
                await scene()
            finally:
                await self.watch.stop()

        asyncio.run(run())

    @staticmethod
    def _runtime(name: GroupId, interval: float) -> GroupRuntime:
        definition = a_definition(balancers=(), ready=None, interval=interval)
        group = replace(definition.group, id=name)
        return GroupRuntime.of(a_group(1, replace(definition, group=group)))

    def _compare(self, cloud: Cloud, idle: Sequence[IdleGroup]) -> Compared:
        assert self.gate.wait(PATIENT)
        self.compared.append({each.group for each in idle})
        return Compared(asked_at=self.moment().wall, found={each.group: self.what for each in idle})


def test_one_inventory_vouches_for_all_groups_for_an_interval_and_a_half() -> None:
    scene = Scene()

    async def play() -> None:
        scene.rest()
        await scene.reading(30.0)
        scene.steady += 44.0
        assert all(scene.watch.vouches(runtime) for runtime in scene.runtimes)
        assert scene.unchanged[:2] == ["a", "b"]
        assert scene.runtimes[0].converged_at is not None

    scene.play(play)
    assert scene.compared[0] == {"a", "b"}


def test_a_group_whose_machines_differ_is_woken_and_not_vouched_for() -> None:
    scene = Scene(IdleState.OTHER)

    async def play() -> None:
        scene.rest()
        await scene.reading(30.0)
        assert all(runtime.wake.is_set() for runtime in scene.runtimes)
        assert not any(scene.watch.vouches(runtime) for runtime in scene.runtimes)

    scene.play(play)


def test_an_inventory_that_says_nothing_vouches_for_no_group_any_longer() -> None:
    scene = Scene(IdleState.SILENT)

    async def play() -> None:
        scene.rest()
        await scene.reading(30.0)
        assert not any(runtime.wake.is_set() for runtime in scene.runtimes)
        scene.steady += 16.0
        assert not any(scene.watch.vouches(runtime) for runtime in scene.runtimes)

    scene.play(play)


def test_a_decision_during_a_reading_is_not_covered_by_it() -> None:
    scene = Scene()

    async def play() -> None:
        scene.rest()
        scene.gate.clear()
        scene.steady += 30.0
        await asyncio.to_thread(until, lambda: bool(scene.watch._reading))
        runtime = scene.runtimes[0]
        runtime.state = replace(runtime.state, desired=2, revision=8)
        scene.gate.set()
        await scene.reading(0.0)
        assert scene.unchanged == ["b"]
        assert not scene.watch.vouches(runtime)

    scene.play(play)


def test_a_pass_during_a_reading_is_not_covered_by_it() -> None:
    scene = Scene(IdleState.OTHER)

    async def play() -> None:
        scene.rest()
        scene.gate.clear()
        scene.steady += 30.0
        await asyncio.to_thread(until, lambda: bool(scene.watch._reading))
        scene.rest()
        scene.gate.set()
        await scene.reading(0.0)
        assert not any(runtime.wake.is_set() for runtime in scene.runtimes)

    scene.play(play)


def test_an_alert_that_lasts_changes_nothing_that_a_pass_goes_by() -> None:
    scene = Scene()

    async def play() -> None:
        scene.rest()
        runtime = scene.runtimes[0]
        runtime.state = replace(runtime.state, signals=(a_signal(),))
        await scene.reading(30.0)
        assert scene.watch.vouches(runtime)

    scene.play(play)


def test_a_group_without_a_size_is_vouched_for_and_has_not_converged() -> None:
    scene = Scene()
    for runtime in scene.runtimes:
        runtime.state = replace(runtime.state, desired=None)

    async def play() -> None:
        scene.rest()
        await scene.reading(30.0)
        assert all(scene.watch.vouches(runtime) for runtime in scene.runtimes)
        assert scene.runtimes[0].converged_at is None

    scene.play(play)


def test_a_group_that_wants_more_members_may_use_the_last_look() -> None:
    scene = Scene()
    scene.rest()
    runtime = scene.runtimes[0]
    runtime.state = replace(runtime.state, desired=2, revision=8)
    kept = scene.watch.kept(runtime)
    assert kept is not None
    assert kept.kept
    assert [server.name for server in kept.listing.servers] == [a_server(1).name]


@pytest.mark.parametrize("size", [None, 0, 1])
def test_a_group_that_wants_no_more_members_has_to_look_anew(size: int | None) -> None:
    scene = Scene()
    scene.rest()
    runtime = scene.runtimes[0]
    runtime.state = replace(runtime.state, desired=size, revision=8)
    assert scene.watch.kept(runtime) is None


def test_a_look_that_is_too_old_is_of_no_use() -> None:
    scene = Scene()
    scene.rest()
    scene.steady += 45.0
    runtime = scene.runtimes[0]
    runtime.state = replace(runtime.state, desired=2, revision=8)
    assert scene.watch.kept(runtime) is None


def test_a_clock_that_was_set_ends_what_was_vouched_for() -> None:
    scene = Scene()
    scene.rest()
    scene.watch.follow(3600.0)
    assert not any(scene.watch.vouches(runtime) for runtime in scene.runtimes)


def test_groups_with_a_much_shorter_interval_look_for_themselves() -> None:
    scene = Scene(intervals=(1.0, 30.0))
    scene.runtimes.append(scene._runtime(GroupId("c"), 30.0))

    async def play() -> None:
        scene.rest()
        await scene.reading(30.0)

    scene.play(play)
    assert scene.compared[0] == {"b", "c"}
