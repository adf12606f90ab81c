"""1,000 groups of four that each get one more member, by passes alone: what a decision costs is not in it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.converge import INSTALLATION, definition_of, grow, simulated
from benchmarks.report.figures import Measured, once
from collector.clients.concurrency import in_parallel
from config.units import GroupId
from handler.convergence.converge import Converger
from handler.ports.stored import StoredGroup
from handler.runtime import clock
from handler.store.sqlite import SqliteStore
from trigger.requests import GroupState

_GROUPS, _EACH, _PASSES = 1000, 4, 8


def run(part: int = 1) -> Iterator[Measured]:
    """Let the groups grow by one member each, eight passes side by side."""
    groups = _GROUPS // part
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        store = SqliteStore.open(Path(place) / "store.sqlite", installation=INSTALLATION)
        one = definition_of()
        named = [replace(one.group, id=GroupId(f"g{number}")) for number in range(groups)]
        definitions = [replace(one, group=group) for group in named]
        converger = simulated(one, store, Path(place))
        store.declare(definitions, clock.wall())
        stored = store.groups()
        _all_grown(converger, stored, _EACH)
        cpu = time.process_time()
        _all_grown(converger, stored, _EACH + 1)
        spent = time.process_time() - cpu
        yield once(f"{groups:,} groups of {_EACH} grow by one: passes, a group", 1000 * spent / groups, "CPU-ms")
        store.close()


def _all_grown(converger: Converger, groups: Sequence[StoredGroup], size: int) -> None:
    sized = [replace(each, state=GroupState(desired=size, revision=size)) for each in groups]
    in_parallel([partial(grow, converger, each, size) for each in sized], _PASSES)
