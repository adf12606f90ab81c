"""How a metric that Gnocchi keeps is written."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import PlainValidator

from config.counters.cloud_measures import GNOCCHI_METRICS
from config.counters.objects import ObjectShape
from config.document.declared import Declared, key, must, worded
from config.document.scalars import PositiveSpan
from config.model.counters import CounterKind, GnocchiMetric

_METRIC = r"[^/\s]{1,255}"
_LEVELS = frozenset({"mean", "min", "max", "first", "last", "median"})
_AGGREGATION = r"(rate:)?(mean|min|max|sum|first|last|median|std|count|[1-9][0-9]?pct)"


def read_metric_name(value: object) -> str:
    """Read the name of a metric of Gnocchi, as Ceilometer calls it.

    Raises:
        ValueError: says what was expected.
    """
    if isinstance(value, str) and re.fullmatch(_METRIC, value):
        return value
    raise ValueError("the name of a metric of Gnocchi, such as memory.usage: no slash, no blanks")


def read_aggregation(value: object) -> str:
    """Read an aggregation method of an archive policy.

    Raises:
        ValueError: says what was expected.
    """
    if isinstance(value, str) and re.fullmatch(_AGGREGATION, value):
        return value
    raise ValueError("an aggregation method of Gnocchi, such as mean, max, 95pct or rate:mean")


MetricOfResource = Annotated[
    str, PlainValidator(read_metric_name), worded("name of a metric", type="string", pattern=f"^{_METRIC}$")
]
Aggregation = Annotated[
    str,
    PlainValidator(read_aggregation),
    worded("aggregation method of Gnocchi", type="string", pattern=f"^{_AGGREGATION}$"),
]


class GnocchiCounterDocument(Declared):
    """A metric of every member's server, as Gnocchi keeps it: one value a period of its archive policy."""

    metric: MetricOfResource = must("The name of a metric of the server's own resource.", "memory.usage")
    aggregation: Aggregation = key(
        "How the samples of a period become its value, as the metric's archive policy has it.", "mean", default="mean"
    )
    granularity: PositiveSpan = must("How long a period is, as the metric's archive policy has it.", "5m")

    @property
    def meant(self) -> GnocchiMetric:
        """As the core sees it."""
        return GnocchiMetric(name=self.metric, aggregation=self.aggregation, granularity=self.granularity)

    @property
    def shape(self) -> ObjectShape | None:
        """What is known of its values; ``None``: they are not what was sampled, but a difference, a sum, a count."""
        return GNOCCHI_METRICS.get(self.metric) if self.aggregation in _LEVELS else None

    def misread(self, kind: CounterKind | None) -> str | None:
        """What is wrong with the kind that is written; ``None``: nothing."""
        if kind is CounterKind.RISING and self.aggregation not in _LEVELS:
            return f"{self.aggregation} is no rising count: remove kind, or write aggregation: mean"
        return None
