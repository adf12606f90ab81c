"""Rings of ticks: kept rows, missed rows, and the history that a reload copies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.rings import Ring
from aggregator.stretches import GREATEST, LEAST, OF_EVERY_WINDOW, Stretch
from config.model.reductions import Reduce
from tests.support.rings import INF, ONLY, a_ring, a_row


def values(stretch: Stretch) -> list[float | None]:
    pairs = zip(stretch.column("value")[:, 0], stretch.column("valid")[:, 0], strict=True)
    return [value if valid else None for value, valid in pairs]


def test_a_missed_tick_leaves_an_empty_row_and_no_shorter_window():
    ring = a_ring(4, a_row(1.0))
    ring.put(3, a_row(4.0), a_row(None))
    assert values(ring.newest(4, ONLY)) == [4.0, None, None, 1.0]


def test_missing_more_ticks_than_the_ring_has_leaves_only_empty_rows():
    ring = a_ring(3, a_row(1.0), a_row(2.0), a_row(3.0))
    ring.put(1000, a_row(4.0), a_row(None))
    assert values(ring.newest(3, ONLY)) == [4.0, None, None]


def test_a_second_row_for_a_tick_replaces_the_first():
    ring = a_ring(2, a_row(1.0), a_row(2.0))
    ring.put(1, a_row(None), a_row(None))
    assert values(ring.newest(2, ONLY)) == [None, 1.0]


@pytest.mark.parametrize(
    ("ticks", "watched"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([7], 1, id="the first"),
        pytest.param([7, 8], 2, id="two"),
        pytest.param([7, 7], 1, id="one twice"),
        pytest.param([7, 10], 4, id="missed ticks count too"),
    ],
)
def test_a_track_is_measured_from_its_first_tick(ticks, watched):
    ring = Ring(9, 1)
    for tick in ticks:
        ring.put(tick, a_row(1.0), a_row(None))
    assert ring.watched().tolist() == [watched]


def test_measuring_begins_anew_after_a_tick_without_members():
    ring = a_ring(9, a_row(1.0), a_row(1.0)._replace(expected=np.array([0.0])), a_row(1.0))
    assert ring.watched().tolist() == [1]


def test_nothing_is_read_from_an_empty_ring():
    with pytest.raises(ValueError, match="cannot read from an empty ring"):
        Ring(3, 1).newest(1, ONLY)


def adopted(old: Ring, length: int, *, newest: int | None = None, shift: int = 0) -> Ring:
    ring = Ring(length, 2)
    ring.skip_to((old.last or 0) + shift if newest is None else newest)
    ring.adopt(old, [(0, 1)], shift)
    return ring


@pytest.mark.parametrize(
    ("length", "newest", "shift", "expected", "watched"),
    [
        pytest.param(3, None, 0, [3.0, 2.0, 1.0], 3, id="as long"),
        pytest.param(2, None, 0, [3.0, 2.0], 2, id="shorter"),
        pytest.param(5, None, 0, [3.0, 2.0, 1.0, None, None], 3, id="longer has what there was"),
        pytest.param(3, None, 40, [3.0, 2.0, 1.0], 3, id="under other numbers"),
        pytest.param(3, 3, 0, [None, 3.0, 2.0], 3, id="behind the others"),
        pytest.param(3, 9, 0, [None, None, None], 3, id="far behind the others"),
    ],
)
def test_an_adopted_track_keeps_its_history(length, newest, shift, expected, watched):
    ring = adopted(a_ring(3, a_row(1.0), a_row(2.0), a_row(3.0)), length, newest=newest, shift=shift)
    assert values(ring.newest(length, np.array([1]))) == expected
    assert ring.watched().tolist() == [0, watched]


def test_a_row_that_was_never_written_has_infinite_bounds():
    ring = adopted(a_ring(1, a_row(1.0)), 3)
    assert ring.newest(3, np.array([1])).column("high")[:, 0].tolist() == [1.0, INF, INF]


def test_skipping_ahead_clears_the_skipped_rows():
    ring = a_ring(3, a_row(1.0), a_row(2.0), a_row(3.0))
    ring.skip_to(4)
    assert values(ring.newest(3, ONLY)) == [None, None, 3.0]


def test_history_newer_than_the_ring_is_not_adopted():
    with pytest.raises(ValueError, match="call skip_to before"):
        adopted(a_ring(3, a_row(1.0), a_row(2.0)), 3, newest=0)


# Blocks only make the same reductions faster.

LEVELS = st.none() | st.floats(-1e3, 1e3)
STEPS = st.lists(st.tuples(st.sampled_from([0, 1, 1, 1, 1, 2, 30]), LEVELS), min_size=1, max_size=60)
FOLDS = (*OF_EVERY_WINDOW, *LEAST, *GREATEST)


def filled(ring: Ring, steps: list[tuple[int, float | None]], first: int) -> Ring:
    tick = first
    for step, value in steps:
        tick += step
        ring.put(tick, a_row(value, at=float(tick)), a_row(None))
    return ring


def folded_at_once(stretch: Stretch) -> list[float]:
    valid = stretch.column("valid")[:, 0]
    columns = {name: stretch.column(name)[:, 0] for name in ("low", "value", "high", "share", "newest", "valid")}
    return [
        fold.by.reduce(
            columns[fold.column] if fold.absent is None else np.where(valid, columns[fold.column], fold.absent)
        )
        for fold in FOLDS
    ]


@given(st.integers(1, 30), st.integers(0, 40), STEPS, st.data())
def test_blocks_of_ticks_fold_to_the_same_as_their_ticks(length, first, steps, data):
    ring = filled(Ring(length, 1, [Reduce.MIN, Reduce.MAX]), steps, first)
    stretch = ring.newest(data.draw(st.integers(1, length)), ONLY)
    assert [stretch.fold(fold)[0] for fold in FOLDS] == folded_at_once(stretch)


@given(st.integers(1, 30), st.integers(1, 30), STEPS, STEPS, st.integers(0, 5))
def test_blocks_are_folded_anew_after_a_history_was_adopted(length, longer, steps, later, ahead):
    old = filled(Ring(length, 1), steps, 0)
    ring = Ring(longer, 1, [Reduce.MIN, Reduce.MAX])
    ring.skip_to((old.last or 0) + ahead)
    ring.adopt(old, [(0, 0)], 0)
    for _ in range(2):
        stretch = ring.newest(longer, ONLY)
        assert [stretch.fold(fold)[0] for fold in FOLDS] == folded_at_once(stretch)
        filled(ring, later, ring.last or 0)


def test_what_was_read_of_one_tick_does_not_change_with_the_next_ticks():
    ring = a_ring(4, *(a_row(1.0, at=float(tick)) for tick in range(4)))
    read = ring.newest(4, ONLY)
    ring.put(4, a_row(None), a_row(None))
    ring.put(5, a_row(2.0, at=5.0), a_row(None))
    assert (read.samples.tolist(), read.coverage.tolist(), read.newest.tolist()) == ([4], [1.0], [3.0])


def test_a_new_tick_replaces_what_was_read_before_it():
    ring = a_ring(2, a_row(1.0), a_row(2.0))
    before = ring.newest(2, ONLY).newest[0]
    ring.put(2, a_row(3.0, at=9.0), a_row(None))
    assert (before, ring.newest(2, ONLY).newest[0]) == (0.0, 9.0)
