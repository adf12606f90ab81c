"""Decode Gnocchi's answers: the values of one metric over time, of many servers at once.

Source: Gnocchi's REST API, `Dynamic Aggregates`; the shapes are those of Gnocchi 4.7.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from collector.clients.http.failures import HttpFailure
from collector.parsing import loads
from collector.samples import Reply
from config.model.counters import GnocchiMetric
from config.units import Seconds

_MOST = 1e300
"""Larger numbers are not measurements; JSON has integers of any length."""
_PARTS = 3
"""Fields of a value: the begin and length of its period, and the value."""


class Period(NamedTuple):
    """The aggregate of one period of an archive policy."""

    end: float
    """Seconds since the epoch."""
    value: float


def question(metric: GnocchiMetric, servers: Collection[str]) -> bytes:
    """Encode the request for one metric of these servers."""
    document = {
        "resource_type": "generic",
        "search": {"in": {"id": sorted(servers)}},
        "operations": ["metric", metric.name, metric.aggregation],
    }
    return json.dumps(document).encode()


def decode(body: bytes, metric: GnocchiMetric) -> Mapping[str, Sequence[Period]] | HttpFailure:
    """Decode the periods of every server that has the metric, oldest first.

    >>> metric = GnocchiMetric(name="memory.usage", aggregation="mean", granularity=10.0)
    >>> of_one = {"memory.usage": {"mean": [["2026-11-21T18:19:20+00:00", 10.0, 113.5]]}}
    >>> decode(json.dumps({"measures": {"b06a53f2": of_one}}).encode(), metric)
    {'b06a53f2': [Period(end=1795285170.0, value=113.5)]}
    """
    try:
        document = loads(body)
    except (ValueError, RecursionError):
        return _MALFORMED
    measures = document.get("measures") if isinstance(document, dict) else None
    if not isinstance(measures, dict):
        return _MALFORMED
    found: dict[str, Sequence[Period]] = {}
    for server, metrics in measures.items():
        aggregations = metrics.get(metric.name) if isinstance(metrics, dict) else None
        listed = aggregations.get(metric.aggregation) if isinstance(aggregations, dict) else None
        periods = [_period(entry, metric.granularity) for entry in listed] if isinstance(listed, list) else [None]
        whole = [period for period in periods if period is not None]
        if len(whole) < len(periods) or len({period.end for period in whole}) < len(whole):
            return _MALFORMED
        found[server] = sorted(whole)
    return found


_MALFORMED = HttpFailure(reply=Reply.MALFORMED, detail="the answer is not Gnocchi's measures")


def _period(entry: object, granularity: Seconds) -> Period | None:
    if not isinstance(entry, list) or len(entry) != _PARTS:
        return None
    began, length, value = entry
    numbers = [each for each in (length, value) if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) < 2 or numbers[0] != granularity or not abs(numbers[1]) <= _MOST:  # noqa: PLR2004 both
        return None
    try:
        instant = datetime.fromisoformat(began) if isinstance(began, str) else None
        return None if instant is None or instant.tzinfo is None else Period(instant.timestamp() + length, float(value))
    except (ValueError, OverflowError):
        return None


def newest(periods: Sequence[Period], now: float) -> Period | None:
    """Return the last complete period; ``None``: there is none. Late samples can still change its value.

    >>> newest([Period(10.0, 1.0), Period(20.0, 2.0), Period(30.0, 3.0)], 29.0)
    Period(end=20.0, value=2.0)
    """
    return next((period for period in reversed(periods) if period.end <= now), None)
