"""Whether a group costs more the more groups there are: 100, 1,000, 5,000 and 10,000 of them, of four conditions each.

A tick goes all the way, as in `benchmarks.decide`, and nothing fires. Memory is what a process grows by with its
groups, members, windows and explanations, each size in a process of its own; groups of more members tell what a member
takes from what a group takes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.beside import slots
from benchmarks.decide import INTERVAL, MEMBERS, catalogue_of
from benchmarks.report.figures import Figure, Measured, at_most, rounds_of, times
from benchmarks.report.measuring import apart
from collector.samples import Floats, Layout

SIZES = (100, 1_000, 5_000, 10_000)
_MORE = 10 * MEMBERS
"""Members of each group of the fleet that tells members from groups."""
_FILLED = 3
"""Ticks until the shorter window of every condition is full."""
_TICKS = 1_000
"""Groups that one sample decides, at least: a tick of few groups is too short to be measured by itself."""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure each size in a process of its own, whose memory is only this."""
    grown, memory = [], []
    for size in SIZES:
        groups = max(size // part, 1)
        cost = _measured(groups, MEMBERS, part)
        what = f"{groups:,} groups of {MEMBERS}, nothing fires"
        tick = Figure(job=f"{what}: a tick, each group", unit="CPU-us", samples=cost.each)
        yield tick
        yield Figure(job=f"{what}: memory, each group", unit="bytes", samples=(cost.memory / groups,))
        grown.append(tick)
        memory.append(cost.memory)
    first, last = SIZES[1], SIZES[-1]
    yield times(f"each of {last:,} groups to each of {first:,}", grown[-1], grown[1], goal=at_most(1.1))
    yield from _members(max(first // part, 1), memory[1], part)


def _members(groups: int, few: float, part: int) -> Iterator[Measured]:
    """Tell members from groups: ``few`` are the bytes of as many groups of few members."""
    many = _measured(groups, _MORE, part).memory
    each = (many - few) / groups / (_MORE - MEMBERS)
    yield Figure(job=f"{groups:,} groups: memory, each further member", unit="bytes", samples=(each,))
    alone = few / groups - MEMBERS * each
    yield Figure(job=f"{groups:,} groups: memory, each group without members", unit="bytes", samples=(alone,))


@dataclass(frozen=True, slots=True)
class _Ticked:
    each: tuple[float, ...]
    """CPU microseconds of a group's tick, in each round."""
    memory: float
    """Bytes of all groups."""


def _measured(groups: int, members: int, part: int) -> _Ticked:
    if part > 1:  # figures do not matter, and each process of its own takes seconds to start
        return _ticked(groups, members, 1)
    return apart(_ticked, groups, members, rounds_of(part))


def _ticked(groups: int, members: int, rounds: int) -> _Ticked:
    together = max(_TICKS // groups, 1)
    with (
        tempfile.TemporaryDirectory(prefix="ttb") as place,
        slots.running(catalogue_of(groups), members, Path(place)) as daemon,
    ):
        for _ in range(_FILLED):
            daemon.tick(_rest, INTERVAL)
        spent = [sum(daemon.tick(_rest, INTERVAL) for _ in range(together)) for _ in range(rounds)]
        return _Ticked(tuple(1e6 * each / together / groups for each in spent), daemon.memory() * 2**20)


def _rest(layout: Layout) -> Floats:
    return np.full(len(layout.series), 50.0)
