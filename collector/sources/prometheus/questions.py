"""Collect the queries to Prometheus, each once, with the rows that they fill. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.sources.prometheus.matching import QueryRow
from collector.sources.prometheus.parsing import STAMP
from collector.targets import Round, rows_of
from config.model.access import PrometheusServer
from config.model.catalogue import Catalogue
from config.model.counters import PrometheusQuery
from config.units import GroupId, Seconds

_POINTS = 60
"""Points of a query over time; no more than one a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query to a server; equal queries are sent once."""

    server: PrometheusServer
    text: str
    lag: Seconds
    over: Seconds | None

    @property
    def needs_time(self) -> bool:
        """Return whether the server's time is needed first."""
        return self.lag > 0 or self.over is not None or self.text.rstrip().endswith("]")


def rows_by_query(poll: Round) -> Mapping[Query, Sequence[QueryRow]]:
    """Return every query of the round, with the rows that it fills."""
    counters = poll.catalogue.counters.values()
    mine = {
        counter.id: (counter, counter.source) for counter in counters if isinstance(counter.source, PrometheusQuery)
    }
    rows: dict[Query, list[QueryRow]] = {}
    for index, name, group, member in rows_of(poll.sheet.layout, poll.targets, mine):
        counter, source = mine[name]
        query = Query(
            server=_server(poll.catalogue, source),
            text=for_group(source.query, group),
            lag=counter.lag,
            over=source.over,
        )
        declared = poll.catalogue.groups[group]
        limit = declared.freshness * declared.interval
        row = QueryRow(
            index=index,
            series=poll.sheet.layout.series[index],
            counter=counter,
            interval=declared.interval,
            limit=limit,
            member=member,
            label=source.label or "",
        )
        rows.setdefault(query, []).append(row)
    return rows


def _server(catalogue: Catalogue, source: PrometheusQuery) -> PrometheusServer:
    server = catalogue.sources[source.server]
    if not isinstance(server, PrometheusServer):
        raise AssertionError(f"{source.server} was checked to be a prometheus source, and is not")
    return server


def form_of(query: Query, now: float | None) -> tuple[str, Mapping[str, str]]:
    """Return the endpoint and the form; ``now`` is the server's time, if it was read."""
    if now is None:
        return "query", {"query": with_stamps(query.text)}
    end = now - query.lag
    if query.over is None:
        return "query", {"query": with_stamps(query.text), "time": f"{end:.3f}"}
    step = max(query.over / _POINTS, 1.0)
    # A span has as many points as steps: its first instant belongs to the span before.
    start = min(end - query.over + step, end)
    return "query_range", {"query": query.text, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}


_STRING = r'"(?:[^"\\]|\\.)*"|' r"'(?:[^'\\]|\\.)*'|`[^`]*`"
_SERIES = re.compile(rf"\s*(?!(?i:inf|nan)\b)[a-zA-Z_:][a-zA-Z0-9_:]*\s*(?:\{{(?:[^\"'`}}#]|{_STRING})*\}})?\s*")


def with_stamps(query: str) -> str:
    """Extend a query for a plain series to return the samples' times, too; leave any other query unchanged.

    The name must precede the braces: the times of several metrics would collide.

    >>> with_stamps('up{job="web"}')
    '(up{job="web"}) or label_replace(timestamp((up{job="web"})), "trimtab_stamp", "1", "", "")'
    >>> with_stamps("sum(up)"), with_stamps("up offset 5m"), with_stamps('{job="web"}'), with_stamps("42")
    ('sum(up)', 'up offset 5m', '{job="web"}', '42')
    """
    if _SERIES.fullmatch(query) is None:
        return query
    return f'({query}) or label_replace(timestamp(({query})), "{STAMP}", "1", "", "")'


_GROUP = re.compile(r"\$group\b")


def for_group(query: str, group: GroupId) -> str:
    """Insert the group's name. Its characters a-z, 0-9 and - need no escaping in strings or expressions.

    >>> for_group('sum(jobs{queue=~"$group-.*"})', GroupId("web"))
    'sum(jobs{queue=~"web-.*"})'
    """
    return _GROUP.sub(group, query)
