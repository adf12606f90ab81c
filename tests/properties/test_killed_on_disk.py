"""Trimtab dies at every instant of a long story, on a store that is really on disk: what it leaves is found and ended.

An instant lies between any two of its writes and calls. A chapter runs once; at each instant the files are copied as
KILL leaves them, another process takes them up, and must come to where the chapter was to end. Nothing is sampled.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from config.errors import Transient
from config.model.clouds import Calls
from config.units import BalancerId
from handler.planning.world import ServerState
from tests.support.disk_beds import DiskBed, declared
from tests.support.fake_cloud import LOST
from tests.support.worlds import EDGE, a_definition

BACK = BalancerId("back")


@dataclass(frozen=True)
class Chapter:
    """What happens to a fleet of ``start``; in the end there are ``size``, and so many were chosen to leave."""

    start: int
    begin: Callable[[DiskBed], None]
    size: int
    leave: int = 0


def grow(bed: DiskBed) -> None:
    bed.cloud.build_time = 7.0
    bed.cloud.faults.script("create", LOST, Transient("busy"))
    bed.want(4)


def break_one(bed: DiskBed) -> None:
    bed.cloud.say(min(bed.machines), ServerState.ERROR)


def lose_one(bed: DiskBed) -> None:
    bed.cloud.die(min(bed.machines))


def replace_one(bed: DiskBed) -> None:
    bed.replace(min(bed.machines))


def drain(bed: DiskBed) -> None:
    """Members finish their work slowly, at two balancers, and the answers to both removals are lost."""
    bed.outside.balancers[EDGE].busy, bed.outside.balancers[BACK].busy = 7.0, 12.0
    bed.cloud.stop_time = 4.0
    bed.cloud.faults.script("destroy", LOST, LOST)
    bed.want(1)


def stumble(bed: DiskBed) -> None:
    """Every call at the balancers fails once on the way in, and once on the way out."""
    for balancer in bed.outside.balancers.values():
        for call in ("join", "enable", "drain", "leave"):
            balancer.faults.script(call, Transient("busy"), LOST)
    bed.replace(min(bed.machines))


def detach(bed: DiskBed) -> None:
    bed.outside.balancers[BACK].busy = 7.0
    bed.detach(BACK)


CHAPTERS = {
    "first start": Chapter(0, lambda bed: bed.want(2), 2),
    "grow, an answer lost": Chapter(2, grow, 4),
    "repair a broken one": Chapter(2, break_one, 2, leave=1),
    "repair a vanished one": Chapter(2, lose_one, 2),
    "replace": Chapter(2, replace_one, 2, leave=1),
    "drain, destroyed late": Chapter(3, drain, 1, leave=2),
    "stumble at the balancers": Chapter(1, stumble, 1, leave=1),
    "detach": Chapter(2, detach, 2),
}


@pytest.fixture
def place() -> Iterator[Path]:
    """In memory where there is such a place: hundreds of stores are copied."""
    memory = Path("/dev/shm")  # made with mkdtemp
    place = Path(tempfile.mkdtemp(prefix="tt", dir=memory if os.access(memory, os.W_OK) else None))
    yield place
    shutil.rmtree(place, ignore_errors=True)


def a_bed(place: Path, calls: Calls | None, size: int) -> DiskBed:
    definition = a_definition(balancers=(EDGE, BACK))
    bed = declared(place / "first.sqlite", replace(definition, cloud=replace(definition.cloud, calls=calls)))
    bed.want(size)
    bed.settle()
    bed.expect(size)
    return bed


SLOWLY = Calls(count=2, per=4.0, at_once=1)


@pytest.mark.parametrize(
    ("name", "calls"),
    [*((name, None) for name in CHAPTERS), ("grow, an answer lost", SLOWLY), ("drain, destroyed late", SLOWLY)],
)
def test_killed_at_every_instant_on_disk_it_ends_with_the_same_fleet(
    name: str, calls: Calls | None, place: Path
) -> None:
    chapter, deaths = CHAPTERS[name], 0
    bed = a_bed(place, calls, chapter.start)
    before = len(bed.chosen())

    def die(after: str) -> None:
        nonlocal deaths
        deaths += 1
        heir = bed.left_by_death(place / f"{deaths}.sqlite")
        try:
            heir.settle()
            heir.expect(chapter.size)
            assert len(heir.chosen()) - before == chapter.leave, f"killed at {deaths}, after {after}"
        finally:
            heir.close()

    chapter.begin(bed)
    die("the beginning")
    bed.outside.instants.reached = die
    bed.settle()
    bed.expect(chapter.size)
    bed.close()
    assert deaths > 10, "nothing happened"
