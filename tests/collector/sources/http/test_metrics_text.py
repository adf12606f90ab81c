from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from collector.clients.http.client import HttpFailure
from collector.samples import Reply
from collector.sources.http.metrics_text import MOST_SAMPLES, OPENMETRICS, FamilySamples, samples_of

TEXT = "text/plain; version=0.0.4; charset=utf-8"


def a_registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Gauge("jobs", "Waiting.", ["queue"], registry=registry).labels('ma"il\n').set(42)
    Counter("hits", "Heard.", registry=registry).inc(7)
    Histogram("took", "Seconds.", ["path"], registry=registry).labels("/").observe(0.3)
    Summary("took_all", "Seconds.", registry=registry).observe(1.5)
    Gauge("hits_total_more", "Named alike.", registry=registry).set(1)
    return registry


NAMES = ["jobs", "hits_total", "hits_created", "took_bucket", "took_sum", "took_count", "took_all_sum", "hits", "took"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [TEXT, OPENMETRICS])
def test_the_lines_of_one_family_give_what_the_whole_page_gives(name: str, kind: str) -> None:
    page = openmetrics(a_registry()) if kind == OPENMETRICS else generate_latest(a_registry())
    parse = parse_openmetrics if kind == OPENMETRICS else text_string_to_metric_families
    whole = [
        (sample.name, sample.labels, sample.value)
        for family in parse(page.decode())
        for sample in family.samples
        if sample.name == name
    ]

    found = samples_of(page, kind, name)

    assert not isinstance(found, HttpFailure), found
    assert [(one.name, one.labels, one.value) for one in found.all if one.name == name] == whole


HEADS = st.lists(st.sampled_from(["# TYPE {} counter", "# TYPE {} gauge", "# HELP {} a_total 1", "#{}", "# {} 7", ""]))
SAMPLES = st.lists(
    st.sampled_from(["{} 1", '{}{{x="y"}} 3', '{}{{x="a_total 4"}} 4', " {} 6", '{{"{}", x="y"}} 8', "{} 2 1000", "{}"])
)


@st.composite
def pages(draw: st.DrawFn) -> list[str]:
    """The lines of some families, each family in one piece, as the format wants it."""
    families = draw(st.lists(st.sampled_from(["a", "a_total", "a_created", "b", "ab", "a_more"]), unique=True))
    return [line.format(name) for name in families for line in (*draw(HEADS), *draw(SAMPLES))]


@given(lines=pages(), name=st.sampled_from(["a", "a_total", "b"]), last=st.sampled_from(["\n", ""]))
def test_whatever_the_whole_page_gives_is_found_among_the_lines_of_its_family(
    lines: list[str], name: str, last: str
) -> None:
    page = "\n".join(lines) + last
    try:
        families = list(text_string_to_metric_families(page))
    except ValueError:
        families = []
    whole = [(sample.name, sample.value) for family in families for sample in family.samples if sample.name == name]

    found = samples_of(page.encode(), TEXT, name)

    if isinstance(found, HttpFailure):
        assert not whole or found.reply is Reply.INCOMPLETE
    elif families:
        assert [(one.name, one.value) for one in found.all if one.name == name] == whole


def test_a_page_without_any_sample_is_whole() -> None:
    assert samples_of(b"# EOF\n", OPENMETRICS, "jobs") == FamilySamples([], frozenset())
    assert samples_of(b"", TEXT, "jobs") == FamilySamples([], frozenset())


def test_another_family_may_be_broken() -> None:
    found = samples_of(b"jobs 42\nbroken{ 1\n", TEXT, "jobs")

    assert not isinstance(found, HttpFailure)
    assert [one.value for one in found.all] == [42.0]


