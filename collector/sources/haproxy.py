"""HAProxy's own counters of each member, from ``show stat`` on the runtime socket.

One conversation per socket and round, whatever the number of groups behind it. A member is the server line of its
name in a backend of its group. On several backends its cells are added up over those that seat it.

What becomes of a cell:

* no such column, or an empty cell (HAProxy's word for "does not apply here"): NO_SUCH_COUNTER;
* text, such as ``UP`` in ``status``: MALFORMED;
* no backend of the group seats the member: REFUSED. Silence would be the wrong word, since the balancer did answer,
  and zero would be a made-up number: a reload forgets members that still serve;
* the socket does not answer in time: UNREACHABLE, for every member behind it, also where another socket answered,
  since half of a sum is no sum;
* what answers is not HAProxy: MALFORMED.

``uptime`` is HAProxy's, so that a reload or restart, which sets its counters to zero, is seen. It has whole seconds.
"""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collector.samples import Reply, Sheet
from collector.sources.interface import Round
from collector.sources.numbers import number
from collector.targets import Target
from config.counters import HaproxyField
from config.model import Catalogue, HaproxyBalancer
from config.units import GroupId, MemberName, Seconds

_QUESTION = b"show info;show stat -1 4 -1\n"
"""4: servers only, of every proxy. Only this level of detail grows with the fleet."""
_LARGEST = 64 * 1024 * 1024
"""About 400 bytes a server: far more than any HAProxy holds; what is longer is not HAProxy."""
_LONG = 256 * 1024
"""From here on (5 ms) decoding goes to a thread, so that the event loop is not held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One answer of a runtime socket."""

    uptime: Seconds
    columns: Mapping[str, int]
    """Name → place in a row."""
    rows: Mapping[tuple[str, str], Sequence[str]]
    """(backend, server) → cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What became of one socket in one round."""

    table: Table | Reply
    at: float
    """Steady seconds."""


class HaproxySource:
    """Reads runtime sockets; keeps nothing between rounds.

    Args:
        patience: seconds that a socket may take to answer.
    """

    def __init__(self, *, patience: Seconds = 2.0) -> None:
        self._patience = patience

    async def fetch(self, asked: Round) -> None:
        """Ask every socket that the groups of the round use; each group is filled when its own sockets are done."""
        groups = _by_group(asked)
        used = {group: _balancers(asked.catalogue, group) for group in groups}
        sockets = sorted({balancer.socket for balancers in used.values() for balancer in balancers})
        _accuse(asked, groups.values())
        async with asyncio.TaskGroup() as tasks:
            readings = {socket: tasks.create_task(self._read(socket, asked)) for socket in sockets}
            for group, targets in groups.items():
                tasks.create_task(_fill(asked, targets, used[group], readings))

    async def close(self) -> None:
        """Nothing to give back."""

    async def _read(self, socket: str, asked: Round) -> _Reading:
        table: Table | Reply
        try:
            async with asyncio.timeout(self._patience):
                text = await _converse(socket)
                table = decode(text) if len(text) < _LONG else await asyncio.to_thread(decode, text)
        except OSError:  # a TimeoutError is one
            table = Reply.UNREACHABLE
        return _Reading(table=table, at=asked.clock().steady)


def decode(text: str) -> Table | Reply:
    r"""Read the answer to ``show info;show stat``; what is not one, or was cut short, is MALFORMED.

    >>> text = "Name: HAProxy\nPid: 8784\nUptime_sec: 61\n\n# pxname,svname,scur,slim,status,\nweb,a,3,,UP,\n\n"
    >>> table = decode(text)
    >>> table.uptime, table.columns["scur"], table.rows["web", "a"]
    (61.0, 2, ['web', 'a', '3', '', 'UP', ''])
    >>> decode("Permission denied\n")
    <Reply.MALFORMED: 5>
    """
    head, mark, stat = text.partition("\n# ")
    facts = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    uptime = number(facts.get("Uptime_sec", ""))
    whole = bool(mark) and stat.endswith("\n\n")  # HAProxy ends each answer with an empty line
    if isinstance(uptime, Reply) or not whole:
        return Reply.MALFORMED
    try:
        names, *lines = csv.reader(stat.splitlines())
    except csv.Error:
        return Reply.MALFORMED
    if names[:2] != ["pxname", "svname"]:
        return Reply.MALFORMED
    return Table(
        uptime=uptime,
        columns={name: place for place, name in enumerate(names) if name},
        rows={(cells[0], cells[1]): cells for cells in lines if len(cells) == len(names)},
    )


