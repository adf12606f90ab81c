"""A disk that refuses checkpoints costs nothing but the way back after a restart."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from aggregator.aggregate import Aggregator
from handler.runtime.resuming import WindowCheckpoints
from handler.store.checkpoints import CheckpointFolder
from tests.support.aggregator import WEB, a_catalogue, a_condition, a_layout, a_scrape, series

_CATALOGUE = a_catalogue(conditions=[a_condition(window=30.0)])
_LAYOUT = a_layout([series("a")])


def _after(ticks: int) -> Aggregator:
    aggregator = Aggregator(_CATALOGUE, [WEB])
    for tick in range(ticks):
        aggregator.take(a_scrape(_LAYOUT, tick * 10.0, {series("a"): float(tick)}))
    return aggregator


def _save(checkpoints: WindowCheckpoints, aggregator: Aggregator) -> None:
    asyncio.run(checkpoints.save(_CATALOGUE, (WEB,), aggregator, ()))


def test_the_first_checkpoint_of_a_slot_has_all_that_its_rings_have(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "checkpoints")
    _save(WindowCheckpoints(folder, "a-boot"), _after(5))
    (slot,) = folder.read()
    assert sorted(slot.rows[0]) == [2, 3, 4]


def test_a_disk_that_refuses_is_reported_once_and_what_it_missed_is_written_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = CheckpointFolder(tmp_path / "checkpoints")
    checkpoints = WindowCheckpoints(folder, "a-boot")
    (tmp_path / "checkpoints").write_text("a file in the place of the folder")
    caplog.set_level(logging.INFO, logger="trimtab")
    for ticks in (1, 2, 3):
        _save(checkpoints, _after(ticks))
    assert caplog.text.count("event=checkpoint_failed") == 1
    (tmp_path / "checkpoints").unlink()
    _save(checkpoints, _after(4))
    (slot,) = folder.read()
    assert sorted(slot.rows[0]) == [1, 2, 3]
    assert "checkpoint_works_again" in caplog.text
