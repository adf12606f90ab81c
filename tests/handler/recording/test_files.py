from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.recording.files import Form, Segment, segment_of, sort_out
from tests.support.recording import NINE


def a_segment(number: int, form: Form = Form.WHOLE, *, run: int = 0, first: float = NINE) -> Segment:
    resolution = 300.0 if form is Form.THIN else 0.0
    return Segment(run=run, first=int(first), number=number, form=form, resolution=resolution)


@given(
    run=st.integers(0, 10**6),
    first=st.integers(0, 2**32),
    number=st.integers(0, 10**12),
    form=st.sampled_from(Form),
    minutes=st.sampled_from([1, 5, 15, 60]),
)
def test_a_name_says_all_of_a_segment(run: int, first: int, number: int, form: Form, minutes: int) -> None:
    resolution = minutes * 60.0 if form is Form.THIN else 0.0
    segment = Segment(run=run, first=first, number=number, form=form, resolution=resolution)

    assert segment_of(segment.name) == segment


@pytest.mark.parametrize(
    "name",
    [
        "2026-03-01/091500-run0-00000017.log.draft",
        "2026-03-01/091500-run0-00000017-5m.parquet.draft",
        "2026-02-30/091500-run0-00000017.log",
        "2026-03-01/251500-run0-00000017.log",
        "2026-03-01/notes.txt",
        "switch.json",
    ],
)
def test_a_strange_name_is_none_of_ours(name: str) -> None:
    assert segment_of(name) is None


LOG, WHOLE, THIN = (a_segment(7, form) for form in Form)
LATER = a_segment(8)
OTHER_HOUR = a_segment(5, first=NINE - 3600)
OTHER_RUN = a_segment(6, run=1)


@pytest.mark.parametrize(
    ("found", "stale"),
    [
        pytest.param([LOG], [], id="a log alone"),
        pytest.param([LOG, WHOLE], [LOG], id="killed between closing a log and removing it"),
        pytest.param([WHOLE, THIN], [WHOLE], id="killed between thinning and removing"),
        pytest.param([LOG, THIN], [LOG], id="killed twice"),
        pytest.param([THIN, LATER], [], id="samples that came after thinning"),
        pytest.param([THIN, OTHER_HOUR], [], id="another hour's earlier file"),
        pytest.param([THIN, OTHER_RUN], [], id="another run's earlier file"),
        pytest.param([THIN, a_segment(8, Form.THIN)], [], id="thinned in two goes"),
    ],
)
def test_no_sample_stands_in_two_files(found: list[Segment], stale: list[Segment]) -> None:
    there = sort_out(found)

    assert list(there.stale) == stale
    assert set(there.standing) == set(found) - set(stale)


def test_files_come_in_the_order_of_recording() -> None:
    first, second = a_segment(9, first=NINE), a_segment(8, first=NINE + 7200)

    assert sort_out([OTHER_RUN, second, first]).standing == (first, second, OTHER_RUN)
