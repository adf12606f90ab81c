"""Write metrics in Prometheus's text format (version 0.0.4), for names and labels that need no checking: our own.

prometheus-client's writer checks every name of every sample with regular expressions, which is two thirds of its time;
thousands of groups have a hundred samples each. Of those, each group's lines are kept until they change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from prometheus_client import Metric


class TextMetrics(Protocol):
    """Metrics that write their own text."""

    def texts(self) -> Iterator[str]:
        """Yield the text of the families, each after its header."""
        ...


def exposition(families: Iterable[Metric]) -> bytes:
    """Write these families, in their order."""
    return "".join(line for family in families for line in _lines_of(family)).encode()


def header(name: str, kind: str, documentation: str) -> str:
    """Write what comes before the samples of a family; the name of a counter ends with ``_total``."""
    return f"# HELP {name} {_escaped(documentation)}\n# TYPE {name} {kind}\n"


def series(name: str, labels: Sequence[str], values: Sequence[str]) -> str:
    """Write what comes before the value of a sample."""
    pairs = ",".join([f'{label}="{_quoted(value)}"' for label, value in zip(labels, values, strict=True)])
    return f"{name}{{{pairs}}} " if pairs else f"{name} "


def figure(value: float) -> str:
    """Write the value of a sample.

    >>> figure(1), figure(float("inf"))
    ('1.0', '+Inf')
    """
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _lines_of(family: Metric) -> Iterator[str]:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    yield header(name, family.type, family.documentation)
    for sample in family.samples:
        yield f"{series(sample.name, [*sample.labels], [*sample.labels.values()])}{figure(sample.value)}\n"


def _quoted(value: str) -> str:
    return _escaped(value).replace('"', '\\"') if '"' in value or "\\" in value or "\n" in value else value


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
