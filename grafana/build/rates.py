"""Queries over histograms of seconds."""

from __future__ import annotations

from grafana.build.frame import HERE


def quantile(share: float, name: str, *by: str) -> str:
    """The time within which this share of events ended; ``name`` without prefix and unit."""
    labels = ", ".join((*by, "le"))
    return f"histogram_quantile({share}, sum by ({labels}) (rate({_series(name, 'bucket')}[$__rate_interval])))"


def mean(name: str) -> str:
    """How long an event took on average."""
    total, count = (f"sum(rate({_series(name, part)}[$__rate_interval]))" for part in ("sum", "count"))
    return f"{total} / {count}"


def beyond(seconds: float, name: str) -> str:
    """The share of events that took longer; ``seconds`` is the edge of a bucket."""
    within = f'sum(rate(trimtab_{name}_seconds_bucket{{{HERE}, le="{seconds}"}}[$__rate_interval]))'
    return f"1 - {within} / sum(rate({_series(name, 'count')}[$__rate_interval]))"


def _series(name: str, part: str) -> str:
    return f"trimtab_{name}_seconds_{part}{{{HERE}}}"
