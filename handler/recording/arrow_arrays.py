"""Arrow's columns as numpy's arrays; Arrow's own methods would load pandas, where that is installed: 35 MB."""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers(array: Any, absent: float) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return numbers with a mark for missing ones; without missing ones it is no copy."""
    there, found = array.buffers()
    whole = np.frombuffer(found, dtype=array.type.to_pandas_dtype(), count=array.offset + len(array))
    column = whole[array.offset :]
    return column if there is None else np.where(_unpacked(there, array), column, absent)


def flags(array: Any, *, absent: bool) -> Any:  # noqa: ANN401  # as above
    """Return booleans with a mark for missing ones."""
    there, found = array.buffers()
    column = _unpacked(found, array)
    return column if there is None else np.where(_unpacked(there, array), column, absent)


def nulls(array: Any) -> Any:  # noqa: ANN401  # as above
    """Tell of each value whether it is missing."""
    there = array.buffers()[0]
    return np.zeros(len(array), dtype=np.bool_) if there is None else ~_unpacked(there, array)


def _unpacked(bits: Any, array: Any) -> Any:  # noqa: ANN401  # as above
    whole = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=array.offset + len(array), bitorder="little")
    return whole[array.offset :].astype(np.bool_)
