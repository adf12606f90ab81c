"""Queries that leave out series which were zero all the time, where absence says the same and less is to be read."""

from __future__ import annotations

from grafana.build.panels import Ask


def ever(selector: str, legend: str, *by: str) -> Ask:
    """Gauges that were above zero at any time of what is shown; their zeros in between are kept."""
    shown, most = selector, f"max_over_time({selector}[$__range] @ end())"
    return Ask(_if_any(_summed(shown, by), _summed(most, by)), legend)


def flowing(selector: str, legend: str, *by: str) -> Ask:
    """Rates of counters that rose at any time of what is shown."""
    shown, most = f"rate({selector}[$__rate_interval])", f"increase({selector}[$__range] @ end())"
    return Ask(_if_any(_summed(shown, by), _summed(most, by)), legend)


def events(selector: str, legend: str, *by: str) -> Ask:
    """How often something happened, where it did: for bars, which need no zeros in between."""
    return Ask(f"{_summed(f'increase({selector}[$__rate_interval])', by)} > 0", legend)


def _if_any(shown: str, most: str) -> str:
    return f"{shown} and {most} > 0"


def _summed(query: str, by: tuple[str, ...]) -> str:
    return f"sum by ({', '.join(by)}) ({query})" if by else query
