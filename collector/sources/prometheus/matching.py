"""Match the series of Prometheus' answer with members, and combine them into readings. Pure."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from collector.clients.http.client import HttpFailure
from collector.samples import AHEAD_AT_MOST, Reply, Series
from collector.sources.prometheus.parsing import PromSeries, PromSeriesSet
from collector.sources.reducing import RowNumber
from collector.targets import MemberTarget
from config.model.counters import Counter
from config.model.reductions import Reduce
from config.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRow:
    """One row of the sheet that an answer fills."""

    index: int
    series: Series
    counter: Counter
    interval: Seconds
    """Between two polls of the group."""
    limit: Seconds
    """How old the newest sample may be."""
    member: MemberTarget | None
    """``None``: the whole group."""
    label: str
    """The label that names the member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedValue:
    """An answer's value for a row of the sheet."""

    rows: Sequence[RowNumber]
    """At least one."""
    newest: float
    """The oldest of its series' newest samples, by the server's clock."""
    age: Seconds
    """Age of that sample when the query was evaluated, by the same clock."""


def fulfilled(
    rows: Iterable[QueryRow], answer: PromSeriesSet, evaluated: float | None, there: float = math.inf
) -> list[tuple[QueryRow, MatchedValue | HttpFailure]]:
    """Return the value or failure of every row.

    Args:
        rows: the rows that this query fills.
        answer: the answer to it.
        evaluated: the instant that the query was evaluated for, by the server's clock; ``None``: the answer's own.
        there: the server's time when the answer arrived, as the server reports it.
    """
    newest = max((line.points[-1][0] for line in answer.lines), default=0.0)
    clock = _Clock(evaluated=newest if evaluated is None else evaluated, there=there)
    directories: dict[str, _Directory] = {}
    done: list[tuple[QueryRow, MatchedValue | HttpFailure]] = []
    for row in rows:
        if row.member is None:
            done.append((row, _found(row, answer.lines, answer.over_time, clock)))
            continue
        if row.label not in directories:
            directories[row.label] = _directory(answer.lines, row.label)
        mine = directories[row.label].of(row.member)
        found = _found(row, mine, answer.over_time, clock) if mine else _no_series(row, answer)
        done.append((row, found))
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    """The server's clock."""

    evaluated: float
    """The instant that the query was evaluated for."""
    there: float
    """When it answered, as it reports; infinite: it does not report it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Directory:
    """An answer's series by the member in their label."""

    by_name: Mapping[str, Sequence[PromSeries]] = field(repr=False)
    by_address: Mapping[str, Sequence[PromSeries]] = field(repr=False)

    def of(self, member: MemberTarget) -> Sequence[PromSeries]:
        """Return the series of a member; one with both its name and its address counts once."""
        named = self.by_name.get(member.name, ())
        addressed = self.by_address.get(_canonical(member.address), ()) if member.address else ()
        return [*named, *(line for line in addressed if line not in named)] if named else addressed


def _directory(lines: Iterable[PromSeries], label: str) -> _Directory:
    by_name: dict[str, list[PromSeries]] = {}
    by_address: dict[str, list[PromSeries]] = {}
    for line in lines:
        host = host_of(line.labels.get(label, ""))
        if host:
            by_name.setdefault(host, []).append(line)
            by_address.setdefault(_canonical(host), []).append(line)
    return _Directory(by_name=by_name, by_address=by_address)


def host_of(instance: str) -> str:
    """Return the name or address in a label such as ``instance``, without a port.

    >>> [host_of(one) for one in ("web-1", "web-1:9100", "10.0.0.1:9100", "[2001:db8::1]:9100", "2001:db8::1")]
    ['web-1', 'web-1', '10.0.0.1', '2001:db8::1', '2001:db8::1']
    """
    if instance.startswith("["):
        return instance[1:].partition("]")[0]
    return instance.partition(":")[0] if instance.count(":") == 1 else instance


def _canonical(host: str) -> str:
    """Return the canonical spelling of an IPv6 address."""
    if ":" not in host:
        return host
    try:
        return ipaddress.ip_address(host).compressed
    except ValueError:
        return host


def _found(row: QueryRow, lines: Sequence[PromSeries], over_time: bool, clock: _Clock) -> MatchedValue | HttpFailure:
    if not lines:
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="the query finds nothing")
    if len(lines) > 1 and over_time:
        return HttpFailure(reply=Reply.AMBIGUOUS, detail=f"{len(lines)} series, each with points over time")
    if len(lines) > 1 and row.counter.rows is Reduce.LAST:
        return HttpFailure(reply=Reply.AMBIGUOUS, detail=f"{len(lines)} series, and none is the newest")
    ahead = max(max(line.newest, line.points[-1][0]) for line in lines) - min(clock.evaluated, clock.there)
    if ahead > AHEAD_AT_MOST:
        return HttpFailure(reply=Reply.FUTURE, detail=f"its sample is {ahead:.0f} s ahead of the server's clock")
    newest = min(line.newest for line in lines)
    age = max(clock.evaluated - newest, 0.0)
    if age > row.limit:
        return HttpFailure(reply=Reply.STALE, detail=f"its newest sample is {age:.0f} s old")
    return MatchedValue(rows=[*_rows(lines)], newest=newest, age=age)


def _rows(lines: Iterable[PromSeries]) -> Iterator[RowNumber]:
    for line in lines:
        name = repr(sorted(line.labels.items()))
        yield from (RowNumber(value, name) for _, value in line.points)


def _no_series(row: QueryRow, answer: PromSeriesSet) -> HttpFailure:
    if row.member is None or not answer.lines:
        detail = "the query finds nothing"
    elif not any(row.label in line.labels for line in answer.lines):
        detail = f"no series has a label {row.label}"
    else:
        detail = f"no series has {row.label} {row.member.name}, or {row.member.address} with or without a port"
    return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=detail)
