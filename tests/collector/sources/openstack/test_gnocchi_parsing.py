from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from collector.sources.openstack.gnocchi_parsing import Period, decode, newest
from config.model.counters import GnocchiMetric

CPU = GnocchiMetric(name="cpu", aggregation="mean", granularity=10.0)
WHEN = "2026-11-21T18:19:20+00:00"


def measures(*entries: object) -> bytes:
    return json.dumps({"measures": {"a": {"cpu": {"mean": entries}}}}).encode()


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param([WHEN, 10.0], id="short"),
        pytest.param([WHEN, 10.0, None], id="nothing"),
        pytest.param([WHEN, 10.0, "7"], id="text"),
        pytest.param([WHEN, 10.0, True], id="word"),
        pytest.param([WHEN, 10.0, float("nan")], id="nan"),
        pytest.param([WHEN, 10.0, 10**400], id="huge"),
        pytest.param([WHEN, 60.0, 7.0], id="another granularity"),
        pytest.param(["yesterday", 10.0, 7.0], id="no date"),
        pytest.param(["2026-11-21T18:19:20", 10.0, 7.0], id="no zone"),
        pytest.param([1795285160, 10.0, 7.0], id="seconds"),
        pytest.param(["0001-01-01T00:00:00+14:00", 10.0, 7.0], id="ages ago"),
        pytest.param({}, id="object"),
    ],
)
def test_one_entry_that_makes_no_sense_leaves_no_answer(entry: object) -> None:
    found = decode(measures([WHEN, 10.0, 7.0], entry), CPU)

    if isinstance(found, HttpFailure):
        assert found.reply is Reply.MALFORMED
    else:  # a date so long ago is one, where the system counts that far
        assert found["a"][-1].value == 7.0


def test_periods_are_put_in_order() -> None:
    late, early = [WHEN, 10.0, 2.0], ["2026-11-21T18:19:10+00:00", 10.0, 1.0]

    found = decode(measures(late, early), CPU)

    assert isinstance(found, Mapping)
    assert [period.value for period in found["a"]] == [1.0, 2.0]


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(-9, 9)).map(lambda pair: Period(*pair))), st.floats(0, 100))
def test_no_value_is_of_a_time_to_come(periods: list[Period], now: float) -> None:
    found = newest(sorted(periods), now)

    over = [period.end for period in periods if period.end <= now]
    assert found is None if not over else found is not None and found.end == max(over)


keys = st.sampled_from(["measures", "a", "cpu", "mean"])
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(WHEN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=14,
)


@given(trees)
def test_every_answer_is_read_or_refused(tree: object) -> None:
    assert isinstance(decode(json.dumps(tree).encode(), CPU), dict | HttpFailure)
    assert isinstance(
        decode(json.dumps({"measures": {"a": {"cpu": {"mean": tree}}}}).encode(), CPU), dict | HttpFailure
    )


@given(st.binary(max_size=64))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    assert isinstance(decode(body, CPU), dict | HttpFailure)
