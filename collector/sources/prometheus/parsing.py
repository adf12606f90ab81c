"""Decode answers of Prometheus' query API as numbers with their time. Pure.

Results:

* an answer whose HTTP status is not 200: never a number, whatever its body; only an error text;
* a duplicate series: AMBIGUOUS;
* an error: MALFORMED with the server's words if the query is wrong (``bad_data``, ``execution``), UNREACHABLE if the
server cannot answer it now (``timeout``, ``unavailable``, ``canceled``, ``internal``);
* a warning, a partial response (VictoriaMetrics' ``isPartial``), or an info about omitted samples: INCOMPLETE. Infos
that only comment on the query are ignored;
* text, a native histogram, NaN or an infinity instead of a number: MALFORMED;
* nothing: NO_SUCH_COUNTER. An empty answer is absence, never zero, even if rows are counted.

Source: https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collector.clients.http.client import HttpFailure, refused
from collector.parsing import DECODER, loads, number
from collector.samples import Reply

STAMP = "trimtab_stamp"
"""The label of series whose value is the time of another series' newest sample."""


_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PromSeries:
    """One series of an answer."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]
    """(seconds since the epoch by the server's clock, value), oldest first; at least one."""
    newest: float
    """When its newest sample was taken, by the server's clock, as far as the server reports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromSeriesSet:
    """An answer."""

    lines: Sequence[PromSeries]
    over_time: bool
    """Whether the points of one series are to be combined; else several series are."""


def decode(body: bytes, status: int = _OK) -> PromSeriesSet | HttpFailure:
    r"""Decode an answer to a query, with its HTTP status.

    >>> decode(b'{"status":"success","data":{"resultType":"scalar","result":[1795240836.2,"42"]}}').lines
    (PromSeries(labels={}, points=((1795240836.2, 42.0),), newest=1795240836.2),)
    >>> vector = b'{"status":"success","data":{"resultType":"vector","result":[%s]}}'
    >>> load = b'{"metric":{"__name__":"load","q":"a"},"value":[1795240836.2,"5"]}'
    >>> its_time = b'{"metric":{"q":"a","trimtab_stamp":"1"},"value":[1795240836.2,"1795240834.1"]}'
    >>> decode(vector % (load + b"," + its_time)).lines[0].newest
    1795240834.1
    >>> decode(vector % b"").lines
    ()
    >>> failed = b'{"status":"error","errorType":"bad_data","error":"1:5: parse error: unclosed left parenthesis"}'
    >>> decode(failed).detail
    'bad_data: 1:5: parse error: unclosed left parenthesis'
    """
    try:
        document = _document(body.decode())
        if document["status"] != "success" or status != _OK:
            return _error(document) if document["status"] != "success" else refused(status)
        if (partial := _partial(document)) is not None:
            return HttpFailure(reply=Reply.INCOMPLETE, detail=partial)
        data = document["data"]
        lines = _stamped(tuple(_lines(data["resultType"], data["result"])))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        detail = "the endpoint is not Prometheus' query API"
        return HttpFailure(reply=Reply.MALFORMED, detail=detail) if status == _OK else refused(status)
    return _odd(lines, data["resultType"]) or PromSeriesSet(lines=lines, over_time=data["resultType"] == "matrix")


def _odd(lines: Sequence[PromSeries], kind: str) -> HttpFailure | None:
    """Return why the decoded answer is unusable."""
    if len({_series(line) for line in lines}) < len(lines):
        return HttpFailure(reply=Reply.AMBIGUOUS, detail="a series occurs twice")
    if lines and kind == "string":
        return HttpFailure(reply=Reply.MALFORMED, detail="the query returns text, not a number")
    return None


_KINDS: Mapping[str, Reply] = {
    "bad_data": Reply.MALFORMED,
    "execution": Reply.MALFORMED,
    "not_acceptable": Reply.MALFORMED,
    "too_many_requests": Reply.RATE_LIMITED,
}


def _error(document: Mapping[str, Any]) -> HttpFailure:
    kind = str(document["errorType"])
    return HttpFailure(reply=_KINDS.get(kind, Reply.UNREACHABLE), detail=f"{kind}: {document['error']}")


_COMMENTS = ("metric might not be a counter", "input to histogram_quantile needed to be fixed for monotonicity")
"""Infos on a complete answer. Source: Prometheus, util/annotations."""


def _partial(document: Mapping[str, Any]) -> str | None:
    """Why the answer is incomplete, in the server's words."""
    if document.get("isPartial") is True:
        return "a partial response"
    warnings = [str(warning) for warning in document.get("warnings") or ()]
    dropped = [
        str(info) for info in document.get("infos") or () if not any(comment in str(info) for comment in _COMMENTS)
    ]
    return next(iter(warnings + dropped), None)


def _lines(kind: str, result: Any) -> Iterable[PromSeries]:  # noqa: ANN401  JSON as it came
    if kind in {"scalar", "string"}:
        at, value = result
        yield _line({}, [(at, value if kind == "scalar" else "nan")])
        return
    for each in result:
        points = each["values"] if kind == "matrix" else [each["value"]] if "value" in each else [(0, "nan")]
        if points:
            yield _line(each["metric"], points)


def _line(labels: Mapping[str, str], written: Sequence[tuple[float, str]]) -> PromSeries:
    """Read one series. Raises what `decode` catches."""
    points, named = tuple((float(at), _value(value)) for at, value in written), dict(labels)
    if not all(isinstance(label, str) for label in named.values()):
        raise ValueError("a label is not a text")
    return PromSeries(labels=named, points=points, newest=points[-1][0])


def _value(written: str) -> float:
    """Read a number in Prometheus' notation; stricter than ``float``, which reads the digits of every script.

    Raises:
        ValueError: the text is not a number.
    """
    if written in _NO_NUMBERS:
        return float(written)
    value = number(written)
    if isinstance(value, Reply):
        raise ValueError("not a number in Prometheus' notation")
    return value


_NO_NUMBERS = frozenset({"NaN", "nan", "+Inf", "-Inf"})


def _stamped(lines: Sequence[PromSeries]) -> Sequence[PromSeries]:
    """Give every series the time of its newest sample, if the answer has it.

    Raises:
        ValueError: a time is unreadable; without it an old sample would pass for a new one.
    """
    stamped = [line for line in lines if STAMP in line.labels]
    stamps = {_identity(line): line.points[-1][1] for line in stamped}
    if len(stamps) < len(stamped):
        raise ValueError("a series has two times")
    if not all(map(math.isfinite, stamps.values())):
        raise ValueError("a sample's time is not a number")
    if not stamps:
        return lines
    return tuple(
        PromSeries(labels=line.labels, points=line.points, newest=stamps.get(_identity(line), line.newest))
        for line in lines
        if STAMP not in line.labels
    )


def _series(line: PromSeries) -> frozenset[tuple[str, str]]:
    return frozenset(line.labels.items())


def _identity(line: PromSeries) -> frozenset[tuple[str, str]]:
    """Return a series' labels without its name, which functions remove."""
    return frozenset((name, value) for name, value in line.labels.items() if name not in {STAMP, "__name__"})


_LONG = 256 * 1024
_RESULT = re.compile(r'(?<!\\)"result"\s*:\s*\[\s*(?=\{)')
_NEXT = re.compile(r"\s*,\s*")


def _document(text: str) -> Any:  # noqa: ANN401  JSON as it came
    """Parse an answer; a long one series by series, so that other threads get a turn in between.

    Raises:
        ValueError: it is not JSON.
    """
    found = _RESULT.search(text) if len(text) > _LONG else None
    if found is None:
        return loads(text)
    series, place = [], found.end()
    while True:
        one, end = DECODER.raw_decode(text, place)
        series.append(one)
        more = _NEXT.match(text, end)
        if more is None:
            break
        place = more.end()
    document = loads(text[: found.end()] + text[end:])
    document["data"]["result"] = series
    return document
