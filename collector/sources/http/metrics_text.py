"""Samples in OpenMetrics or Prometheus text, by the parsers of prometheus-client. Pure.

A page has thousands of samples, of which one is wanted, and parsing costs 11 µs each. So only the lines of the wanted
metric's family are parsed, its type included; what the parser says of them is what it would say of the whole page.

Source: OpenMetrics 1.0; https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from collector.clients.http.client import HttpFailure
from collector.samples import Reply

OPENMETRICS = "application/openmetrics-text"
ACCEPT = f"{OPENMETRICS};version=1.0.0,text/plain;version=0.0.4;q=0.8,*/*;q=0.1"
_OTHERS = frozenset({"text/html", "application/json", "application/vnd.google.protobuf"})
_END = "# EOF"
MOST_SAMPLES = 10_000
"""Of one metric: parsing them takes 0.1 s of processor time."""
_MOST_LINES = MOST_SAMPLES + 100
"""With what is said of a metric beside its samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample."""

    name: str
    labels: Mapping[str, str]
    value: float
    taken: float | None
    """When, in seconds since the epoch by the other side's clock; ``None``: it has no time of its own."""


class FamilySamples(NamedTuple):
    """The samples of one family."""

    all: Sequence[Sample]
    twice: frozenset[tuple[str, str]]
    """Names and `identity` of the labels of what is there more than once: which of them is meant cannot be known."""


def samples_of(body: bytes, content_type: str, name: str) -> FamilySamples | HttpFailure:
    r"""Read the samples of the family that a metric belongs to; other families may be broken.

    >>> page = b"# TYPE hits counter\nhits_total 7\nhits_created 1.7e9\n# TYPE x gauge\nx 1\n# EOF\n"
    >>> [(sample.name, sample.value) for sample in samples_of(page, OPENMETRICS, "hits_total").all]
    [('hits_total', 7.0), ('hits_created', 1700000000.0)]
    >>> samples_of(b"load 1\nload 2\n# EOF\n", OPENMETRICS, "load").twice
    frozenset({('load', '[]')})
    >>> samples_of(page[:-6], OPENMETRICS, "hits_total").said
    'the page is cut short: it does not end with # EOF'
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _OTHERS:
        return HttpFailure(reply=Reply.MALFORMED, said=f"the page is {kind}, not metrics")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return HttpFailure(reply=Reply.MALFORMED, said="the page is not UTF-8")
    if kind == OPENMETRICS:
        if text.rstrip("\n").rpartition("\n")[2] != _END:
            return HttpFailure(reply=Reply.INCOMPLETE, said=f"the page is cut short: it does not end with {_END}")
        lines = [*islice(_lines(text, name), _MOST_LINES), _END]
        return _parsed(openmetrics.text_string_to_metric_families, lines)
    lines = list(islice(_lines(text, name), _MOST_LINES))
    if lines and not text.endswith("\n") and text.endswith(lines[-1]):
        return HttpFailure(reply=Reply.INCOMPLETE, said="the page is cut short: its last line has no end")
    return _parsed(text_string_to_metric_families, lines)


def _parsed(parse: Callable[[str], Iterable[Metric]], lines: Sequence[str]) -> FamilySamples | HttpFailure:
    if not all(line.isascii() or _QUOTED.sub("", line).isascii() for line in lines):
        # The parsers read numbers as Python does, in the digits of every script.
        return HttpFailure(reply=Reply.MALFORMED, said="not as metrics are written: beyond ASCII outside of labels")
    written = [line for line in lines if not line.lstrip().startswith("#")]
    if len(written) > MOST_SAMPLES:
        return HttpFailure(reply=Reply.MALFORMED, said=f"the metric has more than {MOST_SAMPLES:,} samples")
    try:
        samples = [
            Sample(
                name=sample.name,
                labels=sample.labels,
                value=float(sample.value),
                taken=None if sample.timestamp is None else float(sample.timestamp),
            )
            for family in parse("\n".join(lines) + "\n")
            for sample in family.samples
        ]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        return HttpFailure(reply=Reply.MALFORMED, said=f"not as metrics are written: {error}")
    named = [(sample.name, identity(sample.labels)) for sample in samples]
    if len(samples) < len(written):  # the parser of OpenMetrics leaves out what it has seen already
        named = [_named(line) for line in written]
    return FamilySamples(samples, frozenset(each for each, count in Counter(named).items() if count > 1))


def identity(labels: Mapping[str, str]) -> str:
    """What tells a series from the others of its name, whatever the order of its labels."""
    return repr(sorted(labels.items()))


def _named(line: str) -> tuple[str, str]:
    """Name and identity of the labels of a line that a parser has understood; the name may stand within the braces."""
    name, brace, rest = line.lstrip().partition("{")
    if not brace:
        return name.split()[0], identity({})
    labels = {label: _ESCAPE.sub(lambda found: _ESCAPES[found[0]], value) for label, value in _LABEL.findall(rest)}
    inside = _INSIDE.match(rest)
    return name.strip() or (inside[1] if inside else ""), identity(labels)


_LABEL = re.compile(r'([^\s,{="]+|"(?:[^"\\]|\\.)*")\s*=\s*"((?:[^"\\]|\\.)*+)"')
_INSIDE = re.compile(r'\s*"((?:[^"\\]|\\.)*+)"\s*[,}]')
_ESCAPES = {r"\\": "\\", r"\n": "\n", r"\"": '"'}
_ESCAPE = re.compile(r'\\[\\n"]')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"')
_SUFFIXES = ("_total", "_created", "_bucket", "_sum", "_count", "_info", "_gsum", "_gcount")


def _lines(text: str, name: str) -> Iterator[str]:
    """The lines of a metric's family, in order. Finding a word is much cheaper than looking at every line."""
    stem, ours = stem_of(name), _family(name)
    place = text.find(stem)
    while place >= 0:
        start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        end = len(text) if end < 0 else end
        if ours.match(text, start, end):
            yield text[start:end]
        place = text.find(stem, end)


def stem_of(name: str) -> str:
    """What all names of a metric's family begin with.

    >>> stem_of("hits_total"), stem_of("hits"), stem_of("_total")
    ('hits', 'hits', '_total')
    """
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name) or name


@lru_cache(maxsize=1024)
def _family(name: str) -> re.Pattern[str]:
    """How a line of a metric's family begins: what is said of it, or a sample."""
    families = "|".join(sorted({re.escape(name), re.escape(stem_of(name))}, key=len, reverse=True))
    one = f"(?:{families})(?:{'|'.join(_SUFFIXES)})?"
    # Since UTF-8 names there is a second way to write a name: as the first thing within the braces.
    line = rf'[ \t]*(?:#[ \t]+(?:TYPE|HELP|UNIT)[ \t]+{one}[ \t]|{one}[ \t]*[ \t{{]|\{{[ \t]*"{one}"[ \t]*[,}}])'
    return re.compile(line)