@pytest.mark.parametrize(
    ("page", "kind", "reply", "detail"),
    [
        (b"jobs 42", TEXT, Reply.INCOMPLETE, "the page is cut short: its last line is incomplete"),
        (b"jobs 42\n", OPENMETRICS, Reply.INCOMPLETE, "the page is cut short: it does not end with # EOF"),
        (b"", OPENMETRICS, Reply.INCOMPLETE, "the page is cut short: it does not end with # EOF"),
        (b'jobs{a="}"}.5\n# EOF\n', OPENMETRICS, Reply.MALFORMED, "invalid metrics text: no space"),
        (b"<html>jobs 42\n", "text/html", Reply.MALFORMED, "the page is text/html, not metrics"),
        (b"jobs \xff\n", TEXT, Reply.MALFORMED, "the page is not UTF-8"),
        (b"jobs many\n", TEXT, Reply.MALFORMED, "invalid metrics text: "),
        ("jobs ٤٢\n".encode(), TEXT, Reply.MALFORMED, "invalid metrics text: non-ASCII characters outside of labels"),
        (b'jobs{queue="a} 1\n', TEXT, Reply.MALFORMED, "invalid metrics text: "),
    ],
)
def test_a_page_that_cannot_be_read_says_why(page: bytes, kind: str, reply: Reply, detail: str) -> None:
    found = samples_of(page, kind, "jobs")

    assert isinstance(found, HttpFailure)
    assert found.reply is reply
    assert found.detail.startswith(detail)


def test_one_sample_of_a_long_page_costs_little() -> None:
    page = (
        b"".join(b'node_cpu_seconds_total{cpu="%d",mode="idle"} %d.5\n' % (n, n) for n in range(20_000)) + b"jobs 42\n"
    )

    began = time.process_time()
    found = samples_of(page, TEXT, "jobs")

    assert time.process_time() - began < 0.05  # 0.2 s if every line were parsed
    assert not isinstance(found, HttpFailure)
    assert [one.value for one in found.all] == [42.0]


@given(st.binary(max_size=100), st.sampled_from([TEXT, OPENMETRICS, ""]))
def test_no_bytes_are_an_exception(noise: bytes, kind: str) -> None:
    found = samples_of(b"# TYPE a counter\na_total" + noise + b"\n# EOF\n", kind, "a_total")

    assert (
        bool(found.detail) if isinstance(found, HttpFailure) else all(isinstance(one.value, float) for one in found.all)
    )


TWICE = {
    "two values": "load 1\nload 2\n",
    "the same value": "load 1\nload 1\n",
    "labels in another order": 'load{a="1",b="2"} 1\nload{b="2",a="1"} 2\n',
    "an escaped label": 'load{a="\\"}{\\n"} 1\nload{a="\\"}{\\n"} 2\n',
    "a name within the braces": '{"load",a="1"} 1\nload{a="1"} 2\n',
}


@pytest.mark.parametrize("kind", [TEXT, OPENMETRICS])
@pytest.mark.parametrize("lines", TWICE.values(), ids=TWICE)
def test_a_series_that_is_there_twice_is_reported_in_both_formats(lines: str, kind: str) -> None:
    found = samples_of(f"# TYPE load gauge\n{lines}# EOF\n".encode(), kind, "load")

    assert not isinstance(found, HttpFailure)
    assert {name for name, _ in found.twice} == {"load"}


@pytest.mark.parametrize("kind", [TEXT, OPENMETRICS])
def test_series_that_differ_in_a_label_are_there_once(kind: str) -> None:
    found = samples_of(b'# TYPE load gauge\nload{a="1"} 1\nload{a="2"} 1\nload 1\n# EOF\n', kind, "load")

    assert not isinstance(found, HttpFailure)
    assert (len(found.all), found.twice) == (3, frozenset())


def test_a_metric_with_too_many_samples_is_refused_before_they_are_parsed() -> None:
    page = b"".join(b'load{n="%d"} 1\n' % number for number in range(MOST_SAMPLES + 1))

    began = time.process_time()
    found = samples_of(page, TEXT, "load")

    assert time.process_time() - began < 0.5
    assert isinstance(found, HttpFailure)
    assert found.detail == "the metric has more than 10,000 samples"