def cell(table: Table, backend: str, member: MemberName, field: str) -> float | Reply:
    """One number of one server line; the module says which `Reply` stands for what."""
    row, place = table.rows.get((backend, member)), table.columns.get(field)
    if row is None:
        return Reply.REFUSED
    if place is None or not row[place]:
        return Reply.NO_SUCH_COUNTER
    return number(row[place])


async def _converse(socket: str) -> str:
    """Ask one socket and read until HAProxy closes it.

    Raises:
        OSError: it cannot be reached, or says far too much.
    """
    if "/" in socket or ":" not in socket:
        reader, writer = await asyncio.open_unix_connection(socket)
    else:
        host, _, port = socket.rpartition(":")
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    try:
        writer.write(_QUESTION)
        await writer.drain()
        answer = bytearray()
        while chunk := await reader.read(65536):
            answer += chunk
            if len(answer) > _LARGEST:
                raise OSError(f"{socket} answers with more than {_LARGEST} bytes")
        return answer.decode(errors="replace")
    finally:
        writer.close()


def _by_group(asked: Round) -> Mapping[GroupId, Sequence[Target]]:
    """The targets with a counter of ours."""
    groups: dict[GroupId, list[Target]] = {}
    for target in asked.targets:
        if any(isinstance(asked.catalogue.counters[counter].source, HaproxyField) for counter in target.rows):
            groups.setdefault(target.group, []).append(target)
    return groups


def _balancers(catalogue: Catalogue, group: GroupId) -> tuple[HaproxyBalancer, ...]:
    declared = (catalogue.balancers[use.balancer] for use in catalogue.groups[group].balancers)
    return tuple(balancer for balancer in declared if isinstance(balancer, HaproxyBalancer))


def _fields(catalogue: Catalogue, target: Target) -> Iterable[tuple[str, int]]:
    """(column, row of the sheet) of each counter that is ours."""
    for counter, row in target.rows.items():
        source = catalogue.counters[counter].source
        if isinstance(source, HaproxyField):
            yield source.field, row


def _accuse(asked: Round, groups: Iterable[Sequence[Target]]) -> None:
    """Until it answers, a socket is UNREACHABLE: so it stays for a round that is cut short."""
    for targets in groups:
        for target in targets:
            for _, row in _fields(asked.catalogue, target):
                asked.sheet.fail(row, Reply.UNREACHABLE)


async def _fill(
    asked: Round,
    targets: Sequence[Target],
    balancers: Sequence[HaproxyBalancer],
    readings: Mapping[str, asyncio.Task[_Reading]],
) -> None:
    """Write one group's rows as soon as all of its own sockets are done."""
    answers = [(balancer.backend, await readings[balancer.socket]) for balancer in balancers]
    for target in targets:
        for field, row in _fields(asked.catalogue, target):
            _put(asked.sheet, row, [(_look(reading, backend, target, field), reading) for backend, reading in answers])


def _look(reading: _Reading, backend: str, target: Target, field: str) -> float | Reply:
    table = reading.table
    return table if isinstance(table, Reply) else cell(table, backend, target.member.name, field)


def _put(sheet: Sheet, row: int, found: Sequence[tuple[float | Reply, _Reading]]) -> None:
    """Add up where the member is seated; anything but "not seated here" spoils the sum."""
    seated = [(value, reading) for value, reading in found if value is not Reply.REFUSED]
    spoilt = [value for value, _ in seated if isinstance(value, Reply)]
    if not seated or spoilt:
        sheet.fail(row, spoilt[0] if spoilt else Reply.REFUSED)
        return
    tables = [reading.table for _, reading in seated if isinstance(reading.table, Table)]
    sheet.put(
        row,
        sum(value for value, _ in seated),
        at=max(reading.at for _, reading in seated),
        uptime=min(table.uptime for table in tables),
    )
