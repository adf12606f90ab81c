from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trigger.explain.measure_words import say_number

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(value=NUMBERS, threshold=NUMBERS)
def test_a_value_never_reads_like_a_threshold_that_it_does_not_equal(value: float, threshold: float) -> None:
    text = say_number(value, threshold)
    assert float(text) == pytest.approx(value, rel=0.01, abs=1e-300)
    if 1e-6 <= abs(value) < 1e12 and value != threshold:
        assert float(text) != threshold
