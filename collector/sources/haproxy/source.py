"""HAProxy's own counters, of each member or of the group: from runtime sockets, or from a statistics page.

A counter without ``server`` is read from the runtime sockets of the group's balancers, one with ``server`` from that
page; each socket or page is read once a round, for all groups behind it. A member is the server line with its name in
the group's backends, or with its address and port if these have a server template; the whole group is these backends'
own lines. Several lines are added up, or combined as `config.counters.haproxy.TOGETHER` declares.

`haproxy_table.cell` describes the failures of a cell. Beyond that:

* no backend of the group has the member: REFUSED. The balancer did answer, so it is not silence, and zero would be a
made-up number: a reload forgets members that still serve;
* a socket or page that does not answer: UNREACHABLE, for everything behind it, even if another one answered, since half
of a sum is not the sum. The same holds for the whole group if one of its balancers lacks the backend;
* the answer is not HAProxy's, or was cut short: MALFORMED.

``uptime`` is HAProxy's, or for a page the best available bound (`haproxy_table.decode_page`), so that a reload or
restart, which resets its counters, is noticed even if they have passed their old values since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from collector.clients.http.client import HttpClient
from collector.clients.http.failures import HttpFailure
from collector.samples import Reply, Sheet
from collector.sources.haproxy.origins import Origin, OriginReading, Reader, name_of
from collector.sources.haproxy.table import Key, StatTable, cell
from collector.targets import MemberTarget, Round, whole_rows
from config.counters.haproxy import TOGETHER
from config.model.access import HaproxyStats
from config.model.balancers import HaproxyBalancer
from config.model.catalogue import Catalogue
from config.model.counters import HaproxyField
from config.model.reductions import Reduce
from config.units import CounterId, GroupId, Seconds, SourceId

_BECOME: Mapping[Reduce, Callable[[Iterable[float]], float]] = MappingProxyType(
    {Reduce.SUM: sum, Reduce.MAX: max, Reduce.MIN: min}
)
_AT_ONCE = 1000
"""Rows that are written before the event loop gets a turn: about 5 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """One row of the sheet."""

    row: int
    field: str
    member: MemberTarget | None
    """``None``: the whole group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One backend of one origin."""

    origin: Origin
    backend: str
    port: int | None = None
    """For servers of a template, which have their own names: the port that identifies members."""

    def key_of(self, member: MemberTarget | None, table: StatTable) -> Key:
        """Return the key of a member's line, or of the whole group's."""
        if member is None or self.port is None or (self.backend, member.name) in table.rows:
            return self.backend, None if member is None else member.name
        address = f"[{member.address}]" if ":" in member.address else member.address
        return self.backend, table.places.get((self.backend, f"{address}:{self.port}"), member.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """One group's rows that share their origins."""

    origins: Sequence[_Place]
    """The backends to read, each with its origin."""
    questions: list[_Question] = field(default_factory=list)


class HaproxySource:
    """Reads runtime sockets and statistics pages; keeps nothing between rounds.

    Args:
        http: for pages; its owner closes it.
        patience: seconds that a socket may take to answer. A page has its own ``timeout``.
    """

    def __init__(self, http: HttpClient, *, patience: Seconds = 2.0) -> None:
        self._reader = Reader(http, patience)

    async def fetch(self, poll: Round) -> None:
        """Read every socket and page of the round; a group's rows are filled when its own origins have answered."""
        batches = _batches(poll)
        _accuse(poll.sheet, batches)
        origins = dict.fromkeys(place.origin for batch in batches for place in batch.origins)
        async with asyncio.TaskGroup() as tasks:
            readings = {origin: tasks.create_task(self._reader.read(origin, poll.clock)) for origin in origins}
            for batch in batches:
                tasks.create_task(_fill(poll.sheet, batch, readings))

    async def close(self) -> None:
        """Do nothing: no connection is kept."""


def _batches(poll: Round) -> Sequence[_Batch]:
    fields = {
        counter.id: counter.source
        for counter in poll.catalogue.counters.values()
        if isinstance(counter.source, HaproxyField)
    }
    batches: dict[tuple[GroupId, SourceId | None], _Batch] = {}
    for row, group, source, member in _rows(poll, fields):
        place = group, source.server
        if place not in batches:
            batches[place] = _Batch(origins=_origins(poll.catalogue, *place))
        batches[place].questions.append(_Question(row=row, field=source.field, member=member))
    return tuple(batches.values())


def _rows(
    poll: Round, fields: Mapping[CounterId, HaproxyField]
) -> Iterator[tuple[int, GroupId, HaproxyField, MemberTarget | None]]:
    for target in poll.targets:
        for counter, row in target.rows.items():
            if counter in fields:
                yield row, target.group, fields[counter], target.member
    for row, group, counter in whole_rows(poll.sheet.layout, fields):
        yield row, group, fields[counter], None


def _origins(catalogue: Catalogue, group: GroupId, server: SourceId | None) -> Sequence[_Place]:
    if server is not None:
        page = catalogue.sources.get(server)
        return (_Place(origin=page, backend=page.backend),) if isinstance(page, HaproxyStats) else ()
    declared = ((catalogue.balancers[use.balancer], use.port) for use in catalogue.groups[group].balancers)
    return tuple(
        _Place(origin=socket, backend=balancer.backend, port=None if balancer.template is None else port)
        for balancer, port in declared
        if isinstance(balancer, HaproxyBalancer)
        for socket in balancer.sockets
    )


def _accuse(sheet: Sheet, batches: Iterable[_Batch]) -> None:
    """Mark rows UNREACHABLE until their origins answer; they stay so if the round is cut short."""
    for batch in batches:
        detail = f"no answer yet from {' or '.join(name_of(place.origin) for place in batch.origins)}"
        for question in batch.questions:
            sheet.fail(question.row, Reply.UNREACHABLE, detail)


async def _fill(sheet: Sheet, batch: _Batch, readings: Mapping[Origin, asyncio.Task[OriginReading]]) -> None:
    """Write one group's rows as soon as all of their origins are done."""
    answers = [(place, await readings[place.origin]) for place in batch.origins]
    for done, question in enumerate(batch.questions):
        if done % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
        _put(sheet, question, [(_look(reading, place, question), reading) for place, reading in answers])


def _look(reading: OriginReading, place: _Place, question: _Question) -> float | HttpFailure:
    if isinstance(reading.table, HttpFailure):
        return reading.table
    return cell(reading.table, place.key_of(question.member, reading.table), question.field)


def _put(sheet: Sheet, question: _Question, found: Sequence[tuple[float | HttpFailure, OriginReading]]) -> None:
    """Combine several numbers; one failure fails all, except that a member need not be on every balancer."""
    lacking = [value for value, _ in found if isinstance(value, HttpFailure)]
    grave = [failure for failure in lacking if question.member is None or failure.reply is not Reply.REFUSED]
    registered = [(value, reading) for value, reading in found if not isinstance(value, HttpFailure)]
    if grave or not registered:
        nowhere = HttpFailure(reply=Reply.REFUSED, detail="the group has no HAProxy balancer to ask")
        worst = next(iter(grave or lacking), nowhere)
        sheet.fail(question.row, worst.reply, worst.detail)
        return
    become = _BECOME[TOGETHER.get(question.field, Reduce.SUM)]
    sheet.put(
        question.row,
        become(value for value, _ in registered),
        at=max(reading.at for _, reading in registered),
        uptime=float(np.min([_uptime(reading) for _, reading in registered])),  # NaN if one is unknown
    )


def _uptime(reading: OriginReading) -> Seconds:
    return np.nan if isinstance(reading.table, HttpFailure) else reading.table.uptime
