"""Decode samples in OpenMetrics or Prometheus text, with the parsers of prometheus-client. Pure.

A page has thousands of samples, one is needed, and parsing costs 11 µs each. So only the lines of the metric's family
are parsed, its type included; the parser's result is the same as for the whole page.

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
"""Samples of one metric: parsing so many takes 0.1 s of processor time."""
_MOST_LINES = MOST_SAMPLES + 100
"""Lines of a metric, its comments included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample."""

    name: str
    labels: Mapping[str, str]
    value: float
    taken: float | None
    """Its time, in seconds since the epoch by the server's clock; ``None``: it has none."""


class FamilySamples(NamedTuple):
    """The samples of one family."""

    all: Sequence[Sample]
    twice: frozenset[tuple[str, str]]
    """Names and label `identity` of duplicate samples: which of them is right cannot be known."""


def samples_of(body: bytes, content_type: str, name: str) -> FamilySamples | HttpFailure:
    r"""Decode the samples of a metric's family; other families may be broken.

    >>> page = b"# TYPE hits counter\nhits_total 7\nhits_created 1.7e9\n# TYPE x gauge\nx 1\n# EOF\n"
    >>> [(sample.name, sample.value) for sample in samples_of(page, OPENMETRICS, "hits_total").all]
    [('hits_total', 7.0), ('hits_created', 1700000000.0)]
    >>> samples_of(b"load 1\nload 2\n# EOF\n", OPENMETRICS, "load").twice
    frozenset({('load', '[]')})
    >>> samples_of(page[:-6], OPENMETRICS, "hits_total").detail
    'the page is cut short: it does not end with # EOF'
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _OTHERS:
        return HttpFailure(reply=Reply.MALFORMED, detail=f"the page is {kind}, not metrics")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return HttpFailure(reply=Reply.MALFORMED, detail="the page is not UTF-8")
    if kind == OPENMETRICS:
        return _openmetrics(text, name)
    lines = list(islice(_lines(text, name), _MOST_LINES))
    if lines and not text.endswith("\n") and text.endswith(lines[-1]):
        return HttpFailure(reply=Reply.INCOMPLETE, detail="the page is cut short: its last line is incomplete")
    return _parsed(text_string_to_metric_families, lines)


def _openmetrics(text: str, name: str) -> FamilySamples | HttpFailure:
    if text.rstrip("\n").rpartition("\n")[2] != _END:
        return HttpFailure(reply=Reply.INCOMPLETE, detail=f"the page is cut short: it does not end with {_END}")
    lines = [*islice(_lines(text, name), _MOST_LINES), _END]
    if any(_unspaced(line) for line in lines):
        detail = f"invalid metrics text: no space between labels and value of {name}"
        return HttpFailure(reply=Reply.MALFORMED, detail=detail)
    return _parsed(openmetrics.text_string_to_metric_families, lines)


def _unspaced(line: str) -> bool:
    """Return whether no space follows the labels: the parser skips that character, so it would read .5 as 5."""
    return not line.startswith("#") and "}" in line and _UNSPACED.search(_QUOTED.sub("", line)) is not None


def _parsed(parse: Callable[[str], Iterable[Metric]], lines: Sequence[str]) -> FamilySamples | HttpFailure:
    if not all(line.isascii() or _QUOTED.sub("", line).isascii() for line in lines):
        # The parsers read numbers as Python does, in the digits of every script.
        return HttpFailure(reply=Reply.MALFORMED, detail="invalid metrics text: non-ASCII characters outside of labels")
    written = [line for line in lines if not line.lstrip().startswith("#")]
    if len(written) > MOST_SAMPLES:
        return HttpFailure(reply=Reply.MALFORMED, detail=f"the metric has more than {MOST_SAMPLES:,} samples")
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
        return HttpFailure(reply=Reply.MALFORMED, detail=f"invalid metrics text: {error}")
    named = [(sample.name, identity(sample.labels)) for sample in samples]
    if len(samples) < len(written):  # the parser of OpenMetrics drops duplicates
        named = [_named(line) for line in written]
    return FamilySamples(samples, frozenset(each for each, count in Counter(named).items() if count > 1))


def identity(labels: Mapping[str, str]) -> str:
    """Return the identity of a series among those of its name, independent of the order of labels."""
    return repr(sorted(labels.items()))


def _named(line: str) -> tuple[str, str]:
    """Return the name and label identity of a line that the parser accepts; the name may be within the braces."""
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
_UNSPACED = re.compile(r"\}(?! )")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"')
_SUFFIXES = ("_total", "_created", "_bucket", "_sum", "_count", "_info", "_gsum", "_gcount")


def _lines(text: str, name: str) -> Iterator[str]:
    """Yield the lines of a metric's family, in order. A text search is much cheaper than a look at every line."""
    stem, ours = stem_of(name), _family(name)
    place = text.find(stem)
    while place >= 0:
        start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        end = len(text) if end < 0 else end
        if ours.match(text, start, end):
            yield text[start:end]
        place = text.find(stem, end)


def stem_of(name: str) -> str:
    """Return the common prefix of all names in a metric's family.

    >>> stem_of("hits_total"), stem_of("hits"), stem_of("_total")
    ('hits', 'hits', '_total')
    """
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name) or name


@lru_cache(maxsize=1024)
def _family(name: str) -> re.Pattern[str]:
    """Return the pattern of the first part of a family's lines: comments and samples."""
    families = "|".join(sorted({re.escape(name), re.escape(stem_of(name))}, key=len, reverse=True))
    one = f"(?:{families})(?:{'|'.join(_SUFFIXES)})?"
    # UTF-8 names have a second form: the name is the first entry within the braces.
    line = rf'[ \t]*(?:#[ \t]+(?:TYPE|HELP|UNIT)[ \t]+{one}[ \t]|{one}[ \t]*[ \t{{]|\{{[ \t]*"{one}"[ \t]*[,}}])'
    return re.compile(line)
