"""Which series of Prometheus' answer is whose, and what reading it comes to. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from collector.http import Failure
from collector.samples import Reply
from collector.sources.prometheus_answers import Line, Lines
from collector.sources.reducing import reduced
from collector.targets import Member
from config.reductions import Reduce
from config.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One row of the sheet that an answer is to fill."""

    row: int
    rows: Reduce | None
    limit: Seconds
    """How old its newest sample may be."""
    member: Member | None
    """``None``: the group as a whole."""
    label: str
    """The label that names the member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A reading."""

    value: float
    age: Seconds
    """Of its oldest series' newest sample, when the query was evaluated; by the server's clock alone."""


def fulfilled(wishes: Iterable[Wish], answer: Lines, asked_for: float | None) -> list[tuple[Wish, Value | Failure]]:
    """Find the reading of every row.

    Args:
        wishes: the rows that asked this query.
        answer: to it.
        asked_for: the instant that the query was evaluated for, by the server's clock; ``None``: the answer's own.
    """
    directories: dict[str, _Directory] = {}
    done: list[tuple[Wish, Value | Failure]] = []
    for wish in wishes:
        if wish.member is None:
            done.append((wish, _reading(wish, answer.lines, answer.over_time, asked_for)))
            continue
        if wish.label not in directories:
            directories[wish.label] = _directory(answer.lines, wish.label)
        mine = directories[wish.label].of(wish.member)
        found = _reading(wish, mine, answer.over_time, asked_for) if mine else _nobody(wish, answer)
        done.append((wish, found))
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Directory:
    """An answer's series by who is named in their label."""

    by_name: Mapping[str, Sequence[Line]] = field(repr=False)
    by_address: Mapping[str, Sequence[Line]] = field(repr=False)

    def of(self, member: Member) -> Sequence[Line]:
        """The series of a member; one that names it in both ways counts once."""
        named = self.by_name.get(member.name, ())
        addressed = self.by_address.get(_canonical(member.address), ()) if member.address else ()
        return [*named, *(line for line in addressed if line not in named)] if named else addressed


def _directory(lines: Iterable[Line], label: str) -> _Directory:
    by_name: dict[str, list[Line]] = {}
    by_address: dict[str, list[Line]] = {}
    for line in lines:
        host = host_of(line.labels.get(label, ""))
        if host:
            by_name.setdefault(host, []).append(line)
            by_address.setdefault(_canonical(host), []).append(line)
    return _Directory(by_name=by_name, by_address=by_address)


def host_of(instance: str) -> str:
    """The name or address in a label such as ``instance``, without a port.

    >>> [host_of(one) for one in ("web-1", "web-1:9100", "10.0.0.1:9100", "[2001:db8::1]:9100", "2001:db8::1")]
    ['web-1', 'web-1', '10.0.0.1', '2001:db8::1', '2001:db8::1']
    """
    if instance.startswith("["):
        return instance[1:].partition("]")[0]
    return instance.partition(":")[0] if instance.count(":") == 1 else instance


def _canonical(host: str) -> str:
    """One spelling of an IPv6 address, which has many."""
    if ":" not in host:
        return host
    try:
        return ipaddress.ip_address(host).compressed
    except ValueError:
        return host


def _reading(wish: Wish, lines: Sequence[Line], over_time: bool, asked_for: float | None) -> Value | Failure:
    if not lines:
        return Failure(reply=Reply.NO_SUCH_COUNTER, said="the query finds nothing")
    if over_time and len(lines) > 1:
        return Failure(reply=Reply.AMBIGUOUS, said=f"{len(lines)} series, each with points over time")
    values = [value for _, value in lines[0].points] if over_time else [line.points[0][1] for line in lines]
    if len(values) > 1 and (wish.rows is None or (wish.rows is Reduce.LAST and not over_time)):
        what = "points" if over_time else "series"
        return Failure(reply=Reply.AMBIGUOUS, said=f"{len(values)} {what}")
    evaluated = max(line.points[-1][0] for line in lines) if asked_for is None else asked_for
    age = max(evaluated - min(line.newest for line in lines), 0.0)
    if age > wish.limit:
        return Failure(reply=Reply.STALE, said=f"its newest sample is {age:.0f} s old")
    return Value(value=values[0] if wish.rows is None else reduced(values, wish.rows), age=age)


def _nobody(wish: Wish, answer: Lines) -> Failure:
    if wish.member is None or not answer.lines:
        said = "the query finds nothing"
    elif not any(wish.label in line.labels for line in answer.lines):
        said = f"no series has a label {wish.label}"
    else:
        said = f"no series has {wish.label} {wish.member.name}, or {wish.member.address} with or without a port"
    return Failure(reply=Reply.NO_SUCH_COUNTER, said=said)
