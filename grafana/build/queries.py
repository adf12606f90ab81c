"""Queries over gauges, rates and histograms of seconds, and one that ranks the conditions of groups, worst highest.

Series that were zero all the time are left out where absence says the same and less is to be read.
"""

from __future__ import annotations

from grafana.build.frame import HERE
from grafana.build.panels import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, YELLOW, PanelQuery
from handler.planning.status import BY_SEVERITY, GroupCondition


def ever(selector: str, legend: str, *by: str) -> PanelQuery:
    """Gauges that were above zero at any time of what is shown; their zeros in between are kept."""
    shown, most = selector, f"max_over_time({selector}[$__range] @ end())"
    return PanelQuery(_if_any(_summed(shown, by), _summed(most, by)), legend)


def flowing(selector: str, legend: str, *by: str) -> PanelQuery:
    """Rates of counters that rose at any time of what is shown."""
    shown, most = f"rate({selector}[$__rate_interval])", f"increase({selector}[$__range] @ end())"
    return PanelQuery(_if_any(_summed(shown, by), _summed(most, by)), legend)


def events(selector: str, legend: str, *by: str) -> PanelQuery:
    """How often something happened, where it did: for bars, which need no zeros in between."""
    return PanelQuery(f"{_summed(f'increase({selector}[$__rate_interval])', by)} > 0", legend)


def _if_any(shown: str, most: str) -> str:
    return f"{shown} and {most} > 0"


def _summed(query: str, by: tuple[str, ...]) -> str:
    return f"sum by ({', '.join(by)}) ({query})" if by else query


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


_RANKS = {condition: rank for rank, condition in enumerate(reversed(BY_SEVERITY), start=1)}
_COLOURS = {
    GroupCondition.RUNNING: GREEN,
    GroupCondition.COOLDOWN: BLUE,
    GroupCondition.SCALING: YELLOW,
    GroupCondition.STARTING: PURPLE,
    GroupCondition.PAUSED: GREY,
    GroupCondition.WARNING: ORANGE,
    GroupCondition.ERROR: RED,
    GroupCondition.ORPHANED: GREY,
    GroupCondition.DELETING: GREY,
}
STATES = {rank: (condition.value, _COLOURS[condition]) for condition, rank in _RANKS.items()}
"""Rank → (word, colour)."""


def rank(selector: str) -> str:
    """A query: the rank of each group's condition."""
    cases = (
        f'trimtab_group_condition{{{selector}, condition="{condition.value}"}} * {number}'
        for condition, number in sorted(_RANKS.items(), key=lambda item: item[1])
    )
    return f"max by (instance, group) ({' or '.join(cases)})"
