"""Arrow's columns are read without its own methods, with the values that these have."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from handler.recording.arrow_arrays import flags, nulls, numbers


@pytest.mark.parametrize("first", [0, 1, 9])
def test_columns_have_the_values_of_arrow_and_a_mark_where_one_is_missing(first: int) -> None:
    values = [None if place % 3 == 1 else place / 2 for place in range(20)]
    truths = [None if place % 3 == 1 else place % 2 == 0 for place in range(20)]
    found, flagged = pa.array(values).slice(first), pa.array(truths).slice(first)

    assert [None if math.isnan(each) else each for each in numbers(found, np.nan).tolist()] == found.to_pylist()
    assert nulls(found).tolist() == [each is None for each in found.to_pylist()]
    assert flags(flagged, absent=True).tolist() == [each is None or each for each in flagged.to_pylist()]


def test_columns_without_a_missing_value_or_without_any_value_are_read() -> None:
    assert numbers(pa.array([1, 2, 3]), -1).tolist() == [1, 2, 3]
    assert nulls(pa.array([1.0, 2.0])).tolist() == [False, False]
    assert flags(pa.array([True, False]), absent=True).tolist() == [True, False]
    assert numbers(pa.array([], pa.float64()), np.nan).tolist() == []
    assert np.isnan(numbers(pa.array([None, None]).cast(pa.float64()), np.nan)).all()
