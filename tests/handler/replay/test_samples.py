"""Columns of a recording take little memory, and have the values that were read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.replay.samples import GrowingColumn, Samples, Words, compact, joined, nothing
from handler.replay.ticks import ticks_of
from tests.support.replay import START, STEP

NUMBERS = st.sampled_from([0, 0, 0, 1, -1, 127, 128, -129, 40_000, 2**40])
PIECES = st.lists(st.lists(NUMBERS, min_size=1, max_size=6), min_size=1, max_size=8)


@given(pieces=PIECES)
def test_a_column_that_grows_has_the_rows_of_its_pieces(pieces: list[list[int]]) -> None:
    column = GrowingColumn()
    for piece in pieces:
        column.append(np.array(piece))
    assert column.taken().tolist() == [each for piece in pieces for each in piece]


@pytest.mark.parametrize(
    ("values", "size"),
    [([7.5] * 1000, 8), ([3, 4] * 500, 1000), ([3, 400] * 500, 2000), ([3, 70_000] * 500, 8000), ([True] * 1000, 1)],
)
def test_a_column_takes_no_more_memory_than_its_values_need(values: Sequence[Any], size: int) -> None:
    column = compact(np.array(values))
    taken = column.itemsize if column.strides == (0,) else column.nbytes
    assert (column.tolist(), taken) == (values, size)


def test_one_value_stays_one_where_columns_with_it_are_joined() -> None:
    same, other = compact(np.full(3, 5)), compact(np.full(2, 6))
    assert joined([same, same]).strides == (0,)
    assert np.isnan(joined([nothing(2), nothing(1)])).tolist() == [True] * 3
    assert joined([same, other]).tolist() == [5, 5, 5, 6, 6]


def test_rows_that_come_poll_by_poll_are_not_copied() -> None:
    rows = 12
    number = np.arange(rows)
    samples = Samples(
        group=Words(codes=np.zeros(rows, dtype=np.int8), words=("web",)),
        member=Words(codes=(number % 2).astype(np.int8), words=("a", "b")),
        counter=Words(codes=np.zeros(rows, dtype=np.int8), words=("cpu",)),
        at=float(START) + number // 2 * STEP,
        value=number.astype(np.float64),
        reply=np.ones(rows, dtype=np.uint8),
        counted=np.ones(rows, dtype=np.bool_),
        steady=nothing(rows),
        replied_at=nothing(rows),
        uptime=nothing(rows),
    )
    order = np.array([3, 1, 2, 0, *range(4, rows)])
    quick, sorted_ = ticks_of(samples, STEP), ticks_of(samples.take(order), STEP)

    assert np.shares_memory(quick.samples.value, samples.value)
    assert quick.samples.value.tolist() == sorted_.samples.value.tolist()
    assert (quick.starts.tolist(), quick.cadence) == (sorted_.starts.tolist(), sorted_.cadence)
