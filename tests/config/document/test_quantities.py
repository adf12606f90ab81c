from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.document.quantities import Quantity, brought, conversion, read_positive_quantity, read_quantity
from config.load import parse
from config.model.catalogue import Condition
from config.model.counters import Counter, HaproxyField
from config.units import ConditionId, CounterId

TEXT = """
counters:
  ttfb: {{http: {{port: 80, path: /m, metric: ttfb}}, unit: {unit}}}
conditions:
  slow: {{counter: ttfb, above: {above}}}
policies: {{out: {{when: [slow], add: 1}}}}
clouds: {{local: {{process: {{}}}}}}
profiles: {{web: {{cloud: local, command: [serve]}}}}
groups: {{web: {{profile: web, min: 2, max: 8, policies: [out]}}}}
"""


@pytest.mark.parametrize(
    ("unit", "above", "threshold"),
    [
        pytest.param("s", "250 ms", 0.25, id="finer"),
        pytest.param("ms", "0.25s", 250, id="coarser"),
        pytest.param("us", "1e-3 s", 1000, id="power-of-ten"),
        pytest.param("ms", "250", 250, id="none"),
        pytest.param("percent", "80%", 80, id="sign-for-word"),
        pytest.param("ratio", "80 %", 0.8, id="share"),
        pytest.param("bytes/s", "1 Mbit/s", 125_000, id="rate"),
        pytest.param("jobs", "12 jobs", 12, id="label"),
        pytest.param("requests/s", "600 requests/min", 10, id="per-minute"),
    ],
)
def test_a_threshold_comes_in_the_unit_of_its_counter(unit: str, above: str, threshold: float) -> None:
    catalogue = parse(TEXT.format(unit=unit, above=above), "web.yaml")
    slow = catalogue.conditions[ConditionId("slow")]
    assert isinstance(slow, Condition)
    assert (slow.threshold, slow.in_unit) == (threshold, None)


@pytest.mark.parametrize("written", ["jobs", "s", "bytes/s", "requests/s"])
def test_a_word_stands_for_nothing_but_itself(written: str) -> None:
    assert conversion(written, "orders") is None


@given(
    st.floats(-1e6, 1e6).filter(lambda number: abs(number) >= 1e-100),
    st.sampled_from(["", " "]),
    st.sampled_from(["ms", "%", "bytes/s"]),
)
def test_a_written_quantity_is_read(number: float, space: str, unit: str) -> None:
    assert read_quantity(f"{number!r}{space}{unit}") == Quantity(number=number, unit=unit)


@pytest.mark.parametrize(
    "value", ["", "80", "ms", "1.2.3 s", "1 2", "nan ms", "1e999 s", True, None, [80], float("nan")]
)
def test_an_invalid_quantity_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="number"):
        read_quantity(value)


@pytest.mark.parametrize("written", ["1e308 s", "-1e101 s", "1e-323 us", 5e-324, 10**400])
def test_a_quantity_that_overflows_or_underflows_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"a number from 1e-100 to 1e\+100"):
        read_positive_quantity(written)


def test_the_unit_of_an_undeclared_counter_is_unknown() -> None:
    assert brought(Quantity(number=3, unit="furlong"), None) == (3, None)
    declared = Counter(id=CounterId("x"), source=HaproxyField(field="scur"), unit="s")
    assert brought(Quantity(number=3, unit="furlong"), declared) == (3, "furlong")
