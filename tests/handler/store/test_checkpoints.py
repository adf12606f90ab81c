"""The files that windows and holds go on from: whatever happens to them, what is read was written whole."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from aggregator.aggregate import Aggregator
from config.units import GroupId, Monotonic, PolicyId
from handler.store.checkpoint_codec import SavedHolds, SavedSlot
from handler.store.checkpoint_rows import StoredCheckpoints
from handler.store.checkpoints import CheckpointFolder
from handler.store.sql_store import SqlStore
from tests.support.aggregator import (
    WEB,
    a_catalogue,
    a_condition,
    a_counter,
    a_layout,
    a_policy,
    a_scrape,
    series,
)
from trigger.verdicts import Hold, PolicyStreak

_CATALOGUE = a_catalogue(conditions=[a_condition(window=30.0)])
_LAYOUT = a_layout([series("a")])
_HOLDS = {
    WEB: SavedHolds(
        revision=7,
        kept={
            PolicyId("out"): ("as-declared", Hold(true_since=Monotonic(10.0), last_true=Monotonic(40.0))),
            PolicyId("in"): ("as-declared", PolicyStreak(true=2, judged_at=Monotonic(40.0))),
        },
    )
}


class _Life:
    """A daemon that takes ticks and saves each of them."""

    def __init__(self, place: Path) -> None:
        self.folder = CheckpointFolder(place)
        self.aggregator = Aggregator(_CATALOGUE, [WEB])
        self.saved: list[SavedSlot] = []

    def tick(self, number: int) -> _Life:
        self.aggregator.take(a_scrape(_LAYOUT, number * 10.0, {series("a"): float(number)}))
        windows = self.aggregator.checkpoint()
        assert windows is not None
        rows = tuple(self.aggregator.rows(windows.tick - 1))
        self.saved.append(SavedSlot(boot="a-boot", windows=windows, rows=rows, holds=_HOLDS))
        self.folder.write(self.saved[-1])
        return self

    def read(self) -> SavedSlot | None:
        found = self.folder.read()
        return found[0] if found else None


@pytest.fixture
def life(tmp_path: Path) -> _Life:
    return _Life(tmp_path / "checkpoints")


def _file(life: _Life, pattern: str) -> Path:
    (path,) = life.folder._place.glob(pattern)
    return path


def _values(slot: SavedSlot | None) -> dict[int, float]:
    assert slot is not None
    return {tick: float(row.value[0]) for tick, row in sorted(slot.rows[0].items())}


def test_what_was_written_is_read(life: _Life) -> None:
    for number in range(9):
        life.tick(number)
    found, last = life.read(), life.saved[-1]
    assert found is not None
    assert _values(found) == {6: 6.0, 7: 7.0, 8: 8.0}
    assert (found.boot, found.holds) == ("a-boot", _HOLDS)
    assert (found.windows.tick, found.windows.newest_at, found.windows.groups) == (8, 80.0, (WEB,))
    np.testing.assert_array_equal(found.windows.rings[0].since, last.windows.rings[0].since)
    np.testing.assert_array_equal(found.windows.rings[0].expected, last.windows.rings[0].expected)


def test_a_checkpoint_that_was_cut_off_leaves_the_one_before(life: _Life) -> None:
    life.tick(0).tick(1).tick(2)
    newest = _file(life, "*.0")
    newest.write_bytes(newest.read_bytes()[:-5])
    assert _values(life.read()) == {0: 0.0, 1: 1.0}


def test_a_row_in_the_making_is_of_no_checkpoint_that_is_complete(life: _Life) -> None:
    life.tick(0).tick(1).tick(2).tick(3)
    size = _file(life, "*.rows").stat().st_size // 4
    with _file(life, "*.rows").open("r+b") as file:  # the place of tick 4, which had tick 0 before
        file.write(b"\xff" * size)
    assert _values(life.read()) == {1: 1.0, 2: 2.0, 3: 3.0}


def test_without_the_row_of_its_newest_tick_a_slot_is_not_read(life: _Life) -> None:
    life.tick(0).tick(1)
    _file(life, "*.rows").write_bytes(b"")
    assert life.read() is None


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 64, b"{}", b"no checkpoint at all, but longer than a head"], ids=range(4)
)
def test_files_of_another_kind_are_left_out(life: _Life, content: bytes) -> None:
    life.tick(0)
    _file(life, "*.0").write_bytes(content)
    assert life.read() is None


def test_no_folder_is_no_checkpoint(life: _Life) -> None:
    assert life.read() is None


def test_files_of_slots_that_are_no_more_are_deleted(life: _Life) -> None:
    life.tick(0).tick(1)
    life.folder.keep_only([(WEB,)])
    assert life.read() is not None
    life.folder.keep_only([(WEB, GroupId("api"))])
    assert list(life.folder._place.iterdir()) == []


def test_files_are_readable_by_their_owner_only(life: _Life) -> None:
    life.tick(0)
    modes = {path.stat().st_mode & 0o777 for path in life.folder._place.iterdir()}
    assert (life.folder._place.stat().st_mode & 0o777, modes) == (0o700, {0o600})


@pytest.mark.parametrize("in_store", [True, False], ids=["in the store", "in files"])
@pytest.mark.parametrize("ticks", [4, 5, 6, 7])
def test_after_a_reload_with_more_counters_a_slot_is_whole_at_once(
    store: SqlStore, tmp_path: Path, ticks: int, in_store: bool
) -> None:
    folder = StoredCheckpoints(store) if in_store else CheckpointFolder(tmp_path / "checkpoints")
    before = Aggregator(_CATALOGUE, [WEB])
    for number in range(ticks):
        before.take(a_scrape(_LAYOUT, number * 10.0, {series("a"): float(number)}))
        folder.write(_slot(before, since=number - 1))
    both = a_catalogue(
        conditions=[a_condition("busy", window=30.0), a_condition("full", counter="memory", window=30.0)],
        counters=[a_counter("cpu"), a_counter("memory")],
        policies=[a_policy(when=("busy", "full"))],
    )
    after = Aggregator(both, [WEB])
    after.succeed(before)
    layout = a_layout([series("a"), series("a", counter="memory")])
    after.take(a_scrape(layout, ticks * 10.0, {series("a"): float(ticks), series("a", counter="memory"): 1.0}))
    folder.write(_slot(after, since=-math.inf))

    (found,) = folder.read()
    assert found.rows[0].keys() == {ticks - 2, ticks - 1, ticks}


def _slot(aggregator: Aggregator, *, since: float) -> SavedSlot:
    windows = aggregator.checkpoint()
    assert windows is not None
    oldest = max(since, windows.tick - windows.longest)
    return SavedSlot(boot="a-boot", windows=windows, rows=tuple(aggregator.rows(int(oldest))), holds={})
