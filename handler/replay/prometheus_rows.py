"""Turn range queries of Prometheus into a series: the readings of a poll at each of these instants. Pure.

# Note [What Prometheus kept]

Only counters whose source is Prometheus are read, by their own queries. Trimtab's own metrics are not a series: they
have aggregates, and no readings of members.

** Prometheus does not record the members. So every value of the counter's label is a member, from the first instant at
  which a series names it until the last. **A gap in between is silence**: the member was asked and did not answer.
** A value per group is read at every instant; where the query finds nothing, there was no answer.
* A value that is too old, ambiguous or not a number is treated as it is live, by the same code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from collector.samples import Floats, Reply, Series
from collector.sources.prometheus.matching import MatchedValue, QueryRow, fulfilled, host_of
from collector.sources.prometheus.parsing import PromSeries, PromSeriesSet
from collector.sources.prometheus.questions import for_group
from collector.sources.reducing import ReducedRows, Reducer
from collector.targets import MemberTarget, counters_of
from config.model.catalogue import Catalogue, Group
from config.model.counters import Counter, PrometheusQuery
from config.units import CounterId, GroupId, MemberName
from handler.replay.samples import Samples, Unreplayable, Words, nothing

POINTS = 5_000
"""Points for each response and series; Prometheus refuses more than 11,000."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranged:
    """One counter of one group, to be queried over time."""

    group: Group
    counter: Counter
    query: str
    label: str | None
    """The label that names the member; ``None``: a value per group."""
    grid: Floats
    """(tick,) the instants of its polls: seconds since the epoch."""

    def pages(self) -> Iterator[tuple[float, float]]:
        """Yield the first and last evaluation instant of each query."""
        for first in range(0, len(self.grid), POINTS):
            page = self.grid[first : first + POINTS] - self.counter.lag
            yield float(page[0]), float(page[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """The responses of Prometheus, over all pages."""

    lines: Sequence[PromSeries]
    stamps: Sequence[PromSeries]
    """The times of the samples as values, where the query is a plain series; else empty."""


def ranged(
    catalogue: Catalogue, groups: Sequence[GroupId], since: float, until: float
) -> tuple[tuple[Ranged, ...], tuple[str, ...]]:
    """Return the queries for these groups, and caveats on counters without one.

    Raises:
        Unreplayable: no counter can be queried; or one query finds the members of several groups.
    """
    asked: list[Ranged] = []
    caveats: list[str] = []
    for name in groups:
        group = catalogue.groups[name]
        for counter in (catalogue.counters[each] for each in counters_of(catalogue, name)):
            source = counter.source
            if not isinstance(source, PrometheusQuery) or source.over is not None:
                why = "over is not replayed" if isinstance(source, PrometheusQuery) else "Prometheus is not its source"
                caveats.append(f"{name}: {counter.id} is left out: {why}")
                continue
            grid = np.arange(since, until, group.interval)
            query = for_group(source.query, name)
            asked.append(Ranged(group=group, counter=counter, query=query, label=source.label, grid=grid))
    if not asked:
        raise Unreplayable("no policy of these groups reads a counter whose source is Prometheus")
    _require_distinct(asked)
    return tuple(asked), tuple(caveats)


def _require_distinct(asked: Sequence[Ranged]) -> None:
    by_query: dict[str, GroupId] = {}
    for each in asked:
        other = by_query.setdefault(each.query, each.group.id)
        if each.label is not None and other != each.group.id:
            raise Unreplayable(
                f"counter {each.counter.id}: its query finds the members of {other} and {each.group.id} alike; put "
                "$group into it, or choose one with --group"
            )


def samples_of(found: Mapping[Ranged, QueryResult]) -> Samples:
    """Make the rows of a series. See Note [What Prometheus kept].

    Raises:
        Unreplayable: there is no value.
    """
    members: dict[GroupId, dict[str, tuple[int, int]]] = {}
    for asked, answered in found.items():
        _note_members(asked, answered, members.setdefault(asked.group.id, {}))
    rows = [row for asked, answered in found.items() for row in _rows(asked, answered, members[asked.group.id])]
    if not any(row.reply is Reply.OK for row in rows):
        raise Unreplayable("Prometheus has no value of these counters between --since and --until")
    return _columns(rows)


@dataclass(frozen=True, slots=True)
class _Row:
    at: float
    series: Series
    reply: Reply
    value: float = 0.0
    replied_at: float = np.nan
    uptime: float = np.nan


def _note_members(asked: Ranged, answered: QueryResult, seen: dict[str, tuple[int, int]]) -> None:
    if asked.label is None:
        return
    for line in answered.lines:
        name = host_of(line.labels.get(asked.label, ""))
        if name:
            first, last = _place(asked, line.points[0][0]), _place(asked, line.points[-1][0])
            begun, ended = seen.get(name, (first, last))
            seen[name] = min(begun, first), max(ended, last)


def _place(asked: Ranged, evaluated: float) -> int:
    return round((evaluated + asked.counter.lag - float(asked.grid[0])) / asked.group.interval)


def _rows(asked: Ranged, answered: QueryResult, members: Mapping[str, tuple[int, int]]) -> Iterator[_Row]:
    reducer, group, counter = Reducer(), asked.group, asked.counter
    named = members if asked.label is not None else {None: (0, len(asked.grid) - 1)}
    rows = [
        (first, last, _query_row(asked, None if name is None else MemberName(name)))
        for name, (first, last) in sorted(named.items(), key=lambda pair: pair[0] or "")
    ]
    at_tick = _by_tick(asked, answered)
    for tick, at in enumerate(asked.grid.tolist()):
        due = [row for first, last, row in rows if first <= tick <= last]
        answer = PromSeriesSet(lines=at_tick.get(tick, ()), over_time=False)
        for row, one in fulfilled(due, answer, at - counter.lag):
            if isinstance(one, MatchedValue):
                sampled = at - counter.lag - one.age
                reading = reducer.reading(row.series, counter, one.rows, at=sampled, interval=group.interval)
                if isinstance(reading, ReducedRows) and np.isfinite(reading.value):
                    yield _Row(at, row.series, Reply.OK, reading.value, sampled, reading.uptime)
                else:
                    yield _Row(at, row.series, Reply.MALFORMED if isinstance(reading, ReducedRows) else reading.reply)
            else:
                yield _Row(at, row.series, one.reply)


def _query_row(asked: Ranged, member: MemberName | None) -> QueryRow:
    return QueryRow(
        index=0,
        series=Series(asked.group.id, asked.counter.id, member),
        counter=asked.counter,
        interval=asked.group.interval,
        limit=asked.group.freshness * asked.group.interval,
        member=None if member is None else MemberTarget(name=member, address="", counted=True),
        label=asked.label or "",
    )


def _by_tick(asked: Ranged, answered: QueryResult) -> Mapping[int, Sequence[PromSeries]]:
    stamps: dict[frozenset[tuple[str, str]], dict[float, float]] = {}
    for line in answered.stamps:
        stamps.setdefault(_identity(line), {}).update(line.points)
    found: dict[int, list[PromSeries]] = {}
    for line in answered.lines:
        sampled = stamps.get(_identity(line), {})
        for evaluated, value in line.points:
            newest = min(sampled.get(evaluated, evaluated), evaluated)
            one = PromSeries(labels=line.labels, points=((evaluated, value),), newest=newest)
            found.setdefault(_place(asked, evaluated), []).append(one)
    return found


def _identity(line: PromSeries) -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in line.labels.items() if name != "__name__")


def _columns(rows: Sequence[_Row]) -> Samples:
    count = len(rows)
    return Samples(
        group=_words([row.series.group for row in rows]),
        member=_words([row.series.member for row in rows]),
        counter=_words([row.series.counter for row in rows]),
        at=np.array([row.at for row in rows]),
        value=np.array([row.value for row in rows]),
        reply=np.array([row.reply for row in rows], dtype=np.uint8),
        counted=np.ones(count, dtype=np.bool_),
        steady=nothing(count),
        replied_at=np.array([row.replied_at for row in rows]),
        uptime=np.array([row.uptime for row in rows]),
    )


def _words(column: Sequence[GroupId | CounterId | MemberName | None]) -> Words:
    places: dict[str, int] = {}
    codes = [-1 if word is None else places.setdefault(word, len(places)) for word in column]
    return Words(codes=np.array(codes, dtype=np.int32), words=tuple(places))
