from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from handler.ingest.pushes import exposition
from handler.ingest.pushes.pushed_values import VALUES_AT_MOST, PushedEntry, UnreadablePush
from tests.support.pushes import sent


def text(body: str) -> tuple[PushedEntry, ...] | UnreadablePush:
    return exposition.read(body.encode(), openmetrics=False)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("orders 12\n", (sent("orders", 12.0),), id="one"),
        pytest.param("# HELP orders Some.\n# TYPE orders gauge\norders 12\n", (sent("orders", 12.0),), id="described"),
        pytest.param(
            'cpu{member="a"} 1\ncpu{member="b"} 2',
            (sent("cpu", 1.0, member="a"), sent("cpu", 2.0, member="b")),
            id="members",
        ),
        pytest.param('orders{group="web",queue="work",} 3', (sent("orders", 3.0, group="web"),), id="other-labels"),
        pytest.param("orders\t12  1767268800000 ", (sent("orders", 12.0, at=1767268800.0),), id="a-time"),
        pytest.param('orders{x="}{\\" # "} 1e+06', (sent("orders", 1_000_000.0),), id="brackets-and-quotes-in-a-label"),
        pytest.param('cpu { member = "a\\\\b" } -.5', (sent("cpu", -0.5, member="a\\b"),), id="blanks-and-escapes"),
        pytest.param("jobs_total 5\njobs_created 1.7e+09", (sent("jobs_total", 5.0),), id="when-it-began-to-count"),
        pytest.param("page_created 5", (sent("page_created", 5.0),), id="a-name-that-only-looks-so"),
        pytest.param('orders 12 # {trace="x"} 1.0 2.0', (sent("orders", 12.0),), id="an-exemplar"),
        pytest.param("\n# nothing\n", (), id="nothing"),
    ],
)
def test_samples_are_understood(body: str, expected: tuple[PushedEntry, ...]) -> None:
    assert text(body) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("orders", 'expected a sample such as orders_pending 12, found "orders"'),
        ("12 orders", 'expected a sample such as orders_pending 12, found "12 orders"'),
        ("orders 1 2 3", 'expected a sample such as orders_pending 12, found "orders 1 2 3"'),
        ("orders NaN", 'expected a number for "orders", found "NaN"'),
        ("orders +Inf", 'expected a number for "orders", found "+Inf"'),
        ("orders 1 soon", 'expected a number for "orders", found "soon"'),
        ('orders{queue="a"} 1\norders{queue="b"} 2', '"orders" is there twice: it is not clear which is meant'),
        ('orders{member=a} 1', 'the labels cannot be read in "orders{member=a} 1"'),
        ('orders{member="a} 1', 'expected a sample such as orders_pending 12, found "orders{member=\\"a} 1"'),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_read_is_refused_with_a_reason(body: str, message: str) -> None:
    assert text(body) == UnreadablePush(message=message)


def test_times_of_openmetrics_are_in_seconds() -> None:
    assert exposition.read(b"orders 12 1767268800.5\n# EOF\n", openmetrics=True) == (
        sent("orders", 12.0, at=1767268800.5),
    )


@pytest.mark.parametrize("body", [b"orders 12\n", b"orders 12\n# EO", b"", b"# EOF\norders 12\n"])
def test_openmetrics_without_its_end_is_not_whole(body: bytes) -> None:
    assert exposition.read(body, openmetrics=True) == UnreadablePush(
        message="the text is incomplete: OpenMetrics ends with # EOF"
    )


def test_bytes_that_are_no_text_are_refused() -> None:
    assert exposition.read(b"orders 1\xff", openmetrics=False) == UnreadablePush(
        message="expected metrics as text in UTF-8"
    )


def test_what_the_library_writes_is_understood_in_both_formats() -> None:
    registry = CollectorRegistry()
    Gauge("cpu", "Load.", ["member"], registry=registry).labels('we"b\\1').set(0.25)
    Counter("jobs", "Done.", registry=registry).inc(3)
    expected = (sent("cpu", 0.25, member='we"b\\1'), sent("jobs_total", 3.0))
    assert exposition.read(generate_latest(registry), openmetrics=False) == expected
    assert exposition.read(generate_openmetrics(registry), openmetrics=True) == expected


_NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: not name.endswith("_created"))


@given(st.dictionaries(_NAMES, st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=12))))
def test_it_reads_what_the_library_reads(samples: dict[str, tuple[float, str]]) -> None:
    registry = CollectorRegistry()
    for name, (value, whose) in samples.items():
        Gauge(name, "x", ["member"], registry=registry).labels(whose).set(value)
    body = generate_latest(registry)
    result = exposition.read(body, openmetrics=False)
    families = list(text_string_to_metric_families(body.decode()))
    assert result == tuple(
        sent(sample.name, float(sample.value), member=sample.labels["member"])
        for family in families
        for sample in family.samples
    )


@given(st.one_of(st.binary(), st.text('ab_{}="\\,# \n01.e-').map(str.encode)), st.booleans())
def test_any_bytes_are_read_or_refused_and_every_value_is_finite(body: bytes, openmetrics: bool) -> None:
    result = exposition.read(body, openmetrics=openmetrics)
    if isinstance(result, tuple):
        assert all(one.value is not None and math.isfinite(one.value) for one in result)


_LONG = 256 * 1024


@pytest.mark.parametrize(
    "body",
    [
        "a{" + 'b="c",' * (_LONG // 6) + "} 1",
        "a{" + 'b="c",' * (_LONG // 6),
        "a{" + '"' * _LONG,
        "a{" + "\\" * _LONG,
        'a{b="' + '\\"' * (_LONG // 2),
        "a" * _LONG,
        "a " + " " * _LONG,
        "a 1" + " " * _LONG + "x",
        "a" + "{" * _LONG,
        "a 1 " + "9" * _LONG,
    ],
    ids=lambda body: f"{body[:8]}…{body[-4:]}",
)
def test_hostile_text_takes_no_longer_than_its_length(body: str) -> None:
    began = time.process_time()
    text(body)
    assert time.process_time() - began < 1.0  # quadratic time would be minutes


def test_more_values_than_one_request_may_bring_are_too_large() -> None:
    result = text("\n".join(f"a{number} 1" for number in range(VALUES_AT_MOST + 1)))
    assert isinstance(result, UnreadablePush)
    assert result.too_large


def test_a_name_does_not_run_into_its_value() -> None:
    assert isinstance(text("hits836.2\n"), UnreadablePush)
