"""Trimtab dies at every instant at which it can: before and after each write and each call, enumerated, not sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from config.model.catalogue import OnVanish
from config.units import MemberName
from handler.planning.desired import Definition
from handler.planning.world import ServerState
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import Killed
from tests.support.worlds import DATA, FRONT, a_definition

_INSTANTS = 2_000
"""More than any scenario has: a scenario that never ends fails instead of hanging."""


@dataclass(frozen=True)
class Scenario:
    start: int
    end: int
    begin: Callable[[Bed], None]
    definition: Definition = field(default_factory=a_definition)


def resize(size: int) -> Callable[[Bed], None]:
    return lambda bed: bed.desire(size)


def break_one(bed: Bed) -> None:
    bed.cloud.say(min(bed.machines), ServerState.ERROR)


def kill_one(bed: Bed) -> None:
    bed.cloud.die(min(bed.machines))


def replace_one(bed: Bed) -> None:
    bed.replace(min(bed.machines))


def adopt_one(bed: Bed) -> None:
    bed.cloud.add(MemberName("database"))
    bed.cloud.say(MemberName("database"), ServerState.RUNNING)
    bed.adopt("database")


def evict_one(bed: Bed) -> None:
    bed.evict(min(bed.machines))


SCENARIOS = {
    "first start": Scenario(0, 2, resize(2)),
    "grow": Scenario(2, 5, resize(5)),
    "shrink": Scenario(5, 2, resize(2)),
    "repair a broken one": Scenario(3, 3, break_one),
    "repair a vanished one": Scenario(3, 3, kill_one),
    "replace": Scenario(3, 3, replace_one),
    "adopt": Scenario(2, 3, adopt_one),
    "evict": Scenario(3, 2, evict_one),
    "grow with parts": Scenario(1, 3, resize(3), a_definition(parts=(DATA, FRONT))),
    "shrink with parts": Scenario(3, 1, resize(1), a_definition(parts=(DATA, FRONT))),
    "repair a broken one with parts": Scenario(2, 2, break_one, a_definition(parts=(DATA, FRONT))),
    "shrink by a vanished one": Scenario(3, 2, kill_one, a_definition(on_vanish=OnVanish.SHRINK)),
}


def watch(bed: Bed) -> None:
    """Object to every member that is destroyed without having been chosen, or before it has left."""

    def check(name: MemberName) -> None:
        record, _ = bed.store.records[name]
        assert record.leaving_at is not None, f"{name} was never chosen"
        assert name not in bed.edge.states, f"{name} has not left its balancer"

    bed.cloud.before_destroy = check


def killed_at(scenario: Scenario, instant: int, build_time: float) -> Iterator[Bed]:
    """Run a scenario up to its ``instant``-th instant and yield the bed; nothing if it ends before."""
    bed = grown(scenario.start, definition=scenario.definition)
    watch(bed)
    bed.cloud.build_time = build_time
    scenario.begin(bed)
    bed.instants.count, bed.instants.kill_at = 0, instant
    try:
        bed.settle()
    except Killed:
        yield bed


@pytest.mark.parametrize("build_time", [0.0, 7.0], ids=["built at once", "built slowly"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_anywhere_it_ends_with_the_same_fleet(name: str, build_time: float) -> None:
    scenario = SCENARIOS[name]
    for instant in range(1, _INSTANTS):
        beds = list(killed_at(scenario, instant, build_time))
        if not beds:
            assert instant > 10, "the scenario did nothing"
            return
        (bed,) = beds
        bed.restart()
        bed.settle()
        bed.expect(scenario.end)
        assert set(bed.retained()) <= {DATA.name}
        assert set(bed.cloud.destroyed) <= bed.chosen()
        assert len(bed.chosen()) == len(set(bed.cloud.destroyed)) == expected_removals(scenario)
        assert len(bed.released()) == (scenario.begin is evict_one)
        assert len(bed.cloud.machines) == scenario.end + len(bed.released())
    raise AssertionError("the scenario never ends")


def expected_removals(scenario: Scenario) -> int:
    """How many members leave: a kill adds none. A vanished one is not destroyed."""
    if scenario.begin in (break_one, replace_one):
        return 1
    return 0 if scenario.begin in (kill_one, evict_one) else max(scenario.start - scenario.end, 0)


@pytest.mark.parametrize("scenario", [Scenario(0, 1, resize(1)), Scenario(1, 0, resize(0))], ids=["one in", "one out"])
def test_killed_at_every_pair_of_instants_it_ends_with_the_same_fleet_too(scenario: Scenario) -> None:
    """The second death befalls the recovery from the first, at each of its own instants."""
    for first in range(1, _INSTANTS):
        for second in range(1, _INSTANTS):
            beds = list(killed_at(scenario, first, 0.0))
            if not beds:
                return
            (bed,) = beds
            bed.restart()
            bed.instants.count, bed.instants.kill_at = 0, second
            with suppress(Killed):
                bed.settle()
            is_last = bed.instants.count < second
            bed.restart()
            bed.settle()
            bed.expect(scenario.end)
            if is_last:
                break
    raise AssertionError("the scenario never ends")


def test_between_death_and_restart_a_foreign_hand_may_act() -> None:
    scenario = SCENARIOS["grow"]
    for instant in range(1, _INSTANTS):
        beds = list(killed_at(scenario, instant, 0.0))
        if not beds:
            return
        (bed,) = beds
        bed.edge.reload()
        bed.cloud.die(max(bed.machines))
        bed.restart()
        bed.settle()
        bed.expect(scenario.end)
        assert set(bed.cloud.destroyed) <= bed.chosen()
