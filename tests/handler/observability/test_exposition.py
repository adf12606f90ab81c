from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from config.units import Instant
from handler.observability.exposition import written
from handler.observability.metrics import Metrics


def a_registry() -> CollectorRegistry:
    Metrics({}, lambda: Instant(0.0))  # leaves out the second series of a counter, as the daemon does
    return CollectorRegistry()


def test_it_writes_what_prometheus_client_would_write() -> None:
    registry = a_registry()
    Gauge("size", 'How "many"\nthere \\ are.', ["group"], registry=registry).labels("web").set(3)
    Counter("calls", "Calls.", ["group", "result"], registry=registry).labels("web", "done").inc(2.5)
    Histogram("took_seconds", "How long.", buckets=(0.1, 1), registry=registry).observe(0.5)
    Gauge("alone", "Without labels.", registry=registry).set(1e20)
    Gauge("nobody", "Without samples.", ["group"], registry=registry)

    assert written(registry.collect()) == generate_latest(registry)


@given(value=st.text(), number=st.floats(allow_nan=False))
def test_any_label_and_any_number_are_read_back_as_they_were(value: str, number: float) -> None:
    label = value.encode(errors="replace").decode()
    registry = a_registry()
    Gauge("size", "Size.", ["unit"], registry=registry).labels(label).set(number)

    (family,) = text_string_to_metric_families(written(registry.collect()).decode())

    assert [(sample.labels, sample.value) for sample in family.samples] == [({"unit": label}, number)]


def test_not_a_number_is_written_as_prometheus_spells_it() -> None:
    registry = a_registry()
    Gauge("size", "Size.", registry=registry).set(math.nan)

    assert b"\nsize NaN\n" in written(registry.collect())
