from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.samples import Reply
from handler.recording.rows import MISSED, NO_REPLY, NONE_ASKED, SampleRows, Text, joined, nothing, same
from handler.recording.thinning import thin, thinned
from tests.support.recording import NINE

Sample = tuple[float, str, str | None, bool, float | None]
"""(seconds after nine, counter, member, counted, value)"""

SAMPLES = st.lists(
    st.tuples(
        st.floats(0, 1800, allow_nan=False),
        st.sampled_from(["cpu", "queue"]),
        st.sampled_from([None, "m-1", "m-2", "größer"]),
        st.booleans(),
        st.none() | st.floats(-1e300, 1e300),
    ),
    min_size=1,
    max_size=60,
)


def coded(words: list[str | None]) -> Text:
    known = tuple(dict.fromkeys(word for word in words if word is not None))
    return Text(codes=np.array([-1 if w is None else known.index(w) for w in words], dtype=np.int32), words=known)


def a_table(samples: list[Sample]) -> SampleRows:
    count = len(samples)
    value = np.array([math.nan if value is None else value for *_, value in samples])
    return SampleRows(
        group=coded(["web"] * count),
        member=coded([member for _, _, member, _, _ in samples]),
        counter=coded([counter for _, counter, *_ in samples]),
        timestamp=np.array([NINE + after for after, *_ in samples]),
        value=value,
        reply=np.where(np.isnan(value), Reply.TIMEOUT, Reply.OK).astype(np.uint8),
        counted=np.array([counted for *_, counted, _ in samples]),
        steady=nothing(count),
        replied_at=nothing(count),
        uptime=nothing(count),
        resolution=same(0.0, count),
        asked=nothing(count),
        count=nothing(count),
        minimum=nothing(count),
        maximum=nothing(count),
    )


def figures(rows: SampleRows) -> dict[tuple[object, ...], tuple[float, float, float, float, float]]:
    """(stretch, counter, member, counted) → (asked, count, average, least, greatest)."""
    words = [
        [None if code < 0 else text.words[code] for code in text.codes.tolist()] for text in (rows.counter, rows.member)
    ]
    keys = list(zip(rows.timestamp.tolist(), *words, rows.counted.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    numbers = (rows.asked, rows.count, rows.value, rows.minimum, rows.maximum)
    return dict(zip(keys, zip(*(column.tolist() for column in numbers), strict=True), strict=True))


def worked_out_by_arrow(samples: list[Sample], resolution: float) -> dict[tuple[object, ...], tuple[float, ...]]:
    table = pa.table(
        {
            "stretch": [math.floor((NINE + after) / resolution) * resolution for after, *_ in samples],
            "counter": [counter for _, counter, *_ in samples],
            "member": pa.array([member for _, _, member, _, _ in samples], pa.string()),
            "counted": [counted for *_, counted, _ in samples],
            # Arrow adds up before it divides: a tenth of the range keeps its sums finite.
            "value": pa.array([value for *_, value in samples], pa.float64()),
        }
    )
    keys = ["stretch", "counter", "member", "counted"]
    valid = pc.CountOptions(mode="only_valid")
    every = pc.CountOptions(mode="all")
    grouped = table.group_by(keys).aggregate(
        [("value", "count", every), ("value", "count", valid), ("value", "mean"), ("value", "min"), ("value", "max")]
    )
    columns = [column.to_pylist() for column in grouped.columns]
    return {row[:4]: tuple(math.nan if x is None else x for x in row[4:]) for row in zip(*columns, strict=True)}


@given(SAMPLES, st.sampled_from([60.0, 300.0, 900.0]))
def test_thinning_equals_what_arrow_works_out(samples: list[Sample], resolution: float) -> None:
    found, expected = figures(thin(a_table(samples), resolution)), worked_out_by_arrow(samples, resolution)

    assert found.keys() == expected.keys()
    for key, (asked, count, average, least, most) in found.items():
        assert (asked, count) == expected[key][:2]
        spread = max(abs(least), abs(most)) * 1e-12
        assert (average, least, most) == pytest.approx(expected[key][2:], rel=1e-9, abs=spread, nan_ok=True)


@given(SAMPLES, st.integers(1, 9))
def test_parts_may_be_thinned_first(samples: list[Sample], parts: int) -> None:
    size = max(len(samples) // parts, 1)
    pieces = [thin(a_table(samples[start : start + size]), 300.0) for start in range(0, len(samples), size)]

    found, expected = figures(thin(joined(pieces), 300.0)), figures(thin(a_table(samples), 300.0))

    assert found.keys() == expected.keys()
    for key, numbers in found.items():
        least, most = expected[key][3:]
        spread = max(abs(least), abs(most)) * 1e-12
        assert numbers == pytest.approx(expected[key], rel=1e-9, abs=spread, nan_ok=True)


@given(SAMPLES, st.integers(1, 9))
def test_pieces_in_the_order_of_time_become_each_stretch_once(samples: list[Sample], parts: int) -> None:
    ordered = sorted(samples, key=lambda sample: sample[0])
    size = max(len(ordered) // parts, 1)
    pieces = [a_table(ordered[start : start + size]) for start in range(0, len(ordered), size)]

    found = list(thinned(pieces, 300.0))

    assert figures(joined(found)).keys() == figures(thin(a_table(samples), 300.0)).keys()


@given(st.floats(-1e308, 1e308), st.integers(1, 50))
def test_the_average_of_equal_values_is_that_value(value: float, count: int) -> None:
    rows = thin(a_table([(float(second), "cpu", "m-1", True, value) for second in range(count)]), 300.0)

    assert (rows.value.tolist(), rows.minimum.tolist(), rows.maximum.tolist()) == ([value], [value], [value])


def test_silence_is_not_zero() -> None:
    rows = thin(a_table([(0.0, "cpu", "m-1", True, None), (30.0, "cpu", "m-1", True, None)]), 300.0)

    assert (rows.asked.tolist(), rows.count.tolist()) == ([2.0], [0.0])
    assert np.isnan(rows.value).all()
    assert np.isnan(rows.minimum).all()


def test_a_member_that_warms_up_is_not_mixed_with_one_that_counts() -> None:
    rows = thin(a_table([(0.0, "cpu", "m-1", False, 90.0), (30.0, "cpu", "m-1", True, 10.0)]), 300.0)

    assert {key[3]: numbers[2] for key, numbers in figures(rows).items()} == {False: 90.0, True: 10.0}


def test_turns_without_samples_are_counted_under_their_word() -> None:
    bare = a_table([(float(second), "cpu", None, True, None) for second in range(3)])
    words = np.array([NONE_ASKED, MISSED, NONE_ASKED], dtype=np.uint8)
    columns = {name: getattr(bare, name) for name in bare.__dataclass_fields__}
    rows = thin(SampleRows(**{**columns, "counter": coded([None] * 3), "reply": words}), 300.0)

    assert dict(zip(rows.reply.tolist(), rows.asked.tolist(), strict=True)) == {NONE_ASKED: 2.0, MISSED: 1.0}


def test_a_stretch_has_no_reply_of_its_own() -> None:
    rows = thin(a_table([(0.0, "cpu", "m-1", True, 1.0)]), 300.0)

    assert rows.reply.tolist() == [NO_REPLY]
    assert rows.resolution.tolist() == [300.0]
    assert rows.timestamp.tolist() == [NINE]
